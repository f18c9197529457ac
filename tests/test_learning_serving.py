"""What `colde train` puts beside the network: words, domains of text, shares and verdicts, fitted to what is served."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tiny_backbone import SUBJECTS, sentences, write_backbone, write_documents

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import CONFIG, DOMAINS, FIELDS, LEXICON, TOKENIZER, open_folder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import read_data
from colde_cli.evaluation.metrics import pair_metrics
from colde_cli.learning.augmentation import whole_views
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.tokens import chunk_documents
from colde_cli.scoring.config import PARTS
from colde_cli.scoring.fit import USUAL
from colde_cli.scoring.lexicon import Lexicon
from colde_cli.scoring.profile import DomainFields
from colde_cli.scoring.score import document_scores, verdict

if TYPE_CHECKING:
    import torch
    from test_commands_train import colde
    from tiny_networks import CPU

    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.colde import Colde, save_weights
    from colde_cli.learning.colde_training import model_config
    from colde_cli.learning.gradient_cache import TrainedChunks
    from colde_cli.learning.graphs import export_model


pytestmark = [pytest.mark.usefixtures("late_imports"), pytest.mark.slow]

FILES = {"nature": ("bees", "birds"), "craft": ("boats", "bread")}
TRAINING, VALIDATION = 3, 8
OPTIONS = ["--epochs", 1, "--batch-size", 8, "--set", "projection=8", "--freeze-backbone", "--device", "cpu"]


class Trained:
    """A model that `colde train` wrote, the pairs that validated it, and their encodings."""

    def __init__(self, folder: Path, backbone_folder: Path, *options: object, most: int | None = None) -> None:
        folder.mkdir()
        data, validation, pairs = write_data(folder, most)
        self.folder = folder / "model"
        given = [*data, "-o", self.folder, "--backbone", backbone_folder, "--validation", validation]
        result = colde(*given, *OPTIONS, *options)
        assert result.exit_code == 0, result.output
        self.said = result.stdout
        self.config = open_folder(self.folder).config
        self.encoder = Encoder.load(self.folder, device="cpu")
        documents = {item.id: item.document for item in read_data(data).documents}
        names = sorted({name for pair in pairs for name in pair[:2]})
        found = self.encoder.encode_many([documents[name] for name in names])
        self.encodings: dict[str, Encoding] = dict(zip(names, found, strict=True))
        self.left, self.right = ([self.encodings[str(pair[side])] for pair in pairs] for side in (0, 1))
        self.related = np.array([pair[2] for pair in pairs])
        self.fields = np.array([pair[0].partition("-")[0] in FILES["craft"] for pair in pairs], np.int64)

    def scores(self) -> np.ndarray:
        return document_scores(self.left, self.right, self.encoder.config, self.encoder.domain_fields)


def write_data(folder: Path, most: int | None) -> tuple[list[Path], Path, list[tuple[str, str, bool]]]:
    """Two files of documents of two subjects each, and all pairs of each file's documents for validation."""
    generator = random.Random(0)
    files, pairs = [], []
    for name, subjects in FILES.items():
        lines = [
            {"id": f"{subject}-{number}", "label": subject, "text": sentences(generator, SUBJECTS[subject], 6)}
            for subject in subjects
            for number in range(TRAINING + VALIDATION)
        ]
        held = [line for line in lines if int(line["id"].rpartition("-")[2]) >= TRAINING]
        pairs += [(a["id"], b["id"], a["label"] == b["label"]) for a, b in combinations(held, 2)]
        files.append(folder / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    chosen = pairs if most is None else generator.sample(pairs, most)
    judged = folder / "judged.jsonl"
    rows = [{"a": a, "b": b, "label": int(related)} for a, b, related in chosen]
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return files, judged, chosen


@pytest.fixture(scope="module")
def many(backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Enough pairs in both files for shares, and for domains."""
    return Trained(tmp_path_factory.mktemp("many") / "run", backbone_folder)


def test_a_model_comes_with_words_domains_and_weights(many: Trained) -> None:
    score_weights = many.config.score_weights
    assert score_weights is not None
    domains = score_weights.domains
    assert [domain.name for domain in domains] == list(FILES)
    for found in (score_weights, *domains):
        shares = [getattr(found, name) for name in PARTS]
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
    assert [getattr(score_weights, name) for name in PARTS] != [getattr(USUAL, name) for name in PARTS]
    assert (many.folder / LEXICON).is_file()
    assert (many.folder / DOMAINS).is_file()
    assert len(DomainFields.load(many.folder / FIELDS).whitenings) == len(FILES)
    assert all(0 < domain.threshold < 1 for domain in domains)


def test_the_lexicon_counts_the_documents_that_trained(many: Trained) -> None:
    lexicon = Lexicon.load(many.folder / LEXICON, 1.0)
    assert lexicon.documents == len(SUBJECTS) * TRAINING
    assert int(lexicon.frequencies.max()) == lexicon.documents
    assert all(encoding.terms is not None and len(encoding.terms.buckets) for encoding in many.left)


def test_documents_are_of_the_domain_of_their_file(many: Trained) -> None:
    for name, encoding in many.encodings.items():
        assert float(encoding.domains.sum()) == pytest.approx(1, abs=1e-6)
        own = [name.partition("-")[0] in subjects for subjects in FILES.values()].index(True)
        assert encoding.domains.shape == (3,)
        assert encoding.domains[1 + own] > encoding.domains[2 - own]


def test_the_card_tells_the_figures_of_what_is_served(many: Trained) -> None:
    served = pair_metrics(many.related, many.scores(), fields=many.fields)
    card = (many.folder / "README.md").read_text(encoding="utf-8")
    row = next(line for line in card.splitlines() if line.startswith("| ROC-AUC |"))
    assert float(row.split("|")[2]) == pytest.approx(served.auc, abs=6e-4)
    assert served.auc > 0.8


def test_verdicts_are_right_more_often_than_not(many: Trained) -> None:
    said = [
        verdict(a, b, many.encoder.config, many.encoder.domain_fields)
        for a, b in zip(many.left, many.right, strict=True)
    ]
    right = [(item.score >= (item.threshold or 0)) == related for item, related in zip(said, many.related, strict=True)]
    assert np.mean(right) > 0.7
    chances = np.array([item.probability for item in said])
    assert chances[many.related].mean() > chances[~many.related].mean() + 0.2


def test_without_combination_there_is_nothing_but_the_cosine(
    backbone_folder: Path, tmp_path: Path, many: Trained
) -> None:
    plain = Trained(tmp_path / "run", backbone_folder, "--no-combine")
    assert plain.config.score_weights is None
    assert not (plain.folder / LEXICON).exists()
    assert not (plain.folder / DOMAINS).exists()
    assert "vectors alone" not in plain.said
    scores = plain.scores()
    cosines = [float(a.document_vector @ b.document_vector) for a, b in zip(plain.left, plain.right, strict=True)]
    assert scores == pytest.approx(cosines, abs=1e-6)
    assert plain.config.threshold == pytest.approx(pair_metrics(plain.related, scores).threshold, abs=1e-6)
    assert asdict(plain.config) | {"threshold": 0, "calibration": 0} == asdict(many.config) | {
        "threshold": 0, "calibration": 0, "score_weights": None,
    }, "nothing else differs"  # fmt: skip


def test_too_few_pairs_leave_the_usual_shares_and_the_threshold_is_of_these_scores(
    backbone_folder: Path, tmp_path: Path
) -> None:
    few = Trained(tmp_path / "run", backbone_folder, most=40)
    assert few.config.score_weights is not None
    assert [getattr(few.config.score_weights, name) for name in PARTS] == pytest.approx(
        [getattr(USUAL, name) for name in PARTS]
    )
    assert few.config.score_weights.domains == ()
    assert (few.folder / LEXICON).is_file()
    assert not (few.folder / DOMAINS).exists()
    served = pair_metrics(few.related, few.scores(), fields=few.fields)
    assert few.config.threshold == pytest.approx(served.threshold, abs=1e-6)
    assert f"validation AUC {served.field_auc:.4f} (its vectors alone " in few.said
    assert f"F1 {served.f1:.4f} (" in few.said
    assert f"threshold {few.config.threshold:.4f}, 40 pairs" in few.said


def positioned_model(folder: Path) -> tuple[Colde, str]:
    """A tiny model whose section and chunk embeddings say something, with fewer of the latter than chunks."""
    backbone = load_backbone(str(write_backbone(folder)))
    recipe = Recipe(chunk_position="input", chunk_pool="pooler", sections=3, projection=16, residual="none")
    torch.manual_seed(0)
    model = Colde(replace(model_config(recipe, backbone), max_chunks=4)).eval()
    # As fp16, in which the backbone is stored: the comparison is of positions, not of rounding.
    model.encoder.load_bert({name: weight.half().float() for name, weight in backbone.weights.items()})
    generator = torch.Generator().manual_seed(1)
    for table in (model.encoder.chunk_embedding, model.encoder.bert.embeddings.token_type_embeddings):
        assert table is not None
        table.weight.data = torch.randn(table.weight.shape, generator=generator).half().float()
    return model, backbone.tokenizer


@pytest.fixture(scope="module")
def positioned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Colde, str, Path]:
    """The model, its tokenizer, and both as a folder with an fp32 graph."""
    folder = tmp_path_factory.mktemp("positioned")
    model, tokenizer = positioned_model(folder / "backbone")
    (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
    (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    save_weights(model, folder)
    export_model(folder, precisions=("fp32",))
    return model, tokenizer, folder


def test_positioned_documents_are_served_as_they_were_trained(
    positioned: tuple[Colde, str, Path], tmp_path: Path
) -> None:
    model, tokenizer, folder = positioned
    documents = [item.document for item in read_data([write_documents(tmp_path / "data.jsonl")]).documents]
    chosen = documents[:4]
    store = chunk_documents(chosen, tokenizer, model.config.chunk_tokens)
    views = whole_views(store, range(len(chosen)))
    needed = views.needed(positioned=True)
    source = TrainedChunks(model.encoder, store, 4096, CPU, "fp32")
    arrays = (needed.places, views.lengths, views.partners, views.sections, views.chunk_ids)
    places, *others = map(torch.from_numpy, arrays)
    with torch.no_grad():
        trained = model.head(source.vectors(needed)[places], *others).vectors.numpy()

    with Cache(tmp_path / "cache", 10**9) as cache:
        encoder = Encoder.load(folder, device="cpu", precision="fp32", cache=cache)
        served = np.stack([encoding.document_vector for encoding in encoder.encode_many(chosen)])
        cached = np.stack([encoder.encode(document).document_vector for document in chosen])
    assert max(len(encoder.chunk(document)) for document in chosen) > model.config.max_chunks
    assert max(len(document.sections) for document in chosen) > 1
    np.testing.assert_allclose(served, trained, atol=1e-4)
    np.testing.assert_allclose(cached, trained, atol=1e-4)


def test_a_chunk_in_another_place_is_another_entry_of_the_cache(
    positioned: tuple[Colde, str, Path], tmp_path: Path
) -> None:
    model, _, folder = positioned
    document = read_data([write_documents(tmp_path / "data.jsonl")]).documents[0].document
    with Cache(tmp_path / "cache", 10**9) as cache:
        encoder = Encoder.load(folder, device="cpu", precision="fp32", cache=cache)
        chunk = encoder.chunk(document)[0]
        moved = [replace(chunk, index=index) for index in range(6)]
        vectors = encoder.encode_chunks(moved)
        assert cache.count() == model.config.max_chunks
        again = encoder.encode_chunks([replace(chunk, section=1, position=3)])
        assert cache.count() == model.config.max_chunks
    assert again.tobytes() == vectors[:1].tobytes()
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert vectors[3].tobytes() == vectors[4].tobytes() == vectors[5].tobytes()
