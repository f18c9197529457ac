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
from colde_cli import (
    Encoder,
    IgnoreOptions,
    Ranking,
    ReadOptions,
    adapt,
    clusters,
    compare,
    compare_folders,
    dupes,
    encode,
    find_files,
    history,
    index,
    open_index,
    rank,
    rank_files,
    read,
    verify,
)
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


# An agreement whose sections are named like words that a pattern of single letters would name too.
AGREEMENT = """# Supply

## Delivery

The supplier delivers malt within {} days of the order, to the door of the brewery.

## Price

The price of malt is EUR {} for each tonne, payable in March of each year.

## References

See the order form of the brewery, and the list of prices of last year.
"""


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """Two versions of an agreement: another time of delivery, another price."""
    paths = tmp_path / "v1.md", tmp_path / "v2.md"
    for path, values in zip(paths, ((14, 58), (41, 63)), strict=True):
        path.write_text(AGREEMENT.format(*values))
    return paths


def test_one_pattern_of_verify_is_no_pattern_of_each_letter(versions: tuple[Path, Path]) -> None:
    for one in ("abstract", "delivery", "/EUR \\d+/"):
        assert verify(*versions, one) == verify(*versions, [one])
        assert [rule.text for rule in verify(*versions, one).allowed] == [one]
        assert not verify(*versions, one).verified
    assert verify(*versions, ["delivery", "price"]).verified


def test_one_section_of_read_and_compare_is_no_list_of_letters(
    encoder: Encoder, versions: tuple[Path, Path]
) -> None:
    for name in ("skip_sections", "only_sections"):
        for one in ("references", "delivery"):
            alone, listed = {name: one}, {name: [one]}
            assert read(versions[0], **alone) == read(versions[0], **listed)  # type: ignore[arg-type]
            with versions[0].open("rb") as stream:
                assert read("v.md", stream=stream, **alone).sections == read(versions[0], **listed).sections  # type: ignore[arg-type]
            found, wanted = (
                compare(*versions, encoder=encoder, **given)  # type: ignore[arg-type]
                for given in (alone, listed)
            )
            assert found.to_dict() == wanted.to_dict()
            read_options = [ReadOptions(**given) for given in (alone, listed)]  # type: ignore[arg-type]
            histories = [history(versions, read=options, encoder=encoder) for options in read_options]
            assert histories[0].to_dict() == histories[1].to_dict()
    assert len(read(versions[0], skip_sections="references").sections) == 3


def test_one_section_for_folders_is_no_list_of_letters(
    encoder: Encoder, versions: tuple[Path, Path], tmp_path: Path
) -> None:
    for number, version in enumerate(versions):
        (tmp_path / str(number)).mkdir()
        version.rename(tmp_path / str(number) / "agreement.md")
    folders = tmp_path / "0", tmp_path / "1"
    for given, same in (("references", False), ("delivery|price", True)):
        found = compare_folders(*folders, read=ReadOptions(skip_sections=given), encoder=encoder)
        assert found.same is same
    with pytest.raises(OptionError, match=r"section pattern '\(x'"):
        compare_folders(*folders, read=ReadOptions(only_sections="(x"), encoder=encoder)


def test_one_version_is_no_history(encoder: Encoder, versions: tuple[Path, Path]) -> None:
    for one in (versions[0], str(versions[0]), read(versions[0])):
        with pytest.raises(OptionError, match="two versions at least"):
            history(one, encoder=encoder)


def test_one_template_and_one_kind_are_lists_of_one(versions: tuple[Path, Path]) -> None:
    template = str(versions[0])
    for like in (template, versions[0], [template], [versions[0]]):
        assert IgnoreOptions(like=like).like == (template,)  # type: ignore[arg-type]
    assert IgnoreOptions(kinds="pictures") == IgnoreOptions(kinds=("pictures",))  # type: ignore[arg-type]
    assert IgnoreOptions() == IgnoreOptions(like=[], kinds=[])  # type: ignore[arg-type]


def test_one_place_is_a_corpus(encoder: Encoder, texts: list[Path], tmp_path: Path) -> None:
    one, two, _ = texts
    for place in (two, str(two)):
        assert [hit.path for hit in rank(one, place, encoder=encoder).results] == [str(two)]
        assert find_files(place)[0] == (two,)
        assert dupes(place) == dupes([place])
        assert clusters(place, encoder=encoder) == clusters([place], encoder=encoder)
        assert adapt(place, tmp_path / "profile", encoder=encoder).skipped == ()
    assert [hit.path for hit in rank_files(encode(one, encoder), two, encoder).results] == [str(two)]


def test_one_place_of_an_index_is_followed_and_forgotten(
    encoder: Encoder, texts: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "papers.colde"
    index(folder, texts, encoder=encoder)
    index(folder, forget=str(texts[2]), encoder=encoder)
    with open_index(folder) as opened:
        assert sorted(Path(root).name for root in opened.roots()) == ["one.txt", "two.txt"]
    index(folder, texts[2], forget=texts[0], encoder=encoder)
    with open_index(folder) as opened:
        assert sorted(Path(root).name for root in opened.roots()) == ["three.txt", "two.txt"]


def test_one_text_is_one_passage(encoder: Encoder) -> None:
    assert encoder.encode_passages(LINES[0]).shape[0] == 1


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
