"""`colde diff A B --comments FILE`, from the command line to what it prints, with the real model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import docx
import pytest
from command_line import check_trouble, run, run_json, validate

from colde_cli.similarity.remark_clues import named_labels, quotations

if TYPE_CHECKING:
    from collections.abc import Callable

Capture = pytest.CaptureFixture[str]

OLD = """# Lease

## 1 Rent

The rent is EUR 58 a month and is payable in advance on the first working day.

The landlord may raise the rent once a year by no more than the index of consumer prices.

## 2 Heating

(a) The tenant pays the gas for the boiler.

(b) The landlord has the boiler inspected every autumn.

## 3 Notice

Either party may end this lease with notice of one month in writing.
"""
NEW = (
    OLD.replace("EUR 58", "EUR 63")
    .replace("every autumn.", "every autumn by a registered engineer.")
    .replace("## 3 Notice", "(c) Pets such as dogs and cats are welcome in the flat.\n\n## 3 Notice")
)
REVIEW = """# Remarks

## Reviewer 1

1. Who has inspected the boiler?
2. "payable in advance" is harsh.
3. Clause 3: one month is short.
4. May the tenant keep a dog?
5. The submarine cable needs a permit of the admiralty.
"""


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """Two versions of a lease."""
    paths = tmp_path / "old.md", tmp_path / "new.md"
    for path, text in zip(paths, (OLD, NEW), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.fixture
def review(tmp_path: Path) -> Path:
    """A list of remarks on it."""
    path = tmp_path / "review.md"
    path.write_text(REVIEW, encoding="utf-8")
    return path


def test_each_remark_gets_its_place_and_verdict(capsys: Capture, versions: tuple[Path, Path], review: Path) -> None:
    found = run_json(capsys, "diff", *versions, "--comments", review)
    validate(found, "colde.comments.1")
    told = [(one["label"], one["verdict"], one["basis"]) for one in found["remarks"]]
    assert told == [
        ("Reviewer 1, 1", "only_added", "meaning"), ("Reviewer 1, 2", "changed", "quotation"),
        ("Reviewer 1, 3", "not_changed", "reference"), ("Reviewer 1, 4", "only_added", "meaning"),
        ("Reviewer 1, 5", "no_place", "none"),
    ]  # fmt: skip
    boiler, payable, notice, dog, cable = found["remarks"]
    assert boiler["passages"][0]["a"]["text"].startswith("(b) The landlord has the boiler")
    assert payable["words_changed"] is False
    start, end = payable["words"]
    assert payable["passages"][0]["a"]["text"][start:end] == "payable in advance"
    assert notice["passages"][0]["a"]["heading"] == "3 Notice"
    assert any("dogs and cats" in (one["b"] or {"text": ""})["text"] for one in (*dog["passages"], *dog["added"]))
    assert cable["passages"] == cable["added"] == []
    assert found["summary"] == {"changed": 1, "only_added": 2, "not_changed": 1, "no_place": 1}


@pytest.mark.parametrize("suffix", ["md", "html", "csv", "txt"])
def test_every_view_names_all_remarks(capsys: Capture, versions: tuple[Path, Path], review: Path, suffix: str) -> None:
    output = review.with_name(f"answers.{suffix}")
    result = run(capsys, "diff", *versions, "--comments", review, "-o", output)
    assert (result.status, result.out) == (1, "")
    text = output.read_text(encoding="utf-8-sig")
    assert [said for said in REVIEW.splitlines()[4:] if said.split()[-1] not in text] == []
    assert ("no place found" in text) is (suffix != "csv")
    assert "registered engineer" in text


def test_comments_of_word_are_carried_to_the_version(
    capsys: Capture, versions: tuple[Path, Path], tmp_path: Path
) -> None:
    document = docx.Document()
    for line in filter(None, OLD.splitlines()):
        level = len(line) - len(line.lstrip("#"))
        paragraph = document.add_heading(level=level) if level else document.add_paragraph()
        for words in line.lstrip("# ").partition("EUR 58"):
            run_of_words = paragraph.add_run(words)
            if words in ("EUR 58", "3 Notice"):
                document.add_comment(run_of_words, text="Too <b>much</b>?", author="Ann")
    path = tmp_path / "commented.docx"
    document.save(str(path))
    rent, notice = run_json(capsys, "diff", *versions, "--comments", path)["remarks"]
    assert (rent["author"], rent["on"], rent["text"]) == ("Ann", "EUR 58", "Too <b>much</b>?")
    assert (rent["verdict"], rent["basis"], rent["words_changed"]) == ("changed", "words", True)
    assert (notice["verdict"], notice["passages"][0]["a"]["heading"]) == ("not_changed", "3 Notice")


def test_the_status_is_that_of_diff(capsys: Capture, versions: tuple[Path, Path], review: Path, tmp_path: Path) -> None:
    assert run(capsys, "diff", versions[0], versions[0], "--comments", review).status == 0
    assert run(capsys, "diff", *versions, "--comments", review, "--exit-zero").status == 0
    empty = tmp_path / "empty.md"
    empty.write_text("Dear all,", encoding="utf-8")
    for arguments, sentence in (
        ((*versions, "--comments", empty), "has no comments and lists no remarks"),
        ((*versions, "--comments", tmp_path / "none.md"), "Cannot find"),
        ((*versions, versions[0], "--comments", review), "--comments is for two documents only"),
        ((*versions, "--comments", review, "--fail-under", "0.5"), "--fail-under does not go with --comments"),
        ((*versions, "--comments", review, "-o", review), "is one of the documents to read"),
    ):
        result = run(capsys, "diff", *arguments)
        check_trouble(result)
        assert sentence in result.err


@pytest.mark.parametrize(
    ("find", "said", "found"),
    [
        (quotations, "the words “one two” and 'three four', don't and can't", ["three four", "one two"]),
        (quotations, '"the rent ... is due"', ["the rent", "is due"]),
        (named_labels, "see Sections 3.2 and 4, clause 7.2(b)", [("3.2", []), ("4", []), ("7.2", ["(b)"])]),
        (named_labels, "I agree in part I think", []),
    ],
)
def test_clues_of_a_remark(find: Callable[[str], object], said: str, found: list[object]) -> None:
    clues = find(said)
    assert list(clues) == found  # type: ignore[call-overload]
