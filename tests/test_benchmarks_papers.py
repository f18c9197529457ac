"""The scripts in benchmarks/papers/: their pure functions, and one tiny run from documents to scores."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from late import needs

from colde_cli.documents.document import Part, assemble
from colde_cli.evaluation.data import LabelledPair, TrainingDocument

pytestmark = needs("torch", "sklearn", "optimum")


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    monkeypatch.syspath_prepend(str(repository / "benchmarks" / "papers"))
    return importlib.import_module


@pytest.fixture
def laser(script: Any) -> ModuleType:
    module: ModuleType = script("laser")
    return module


@pytest.fixture
def reporting(script: Any) -> ModuleType:
    module: ModuleType = script("reporting")
    return module


def test_seeds_become_mean_and_spread(reporting: ModuleType) -> None:
    assert reporting.spread([0.7, 0.8, 0.9]) == "0.800 ± 0.100"
    assert reporting.spread([0.5]) == "0.500"
    assert reporting.spread([]) == "–"


def test_p_values(reporting: ModuleType) -> None:
    assert reporting.p_value(0.0004) == "< 0.001"
    assert reporting.p_value(0.04) == "0.040"
    assert reporting.p_value(None) == "–"
    assert reporting.seeds_p([0.8], [0.7]) is None
    assert reporting.seeds_p([0.8, 0.9], [0.7, 0.8]) is None
    # t = 2 / (1 / sqrt 3) with two degrees of freedom.
    assert reporting.seeds_p([2.0, 3.0, 4.0], [1.0, 1.0, 1.0]) == pytest.approx(0.0742, abs=1e-4)


def test_a_table_has_as_many_cells_in_every_row(reporting: ModuleType) -> None:
    table = reporting.markdown(("system", "AUC"), [("CoLDE", "0.9")])
    assert table == "| system | AUC |\n| :-- | --: |\n| CoLDE | 0.9 |\n"
    with pytest.raises(ValueError, match="cells"):
        reporting.markdown(("system", "AUC"), [("CoLDE",)])


def test_bars(reporting: ModuleType) -> None:
    assert reporting.sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert reporting.sparkline([0.5, 0.5]) == "▁▁"


def test_the_threshold_is_that_of_validation(reporting: ModuleType) -> None:
    related = np.array([True, True, False, False])
    every = reporting.LabelledSplit(related, np.ones(4, bool))
    held = np.array([0.9, 0.8, 0.3, 0.1])
    found = reporting.figures(every, every, (held, np.array([0.9, 0.5, 0.6, 0.1])))
    # The cut lies at 0.55: of the related one is found, of the unrelated one is called related.
    assert (found["precision"], found["recall"], found["accuracy"]) == (0.5, 0.5, 0.5)
    assert found["auc"] == 0.75
    some = replace(every, chosen=np.array([True, True, False, True]))
    assert reporting.figures(every, some, (held, np.array([0.9, 0.5, 0.6, 0.1])))["auc"] == 1.0


def test_two_systems_differ_or_do_not(reporting: ModuleType) -> None:
    pairs = [LabelledPair(f"a{number}", f"b{number}", number % 2 == 0) for number in range(60)]
    right = np.array([[float(pair.related) for pair in pairs]])
    noise = np.random.default_rng(0).random((2, 60))
    assert reporting.pairs_p(pairs, right, noise, draws=200) < 0.05
    assert reporting.pairs_p(pairs, noise, noise, draws=200) == 1.0


def test_fragments(reporting: ModuleType, tmp_path: Path) -> None:
    reporting.write(tmp_path / "deep" / "table.md", "A table", "| a |\n")
    assert (tmp_path / "deep" / "table.md").read_text(encoding="utf-8").startswith("### A table\n\n| a |\n")


def test_a_table_is_also_a_csv_file(reporting: ModuleType, tmp_path: Path) -> None:
    reporting.write_table(tmp_path / "t.md", "A table", ("system", "p, pairs"), [("−LSTM", "0.1")], "\n- A note.\n")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == 'system,"p, pairs"\n−LSTM,0.1\n'
    assert "- A note." in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_recipes_change_one_thing_at_a_time(script: Any) -> None:
    recipes = script("recipes")
    paper = recipes.PAPER.to_json()
    for changed, options in (
        (recipes.figure_6(), {"batch_size"}),
        (recipes.figure_7(512), {"window", "window_start"}),
        (recipes.sections(), {"sections"}),
    ):
        for recipe in changed.values():
            recipe.check()
            values = recipe.to_json()
            assert {name for name in values if values[name] != paper[name]} <= options
    # The standard setting is among them, and is trained once for all; Figure 7 truncates every section.
    assert all(
        recipes.PAPER in changed.values() for changed in (recipes.TABLE_2, recipes.figure_6(), recipes.sections())
    )
    for size, windows in ((512, (2, 4, 8, 16)), (256, (4, 8, 16, 32))):
        assert [(recipe.window, recipe.window_start) for recipe in recipes.figure_7(size).values()] == [
            (chunks, "first") for chunks in windows
        ]
    both = script("curves").recipes_of("7", 256, 2)
    assert {(recipe.window, recipe.epochs) for recipe in both.values()} == {(4, 2), (8, 2), (16, 2), (32, 2)}
    assert recipes.seeded(recipes.PAPER, 3).digest() != recipes.PAPER.digest()
    for recipe in recipes.TABLE_2.values():
        recipe.check()


def on_circle(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_anisotropy_by_hand(laser: ModuleType) -> None:
    # cosines: 0-60 0.5, 0-180 -1, 60-180 -0.5
    assert laser.anisotropy(on_circle(0, 60, 180)) == pytest.approx(-1 / 3)
    assert laser.anisotropy(on_circle(20, 20, 20)) == pytest.approx(1)
    assert laser.anisotropy(on_circle(0, 90)) == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(2, 12), size=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_anisotropy_is_the_mean_over_all_pairs(laser: ModuleType, count: int, size: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, size)) + 0.5
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = np.mean([units[i] @ units[j] for i in range(count) for j in range(count) if i != j])
    assert laser.anisotropy(vectors) == pytest.approx(wanted)
    assert laser.anisotropy(vectors * 7.0) == pytest.approx(wanted)


def test_part_similarity_by_hand(laser: ModuleType) -> None:
    assert laser.part_similarity(on_circle(0, 90), [1, 1]) == pytest.approx(math.sqrt(0.5))
    assert laser.part_similarity(3 * on_circle(0, 60, 180), [5, 0]) == pytest.approx((1 + 0.5 - 1) / 3)


def test_intra_document_similarity_by_hand(laser: ModuleType) -> None:
    parts = [on_circle(0, 60), on_circle(90, 90, 90)]
    documents = on_circle(0, 90)
    assert laser.intra_document_similarity(parts, documents, 0.0) == pytest.approx((0.75 + 1) / 2)
    assert laser.intra_document_similarity(parts, documents, 0.25) == pytest.approx((0.75 + 1) / 2 - 0.25)
    # In a space where everything points one way, parts are as near as strangers are.
    one_way = on_circle(45, 45)
    common = laser.token_anisotropy([one_way, one_way])
    assert laser.intra_document_similarity([one_way, one_way], one_way, common) == pytest.approx(0)


def test_the_baseline_is_of_tokens_of_different_texts(laser: ModuleType) -> None:
    # Tokens of one text are alike, those of the two texts stand at a right angle.
    assert laser.token_anisotropy([on_circle(0, 0, 0), on_circle(90)]) == pytest.approx(0, abs=1e-12)
    drawn = laser.token_anisotropy([on_circle(0, 90), on_circle(0)], draws=200)
    assert 0.3 < drawn < 0.7


def test_vectors_without_direction_are_refused(laser: ModuleType) -> None:
    with pytest.raises(ValueError, match="two vectors"):
        laser.anisotropy([[1.0, 0.0]])
    with pytest.raises(ValueError, match="length zero"):
        laser.anisotropy([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="one part"):
        laser.part_similarity(np.zeros((0, 2)), [1, 0])
    with pytest.raises(ValueError, match="longer"):
        laser.intra_document_similarity([on_circle(0)], on_circle(0, 1), 0.0)


def test_elongated_tokens_have_room(script: Any) -> None:
    laser = script("laser")
    assert laser.elongated([1, 2], 3) == [1, 2, 1, 2, 1, 2]
    assert len(laser.elongated([7] * 100, 16)) == 500
    assert len(laser.elongated([7] * 600, 2)) == 600
    sentence = "One two three four five six seven eight nine ten eleven."
    texts = {
        "a": f"Too short. {sentence} Short too.", "b": sentence, "c": "Nothing.", "d": sentence, "e": sentence,
    }  # fmt: skip
    labelled = [("a", "c", True), ("a", "b", True), ("b", "d", False), ("d", "e", False)]
    drawn = laser.draw_pairs([LabelledPair(*values) for values in labelled], texts, 5)
    # "c" has no sentence that is long enough, and "b" was drawn already.
    assert [(pair.first, pair.second, pair.related) for pair in drawn] == [
        (sentence, sentence, True),
        (sentence, sentence, False),
    ]


def test_pairs_of_repeated_sentences(laser: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiny_backbone import write_backbone

    from colde_cli.learning.backbone import load_backbone

    checkpoint = laser.Checkpoint("tiny", load_backbone(str(write_backbone(tmp_path / "bert"))))
    pairs = [
        laser.SentencePair("hive queen brood", "hive queen honey", True),
        laser.SentencePair("keel mast sail", "dough yeast crust", False),
    ]
    monkeypatch.setattr(laser, "TIMES", (1, 2))
    first, second = laser.sentence_rows("made up", checkpoint, pairs)
    assert [len(row) for row in (first, second)] == [len(laser.SENTENCES)] * 2
    assert first[-1] == second[-1]  # one baseline
    states, fits = checkpoint.states("hive queen brood", 2)
    assert (states.shape, fits) == ((8, 32), True)
    again = laser.repeat(checkpoint, pairs, 1)
    assert f"{float(again.sides[0][0] @ again.sides[1][0]):.3f}" == first[4] == first[6]


def test_a_result_is_kept_for_its_data_and_code_alone(script: Any, tmp_path: Path) -> None:
    paper_data = script("paper_data")
    for name in ("docs", "pairs"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(b"one")
    known = paper_data.run_key(tmp_path)
    assert paper_data.run_key(tmp_path) == known != paper_data.run_key(tmp_path, b"another encoder")
    for name in ("docs", "pairs"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(b"other")
        changed = paper_data.run_key(tmp_path)
        assert changed != known
        known = changed
    code = tmp_path / "code"
    digests = []
    for text in ("", "a = 1", "a = 2"):
        code.mkdir(exist_ok=True)
        (code / "script.py").write_text(text)
        paper_data.code_digest.cache_clear()
        digests.append(paper_data.code_digest((code,)))
    assert len(set(digests)) == 3


def test_a_sample_has_related_and_unrelated_pairs(script: Any) -> None:
    labelled = [("a", "b", True), ("a", "c", True), ("a", "d", False), ("b", "d", False), ("c", "d", False)]
    pairs = [LabelledPair(*values) for values in labelled]
    some = script("attacks").balanced(pairs)
    assert [pair.related for pair in some] == [True, False, True, False, False]
    assert set(some) == set(pairs)


def test_from_documents_to_scores(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    from labelled_set import write_labelled_set
    from tiny_backbone import write_backbone

    monkeypatch.chdir(tmp_path)
    folder = write_labelled_set(tmp_path / "made-up")
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert len(list(lines)) == 48
    paper_data, head_runs, recipes = script("paper_data"), script("head_runs"), script("recipes")
    backbone = script("colde_cli.learning.backbone").load_backbone(str(write_backbone(tmp_path / "bert")))
    monkeypatch.setattr(head_runs, "_backbone", lambda: backbone)
    paper_set = tiny_set(paper_data, folder, backbone)
    recipe = replace(recipes.PAPER, epochs=2, batch_size=8, heads=4)
    run = head_runs.run_one(paper_set, recipe)
    assert (run.epochs, len(run.curve)) == (2, 3)
    assert run.updates == 6
    losses = [point["loss"] for point in run.curve]
    curve = head_runs.mean_curve([run], "loss")
    assert script("reporting").settling(curve[1:], first=1) == f"{losses[1]:.3f} → {losses[1]:.3f} → {losses[2]:.3f}"
    assert run.steps in (3, 6)
    assert len(run.test) == len(paper_set.pairs("test"))
    again = head_runs.run_one(paper_set, recipe)
    assert again.test == run.test
    # What is kept on disk scores as it did in training.
    _, model = head_runs.load_head(run)
    source = script("colde_cli.learning.gradient_cache").FrozenChunks(paper_set.vectors, script("torch").device("cpu"))
    for split in ("validation", "test"):
        scores = head_runs.pair_scores(model, source, paper_set, split)
        assert scores == pytest.approx(head_runs.of_split([run], split)[0], abs=1e-5)
    row = script("curves").row(paper_set, "batch 8", [run])
    assert len(row) == len(script("curves").HEADER)
    scores = tuple(head_runs.of_split([run], split) for split in ("validation", "test"))
    rows = script("colde").full_rows(paper_set, {"−LSTM": scores}, {}, {"−LSTM": [run]})
    assert [len(line) for line in rows] == [len(script("colde").HEADER)]


def tiny_set(paper_data: ModuleType, folder: Path, backbone: Any) -> Any:
    """As `load_set` makes it, with random chunk vectors in the place of an encoder's."""
    from colde_cli.learning.loop import Task
    from colde_cli.learning.sampling import Positives, split_by_pairs
    from colde_cli.learning.tokens import chunk_documents

    data = paper_data.read_data([folder / "docs.jsonl.gz"])
    field = paper_data.make_evaluation_set(
        "made up", data.documents, paper_data.read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    )
    store = chunk_documents([item.document for item in data.documents], backbone.tokenizer, 48)
    vectors = np.random.default_rng(0).standard_normal((len(store), 32)).astype(np.float32)
    positives, split = Positives.of(data), split_by_pairs(data, list(field.validation))
    order = paper_data.linked_first(split.training, positives)
    assert sorted(order.tolist()) == split.training.tolist()
    # Documents of one subject follow each other.
    assert order[:6].tolist() == list(range(6))
    needed = paper_data.needed_documents(split, field, data.numbers())
    assert len(needed) == 24 + 16
    task = Task(store, positives, split, np.zeros(len(data.documents), np.int64), "made up")
    return paper_data.PaperSet("made up", folder, data, field, store, vectors, task)


