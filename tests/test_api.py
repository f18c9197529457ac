"""The Python interface: documents by path, by pattern and as read; results as plain data."""

from __future__ import annotations

import inspect
import json
import pickle
import typing
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import OTHER, V1, V2, run, run_python

import colde_cli
from colde_cli import (
    Cache,
    Comparison,
    IgnoreOptions,
    Model,
    Ranking,
    compare,
    dupes,
    history,
    open_index,
    read,
    verify,
)
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.errors import MissingFileError, ModelError, NoTextError, OptionError
from colde_cli.types import Encoder, find_files, rank_files

LINES = ["The pump lifts water into the tower at night.", "The council levies a tax on houses, due in March."]


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """A text, the same with one number more, and one that has nothing to do with them."""
    bodies = ["\n\n".join(LINES), "\n\n".join([*LINES, "It pays 12 dollars."]), "The choir is late."]
    paths = [tmp_path / f"{name}.txt" for name in ("one", "two", "three")]
    for path, body in zip(paths, bodies, strict=True):
        path.write_text(body)
    return paths


@pytest.fixture(scope="session")
def model(encoder: Encoder) -> Model:
    return Model(encoder)


def test_paths_documents_encodings_and_the_command_give_the_same(
    model: Model, texts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = texts[:2]
    by_path = model.compare(str(one), two)
    printed = json.loads(run(capsys, "diff", one, two, "--format", "json", "--device", "cpu").out)
    assert by_path.to_dict() == model.compare(read(one), read(two)).to_dict() == printed
    assert model.compare(model.encode(one), model.encode(two)).to_dict() == printed
    with pytest.raises(OptionError, match="One of the two is encoded"):
        model.compare(one, model.encode(two))


def test_a_model_is_loaded_by_name_when_it_is_needed(model_folder: Path, texts: list[Path]) -> None:
    comparison = Model(model_folder, device="cpu").compare(*texts[:2], passages=False)
    assert comparison.model.name == "colde-minilm-l6"
    assert comparison.alignment is None
    absent = Model("nonesuch")
    with pytest.raises(ModelError, match="nonesuch"):
        absent.compare(*texts[:2])


def test_functions_use_a_model_that_is_kept(model: Model, texts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_encoder(name: str, **_: object) -> DocumentEncoder:
        opened.append(name)
        return model.encoder

    monkeypatch.setattr("colde_cli.encoder.loading.open_encoder", open_encoder)
    monkeypatch.setattr("colde_cli.model_api.KEPT._encoder", None)
    wanted = model.compare(*texts[:2]).to_dict()
    for _ in range(2):
        assert compare(*texts[:2]).to_dict() == wanted
    assert opened == ["colde-minilm-l6"]


def test_a_model_goes_to_another_process(model: Model, texts: list[Path], tmp_path: Path) -> None:
    chosen = Model("colde-minilm-l6", device="cpu", threads=1, cache=Cache(tmp_path, 1000))
    for one in (chosen, model):
        again = pickle.loads(pickle.dumps(one))
        assert (repr(again), again.threads) == (repr(one), one.threads)
        assert again.compare(*texts[:2]).to_dict() == one.compare(*texts[:2]).to_dict()


def untyped(called: Any) -> Any:
    """For arguments that a type checker refuses too."""
    return called


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda model, a, b: model.compare(3, b), "a is 3; give a path"),
        (lambda model, a, b: model.rank(None, b), "query is None; give a path"),
        (lambda model, a, b: model.rank(a, 7), "corpus is 7; give paths"),
        (lambda model, a, b: model.rank(a, b, top="3"), "top is '3'; give a whole number"),
        (lambda model, a, b: model.compare(a, b, pages="3-17"), r"pages is '3-17'.*\(3, 17\)"),
        (lambda model, a, b: untyped(read)(a, pages=(3, "17")), "pages is"),
        (lambda model, a, b: read(a, pages=(17, 3)), "pages 17-3 is not a range"),
        (lambda model, a, b: untyped(read)(a, skip_sections=3), "skip_sections is 3; give patterns"),
        (lambda model, a, b: model.compare(a, b, ignore="case"), "ignore is 'case'; give IgnoreOptions"),
        (lambda model, a, b: model.compare(a, b, ignore=IgnoreOptions(like=("-",))), r"^ignore\.like cannot"),
        (lambda model, a, b: dupes(a, min_share=40), "min_share is 40; give a share"),
        (lambda model, a, b: untyped(model.comments)(a, b, 3), "review is 3; give a path"),
        (lambda model, a, b: model.clusters([a, b], resolution=0), "resolution is 0; give a number above 0"),
        (lambda model, a, b: untyped(Model)(3), "model is 3; give the name"),
        (lambda model, a, b: untyped(Model)(device=0), "device is 0; give"),
    ],
)
def test_a_wrong_argument_is_named_as_in_python(
    model: Model, texts: list[Path], call: Callable[..., object], sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence) as raised:
        call(model, *texts[:2])
    assert "--" not in str(raised.value)


