"""Ranking an index in two stages: the hits are those of the exact ranking, whatever became of the side file."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path

import pytest

from colde_cli.corpus import side_file
from colde_cli.corpus.finding import Filter
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_update import update_index
from colde_cli.corpus.index_writer import verify_index
from colde_cli.corpus.rank_corpus import Hit, Ranking, encode_query, rank_index
from colde_cli.corpus.side_file import NAME, CandidateFile
from colde_cli.encoder.encoder import Encoder

THINGS = "pump well tower tax house council river bridge school train engine garden".split()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stages from the sixth document on."""
    monkeypatch.setattr(side_file, "EXACT", 5)
    monkeypatch.setattr(side_file, "SCORED", 15)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number, thing in enumerate(THINGS * 3):
        other = THINGS[(number * 5 + 1) % len(THINGS)]
        text = f"The {thing} of place {number} is old. Near the {thing} there is a {other}. It was paid in {number}."
        (folder / f"{number:02}-{thing}.txt").write_text(text)
    return folder


@pytest.fixture
def index(corpus: Path, encoder: Encoder) -> Path:
    folder = corpus.parent / "papers.colde"
    update_index(folder, [corpus], encoder)
    return folder


def ranked(index: Path, query: Path, encoder: Encoder, **options: object) -> Ranking:
    encoding = encode_query(query, encoder)
    with Index.open(index) as opened, warnings.catch_warnings():
        warnings.simplefilter("error")
        return rank_index(encoding, opened, encoder, **options)  # type: ignore[arg-type]


