"""`colde diff A B C`, from the command line to what it prints, with the real model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import V1, V2, check_trouble, run, validate

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_json_is_what_its_schema_says(capsys: Capture) -> None:
    result = run(capsys, "diff", V1, V2, V1, "--format", "json")
    assert (result.status, result.err) == (1, "")
    value = json.loads(result.out)
    validate(value, "colde.history.1")
    assert [version["path"] for version in value["versions"]] == [V1, V2, V1]
    assert [step["changes"] for step in value["steps"]] == [34, 34]
    assert value["steps"][0]["top"]["flagged"][0] == {"kind": "amount", "a": "EUR 58", "b": "EUR 63"}
    names = {(section["places"][0] or {}).get("heading"): section for section in value["sections"]}
    assert [step["state"] for step in names["4.3 Software"]["steps"]] == ["dropped", "added"]
    assert names["3.1 The sensor unit"]["steps"][0]["words"] == 4
    assert not names["2 Study area and design"]["changed"]


def test_the_table_lists_the_sections_that_changed(capsys: Capture) -> None:
    said = run(capsys, "diff", V1, V2, V1).out
    assert said.startswith("3 versions: 22 of 30 sections changed.\n")
    assert "\n1 → 2  23 passages edited, 1 moved, 6 added, 4 dropped.\n" in said
    assert "\n       Amount EUR 58 → EUR 63; unit 2 minutes → 2 hours (A p. 3" in said
    (software,) = (line for line in said.splitlines() if line.startswith("4.3 Software"))
    assert software.split()[2:] == ["dropped", "added"]
    assert "2.2 Where" not in said
    assert said.endswith("8 sections did not change in any step.\n")


@pytest.mark.slow
def test_status_is_0_where_all_versions_are_the_same(capsys: Capture) -> None:
    same = run(capsys, "diff", V1, V1, V1)
    assert same.status == 0
    assert same.out.startswith("The texts of all 3 versions are the same.\n")
    assert run(capsys, "diff", V1, V1, V2).status == 1
    assert run(capsys, "diff", V1, V1, V2, "--exit-zero").status == 0


def test_versions_of_one_name_are_told_apart_by_their_folders(capsys: Capture, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "lease.md" for folder in ("one", "two")]
    for path, rent in zip(paths, (58, 63), strict=True):
        path.parent.mkdir()
        path.write_text(f"# Lease\n\nThe rent is EUR {rent} a month, payable in advance.\n")
    said = run(capsys, "diff", paths[0], paths[1], paths[0]).out
    assert [line.split(" (")[1].split(",")[0] for line in said.splitlines()[1:4]] == [
        "one/lease.md", "two/lease.md", "one/lease.md",
    ]  # fmt: skip
    assert "\none/lease.md → two/lease.md\n" in run(capsys, "verify", *paths).out


def test_other_formats(capsys: Capture, tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("# One | \\<b>\n\nThe fee is EUR 58 a month, payable by the council in advance.\n")
    new.write_text("# One | \\<b>\n\nThe fee is EUR 63 a month, payable by the council in advance.\n")
    versions = (old, new, new)
    markdown = run(capsys, "diff", *versions, "--format", "markdown").out
    assert "| One &#124; &lt;b&gt; | edited 2 words, 1 flagged | same |" in markdown
    summary = run(capsys, "diff", *versions, "--format", "summary").out.splitlines()
    assert max(map(len, summary)) <= 78
    assert "2 → 3: The texts are the same." in summary
    page = tmp_path / "history.html"
    assert run(capsys, "diff", *versions, "-o", page).status == 1
    html = page.read_text("utf-8")
    assert "<bdi>One | &lt;b&gt;</bdi>" in html
    assert '<td class="changed">edited 2 words, 1 flagged</td><td class="same">same</td>' in html
    ignoring = run(capsys, "diff", *versions, "--ignore-numbers")
    assert ignoring.status == 0
    assert "Ignored: numbers" in ignoring.out


@pytest.mark.parametrize(
    "arguments",
    [
        *((V1, V2, "-", "-"), (V1, V2, "none.pdf"), (V1, V2, str(Path(V1).parent))),
        *((V1, V2, V1, "--format", "csv"), (V1, V2, V1, "--fail-under", "0.5")),
        *((V1, V2, V1, "--ignore-like", V1), (V1, V2, V1, "-o", V1, "--format", "json")),
    ],
)
def test_what_does_not_fit_together_is_trouble(capsys: Capture, arguments: tuple[str, ...]) -> None:
    check_trouble(run(capsys, "diff", *arguments))


def test_versions_are_warned_about_as_documents_of_a_pair(capsys: Capture, tmp_path: Path) -> None:
    german = (
        "Der Mieter ist verpflichtet, die Miete bis zum dritten Werktag eines jeden Monats zu zahlen. Der Vermieter"
        " hat die Wohnung in einem Zustand zu erhalten, der für den Gebrauch geeignet ist. "
    )
    versions = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, version in enumerate(versions):
        version.write_text("1. Miete\n\n" + german * (4 + number), encoding="utf-8")
    for some in (versions[:2], versions):
        said = run(capsys, "diff", *some, "--skip-sections", "apendix").err
        assert "language seems to be German" in said
        assert "No section matches 'apendix'" in said
