"""Attacks on documents, with tiny models of random weights and with the shipped one on examples/."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder, rearranged, without
from colde_cli.encoder.encoding import Encoding
from colde_cli.errors import OptionError
from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.robustness import (
    ProtocolReport,
    RobustnessOptions,
    RobustnessReport,
    chunks_within,
    elongated,
    pair_figures,
    robustness,
    shortened,
    shuffled_document,
    shuffled_rows,
    spearman,
    tiled,
)

EXAMPLES = ("field-study-v1.pdf", "field-study-v2.pdf", "supply-agreement.pdf")
SMALL = RobustnessOptions((1, 100), shuffles=2, times=(1, 2, 4), text_documents=3, max_tokens=9000)
Tiny = Callable[..., Encoder]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Models of random weights, made on the fly; positions say something."""
    torch = pytest.importorskip("torch")
    from tiny_backbone import write_backbone

    from colde_cli.encoder.layout import CONFIG, TOKENIZER
    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.colde import Colde, save_weights
    from colde_cli.learning.colde_training import model_config
    from colde_cli.learning.graphs import export_model
    from colde_cli.learning.recipe import Recipe

    def make(**changes: Any) -> Encoder:
        folder = tmp_path_factory.mktemp("model")
        backbone = load_backbone(str(write_backbone(tmp_path_factory.mktemp("backbone"))))
        config = replace(
            model_config(Recipe(projection=8, residual="none"), backbone), max_chunks=6, threshold=0.5, **changes
        )
        torch.manual_seed(0)
        model = Colde(config).eval()
        generator = torch.Generator().manual_seed(1)
        for name, table in model.named_parameters():
            if "chunk_embedding" in name:
                table.data = torch.randn(table.shape, generator=generator).half().float()
        (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
        (folder / TOKENIZER).write_text(backbone.tokenizer, encoding="utf-8")
        save_weights(model, folder)
        export_model(folder, precisions=("fp32",))
        return Encoder.load(folder, device="cpu", precision="fp32")

    return make


@pytest.fixture(scope="module")
def plain(tiny: Tiny) -> Encoder:
    return tiny(lstm_hidden=16, attention_heads=4)


@pytest.fixture(scope="module")
def mean(tiny: Tiny) -> Encoder:
    """−LSTM, positions added before BERT."""
    return tiny(lstm_hidden=0, chunk_position="input", chunk_pool="pooler")


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    import random

    from tiny_backbone import SUBJECTS, sentences

    generator = random.Random(3)
    made = {}
    for subject, words in SUBJECTS.items():
        for number in range(2):
            parts = [Part(f"Part {place}", sentences(generator, words, 5)) for place in range(3)]
            made[f"{subject}-{number}"] = assemble(f"{subject}-{number}", subject, parts)
    return made


PAIRS = [
    LabelledPair(f"{one}-0", f"{two}-1", one == two) for one in ("bees", "boats", "bread") for two in ("bees", "boats")
]


@pytest.fixture(scope="module")
def report(plain: Encoder, documents: Mapping[str, Document]) -> RobustnessReport:
    return robustness(plain, documents, PAIRS, options=SMALL)


def protocol(report: RobustnessReport, title: str) -> ProtocolReport:
    return next(item for item in report.protocols if title in item.title)


def test_once_is_the_document_itself_at_both_levels(report: RobustnessReport) -> None:
    for title in ("m, chunks", "m, text"):
        found = protocol(report, title)
        once, twice = (row for row in found.against_itself if row.attack in ("×1", "×2"))
        assert (once.attack, once.cosine_mean, once.cosine_max, once.score_max) == ("×1", 0, 0, 0)
        assert twice.cosine_max > 0
        clean = found.pairs[0]
        for row in (row for row in found.pairs if row.attack == "×1"):
            assert (row.figures, row.spearman) == (clean.figures, clean.spearman)


def test_a_mean_does_not_feel_tiling(mean: Encoder, documents: Mapping[str, Document]) -> None:
    options = RobustnessOptions(times=(1, 3), text_documents=0)
    found = robustness(mean, documents, PAIRS, ["elongation"], options=options)
    (level,) = found.protocols
    assert level.against_itself[1].cosine_max == pytest.approx(0, abs=1e-6)
    assert level.pairs[-1].figures.moved_related == pytest.approx(0, abs=1e-6)


def test_tiled_as_the_head_would_see_it(plain: Encoder, documents: Mapping[str, Document]) -> None:
    encoding = plain.encode(documents["bees-0"])
    rows = list(range(len(encoding.chunks))) * 3
    run = rearranged(encoding, rows, plain)
    light = tiled(encoding, 3, run.document_vector)
    assert light.tokens == run.tokens == 3 * encoding.tokens
    np.testing.assert_array_equal(light.chunk_vectors, run.chunk_vectors)
    np.testing.assert_allclose(light.centred_unit_vectors, run.centred_unit_vectors, atol=1e-6)
    assert [chunk.ids for chunk in light.chunks] == [chunk.ids for chunk in run.chunks]


def test_text_elongated_is_tokens_elongated(plain: Encoder, documents: Mapping[str, Document]) -> None:
    document = documents["birds-1"]
    once = [token for chunk in plain.chunk(document) for token in chunk.ids[1:-1]]
    thrice = [token for chunk in plain.chunk(elongated(document, 3)) for token in chunk.ids[1:-1]]
    assert thrice == once * 3


def test_limits_are_kept_and_told(plain: Encoder, documents: Mapping[str, Document]) -> None:
    options = RobustnessOptions(times=(1, 50), max_chunks=12, text_documents=2, max_tokens=200)
    found = robustness(plain, documents, PAIRS, ["elongation"], options=options)
    chunks, text = found.protocols
    assert chunks.against_itself[1].attack == "×50 (reached by 0 of 5)"
    assert text.against_itself[1].documents == 2
    assert "200 tokens" in text.notes[0]


@pytest.mark.parametrize("numbering", ["kept", "anew"])
def test_rearranging_changes_order_and_numbers_only(
    plain: Encoder, documents: Mapping[str, Document], numbering: str
) -> None:
    encoding = plain.encode(documents["bread-0"])
    rows = shuffled_rows(encoding, np.random.default_rng(5))
    assert sorted(rows) == list(range(len(rows)))
    assert rows != sorted(rows)
    moved = rearranged(encoding, rows, plain, numbering)  # type: ignore[arg-type]
    assert [chunk.ids for chunk in moved.chunks] == [encoding.chunks[row].ids for row in rows]
    assert [chunk.index for chunk in moved.chunks] == (rows if numbering == "kept" else list(range(len(rows))))
    np.testing.assert_array_equal(moved.chunk_vectors, encoding.chunk_vectors[rows])
    np.testing.assert_allclose(moved.centred_unit_vectors, encoding.centred_unit_vectors[rows], atol=1e-6)


def test_numbers_reach_the_head(plain: Encoder, documents: Mapping[str, Document]) -> None:
    encoding = plain.encode(documents["bread-0"])
    rows = shuffled_rows(encoding, np.random.default_rng(5))
    before, after = (rearranged(encoding, rows, plain, how).document_vector for how in ("kept", "anew"))
    assert np.abs(before - after).max() > 1e-3
    same = rearranged(encoding, range(len(rows)), plain, "kept")
    np.testing.assert_allclose(same.document_vector, encoding.document_vector, atol=1e-6)


def test_a_model_with_positions_below_reads_moved_chunks_again(
    mean: Encoder, documents: Mapping[str, Document]
) -> None:
    encoding = mean.encode(documents["boats-0"])
    rows = list(range(len(encoding.chunks)))[::-1]
    kept, anew = (rearranged(encoding, rows, mean, how) for how in ("kept", "anew"))
    np.testing.assert_array_equal(kept.chunk_vectors, encoding.chunk_vectors[rows])
    assert np.abs(anew.chunk_vectors - kept.chunk_vectors).max() > 1e-3


def test_one_section_cannot_be_shuffled(plain: Encoder) -> None:
    import random

    from tiny_backbone import SUBJECTS, sentences

    one, two = (assemble("", "", [Part("", sentences(random.Random(seed), SUBJECTS["bees"], 9))]) for seed in (1, 2))
    found = robustness(plain, {"1": one, "2": two}, [LabelledPair("1", "2", True)], ["shuffle"])
    (shuffled,) = found.protocols
    assert all(row.score_max == row.cosine_max == 0 for row in shuffled.against_itself)
    assert shuffled.pairs[1].figures == shuffled.pairs[0].figures
    assert shuffled.pairs[0].figures.auc is None
    assert shuffled.notes[0].startswith("2 of 2")


def test_shuffling_a_document_keeps_its_sections(documents: Mapping[str, Document]) -> None:
    document = documents["bees-1"]
    shuffled = shuffled_document(document, np.random.default_rng(5))
    texts = [shuffled.section_text(section) for section in shuffled.sections]
    assert sorted(texts) == sorted(document.section_text(section) for section in document.sections)
    assert texts != [document.section_text(section) for section in document.sections]


def test_the_first_chunks_alone(plain: Encoder, documents: Mapping[str, Document], report: RobustnessReport) -> None:
    encoding = plain.encode(documents["bees-0"])
    document = shortened(encoding.document, encoding.chunks[1].span.end)
    read_short = plain.encode(document)
    first: Encoding = rearranged(encoding, range(2), plain)
    assert [chunk.ids for chunk in read_short.chunks] == [chunk.ids for chunk in first.chunks]
    np.testing.assert_allclose(read_short.document_vector, first.document_vector, atol=1e-5)
    rows = protocol(report, "First").pairs
    assert [row.attack for row in rows[:2]] == ["first 1 (5 of 5 cut)", "first 100 (5 of 5 cut)"]
    ends = np.cumsum([len(chunk.ids) - 2 for chunk in encoding.chunks])
    assert chunks_within(encoding, int(ends[1])) == 2
    assert chunks_within(encoding, int(ends[1]) - 1) == 1
    assert chunks_within(encoding, 1) == 1
    assert rows[-1].attack == "all"
    assert rows[-1].figures.moved_related == 0


def test_leaving_out_a_chunk(plain: Encoder, documents: Mapping[str, Document]) -> None:
    encoding = plain.encode(documents["bees-0"])
    left = without(encoding, 1, plain)
    assert len(left.chunks) == len(encoding.chunks) - 1
    assert encoding.chunks[1].ids not in [chunk.ids for chunk in left.chunks]
    with pytest.raises(ValueError, match="at least one chunk"):
        rearranged(encoding, [], plain)


def test_the_same_seed_gives_the_same_report(
    plain: Encoder, documents: Mapping[str, Document], report: RobustnessReport
) -> None:
    again = robustness(plain, documents, PAIRS, ["shuffle"], options=SMALL)
    assert again.protocols[0] == protocol(report, "shuffled")
    other = robustness(plain, documents, PAIRS, ["shuffle"], options=SMALL, seed=1)
    assert other.protocols != again.protocols


def test_report_is_json_and_tables(report: RobustnessReport) -> None:
    written = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert written["threshold"] == 0.5
    assert [item["name"] for item in written["protocols"]] == [
        "length", "shuffle", "elongation", "elongation",
    ]  # fmt: skip
    tables = report.tables()
    assert len(tables) == 8
    assert all(len(row) == len(header) for _, header, rows in tables for row in rows)


def test_what_cannot_be_asked(plain: Encoder, documents: Mapping[str, Document]) -> None:
    with pytest.raises(OptionError, match="no robustness protocol 'fire'"):
        robustness(plain, documents, PAIRS, ["fire"])
    with pytest.raises(OptionError, match="there are none"):
        robustness(plain, documents, [])


def test_figures_of_pairs() -> None:
    related = np.array([True, True, False, False])
    scores = np.array([0.9, 0.4, 0.4, 0.1])
    assert pair_figures(related, scores, scores, None).auc == pytest.approx(0.875)
    assert pair_figures(related[:2], scores[:2], scores[:2], None).auc is None
    assert spearman([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert spearman([3, 1, 3, 2], [4, 1, 4, 2]) == pytest.approx(1.0)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    clean = np.array([0.9, 0.6, 0.4, 0.1])
    found = pair_figures(related, clean - 0.2, clean, 0.5)
    assert found.moved_related == pytest.approx(-0.2)
    assert [found.accuracy, found.f1] == pytest.approx([0.75, 2 / 3])
    assert pair_figures(related, clean, clean, None).f1 is None


@pytest.mark.slow
def test_the_shipped_model_on_the_examples(model_folder: Path, repository: Path) -> None:
    encoder = Encoder.load(model_folder, device="cpu")
    documents = {name: read(repository / "examples" / name) for name in EXAMPLES}
    pairs = [LabelledPair(EXAMPLES[0], EXAMPLES[1], True), LabelledPair(EXAMPLES[0], EXAMPLES[2], False)]
    options = RobustnessOptions(times=(1, 4), text_documents=0)
    found = robustness(encoder, documents, pairs, options=options)
    assert protocol(found, "m, chunks").against_itself[0].cosine_max == 0
    assert all(row.figures.auc == 1 for item in found.protocols for row in item.pairs)