def test_chunks_are_spread_over_a_document(script: Any) -> None:
    paper_data = script("paper_data")
    from colde_cli.learning.tokens import ChunkStore

    # Two documents: eight chunks of two tokens and one, and a single chunk; [CLS] and [SEP] do not count.
    lengths = [4, 4, 4, 4, 4, 4, 4, 3, 5]
    store = ChunkStore(
        np.arange(sum(lengths), dtype=np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.zeros(9, np.int32),
        np.array([0, 8, 9]),
    )
    assert paper_data.spread_chunks(store, 0, 2).tolist() == [1, 5]
    assert paper_data.spread_chunks(store, 1, 4).tolist() == [8]
    thin = paper_data.thinned(store, 2)
    assert [thin.chunks_of(number).tolist() for number in (0, 1)] == [[0, 1], [2]]
    assert [thin.tokens(chunk).tolist() for chunk in (0, 1, 2)] == [store.tokens(chunk).tolist() for chunk in (1, 5, 8)]


def test_pairs_of_a_domain_are_chosen_by_label_and_kind(script: Any) -> None:
    """Of three leases and two loans at most two of each: the lease in fewest pairs goes, with its pair."""
    module = script("domain_calibration")
    labels = {"a": "lease", "b": "lease", "c": "lease", "d": "loan", "e": "loan"}
    documents = {
        name: TrainingDocument(name, assemble("", name, [Part("", "Some text.")]), label, (), "train", "")
        for name, label in labels.items()
    }
    pairs = [LabelledPair(a, b, a == "a", relation="hard") for a, b in ("ab", "ad", "bd", "be", "ce")]
    chosen = module.chosen(pairs, documents, 2)
    assert [(pair.a, pair.b) for pair in chosen] == [("a", "b"), ("a", "d"), ("b", "d"), ("b", "e")]
    kinds = np.array(["related"] * 5 + ["random"] * 2 + ["hard"] * 3)
    drawn = kinds[module.even(kinds, np.random.default_rng(0))]
    assert sorted(drawn.tolist()) == ["hard"] * 2 + ["random"] * 2 + ["related"] * 2