def exact(index: Path, query: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> tuple[Hit, ...]:
    with monkeypatch.context() as patch:
        patch.setattr(side_file, "EXACT", 1000)
        return ranked(index, query, encoder).results


def test_the_hits_are_those_of_the_exact_ranking(
    index: Path, corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (index / NAME).is_file()
    for name in ("00-pump.txt", "15-tax.txt"):
        ranking = ranked(index, corpus / name, encoder, top=5)
        assert ranking.results == exact(index, corpus / name, encoder, monkeypatch)[:5]
        assert ranking.searched == 35


def test_new_documents_are_found_before_the_side_file_is_made_again(
    index: Path, corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (index / NAME).read_bytes()
    text = (corpus / "00-pump.txt").read_text()
    (corpus / "new.txt").write_text(text + " And a new one.")
    update_index(index, [], encoder)
    assert (index / NAME).read_bytes() == before
    ranking = ranked(index, corpus / "00-pump.txt", encoder, top=5)
    assert Path(ranking.results[0].path).name == "new.txt"
    monkeypatch.setattr(side_file, "_TAIL", 0)
    update_index(index, [], encoder)
    assert (index / NAME).read_bytes() != before
    again = ranked(index, corpus / "00-pump.txt", encoder, top=5)
    assert again.results == ranking.results


def test_documents_that_are_gone_are_not_found(index: Path, corpus: Path, encoder: Encoder) -> None:
    query = corpus / "00-pump.txt"
    first = ranked(index, query, encoder).results[0]
    Path(first.path).unlink()
    before = (index / NAME).read_bytes()
    update_index(index, [], encoder)
    assert (index / NAME).read_bytes() == before
    ranking = ranked(index, query, encoder)
    assert first.path not in {hit.path for hit in ranking.results}
    assert ranking.searched == 34
    for path in sorted(corpus.iterdir())[10:30]:
        path.unlink()
    update_index(index, [], encoder, drop_missing=True)
    assert (index / NAME).read_bytes() != before


def test_a_filter_chooses_before_the_candidates_do(index: Path, corpus: Path, encoder: Encoder) -> None:
    ranking = ranked(index, corpus / "00-pump.txt", encoder, chosen=Filter(glob="*-t*.txt"), top=50)
    names = {Path(hit.path).name for hit in ranking.results}
    assert names == {path.name for path in corpus.glob("*-t*.txt")}
    assert ranking.searched == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["missing", "damaged", "cut", "of another index"])
def test_without_a_sound_side_file_every_document_is_scored(
    index: Path, corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    side = index / NAME
    whole = side.read_bytes()
    if damage == "missing":
        side.unlink()
    elif damage == "of another index":
        other = corpus.parent / "other.colde"
        update_index(other, [corpus], encoder)
        side.write_bytes((other / NAME).read_bytes())
    else:
        side.write_bytes(whole[:-9] if damage == "cut" else whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:])
    query = corpus / "00-pump.txt"
    encoding = encode_query(query, encoder)
    with Index.open(index) as opened, pytest.warns(UserWarning, match=r"every document is scored; make it again"):
        results = rank_index(encoding, opened, encoder).results
    assert results == exact(index, query, encoder, monkeypatch)
    update_index(index, [], encoder)
    assert side.read_bytes() == whole
    assert ranked(index, query, encoder).results == results


def test_numbers_that_are_out_of_range_are_damage(
    index: Path, corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a file too large to be checked when it is opened."""
    monkeypatch.setattr("colde_cli.corpus.side_file._CHECKED", 0)
    side = index / NAME
    opened = side_file.CandidateFile.open(side, "")
    assert opened is None
    with Index.open(index) as reading:
        file = side_file.CandidateFile.open(side, reading.lineage)
    assert file is not None
    whole, (held,) = side.read_bytes(), (segment for segment in file.segments)
    wrongs = [(held.documents.tobytes(), b"\xff\xff"), (held.starts.tobytes(), (10**6).to_bytes(4, "little"))]
    del file, held
    for values, wrong in wrongs:
        assert whole.count(values) == 1
        side.write_bytes(whole.replace(values, wrong * (len(values) // len(wrong))))
        encoding = encode_query(corpus / "00-pump.txt", encoder)
        with Index.open(index) as reading, pytest.warns(UserWarning, match="is damaged"):
            results = rank_index(encoding, reading, encoder).results
        assert results == exact(index, corpus / "00-pump.txt", encoder, monkeypatch)


def test_a_small_index_has_no_side_file(corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = corpus.parent / "small.colde"
    update_index(folder, [corpus], encoder)
    assert (folder / NAME).exists()
    monkeypatch.setattr(side_file, "EXACT", 1000)
    update_index(folder, [], encoder)
    assert not (folder / NAME).exists()


def test_an_index_is_made_although_its_side_file_cannot_be_written(corpus: Path, encoder: Encoder) -> None:
    folder = corpus.parent / "papers.colde"
    update_index(folder, [next(corpus.iterdir())], encoder)
    (folder / NAME).mkdir()
    with pytest.warns(UserWarning, match="cannot be written"):
        assert update_index(folder, [corpus], encoder).documents == 36
    assert not list(folder.glob(".colde-*"))


def flipped(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_sound_side_file_passes_the_check(index: Path, corpus: Path, encoder: Encoder) -> None:
    assert verify_index(index).problems == ()
    (corpus / "00-pump.txt").unlink()
    (corpus / "new.txt").write_text("A new document on trees.")
    update_index(index, [], encoder)  # the side file stays: one document is gone, and one is newer
    assert verify_index(index).problems == ()


@pytest.mark.parametrize("part", ["header", "ids", "weights"])
def test_the_check_finds_a_flipped_byte_in_the_side_file(
    index: Path, encoder: Encoder, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colde_cli.corpus.side_file._CHECKED", 0)  # as of a large file
    with Index.open(index) as opened:
        file = CandidateFile.open(index / NAME, opened.lineage)
    assert file is not None
    held = b"" if part == "header" else getattr(file.segments[0], part).tobytes()
    flipped(index / NAME, (index / NAME).read_bytes().index(held) + 22)
    (problem,) = verify_index(index).problems
    assert f"{NAME} is damaged" in problem
    assert f"delete it, and make it again with: colde index {index}" in problem
    (index / NAME).unlink()
    assert "is missing" in verify_index(index).problems[0]
    update_index(index, [], encoder)
    assert verify_index(index).problems == ()


def test_the_check_finds_a_side_file_of_other_documents(index: Path) -> None:
    with sqlite3.connect(index / "index.sqlite") as connection:
        connection.execute("UPDATE documents SET number = 0 WHERE number = 36")
    connection.close()
    assert "does not list the documents" in verify_index(index).problems[0]
