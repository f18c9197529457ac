"""Folders to documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from colde_cli.corpus.collecting import walk
from colde_cli.errors import MissingFileError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    for name in ("b.txt", "a.pdf", "sub/c.md", "sub/deep/d.TXT", "photo.png", ".hidden.txt", ".git/e.txt"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return root


def names(found: list[Path], root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in found]


def test_folders_are_searched_through_in_order_and_without_hidden_or_foreign_files(corpus: Path) -> None:
    assert names(walk([corpus]), corpus) == ["a.pdf", "b.txt", "sub/c.md", "sub/deep/d.TXT"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.txt", ["b.txt"]),
        ("**/*.md", ["sub/c.md"]),
        ("**/*.pdf", ["a.pdf"]),
        ("sub/**", ["sub/c.md", "sub/deep/d.TXT"]),
        ("sub/*", ["sub/c.md"]),
        ("*/deep/?.TXT", ["sub/deep/d.TXT"]),
        ("**", ["a.pdf", "b.txt", "sub/c.md", "sub/deep/d.TXT"]),
        ("[ab].*", ["a.pdf", "b.txt"]),
        ("none*", []),
    ],
)
def test_a_glob_picks_among_the_files_of_folders(corpus: Path, glob: str, expected: list[str]) -> None:
    assert names(walk([corpus], glob), corpus) == expected


def test_every_kind_that_a_reader_takes_is_found(tmp_path: Path) -> None:
    kinds = ["a.docx", "b.htm", "c.HTML", "d.tex", "e.md", "f.markdown", "f.odt", "g.pdf", "h.txt"]
    for name in [*kinds, "i.rtf", "j.ods", "k.bib"]:
        (tmp_path / name).touch()
    assert names(walk([tmp_path]), tmp_path) == kinds


def test_a_named_file_is_taken_whatever_its_name(corpus: Path) -> None:
    named = [corpus / "photo.png", corpus / ".hidden.txt"]
    assert walk(named, "*.pdf") == named


def test_a_file_is_taken_once_however_many_ways_lead_to_it(corpus: Path) -> None:
    (corpus / "again.txt").symlink_to(corpus / "b.txt")
    found = walk([corpus / "sub", corpus, corpus / "b.txt"])
    assert names(found, corpus) == ["sub/c.md", "sub/deep/d.TXT", "a.pdf", "again.txt"]


def test_links_that_lead_in_circles_end(corpus: Path) -> None:
    (corpus / "sub" / "up").symlink_to(corpus, target_is_directory=True)
    (corpus / "broken.txt").symlink_to(corpus / "nowhere.txt")
    assert sorted(names(walk([corpus]), corpus)) == ["a.pdf", "b.txt", "sub/c.md", "sub/deep/d.TXT"]


def test_a_place_that_is_not_there_is_an_error(corpus: Path) -> None:
    with pytest.raises(MissingFileError, match="missing"):
        walk([corpus, corpus / "missing"])
