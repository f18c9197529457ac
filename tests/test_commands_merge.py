"""`colde diff BASE A B --merge`, from the command line to what it prints and writes, with the real model."""

from __future__ import annotations

import zipfile
from pathlib import Path

import docx
import pytest
from command_line import check_trouble, run, run_json, validate
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli import read
from colde_cli.documents.document import Part, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.merging import edits_of, reviewer_names, weave
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import Flow, tracked_text
from colde_cli.views.word.merged_file import read_reviewer

Capture = pytest.CaptureFixture[str]

BASE = """# Lease

## 1 Rent

The rent is EUR 58 a month and is payable in advance on the first working day.

The landlord may raise the rent once a year by no more than the index of consumer prices.

## 2 Heating

The tenant pays the gas for the boiler.

The landlord has the boiler inspected every autumn.
"""
ANN = (
    BASE.replace("EUR 58", "EUR 63")
    .replace("every autumn", "every spring")
    .replace("gas", "oil")
    .replace("## 2", "Rent is paid by transfer.\n\n## 2")
)
BOB = (
    BASE.replace("EUR 58", "EUR 61")
    .replace("once a year", "twice a year")
    .replace("gas", "oil")
    .replace("The landlord has the boiler inspected every autumn.\n", "")
)
TEXTS = {"base": BASE, "ann": ANN, "bob": BOB}


def write(path: Path, text: str, author: str = "") -> Path:
    """Write a text as Markdown, or as a Word file that somebody saved."""
    if path.suffix == ".md":
        path.write_text(text, encoding="utf-8")
        return path
    document = docx.Document()
    for line in filter(None, text.splitlines()):
        level = len(line) - len(line.lstrip("#"))
        paragraph = document.add_heading(level=level) if level else document.add_paragraph()
        paragraph.add_run(line.lstrip("# ")).italic = not level
    document.core_properties.last_modified_by = author
    document.save(str(path))
    return path


@pytest.fixture(params=["md", "docx"])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """A lease and what Ann and Bob made of it."""
    return [write(tmp_path / f"{name}.{request.param}", text, name.title()) for name, text in TEXTS.items()]


def blocks(path: Path) -> list[str]:
    """Headings and paragraphs of a document."""
    return [block.text for block in Flow.of(read(path)).blocks]


def test_edits_and_conflicts_are_listed(capsys: Capture, documents: list[Path]) -> None:
    found = run_json(capsys, "diff", *documents, "--merge", "--reviewer", "Ann", "--reviewer", "Bob")
    validate(found, "colde.merge.1")
    assert [(one["deleted"], one["inserted"], one["reviewers"]) for one in found["edits"]] == [
        ("once", "twice", ["Bob"]), ("", "Rent is paid by transfer. ¶", ["Ann"]), ("gas", "oil", ["Ann", "Bob"]),
    ]  # fmt: skip
    assert [one["heading"] for one in found["edits"]] == ["1 Rent", "1 Rent", "2 Heating"]
    rent, boiler = found["conflicts"]
    assert (rent["base"], rent["wants"]) == (
        "58",
        [{"reviewer": "Ann", "text": "63"}, {"reviewer": "Bob", "text": "61"}],
    )
    assert "every spring." in boiler["wants"][0]["text"]
    assert boiler["wants"][1] == {"reviewer": "Bob", "text": ""}
    assert [one["edits"] for one in found["reviewers"]] == [4, 4]


@pytest.mark.slow
def test_a_word_file_holds_the_changes_of_each_reviewer(capsys: Capture, documents: list[Path]) -> None:
    merged = documents[0].with_name("merged.docx")
    result = run(capsys, "diff", *documents, "--merge", "--reviewer", "Ann", "--reviewer", "Bob", "-o", merged)
    assert (result.status, result.out, result.err) == (1, "", "")
    content = merged.read_bytes()
    names = ("Ann", "Bob", "nobody")
    accepted = [read_reviewer(content, names[:2] if name != "nobody" else names, names.index(name)) for name in names]
    assert accepted == [blocks(documents[1]), blocks(documents[2]), blocks(documents[0])]
    with zipfile.ZipFile(merged) as archive:
        comments = archive.read("word/comments.xml").decode()
    assert comments.count("Conflict. Base: ") == 2
    assert "Base: 58 · Ann: 63 · Bob: 61" in comments
    if documents[0].suffix == ".docx":
        body = docx.Document(str(merged)).element.body
        italic = [run_of_words for run_of_words in body.iter("{*}r") if run_of_words.find("{*}rPr/{*}i") is not None]
        assert any("payable in advance" in "".join(one.itertext()) for one in italic)