def public_functions() -> Iterator[Any]:
    """The functions of the package, and the methods of the model."""
    for home in (colde_cli, Model):
        for name in (name for name in dir(home) if not name.startswith("_")):
            if inspect.isfunction(getattr(home, name)) and name != "import_module":
                yield getattr(home, name)


def test_the_types_of_every_public_function_can_be_looked_up() -> None:
    functions = {function.__name__: typing.get_type_hints(function) for function in public_functions()}
    assert functions["compare"]["return"] is Comparison
    assert len(functions) == 14


def test_a_repr_is_short_and_computes_nothing(
    model: Model, texts: list[Path], ranking: Ranking, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = read(V1), read(V2)
    encodings = model.encoder.encode_later(documents)
    shown = [
        *(model, documents[0], ranking, verify(*documents), dupes([V1, V2]), model.history(documents)),
        *(model.compare(*texts[:2]), replace(ranking, results=ranking.results * 50)),
    ]
    monkeypatch.setattr(Encoder, "encode_chunks", None)  # nothing can be encoded
    for one in (*shown, *encodings):
        assert len(repr(one)) < 300
    assert "field-study-v2.pdf" in repr(ranking)
    assert "field-study-v1.pdf" in repr(documents[0])
    assert "field-study-v1.pdf" in repr(encodings[0])


def test_what_is_ignored_and_selected_is_left_out(model: Model, texts: list[Path]) -> None:
    template = texts[2].with_name("template.txt")
    template.write_text(LINES[0])
    ignore = IgnoreOptions(like=(str(template),))
    comparison = model.compare(*texts[:2], ignore=ignore)
    assert all("pump" not in pair.a_text for pair in comparison.passages)
    assert comparison.to_dict()["ignored"]["like"] == [str(template)]
    with pytest.raises(NoTextError, match=r"template\.txt"):
        model.compare(template, texts[1], ignore=ignore)


@pytest.mark.parametrize(
    ("a", "options", "sentence"), [("-", {}, "Only one"), (read, {"pages": (1, 2)}, "when a file is read")]
)
def test_options_that_do_not_fit_are_an_error(
    model: Model, texts: list[Path], a: Any, options: dict[str, Any], sentence: str
) -> None:
    source = read(texts[0]) if a is read else a
    with pytest.raises(OptionError, match=sentence):
        model.compare(source, source, **options)


def test_a_corpus_is_folders_files_and_patterns(model: Model, texts: list[Path]) -> None:
    folder = texts[0].parent
    corpora: list[str | Path | list[str | Path]] = [
        folder, str(folder), f"{folder}/t*.txt", [texts[1], texts[2]], [f"{folder}/*wo.txt", texts[2]],
    ]  # fmt: skip
    for corpus in corpora:
        ranking = model.rank(texts[0], corpus)
        assert [Path(hit.path).name for hit in ranking.results] == ["two.txt", "three.txt"]
    by_document = model.rank(read(texts[0]), folder, glob="tw*")
    assert [hit.path for hit in by_document.results] == [str(texts[1])]


def test_a_file_may_be_named_like_a_pattern(model: Model, texts: list[Path]) -> None:
    strange = texts[2].rename(texts[2].with_name("three[1].txt"))
    assert model.rank(texts[0], str(strange)).results[0].path == str(strange)


def test_a_corpus_without_documents_is_an_error(model: Model, texts: list[Path]) -> None:
    folder = texts[0].parent
    with pytest.raises(OptionError, match=r"fits '\*\.pdf'"):
        model.rank(texts[0], folder, glob="*.pdf")
    with pytest.raises(OptionError, match="no document to search"):
        model.rank(texts[0], f"{folder}/*.pdf")
    with pytest.raises(MissingFileError):
        model.rank(texts[0], folder / "nowhere")


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


@pytest.mark.slow
def test_one_section_of_read_and_compare_is_no_list_of_letters(model: Model, versions: tuple[Path, Path]) -> None:
    for name in ("skip_sections", "only_sections"):
        for one in ("references", "delivery"):
            alone: dict[str, Any] = {name: one}
            listed: dict[str, Any] = {name: [one]}
            assert read(versions[0], **alone) == read(versions[0], **listed)
            with versions[0].open("rb") as stream:
                assert read("v.md", stream=stream, **alone).sections == read(versions[0], **listed).sections
            found, wanted = (model.compare(*versions, **given) for given in (alone, listed))
            assert found.to_dict() == wanted.to_dict()
            histories = [model.history(versions, **given) for given in (alone, listed)]
            assert histories[0].to_dict() == histories[1].to_dict()
    assert len(read(versions[0], skip_sections="references").sections) == 3


def test_one_section_for_folders_is_no_list_of_letters(
    model: Model, versions: tuple[Path, Path], tmp_path: Path
) -> None:
    for number, version in enumerate(versions):
        (tmp_path / str(number)).mkdir()
        version.rename(tmp_path / str(number) / "agreement.md")
    folders = tmp_path / "0", tmp_path / "1"
    for given, same in (("references", False), ("delivery|price", True)):
        found = model.compare_folders(*folders, skip_sections=given)
        assert found.same is same
    with pytest.raises(OptionError, match=r"section pattern '\(x'"):
        model.compare_folders(*folders, only_sections="(x")


def test_one_version_is_no_history(model: Model, versions: tuple[Path, Path]) -> None:
    for one in (versions[0], str(versions[0]), read(versions[0])):
        with pytest.raises(OptionError, match="two versions at least"):
            history(one)


def test_one_template_and_one_kind_are_lists_of_one(versions: tuple[Path, Path]) -> None:
    template = str(versions[0])
    for like in (template, versions[0], [template], [versions[0]]):
        assert IgnoreOptions(like=like).like == (template,)  # type: ignore[arg-type]
    assert IgnoreOptions(kinds="pictures") == IgnoreOptions(kinds=("pictures",))  # type: ignore[arg-type]
    assert IgnoreOptions() == IgnoreOptions(like=[], kinds=[])  # type: ignore[arg-type]


def test_one_place_is_a_corpus(model: Model, texts: list[Path], tmp_path: Path) -> None:
    one, two, _ = texts
    for place in (two, str(two)):
        assert [hit.path for hit in model.rank(one, place).results] == [str(two)]
        assert find_files(place)[0] == (two,)
        assert dupes(place) == dupes([place])
        assert model.clusters(place) == model.clusters([place])
        assert model.adapt(place, tmp_path / "profile").skipped == ()
    assert [hit.path for hit in rank_files(model.encode(one), two, model.encoder).results] == [str(two)]


def test_one_place_of_an_index_is_followed_and_forgotten(model: Model, texts: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "papers.colde"
    model.index(folder, texts)
    model.index(folder, forget=str(texts[2]))
    with open_index(folder) as opened:
        assert sorted(Path(root).name for root in opened.roots()) == ["one.txt", "two.txt"]
    model.index(folder, texts[2], forget=texts[0])
    with open_index(folder) as opened:
        assert sorted(Path(root).name for root in opened.roots()) == ["three.txt", "two.txt"]


def test_one_text_is_one_passage(encoder: Encoder) -> None:
    assert encoder.encode_passages(LINES[0]).shape[0] == 1


@pytest.fixture(scope="module")
def ranking(model: Model) -> Ranking:
    return model.rank(V1, [V2, OTHER], explain=True)


def test_a_ranking_is_plain_data(ranking: Ranking) -> None:
    again = pickle.loads(pickle.dumps(ranking))
    assert again == ranking
    assert again.to_dict() == ranking.to_dict()
    assert json.loads(json.dumps(ranking.to_dict())) == ranking.to_dict()
    assert len(ranking) == 2
    assert [hit.path for hit in ranking] == [V2, OTHER]


def test_a_progress_hears_of_every_file(model: Model, texts: list[Path]) -> None:
    told: list[int] = []
    model.rank(texts[0], texts[0].parent, progress=told.append)
    assert sum(told) == 2


def test_every_public_name_is_there() -> None:
    names = colde_cli.__all__
    assert all(getattr(colde_cli, name) is not None for name in names)
    assert list(names) == sorted(names)
    assert len(names) <= 38
    assert set(names) <= set(dir(colde_cli))
    for absent in ("nonesuch", "Nonesuch", "NonesuchError"):
        with pytest.raises(AttributeError, match=absent):
            getattr(colde_cli, absent)


def test_the_front_door_opens_without_arrays_or_models() -> None:
    """Reading begins before these are imported: `colde diff` would start later otherwise."""
    code = "import sys, colde_cli.model_api; print(*sys.modules)"
    done = run_python(code)
    assert done.status == 0, done.err
    assert not {"numpy", "onnxruntime", "sqlite3", "rich", "tokenizers"} & set(done.out.split())
