"""Cases of planted passages: the passage is really there, and nothing else has changed."""

from __future__ import annotations

import gzip
import importlib
import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from colde_cli.documents.document import Chunk, Document, Part, Span, assemble
from colde_cli.encoder.encoder import Encoder

SYLLABLES = "ba ke li mo nu ra se ti vo za pel dar gon fis".split()
WORDS = [one + two + three for one in SYLLABLES for two in SYLLABLES for three in SYLLABLES[:4]]


@pytest.fixture
def planting(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("planting")


@pytest.fixture
def planted(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("planted")


def document(seed: int, sections: int = 3, sentences: int = 30) -> Document:
    generator = random.Random(seed)
    parts = [
        Part(f"{place} Part", " ".join(sentence(generator) for _ in range(sentences))) for place in range(sections)
    ]
    return assemble("", f"Document {seed}", parts)


def sentence(generator: random.Random) -> str:
    return " ".join(generator.choices(WORDS, k=11)).capitalize() + "."


@pytest.mark.parametrize("manner", ["inserted", "replacing"])
@pytest.mark.parametrize("kind", ["copied", "reworded"])
def test_the_passage_stands_in_both(planting: ModuleType, kind: str, manner: str) -> None:
    for seed in range(20):
        a, b = document(seed), document(100 + seed)
        case = planting.plant_passage(a, b, kind, manner, seed)
        assert 60 <= len(case.original.split()) <= 250
        assert case.text == (case.original if kind == "copied" else planting.reword(case.original))
        assert case.original in a.text
        assert a.text[case.source.end - 1] == "."
        before, after = case.b.text[: case.planted.start], case.b.text[case.planted.end :]
        if manner == "inserted":
            assert f"{before} {after}".split() == b.text.split()
        else:
            assert b.text.startswith(before.rstrip())
            assert b.text.endswith(after.lstrip())
            gone = len(b.text) - len(before.rstrip()) - len(after.lstrip())
            assert gone > 0 or case.planted.end in {section.span.end for section in case.b.sections}


def test_sections_stay_where_they_were(planting: ModuleType) -> None:
    b = document(9)
    for seed in range(20):
        case = planting.plant_passage(document(seed), b, "copied", "inserted", seed)
        sections = case.b.sections
        assert [section.heading for section in sections] == [section.heading for section in b.sections]
        bodies = [case.b.text[section.body_start : section.span.end] for section in sections]
        holding = [place for place, body in enumerate(bodies) if case.text in body]
        assert len(holding) == 1
        for place, section in enumerate(b.sections):
            if place not in holding:
                assert case.b.section_text(sections[place]) == b.section_text(section)


def test_the_same_seed_the_same_case(planting: ModuleType) -> None:
    a, b = document(1), document(2)
    first, again, other = (planting.plant_passage(a, b, "copied", "inserted", seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_nothing_to_plant(planting: ModuleType) -> None:
    short, bare = assemble("", "", [Part("", "Too short.")]), assemble("", "", [Part("Heading", "")])
    assert planting.plant_passage(short, document(1), "copied", "inserted", 0) is None
    assert planting.plant_passage(document(1), bare, "copied", "inserted", 0) is None


def test_rewording_by_rule(planting: ModuleType) -> None:
    text = "If the pump fails, we usually obtain a very large amount of cold and soft sand. It lasts for 3 days."
    assert planting.reword(text) == (
        "We get a big amount of soft as well as cold sand if the pump fails. It lasts for three days."
    )
    assert planting.reword(text) == planting.reword(text)
    assert planting.changed_words("a b c d", "a b x d") == 0.25
    assert planting.changed_words(text, text) == 0


def chunk(start: int, end: int) -> Chunk:
    return Chunk(0, 0, 0, Span(start, end), (101, 102))


def test_the_planted_pair_shares_most_of_the_passage(planting: ModuleType, planted: ModuleType) -> None:
    case = planting.Case(document(1), document(2), Span(100, 200), Span(300, 400), "copied", "inserted")
    a = [chunk(0, 140), chunk(140, 190), chunk(190, 500)]
    # The parts of the passage that A's chunks hold are 0–40, 40–90 and 90–100 percent.
    assert planted.planted_pair(case, a, [chunk(0, 320), chunk(320, 600)]) == (1, 1)
    assert planted.planted_pair(case, a, [chunk(0, 360), chunk(360, 600)]) == (0, 0)


def test_intervals(planted: ModuleType) -> None:
    low, high = planted.wilson(190, 200)
    assert (low, high) == (pytest.approx(0.910, abs=1e-3), pytest.approx(0.973, abs=1e-3))
    assert planted.wilson(0, 0) == (0.0, 1.0)
    assert planted.share([True, None, True, False]) == "66.7 (21–94)"
    assert planted.share([None]) == "–"


@pytest.mark.slow
def test_the_pipeline_finds_a_copied_passage(planting: ModuleType, planted: ModuleType, model_folder: Path) -> None:
    encoder = Encoder.load(model_folder, device="cpu")
    a, b = document(1, sections=2, sentences=40), document(2, sections=2, sentences=40)
    case = planting.plant_passage(a, b, "copied", "replacing", 3)
    finding = planted.examine(case, "made up", encoder, seed=0)
    assert finding.first["cosine + wording"]
    assert finding.found
    assert finding.changed == 0
    parts = planted.shared_parts(case, *(encoder.chunk(item) for item in (case.a, case.b)))
    assert 0 < parts.max() <= 1
    assert parts.min() < 0
    table = planted.report([finding])
    assert table.row_count == 5


def test_cases_are_drawn_from_documents_of_any_label(planted: ModuleType, tmp_path: Path) -> None:
    # Drawing needs no labels, so a document that is alone in its class is welcome.
    texts = {name: document(seed).text for seed, name in enumerate("abcd")}
    lines = [{"id": name, "text": text, "split": "test", "label": name} for name, text in texts.items()]
    pairs: list[dict[str, Any]] = [{"a": "a", "b": "b", "label": 1, "split": "test"}]
    for name, rows in (("docs", lines), ("pairs", pairs)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    assert len(list(planted.cases(tmp_path, "test", 4, 0))) == 4
