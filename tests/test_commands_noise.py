"""The noise switches from the command line, with the real model: status, JSON, terminal, environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import OTHER, V1, V2, check_trouble, run, validate

Capture = pytest.CaptureFixture[str]

LAW = "This Agreement shall be governed by the laws of the State of New York."
SECRET = "Each party shall keep the terms of this Agreement secret for three years after it has ended."
FEE = "The Buyer pays a fee of EUR 40 for every barrel that is delivered before 8 January 2024."


def write(path: Path, *paragraphs: str) -> Path:
    path.write_text("# Supply\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf-8")
    return path


def diff_json(capsys: Capture, *arguments: str | Path) -> tuple[int | str | None, dict[str, Any]]:
    result = run(capsys, "diff", *arguments, "--format", "json")
    assert result.err == ""
    value: dict[str, Any] = json.loads(result.out)
    validate(value, "colde.diff.2")
    return result.status, value


@pytest.mark.parametrize(
    ("switches", "other"),
    [
        (["--ignore-case"], FEE.upper()),
        (["-i"], FEE.lower()),
        (["--ignore-numbers"], FEE.replace("40", "4,500").replace("8 January 2024", "31 May 2025")),
        (["--ignore-whitespace"], FEE.replace("delivered", "deliv-\nered").replace("EUR 40", "EUR40")),
        (["-w"], FEE.replace("barrel that", "bar rel  that")),
        (["-i", "-w", "--ignore-numbers"], FEE.upper().replace("40", "5").replace(" A FEE", "A FEE")),
    ],
)
def test_what_is_ignored_makes_no_difference(capsys: Capture, tmp_path: Path, switches: list[str], other: str) -> None:
    a, b = write(tmp_path / "a.md", FEE, SECRET), write(tmp_path / "b.md", other, SECRET)
    assert run(capsys, "diff", a, b).status == 1
    status, value = diff_json(capsys, a, b, *switches)
    assert (status, value["summary"]["same"], len(value["passages"])) == (0, 2, 2)
    assert not any(pair["edits"] or pair["flags"] for pair in value["passages"])
    changed = write(tmp_path / "c.md", other, SECRET.replace("shall", "may"))
    status, value = diff_json(capsys, a, changed, *switches)
    assert (status, value["summary"]["edited"]) == (1, 1)


def test_json_says_what_was_ignored(capsys: Capture, tmp_path: Path) -> None:
    a = write(tmp_path / "a.md", FEE)
    _, value = diff_json(capsys, a, a)
    nothing = {"stretches": 0, "words": 0, "sections": []}
    names = ("case", "whitespace", "numbers", "renumbering", "list_marks")
    switches = dict.fromkeys(names, False)
    assert value["ignored"] == {**switches, "like": [], "kinds": [], "a": nothing, "b": nothing}
    template = write(tmp_path / "template.md", LAW)
    b = write(tmp_path / "b.md", FEE, LAW)
    status, value = diff_json(capsys, a, b, "--ignore-like", template, "--ignore-numbers")
    left_out = {"stretches": 1, "words": 14, "sections": []}
    assert (status, value["ignored"]) == (
        0,
        {**switches, "numbers": True, "like": [str(template)], "kinds": [], "a": nothing, "b": left_out},
    )


def test_boilerplate_is_neither_scored_nor_aligned_and_is_counted(capsys: Capture, tmp_path: Path) -> None:
    template = write(tmp_path / "template.md", SECRET, LAW)
    a = write(tmp_path / "a.md", "The pump lifts water from the well every night, as it always did.", SECRET, LAW)
    b = write(tmp_path / "b.md", "The choir rehearses a requiem, and the altos are always late again.", LAW, SECRET)
    _, whole = diff_json(capsys, a, b)
    _, left = diff_json(capsys, a, b, "--ignore-like", template)
    assert left["document"]["score"] < whole["document"]["score"] - 0.1
    assert len(left["passages"]) < len(whole["passages"])
    assert "New York" not in json.dumps(left["passages"])
    shown = run(capsys, "diff", a, b, "--ignore-like", template).out
    assert "Ignored: 31 words of A and 31 words of B that also appear in template.md" in shown
    said = run(capsys, "diff", a, b, "--ignore-like", template, "-v").err
    assert f"{b}: Left out as ignored: 31 words." in said


@pytest.mark.slow
def test_the_terminal_says_what_was_ignored(capsys: Capture) -> None:
    shown = run(capsys, "diff", V1, V1, "--ignore-case", "--ignore-numbers").out
    assert "Ignored: case · numbers" in shown
    assert "The texts are the same apart from case and numbers." in shown
    chunks = run(capsys, "diff", V1, V1, "--ignore-case", "--ignore-numbers", "--level", "chunk").out
    assert "word for word apart from case and numbers." in chunks
    assert "Ignored" not in run(capsys, "diff", V1, V1).out


def test_numbers_of_the_examples_are_not_flagged(capsys: Capture) -> None:
    """Of the edits of examples/README.md those in units, obligations, negations and names are left."""
    status, value = diff_json(capsys, V1, V2, "--ignore-numbers")
    kinds = sorted(kind for pair in value["passages"] for kind in pair["flags"])
    assert (status, kinds) == (1, ["name", "negation", "obligation", "unit"])


def test_nothing_left_nothing_found_and_standard_input(capsys: Capture, tmp_path: Path) -> None:
    a, other = write(tmp_path / "a.md", FEE), write(tmp_path / "other.md", LAW)
    nothing = run(capsys, "diff", a, a, "--ignore-like", a)
    check_trouble(nothing)
    assert "is also in a.md; nothing is left to compare" in nothing.err
    unused = run(capsys, "diff", a, a, "--ignore-like", other)
    assert unused.status == 0
    assert unused.err.startswith("Warning: other.md and the two documents have no sentence in common")
    check_trouble(run(capsys, "diff", a, a, "--ignore-like", "-"))
    check_trouble(run(capsys, "diff", a, a, "--ignore-like", tmp_path / "missing.md"))
    check_trouble(run(capsys, "diff", a, a, "--ignore-like", other, "-o", other))


def test_ranking_without_a_template_puts_the_subject_first(capsys: Capture, tmp_path: Path) -> None:
    template = write(tmp_path / "template.md", SECRET, LAW)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    query = write(tmp_path / "query.md", "Barley malt is delivered to the brewery by rail.", SECRET, LAW)
    write(corpus / "same-form.md", "A dentist cleans the teeth of the staff.", SECRET, LAW)
    write(corpus / "same-subject.md", "The brewery receives its barley malt on trains.")
    write(corpus / "template-only.md", SECRET, LAW)

    def scores(*arguments: str | Path) -> tuple[dict[str, float], dict[str, Any]]:
        value = json.loads(run(capsys, "rank", query, corpus, "--format", "json", *arguments).out)
        return {Path(hit["path"]).stem: hit["score"] for hit in value["results"]}, value

    with_it, _ = scores()
    assert len(with_it) == 3
    for _ in range(2):  # the second time from the cache, which knows both readings apart
        without, value = scores("--ignore-like", template)
        assert list(without) == ["same-subject", "same-form"]
        assert without["same-form"] < with_it["same-form"] - 0.3
        assert without["same-subject"] > with_it["same-subject"]
        assert value["ignored"] == {"like": [str(template)]}
        assert "is also in template.md" in value["skipped"][0]["reason"]
        assert scores()[0] == with_it
    shown = run(capsys, "rank", query, corpus, "--ignore-like", template).out
    assert "Ignored: text that also appears in template.md" in shown


def test_a_template_of_another_kind_of_file_is_read_like_the_documents(capsys: Capture, tmp_path: Path) -> None:
    text = tmp_path / "clauses.txt"
    text.write_text(
        "The Seller malts barley grown within sixty\nkilometres of its kilns. The Buyer brews ale and wishes\n"
        "to secure its need of malt for three seasons. The parties therefore agree as follows.\n"
    )
    _, value = diff_json(capsys, OTHER, OTHER, "--ignore-like", text, "--level", "document")
    assert value["ignored"]["a"] == value["ignored"]["b"] == {"stretches": 1, "words": 32, "sections": []}


def test_renumbered_clauses_and_list_marks_are_no_difference_on_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("4.2 The Supplier pays 40 euros as Section 4.1 says.\n\n(a) The malt is dry.\n")
    b.write_text("4.3 The Supplier pays 40 euros as Section 4.2 says.\n\n(b) The malt is dry.\n")
    assert run(capsys, "diff", a, b).status == 1
    assert run(capsys, "diff", a, b, "--ignore-renumbering").status == 0
    assert run(capsys, "diff", a, b, "--ignore-list-marks").status == 1
    b.write_text(b.read_text().replace("40", "41"))
    assert run(capsys, "diff", a, b, "--ignore-renumbering").status == 1
