"""`colde rank`, from the command line to what it prints, with the real model."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import EXAMPLES, OTHER, V1, V2, check_trouble, run, run_here, run_json, schema_of, validate
from pdf_forms import Form

from colde_cli.corpus.finding import walk
from colde_cli.corpus.pipeline import Budget, CorpusReader, encode_promising
from colde_cli.corpus.rank_corpus import MATCHES, encode_query, matches
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.loading import open_encoder
from colde_cli.similarity.comparison import compare_encodings

Capture = pytest.CaptureFixture[str]


def write_corpus(folder: Path) -> Path:
    folder.mkdir()
    (folder / "pump.txt").write_text("The pump runs at night. It lifts water from the well into the tower.")
    (folder / "well.txt").write_text("A well gives water, and a pump lifts it into the tower by night.")
    (folder / "tax.md").write_text("# Tax\n\nThe council levies a tax on houses, payable in March.\n")
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "query.txt"
    path.write_text("At night a pump lifts the water of the well into the tower.")
    return path


def ranked(capsys: Capture, *arguments: str | Path) -> dict[str, Any]:
    return run_json(capsys, "rank", *arguments)


@pytest.mark.slow
def test_versions_come_first_explained_and_as_the_schema_says(capsys: Capture) -> None:
    value = ranked(capsys, V1, EXAMPLES, "--glob", "*.pdf", "--explain")
    validate(value, "colde.rank.1")
    assert list(value) == list(schema_of("colde.rank.1")["properties"])
    assert [hit["path"] for hit in value["results"]] == [V2, OTHER]
    assert (value["searched"], value["skipped"]) == (2, [])
    best = value["results"][0]["matches"][0]
    assert best["score"] > 0.99
    assert best["query"]["section"] == best["hit"]["section"]
    assert best["hit"]["text"]


@pytest.mark.slow
def test_equal_sections_are_matched_in_one_order(encoder: Encoder) -> None:
    """Six sections of the two versions are the same: the last digits, another processor's, must not choose."""
    a, b = encoder.encode_many([read(V1), read(V2)])
    found = matches(a, b, encoder.config)
    assert [round(match.score, 5) for match in found[:2]] == [1.0, 1.0]
    for noise in (1 - 1e-7, 1 + 1e-7):
        factors = np.where(np.arange(len(b.chunks)) % 2, 1, noise)[:, None]
        changed = replace(b.vectors, centred_unit_vectors=(b.centred_unit_vectors * factors).astype(np.float32))
        other = replace(b, source=changed)
        assert [match.query for match in matches(a, other, encoder.config)] == [match.query for match in found]


@pytest.mark.slow
def test_the_sections_that_match_are_those_that_a_comparison_finds(encoder: Encoder) -> None:
    for a, b in ((V1, V2), (V1, V1), (V2, OTHER)):
        one, two = encoder.encode_many([read(a), read(b)])
        compared = compare_encodings(one, two, encoder, passages=False)
        found = [(match.score, match.query.section, match.hit.section) for match in matches(one, two, encoder.config)]
        assert found == [
            (score, one.document.sections[i].heading, two.document.sections[j].heading)
            for score, i, j in compared.closest_sections(MATCHES)
        ]


SUBJECTS = """glaciers that melt in the Alps; violins and how their tops are carved; tax on the sale of farms; bees and
what they dance; bridges of steel over wide rivers; bread that is left to rise overnight; the grammar of Basque verbs;
chess openings of the last century; vaccines against measles; how salmon find their stream; tariffs on imported tyres;
orbits of small moons; the glazing of stoneware; railways across the desert; sleep of the newborn; rust on wheat;
the pricing of options; choirs in village churches""".split(";")
NOTICE = """Permission to copy this text is given to all who keep this notice with it. It comes without any warranty;
those who publish it are not liable for damages. Further copies are kept by the society in whose name it was printed."""