@pytest.mark.parametrize("suffix", ["md", "html", "txt"])
def test_every_view_shows_edits_and_conflicts(capsys: Capture, tmp_path: Path, suffix: str) -> None:
    documents = [write(tmp_path / f"{name}.md", text) for name, text in TEXTS.items()]
    output = tmp_path / f"merged.{suffix}"
    assert run(capsys, "diff", *documents, "--merge", "-o", output).status == 1
    text = output.read_text(encoding="utf-8")
    for said in ("3 edits of 2 reviewers, 1 made alike by several; 2 conflicts.", "Conflicts", "(deleted)", "twice"):
        assert said in text


def test_names_come_from_word_files_and_are_told_apart(tmp_path: Path) -> None:
    files = [write(tmp_path / name, BASE, author) for name, author in (("a.docx", "Ann & Co"), ("b.docx", "Jo"))]
    files += [write(tmp_path / "c.docx", BASE, "Jo"), write(tmp_path / "d.md", BASE)]
    assert reviewer_names([read(file) for file in files]) == ("Ann and Co", "b", "c", "d")
    assert reviewer_names([read(file) for file in files[:2]], ["X", "X"]) == ("a", "b")


def test_typesetting_of_another_format_is_no_edit(capsys: Capture, tmp_path: Path) -> None:
    base = write(tmp_path / "base.docx", BASE.replace("on the first working day", "on the “first” working day"))
    ann = write(tmp_path / "ann.md", BASE.replace("on the first working day.", 'on the "first"\n\nworking day.'))
    bob = write(tmp_path / "bob.md", BASE.replace("on the first", 'on the "first"').replace("gas", "oil"))
    found = run_json(capsys, "diff", base, ann, bob, "--merge")
    assert [(one["deleted"], one["inserted"], one["reviewers"]) for one in found["edits"]] == [("gas", "oil", ["bob"])]
    assert found["conflicts"] == []


def test_what_does_not_go_with_a_merge_is_refused(capsys: Capture, tmp_path: Path) -> None:
    base, ann, bob = (write(tmp_path / f"{name}.md", text) for name, text in TEXTS.items())
    assert run(capsys, "diff", base, base, base, "--merge").status == 0
    for arguments, sentence in (
        ((base, ann, "--merge"), "needs a base and two reviewers"),
        ((base, ann, bob, "--merge", "--reviewer", "Ann"), "2 reviewers and 1 names"),
        ((base, ann, bob, "--merge", "--ignore", "case"), "--ignore does not go with --merge"),
        ((base, ann, "--reviewer", "Ann"), "--reviewer is for --merge"),
        ((base, ann, bob, "--merge", "-o", ann), "is one of the documents to read"),
    ):
        result = run(capsys, "diff", *arguments)
        check_trouble(result)
        assert sentence in result.err


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), min_size=1, max_size=6).map(" ".join)
DOCUMENTS = st.lists(WORDS, min_size=1, max_size=5).map("\n\n".join)


@pytest.mark.slow
@settings(max_examples=100)
@given(DOCUMENTS, st.lists(DOCUMENTS, min_size=2, max_size=3))
def test_each_reviewer_gets_the_own_document_back(base: str, copies: list[str]) -> None:
    """Whatever they did: with the edits of one reviewer and no others, the text is that reviewer's."""
    first, *others = (assemble("", "", [Part("", text)]) for text in (base, *copies))
    texts = [tracked_text(first, other, align(first, other, None)) for other in others]
    old = texts[0].a.text
    woven = weave(old, [list(edits_of(text, place)) for place, text in enumerate(texts)])
    for reviewer, text in enumerate(texts):
        pieces = []
        for step, who in zip(woven.steps, woven.authors, strict=True):
            own = reviewer in who
            if step.operation is Operation.INSERTED:
                pieces.append(woven.text[step.b.start : step.b.end] if own else "")
            else:
                pieces.append("" if step.operation is Operation.DELETED and own else old[step.a.start : step.a.end])
        assert "".join(pieces) == text.b.text
    for conflict in woven.conflicts:
        assert len({want for _, want in conflict.wants}) > 1
    changed = [text for text in texts if text.a.text != text.b.text]
    assert bool(woven.edits or woven.conflicts) is bool(changed)
