"""`colde dupes`, from the command line to what it prints."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest
from command_line import EXAMPLES, OTHER, V1, V2, check_trouble, run, run_json, schema_of, validate

Capture = pytest.CaptureFixture[str]


def test_versions_are_found_as_the_schema_says(capsys: Capture) -> None:
    done = run(capsys, "dupes", EXAMPLES, "--glob", "*.pdf", "--format", "json")
    value = json.loads(done.out)
    validate(value, "colde.dupes.1")
    assert list(value) == list(schema_of("colde.dupes.1")["properties"])
    assert done.status == 0
    assert [[member["path"] for member in group["members"]] for group in value["groups"]] in ([[V1, V2]], [[V2, V1]])
    assert value["groups"][0]["members"][1]["closest"]["relation"] in ("version", "near-duplicate")
    assert value["searched"] == 3


def test_the_status_is_that_of_grep(capsys: Capture, tmp_path: Path) -> None:
    assert run(capsys, "dupes", V1, V2).status == 0
    nothing = run(capsys, "dupes", V1, OTHER)
    assert (nothing.status, "No document" in nothing.out) == (1, True)
    assert run(capsys, "dupes", V1, OTHER, "--exit-zero").status == 0
    check_trouble(run(capsys, "dupes", tmp_path))
    check_trouble(run(capsys, "dupes", tmp_path / "missing"))
    refused = run(capsys, "dupes", V1, V2, "--min-share", "40")
    assert (refused.status, "40 is not a share" in refused.err) == (2, True)


def test_a_bad_file_is_reported(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    done = run(capsys, "dupes", V1, V2, tmp_path)
    assert done.status == 0
    assert "Skipped" in done.err
    assert "bad.pdf" in done.err
    assert run(capsys, "dupes", V1, V2, tmp_path, "--strict").status == 2


def test_other_formats_name_the_same_files(capsys: Capture, tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(300))
    (tmp_path / "=part.txt").write_text(text)
    (tmp_path / "whole.txt").write_text(f"{text} " + " ".join(f"more{number}" for number in range(3000)))
    (tmp_path / "a|b.md").write_text("The same text twice.")
    (tmp_path / "c.md").write_text("The same text twice!")
    shown = run(capsys, "dupes", tmp_path).out
    assert "same text as" in shown
    assert "100% of its 300 words" in " ".join(shown.split())
    rows = list(csv.DictReader(StringIO(run(capsys, "dupes", tmp_path, "--format", "csv").out)))
    assert [(row["group"], row["relation"]) for row in rows] == [("1", ""), ("1", "same-text"), ("", "contained")]
    page = tmp_path / "found.md"
    run(capsys, "dupes", tmp_path, "-o", page)
    assert "a&#124;b.md" in page.read_text()


def test_a_clause_used_again_is_listed_with_its_places(capsys: Capture, tmp_path: Path) -> None:
    clause = " ".join(f"clause{number}" for number in range(60))
    for number in range(3):
        before, after = (" ".join(f"{name}{number}x{word}" for word in range(400)) for name in ("before", "after"))
        (tmp_path / f"{number}.md").write_text(f"# Begin\n\n{before}\n\n# Liability\n\n{clause}. {after}\n")
    edited = (tmp_path / "2.md").read_text().replace("clause30", "other words")
    (tmp_path / "2.md").write_text(edited)
    (tmp_path / "copy.md").write_text(edited)
    assert run_json(capsys, "dupes", tmp_path)["passages"] is None
    value = run_json(capsys, "dupes", tmp_path, "--passages")
    validate(value, "colde.dupes.1")
    (passage,) = value["passages"]
    assert (passage["documents"], passage["words"], value["passages_found"]) == (3, 62, 1)
    assert [Path(place["path"]).name for place in passage["places"]] == ["2.md", "0.md", "1.md"]
    assert {place["section"] for place in passage["places"]} == {"Liability"}
    assert passage["text"].startswith("Liability\n\nclause0 ")
    assert passage["text"].endswith("clause59.")
    shown = " ".join(run(capsys, "dupes", tmp_path, "--passages").out.split())
    assert "1 passage used again" in shown
    assert "62 words in 3 documents" in shown
    rows = list(csv.DictReader(StringIO(run(capsys, "dupes", tmp_path, "--passages", "--format", "csv").out)))
    assert [row["relation"] for row in rows].count("passage") == 3
    words = [*(f"before1x{word}" for word in range(100, 200)), *(f"own{word}" for word in range(300))]
    (tmp_path / "3.md").write_text(" ".join(words))
    limited = run(capsys, "dupes", tmp_path, "--passages", "--top", 1, "--format", "markdown").out
    assert "1 of 2 passages are listed" in limited


@pytest.mark.slow
def test_reports_are_linked_from_their_page_and_from_the_output(capsys: Capture, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    done = run(capsys, "dupes", V1, V2, OTHER, "--reports", reports, "-o", tmp_path / "found.html")
    assert done.status == 0
    assert sorted(path.name for path in reports.iterdir()) == ["0001.html", "index.html"]
    assert 'href="0001.html"' in (reports / "index.html").read_text()
    assert 'href="reports/0001.html"' in (tmp_path / "found.html").read_text()
    assert "field-study-v1.pdf" in (reports / "0001.html").read_text()
    assert run(capsys, "dupes", V1, V2, "--reports", reports).status == 0  # its own reports are replaced
    (reports / "mine.txt").write_text("kept")
    check_trouble(run(capsys, "dupes", V1, V2, "--reports", reports))
    assert (reports / "mine.txt").read_text() == "kept"


WELL = "pump|well|water|tower|pipe|valve|reservoir|flow|spring|drought"
TAX = "tax|levy|council|house|owner|rate|budget|fee|treasury|audit"


def subject(words: str, number: int) -> str:
    named = words.split("|")
    shifted = named[number % 10 :] + named[: number % 10]
    return " ".join(
        f"The {one} and the {two} are described by the {three}."
        for one, two, three in zip(shifted, shifted[1:], shifted[2:], strict=False)
    )


@pytest.fixture
def subjects(tmp_path: Path) -> Path:
    for number in range(8):
        (tmp_path / f"well{number}.txt").write_text(subject(WELL, number))
        (tmp_path / f"tax{number}.txt").write_text(subject(TAX, number))
    return tmp_path


def test_subjects_are_told_apart_and_named(capsys: Capture, subjects: Path) -> None:
    done = run(capsys, "clusters", subjects, "--format", "json")
    value = json.loads(done.out)
    validate(value, "colde.clusters.1")
    assert list(value) == list(schema_of("colde.clusters.1")["properties"])
    kinds = [{Path(member["path"]).name[:3] for member in cluster["members"]} for cluster in value["clusters"]]
    assert all(len(kind) == 1 for kind in kinds)
    assert {word for cluster in value["clusters"] for word in cluster["words"]} <= {*WELL.split("|"), *TAX.split("|")}
    assert value["searched"] == 16


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_results_are_the_same_in_every_run(capsys: Capture, subjects: Path) -> None:
    """Whatever a cache knows, and however many threads there are; the documents are enough for a field of their own."""
    (subjects / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    (subjects / "odd.txt").write_bytes(b"The tax of the duty \xff is levied on the budget.")
    ways = ((), ("--threads", "1"), ("--no-cache", "--threads", "3"))
    runs = [run(capsys, "clusters", subjects, "--format", "json", "-v", *way) for way in ways]
    assert len({done.out for done in runs}) == 1
    # Only -v says what was new.
    counts = [re.findall(r"^(\d+) documents newly encoded", done.err, re.MULTILINE) for done in runs]
    assert counts == [["17"], ["0"], ["17"]]
    query = subjects / "tax0.txt"
    ranked = [json.loads(run(capsys, "rank", query, subjects, "--format", "json", *way).out) for way in ways]
    # All of them are known from the run before, and the query is none of the corpus.
    assert [value.pop("encoded") for value in ranked] == [0, 0, 16]
    assert ranked[0]["field"]["documents"] == 17
    assert ranked[0] == ranked[1] == ranked[2]


@pytest.mark.slow
def test_nothing_alike_is_status_1(capsys: Capture) -> None:
    assert run(capsys, "clusters", V1, OTHER, "--min-score", "0.99").status == 1
    assert run(capsys, "clusters", V1, OTHER, "--min-score", "0.99", "--exit-zero").status == 0
    assert run(capsys, "clusters", V1).status == 1


@pytest.mark.slow
def test_an_index_gives_what_its_files_give(capsys: Capture, subjects: Path, tmp_path: Path) -> None:
    (subjects / "copy.txt").write_text((subjects / "tax1.txt").read_text())
    (subjects / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    index = tmp_path / "index.colde"
    assert run(capsys, "index", subjects, "-o", index).status == 0
    for command in ("dupes", "clusters"):
        files = run_json(capsys, command, subjects)
        known = run_json(capsys, command, index)
        for name in ("groups", "contained", "searched"):
            assert known.get(name) == files.get(name), (command, name)
        # Rounded vectors, and statistics that count a copy once: the scores differ a little.
        for cluster in known.get("clusters", ()):
            assert len({Path(member["path"]).name[:3] for member in cluster["members"]} - {"cop"}) == 1
            assert set(cluster["words"]) <= {*WELL.split("|"), *TAX.split("|")}
        assert [item["path"] for item in known["skipped"]] == [item["path"] for item in files["skipped"]]
        some = run_json(capsys, command, index, "--glob", "tax*")
        assert some["searched"] == 8
    (index / "index.sqlite").write_bytes((index / "index.sqlite").read_bytes()[:5000])
    check_trouble(run(capsys, "dupes", index))
