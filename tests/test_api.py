"""The Python interface: documents by path, by pattern and as read; results as plain data."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import OTHER, V1, V2, run

import colde_cli
from colde_cli import Encoder, IgnoreOptions, Ranking, compare, rank, read
from colde_cli.errors import MissingFileError, NoTextError, OptionError

LINES = ["The pump lifts water into the tower at night.", "The council levies a tax on houses, due in March."]


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """A text, the same with one number more, and one that has nothing to do with them."""
    bodies = ["\n\n".join(LINES), "\n\n".join([*LINES, "It pays 12 dollars."]), "The choir is late."]
    paths = [tmp_path / f"{name}.txt" for name in ("one", "two", "three")]
    for path, body in zip(paths, bodies, strict=True):
        path.write_text(body)
    return paths


def test_paths_documents_and_the_command_give_the_same(
    encoder: Encoder, texts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = texts[:2]
    by_path = compare(str(one), two, encoder=encoder)
    by_document = compare(read(one), read(two), encoder=lambda: encoder)
    printed = json.loads(run(capsys, "diff", one, two, "--format", "json", "--device", "cpu").out)
    assert by_path.to_dict() == by_document.to_dict() == printed


def test_a_model_is_opened_by_name(model_folder: Path, texts: list[Path]) -> None:
    comparison = compare(*texts[:2], model=model_folder, device="cpu", passages=False)
    assert comparison.model.name == "colde-minilm-l6"
    assert comparison.alignment is None


def test_what_is_ignored_and_selected_is_left_out(encoder: Encoder, texts: list[Path]) -> None:
    template = texts[2].with_name("template.txt")
    template.write_text(LINES[0])
    ignore = IgnoreOptions(like=(str(template),))
    comparison = compare(*texts[:2], ignore=ignore, encoder=encoder)
    assert all("pump" not in pair.a_text for pair in comparison.passages)
    assert comparison.to_dict()["ignored"]["like"] == [str(template)]
    with pytest.raises(NoTextError, match=r"template\.txt"):
        compare(template, texts[1], ignore=ignore, encoder=encoder)


@pytest.mark.parametrize(
    ("a", "options", "sentence"),
    [
        ("-", {}, "Only one"),
        (V1, {"ignore": IgnoreOptions(like=("-",))}, "standard input"),
        (read, {"pages": (1, 2)}, "when a file is read"),
    ],
)
def test_options_that_do_not_fit_are_an_error(
    encoder: Encoder, texts: list[Path], a: object, options: dict[str, object], sentence: str
) -> None:
    source = read(texts[0]) if a is read else a
    with pytest.raises(OptionError, match=sentence):
        compare(source, source, encoder=encoder, **options)  # type: ignore[arg-type]


def test_a_corpus_is_folders_files_and_patterns(encoder: Encoder, texts: list[Path]) -> None:
    folder = texts[0].parent
    for corpus in (
        folder,
        str(folder),
        [texts[1], texts[2]],
        f"{folder}/t*.txt",
        [f"{folder}/*wo.txt", texts[2]],
    ):
        ranking = rank(texts[0], corpus, encoder=encoder)
        assert [Path(hit.path).name for hit in ranking.results] == ["two.txt", "three.txt"]
    by_document = rank(read(texts[0]), folder, glob="tw*", encoder=encoder)
    assert [hit.path for hit in by_document.results] == [str(texts[1])]


def test_a_file_may_be_named_like_a_pattern(encoder: Encoder, texts: list[Path]) -> None:
    strange = texts[2].rename(texts[2].with_name("three[1].txt"))
    assert rank(texts[0], str(strange), encoder=encoder).results[0].path == str(strange)


def test_a_corpus_without_documents_is_an_error(encoder: Encoder, texts: list[Path]) -> None:
    folder = texts[0].parent
    with pytest.raises(OptionError, match=r"fits '\*\.pdf'"):
        rank(texts[0], folder, glob="*.pdf", encoder=encoder)
    with pytest.raises(OptionError, match="no document to search"):
        rank(texts[0], f"{folder}/*.pdf", encoder=encoder)
    with pytest.raises(MissingFileError):
        rank(texts[0], folder / "nowhere", encoder=encoder)


@pytest.fixture(scope="module")
def ranking(encoder: Encoder) -> Ranking:
    return rank(V1, [V2, OTHER], explain=True, encoder=encoder)


def test_a_ranking_is_plain_data(ranking: Ranking) -> None:
    again = pickle.loads(pickle.dumps(ranking))
    assert again == ranking
    assert again.to_dict() == ranking.to_dict()
    assert json.loads(json.dumps(ranking.to_dict())) == ranking.to_dict()
    many = replace(ranking, results=ranking.results * 50)
    assert len(repr(many)) < 1000
    assert "field-study-v2.pdf" in repr(many)


def test_a_progress_hears_of_every_file(encoder: Encoder, texts: list[Path]) -> None:
    told: list[int] = []
    rank(texts[0], texts[0].parent, encoder=encoder, progress=told.append)
    assert sum(told) == 2


def test_every_public_name_is_there() -> None:
    assert all(getattr(colde_cli, name) is not None for name in colde_cli.__all__)
    assert list(colde_cli.__all__) == sorted(colde_cli.__all__)
    assert set(colde_cli._MODULE_OF) == {name for name in colde_cli.__all__ if not name.startswith("__")}
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = colde_cli.nonesuch


def test_the_front_door_opens_without_arrays_or_models(repository: Path) -> None:
    """Reading begins before these are imported: `colde diff` would start later otherwise."""
    code = "import sys, colde_cli.api; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True
    )
    assert not {"numpy", "onnxruntime", "sqlite3", "rich", "tokenizers"} & set(done.stdout.split())
