"""Folders to documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command_line import V1
from permissions import POSIX, permissions_count

from colde_cli.corpus.finding import Skipped, find_files, walk
from colde_cli.corpus.pipeline import CPU_WINDOW, CorpusReader, encode_files
from colde_cli.encoder.encoder import Encoder
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
        *(("*.txt", ["b.txt"]), ("**/*.md", ["sub/c.md"]), ("**/*.pdf", ["a.pdf"])),
        *(("sub/**", ["sub/c.md", "sub/deep/d.TXT"]), ("sub/*", ["sub/c.md"])),
        *(("*/deep/?.TXT", ["sub/deep/d.TXT"]), ("**", ["a.pdf", "b.txt", "sub/c.md", "sub/deep/d.TXT"])),
        *(("[ab].*", ["a.pdf", "b.txt"]), ("none*", [])),
    ],
)
def test_a_glob_picks_among_the_files_of_folders(corpus: Path, glob: str, expected: list[str]) -> None:
    assert names(walk([corpus], glob), corpus) == expected


@POSIX
def test_a_folder_that_may_be_listed_and_not_entered_is_told_once(corpus: Path) -> None:
    (corpus / "sub" / "e.txt").write_text("text")
    (corpus / "sub").chmod(0o444)
    errors: list[OSError] = []
    try:
        with permissions_count():
            found = walk([corpus], on_error=errors.append)
            assert walk([corpus]) == found
            _, skipped = find_files(corpus)
    finally:
        (corpus / "sub").chmod(0o700)
    assert names(found, corpus) == ["a.pdf", "b.txt"]
    assert [(error.filename, type(error)) for error in errors] == [(str(corpus / "sub"), PermissionError)]
    assert skipped == (Skipped(str(corpus / "sub"), "Permission denied"),)


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


@pytest.mark.slow
def test_files_are_encoded_as_if_each_were_alone_and_bad_ones_say_why(tmp_path: Path, encoder: Encoder) -> None:
    plain, blank, damaged, silent = (tmp_path / name for name in ("a.txt", "b.txt", "c.pdf", "d.md"))
    plain.write_text("The lease of the harbour ends in May.")
    blank.touch()
    damaged.write_bytes(b"%PDF-1.7 and no more")
    silent.write_text("\u200b\n\n\u200b")  # text, but not a single token
    files = [Path(V1), plain, blank, damaged, silent]
    items = list(encode_files(files, encoder, CorpusReader()))
    skipped = {item.path: item.reason for item in items if isinstance(item, Skipped)}
    encoded = {item.document.path: item for item in items if not isinstance(item, Skipped)}
    assert set(skipped) == {str(blank), str(damaged), str(silent)}
    assert all(path in reason for path, reason in skipped.items())
    assert set(encoded) == {str(plain), V1}
    for path, encoding in encoded.items():
        alone = encoder.encode(CorpusReader().read(path))
        assert encoding.document == alone.document
        assert encoding.chunk_vectors.tobytes() == alone.chunk_vectors.tobytes()


def test_files_are_taken_only_as_fast_as_they_are_encoded(tmp_path: Path, encoder: Encoder) -> None:
    taken: list[Path] = []

    def endless() -> Iterator[Path]:
        while True:
            path = tmp_path / f"{len(taken)}.txt"
            path.write_text(f"Valve {len(taken)} leaks.")
            taken.append(path)
            yield path

    with closing(encode_files(endless(), encoder, CorpusReader())) as items:
        first = [next(items) for _ in range(40)]
    assert len({item.document.path for item in first if not isinstance(item, Skipped)}) == 40
    assert len(taken) < 40 + 2 * CPU_WINDOW * 4 // 256