def test_what_all_files_of_a_folder_repeat_explains_nothing(capsys: Capture, tmp_path: Path) -> None:
    def written(name: str, subject: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {name}\n\n## Subject\n\nWe write of {subject}.\n\n## Notice\n\n{NOTICE}\n")
        return path

    for number, subject in enumerate(SUBJECTS):
        written(f"folder/{number}.md", " ".join(subject.split()))
    query = written("query.md", "melting ice: why the glaciers of the Alps grow shorter")
    hit = ranked(capsys, query, tmp_path / "folder", "--explain")["results"][0]
    assert hit["path"].endswith("0.md")
    assert hit["matches"][0]["query"]["section"] == "Subject"
    assert next(match["score"] for match in hit["matches"] if match["query"]["section"] == "Notice") < 0.1


@pytest.mark.usefixtures("own_cache")
def test_a_second_run_encodes_nothing_and_says_the_same(capsys: Capture, corpus: Path, query: Path) -> None:
    first = ranked(capsys, query, corpus, "--explain")
    second = ranked(capsys, query, corpus, "--explain")
    without = ranked(capsys, query, corpus, "--explain", "--no-cache")
    threads = ranked(capsys, query, corpus, "--explain", "--no-cache", "--threads", "3")
    # The one value that says what a run did; all others are of the documents.
    assert [value.pop("encoded") for value in (first, second, without, threads)] == [3, 0, 3, 3]
    assert second == without == threads == first


@pytest.mark.usefixtures("own_cache")
def test_a_changed_file_is_encoded_again(capsys: Capture, corpus: Path, query: Path) -> None:
    ranked(capsys, query, corpus)
    (corpus / "tax.md").write_text("# Tax\n\nThe tax is gone.\n")
    shutil.move(corpus / "well.txt", corpus / "moved.txt")
    value = ranked(capsys, query, corpus)
    assert value["encoded"] == 1
    assert {Path(hit["path"]).name for hit in value["results"]} == {"pump.txt", "moved.txt", "tax.md"}


def test_of_equal_documents_the_first_by_path_are_listed(capsys: Capture, corpus: Path, query: Path) -> None:
    for name in ("q", "n", "m", "o"):
        shutil.copy(corpus / "pump.txt", corpus / f"{name}.txt")
    value = ranked(capsys, query, corpus, "-k", "3")
    assert [Path(hit["path"]).name for hit in value["results"]] == ["well.txt", "m.txt", "n.txt"]


def test_top_and_min_score_limit_the_list(capsys: Capture, corpus: Path, query: Path) -> None:
    assert len(ranked(capsys, query, corpus, "-k", "1")["results"]) == 1
    nothing = run(capsys, "rank", query, corpus, "--min-score", "0.9999")
    assert nothing.status == 1
    assert "No document is similar enough." in nothing.out
    assert run(capsys, "rank", query, corpus, "--min-score", "0.9999", "--exit-zero").status == 0
    for format in ("table", "markdown", "html"):
        left = run(capsys, "rank", query, corpus, "--where", "section=no such heading", "--format", format)
        assert left.status == 1
        assert "There was no document to compare with." in left.out


def test_bad_files_are_reported_and_the_rest_is_ranked(capsys: Capture, corpus: Path, query: Path) -> None:
    (corpus / "bad.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
    (corpus / "empty.txt").write_bytes(b"")
    photo = corpus / "photo.png"
    photo.write_bytes(b"\x89PNG\r\n\x1a\n")
    result = run(capsys, "rank", query, corpus, photo, "--format", "json")
    value = json.loads(result.out)
    assert result.status == 0
    assert value["searched"] == 3
    assert [Path(skipped["path"]).name for skipped in value["skipped"]] == ["bad.pdf", "empty.txt", "photo.png"]
    lines = result.err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("Warning: Skipped ") for line in lines)
    assert run(capsys, "rank", query, corpus, "-q").err == ""
    strict = run(capsys, "rank", query, corpus, "--strict")
    assert strict.status == 2
    assert "3 documents searched" in strict.out


@pytest.mark.usefixtures("own_cache")
@pytest.mark.slow
def test_documents_that_were_half_read_are_told_from_the_cache_too(capsys: Capture, corpus: Path, query: Path) -> None:
    Form(("Please wait ...",)).dynamic().write(corpus / "wait.pdf")
    for encoded in (4, 0):
        result = run(capsys, "rank", query, corpus, "--format", "json", "-k", "1")
        value = json.loads(result.out)
        validate(value, "colde.rank.1")
        assert value["encoded"] == encoded
        (said,) = value["warnings"]
        assert said["path"] == str(corpus / "wait.pdf")
        assert result.err.splitlines() == [f"Warning: {said['path']}: {said['warnings'][0]}"]
    assert run(capsys, "rank", query, corpus, "-q").err == ""
    assert ranked(capsys, corpus / "wait.pdf", corpus)["warnings"] == [said]
    for output in ("csv", "markdown"):
        assert "wait.pdf" in run(capsys, "rank", query, corpus, "--format", output, "-q").out


@pytest.mark.parametrize("kind", ["itself", "nested", "symlink", "hard link", "left out"])
def test_a_document_of_the_corpus_is_never_overwritten(
    capsys: Capture, corpus: Path, query: Path, tmp_path: Path, kind: str
) -> None:
    target = corpus / "pump.txt"
    if kind == "nested":
        (corpus / "sub").mkdir()
        target = target.rename(corpus / "sub" / "pump.txt")
    output = {"symlink": tmp_path / "out.txt", "hard link": tmp_path / "out.md"}.get(kind, target)
    if kind == "symlink":
        output.symlink_to(target)
    if kind == "hard link":
        output.hardlink_to(target)
    before = target.read_bytes()
    check_trouble(run(capsys, "rank", query, corpus, *(["--glob", "*.md"] * (kind == "left out")), "-o", output))
    assert target.read_bytes() == before


def test_a_new_file_in_the_corpus_may_be_the_output(capsys: Capture, corpus: Path, query: Path) -> None:
    for _ in range(2):
        assert run(capsys, "rank", query, corpus, "-o", corpus / "found.json").status == 0


def test_the_query_may_come_from_standard_input(corpus: Path) -> None:
    result = run_here("rank", "-", corpus, "--format", "json", stdin=b"A pump and a well.")
    assert result.status == 0
    assert json.loads(result.out)["query"]["path"] == "-"


def test_nothing_to_search_is_trouble(capsys: Capture, corpus: Path, query: Path, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    for arguments in ((tmp_path / "void",), (tmp_path / "missing",), (corpus, "--glob", "*.docx")):
        check_trouble(run(capsys, "rank", query, *arguments))
    check_trouble(run(capsys, "rank", tmp_path / "missing.txt", corpus))


def test_lines_of_json_and_a_page_are_written(capsys: Capture, corpus: Path, query: Path, tmp_path: Path) -> None:
    whole = ranked(capsys, query, corpus, "--explain")
    lines = run(capsys, "rank", query, corpus, "--explain", "--format", "jsonl").out.splitlines()
    found = [json.loads(line) for line in lines]
    assert found == [{"query": str(query), **hit} for hit in whole["results"]]
    page = tmp_path / "found.html"
    assert run(capsys, "rank", query, corpus, "-o", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert all(hit["title"] in text for hit in whole["results"])


@pytest.fixture
def cold(tmp_path: Path, own_cache: None) -> Path:
    """Thirty documents, the one about a pump last."""
    folder = tmp_path / "cold"
    folder.mkdir()
    for number in range(29):
        (folder / f"{number:02}.txt").write_text(f"The council levies tax number {number} on houses. " * 15)
    (folder / "zz.txt").write_text("A well gives water, and a pump lifts it into the tower by night. " * 12)
    return folder


def test_the_most_promising_documents_are_encoded_first(cold: Path, query: Path) -> None:
    encoder = open_encoder()
    budget = Budget(encode_query(query, encoder), 1000)
    with closing(encode_promising(budget, walk([cold]), encoder, CorpusReader())) as items:
        first = next(items)
    assert isinstance(first, Encoding)
    assert Path(first.document.path).name == "zz.txt"


@pytest.mark.slow
def test_without_time_one_document_is_encoded_and_the_next_run_goes_on(
    capsys: Capture, cold: Path, query: Path
) -> None:
    for searched in (1, 2):
        result = run(capsys, "rank", query, cold, "--budget", "0.000001", "--format", "json")
        value = json.loads(result.out)
        assert (value["searched"], value["encoded"], value["unencoded"]) == (searched, 1, 30 - searched)
        assert len(result.err.splitlines()) == 1
    assert "27 not encoded" in run(capsys, "rank", query, cold, "--budget", "0").out.splitlines()[1]


@pytest.mark.slow
def test_enough_time_gives_what_no_budget_gives(capsys: Capture, cold: Path, query: Path) -> None:
    (cold / "bad.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
    (cold / "signs.txt").write_text("\u200b")
    value = ranked(capsys, query, cold, "--budget", "1000", "--no-cache")
    validate(value, "colde.rank.1")
    assert value["unencoded"] == 0
    assert len(value["skipped"]) == 2
    assert value == ranked(capsys, query, cold, "--no-cache")


@pytest.mark.usefixtures("own_cache")
def test_verbose_shows_how_long_each_stage_took(capsys: Capture, corpus: Path, query: Path) -> None:
    said = run(capsys, "rank", query, corpus, "-v").err
    assert "Encoded 3 documents in" in said
    for stage in ("read", "chunk", "encode", "write", "wait"):
        assert re.search(rf"\b{stage} \d+\.\d", said)
    assert "Encoded" not in run(capsys, "rank", query, corpus, "-v").err


@pytest.fixture(scope="module", params=["files", "index"])
def searched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus as a folder, and as an index of it; the files differ in age and size."""
    corpus = write_corpus(tmp_path_factory.mktemp("searched") / "corpus")
    (corpus / "tax.md").write_text((corpus / "tax.md").read_text() + "It is due in spring.\n" * 500)
    for name, age in (("pump.txt", 10), ("well.txt", 40), ("tax.md", 400)):
        then = time.time() - age * 86_400
        os.utime(corpus / name, (then, then))
    if request.param == "files":
        return corpus
    assert run_here("index", corpus, "-o", corpus.parent / "corpus.colde").status == 0
    return corpus.parent / "corpus.colde"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--where", "newer=30d"), ["pump.txt"]), (("--where", "older=2w", "--where", "newer=100d"), ["well.txt"]),
        (("--where", "older=3w"), ["well.txt", "tax.md"]), (("--where", "min-size=5kB"), ["tax.md"]),
        (("--where", "newer=1999-12-31"), ["pump.txt", "well.txt", "tax.md"]),
        (("--where", "older=1999-12-31 23:59"), []), (("--where", "max-size=5kB", "--glob", "w*"), ["well.txt"]),
        (("--where", "section=^TA.$"), ["tax.md"]), (("--where", "section=abstract"), []),
    ],
    ids=" ".join,
)  # fmt: skip
def test_files_are_chosen_by_time_size_and_section(
    capsys: Capture, searched: Path, query: Path, options: tuple[str, ...], found: list[str]
) -> None:
    result = run(capsys, "rank", query, searched, *options, "--format", "json")
    value = json.loads(result.out)
    assert {Path(hit["path"]).name for hit in value["results"]} == set(found)
    assert value["searched"] == len(found)
    assert result.status == (0 if found else 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--where", "newer=yesterday"), "--where newer"), (("--where", "colour=red"), "--where colour=red"),
        (("--where", "older=2026-13-01"), "--where older"), (("--where", "min-size=big"), "--where min-size"),
        (("--where", "section=("), "section pattern"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_filter_that_means_nothing_is_trouble(
    capsys: Capture, corpus: Path, query: Path, options: tuple[str, ...], named: str
) -> None:
    result = run(capsys, "rank", query, corpus, *options)
    check_trouble(result)
    assert named in result.err
