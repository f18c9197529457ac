"""Bringing an index up to date: only what is new or changed is read, and nothing is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from colde_cli.corpus.index import Filter, Index
from colde_cli.corpus.indexing import IndexUpdate, update_index
from colde_cli.corpus.ranking import encode_query, rank_files, rank_index
from colde_cli.corpus.writing import writing
from colde_cli.encoder.encoder import Encoder
from colde_cli.errors import BadIndexError, MissingFileError, OptionError

TEXTS = {
    "pump.txt": "The pump runs at night. It lifts water from the well into the tower.",
    "well.txt": "A well gives water, and a pump lifts it into the tower by night.",
    "deep/tax.md": "# Tax\n\nThe council levies a tax on houses, payable in March.\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    age(folder)
    return folder


def age(folder: Path, seconds: int = 100) -> None:
    """Make all files older, so that a later change shows in their time."""
    for path in folder.rglob("*"):
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 10**9))


@pytest.fixture
def index(corpus: Path, encoder: Encoder) -> Path:
    folder = corpus.parent / "papers.colde"
    update_index(folder, [corpus], encoder)
    return folder


def names(folder: Path) -> dict[str, int]:
    with Index.open(folder) as index:
        return {Path(item.path).name: item.number for item in index.documents()}


def counts(update: IndexUpdate) -> tuple[int, int, int, int, int]:
    return update.added, update.changed, update.renamed, update.removed, update.encoded


def test_a_new_index_holds_every_document(index: Path, corpus: Path) -> None:
    with Index.open(index) as opened:
        found = {Path(item.path).name: item for item in opened.documents()}
        assert set(found) == {"pump.txt", "well.txt", "tax.md"}
        assert found["tax.md"].title == "Tax"
        assert found["pump.txt"].title == "pump.txt"
        assert found["pump.txt"].words == len(TEXTS["pump.txt"].split())
        assert found["pump.txt"].chunks == 1
        assert (
            opened.document(found["tax.md"].number).text
            == "Tax\n\nThe council levies a tax on houses, payable in March."
        )


def test_a_second_run_changes_nothing(index: Path, encoder: Encoder) -> None:
    with Index.open(index) as opened:
        before = opened.generation
    assert counts(update_index(index, [], encoder)) == (0, 0, 0, 0, 0)
    with Index.open(index) as opened:
        assert opened.generation == before


def test_only_what_changed_costs_anything(index: Path, corpus: Path, encoder: Encoder) -> None:
    before = names(index)
    (corpus / "pump.txt").write_text("The pump stands still.")
    (corpus / "well.txt").rename(corpus / "deep" / "moved.txt")
    shutil.copy(corpus / "deep" / "tax.md", corpus / "copy.md")
    (corpus / "new.txt").write_text("A new document on trees.")
    update = update_index(index, [], encoder)
    assert counts(update) == (
        2,
        1,
        1,
        0,
        2,
    )  # added: the copy and the new one; encoded: the new and the changed one
    after = names(index)
    assert set(after) == {"pump.txt", "moved.txt", "tax.md", "copy.md", "new.txt"}
    assert after["moved.txt"] == before["well.txt"]
    assert after["tax.md"] == before["tax.md"]
    assert after["pump.txt"] not in before.values()


def test_a_file_that_is_gone_is_dropped_and_costs_nothing_when_it_is_back(
    index: Path, corpus: Path, encoder: Encoder
) -> None:
    (corpus / "well.txt").unlink()
    assert counts(update_index(index, [], encoder)) == (0, 0, 0, 1, 0)
    assert "well.txt" not in names(index)
    (corpus / "well.txt").write_text(TEXTS["well.txt"])
    assert counts(update_index(index, [], encoder)) == (1, 0, 0, 0, 0)


def test_a_change_within_the_same_time_and_size_is_found(corpus: Path, encoder: Encoder) -> None:
    folder, path = corpus.parent / "papers.colde", corpus / "pump.txt"
    path.write_text("The pump runs at night.")
    status = path.stat()
    update_index(folder, [corpus], encoder)
    path.write_text("The pump rests at noon.")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert update_index(folder, [], encoder).changed == 1


def test_a_bad_file_is_kept_with_its_reason_and_tried_again_when_it_changes(
    index: Path, corpus: Path, encoder: Encoder
) -> None:
    bad = corpus / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing more")
    update = update_index(index, [], encoder)
    assert [Path(item.path).name for item in update.failed] == ["bad.pdf"]
    with Index.open(index) as opened:
        assert [item.path for item in opened.bad_files()] == [str(bad)]
        assert opened.bad_files()[0].reason == update.failed[0].reason
    assert update_index(index, [], encoder).failed == ()
    bad.write_bytes(b"%PDF-1.7 still nothing")
    assert len(update_index(index, [], encoder).failed) == 1
    shutil.copy(Path(__file__).parent.parent / "examples" / "field-study-v1.pdf", bad)
    assert update_index(index, [], encoder).failed == ()
    assert "bad.pdf" in names(index)


def test_ranking_in_an_index_is_that_of_the_files(index: Path, corpus: Path, encoder: Encoder) -> None:
    query = encode_query(corpus / "pump.txt", encoder)
    files = sorted(path for path in corpus.rglob("*") if path.is_file())
    exact = rank_files(query, files, encoder, explain=True)
    with Index.open(index) as opened:
        ranking = rank_index(query, opened, encoder, explain=True)
    assert [hit.path for hit in ranking.results] == [hit.path for hit in exact.results]
    assert ranking.searched == exact.searched == 2
    for hit, other in zip(ranking.results, exact.results, strict=True):
        assert hit.score == pytest.approx(other.score, abs=2e-3)
        assert [match.hit.text for match in hit.matches] == [match.hit.text for match in other.matches]


def test_an_encoding_survives_the_index(index: Path, corpus: Path, encoder: Encoder) -> None:
    path = corpus / "pump.txt"
    exact = encode_query(path, encoder)
    with Index.open(index) as opened:
        kept = opened.encoding(names(index)["pump.txt"], encoder)
        document, cut = opened.passages(names(index)["pump.txt"])
    assert kept.document == exact.document == document
    assert kept.chunks == exact.chunks
    assert [document.text[item.span.start : item.span.end] for item in cut] == [TEXTS["pump.txt"]]
    for name in ("chunk_vectors", "centred_unit_vectors", "section_vectors", "document_vector"):
        a, b = getattr(kept, name), getattr(exact, name)
        assert np.abs(a - b).max() <= np.abs(b).max() / 100, name
    assert kept.terms is not None
    assert exact.terms is not None
    assert (kept.terms.buckets == exact.terms.buckets).all()


def test_a_filter_takes_a_part_of_the_documents(index: Path, corpus: Path) -> None:
    size = (corpus / "pump.txt").stat().st_size
    with Index.open(index) as opened:
        assert len(opened.numbers()) == 3
        assert len(opened.numbers(Filter(glob="*.md"))) == 1
        assert len(opened.numbers(Filter(glob="deep/*"))) == 1
        assert len(opened.numbers(Filter(least_size=size))) == 1
        assert len(opened.numbers(Filter(changed_after=10**9 * 4_000_000_000))) == 0


def test_there_is_one_writer(index: Path, encoder: Encoder) -> None:
    with writing(index), pytest.raises(BadIndexError, match="being written by another process"):
        update_index(index, [], encoder)


def test_what_is_no_index_is_not_overwritten(corpus: Path, encoder: Encoder) -> None:
    with pytest.raises(OptionError, match="is no index"):
        update_index(corpus, [corpus], encoder)
    with pytest.raises(OptionError, match="is a file"):
        update_index(corpus / "pump.txt", [corpus], encoder)
    with pytest.raises(BadIndexError, match="is no index"):
        update_index(corpus, [], encoder)


def test_a_folder_that_is_gone_leaves_the_index_as_it_is(index: Path, corpus: Path, encoder: Encoder) -> None:
    corpus.rename(corpus.parent / "elsewhere")
    with pytest.raises((MissingFileError, BadIndexError)):
        update_index(index, [], encoder)
    assert len(names(index)) == 3
