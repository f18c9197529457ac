"""Systems × fields → Evaluation: where thresholds come from, and what no figure may hang on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from late import needs

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.encoding import Encoding, OwnVectors, Vectors
from colde_cli.errors import DataError
from colde_cli.evaluation.data import EvaluationSet, LabelledPair, TrainingDocument, make_evaluation_set
from colde_cli.evaluation.measure import MeasurementPlan, evaluate
from colde_cli.evaluation.result import Evaluation, RobustnessResult, SetResult
from colde_cli.evaluation.systems import (
    FloatArray,
    IdPairs,
    PairScorer,
    bm25,
    centred_mean,
    max_mean,
    mean_of_chunks,
    tfidf,
)
from colde_cli.scoring.config import Calibration

pytestmark = needs("scipy")


@dataclass(frozen=True)
class Numbered:
    """Documents are numbers, and close ones are alike; some noise is fixed by the pair."""

    name: str
    noise: float = 0.0
    threshold: float | None = None
    calibration: Calibration | None = None

    def open(self, field: EvaluationSet) -> PairScorer:
        return PairScorer(self.scores)

    def scores(self, pairs: IdPairs) -> FloatArray:
        jitter = [random.Random(" ".join(sorted(pair))).gauss(0, self.noise) for pair in pairs]
        return np.array([-abs(int(a) - int(b)) / 10 for a, b in pairs]) + np.array(jitter, np.float64)


def row(
    name: str, text: str = "x", split: str | None = None, related: tuple[str, ...] = (), label: str | None = None
) -> TrainingDocument:
    return TrainingDocument(name, assemble("", name, [Part("", text)]), label, related, split, "here")


def numbered(size: int = 24, seed: int = 0) -> tuple[list[TrainingDocument], list[LabelledPair]]:
    """Numbers in a row on two sides, neighbours of one side related."""
    generator = random.Random(seed)
    rows, pairs = [], []
    for start, split in ((0, "validation"), (100, "test")):
        names = [str(start + number) for number in range(size)]
        rows += [row(name, split=split, related=(str(int(name) + 1),)) for name in names[:-1]]
        rows.append(row(names[-1], split=split))
        pairs += [LabelledPair(a, b, True, "next", split) for a, b in itertools.pairwise(names)]
        for number, name in enumerate(names):
            for relation in ("random", "hard"):
                other = names[(number + generator.randint(3, size - 3)) % size]
                pairs.append(LabelledPair(name, other, False, relation, split))
    return rows, list({frozenset((pair.a, pair.b)): pair for pair in pairs}.values())


def measured(
    systems: Sequence[Numbered], plan: MeasurementPlan | None = None, split: str = "test", mixed: bool = False
) -> Evaluation:
    rows, pairs = numbered()
    if mixed:
        random.Random(1).shuffle(rows)
        random.Random(2).shuffle(pairs)
        pairs = [LabelledPair(pair.b, pair.a, pair.related, pair.relation, pair.split) for pair in pairs]
    field = make_evaluation_set("numbers", rows, pairs, split=split)
    return evaluate(systems, [field], plan or MeasurementPlan(draws=60, retrieval=True))


def test_thresholds_come_from_validation_pairs_before_a_stored_one() -> None:
    (result,) = measured([Numbered("stored", threshold=5.0)]).sets[0].results
    assert result.threshold_from == "validation"
    assert result.figures["f1"].value == 1
    assert result.calibration_from == "validation"
    (result,) = measured([Numbered("calibrated", calibration=Calibration(slope=10, intercept=1))]).sets[0].results
    assert result.calibration_from == "model"


def test_without_validation_pairs_no_threshold_is_fitted_to_what_is_measured() -> None:
    found = measured([Numbered("model", threshold=-0.15), Numbered("control")], split="validation").sets[0]
    model, control = found.results
    assert (model.threshold, model.threshold_from) == (-0.15, "model")
    assert control.threshold is None
    assert {"auc", "average_precision", "mrr"} <= set(control.figures)
    assert not {"f1", "accuracy", "brier"} & set(control.figures)
    assert [test.figure for test in found.tests] == ["auc"]
    assert "no validation pairs" in found.notes[0]


def test_figures_do_not_hang_on_the_order_of_files_or_within_pairs() -> None:
    systems = [Numbered("exact"), Numbered("noisy", noise=0.3)]
    assert measured(systems, mixed=True) == measured(systems)


def test_a_worse_system_is_found_worse_and_the_same_is_not() -> None:
    systems = [Numbered("exact"), Numbered("noisy", noise=2.0), Numbered("twin")]
    found = measured(systems, MeasurementPlan(draws=400)).sets[0]
    tests = {(test.system, test.figure): test for test in found.tests}
    for figure in ("auc", "accuracy"):
        worse, same = tests["noisy", figure], tests["twin", figure]
        assert worse.difference.value < 0
        assert worse.p is not None
        assert worse.p_holm is not None
        assert worse.p <= worse.p_holm < 0.05
        assert (same.difference.value, same.p_holm) == (0, 1)
    assert found.best("auc") == {"exact", "twin"}


def test_intervals_hold_their_values_and_none_are_made_of_no_draws() -> None:
    (_, noisy) = measured([Numbered("exact"), Numbered("noisy", noise=0.6)]).sets[0].results
    for name, figure in noisy.figures.items():
        if not name.startswith("ece"):
            assert figure.low is not None
            assert figure.high is not None
            assert 0 <= figure.low <= figure.value <= figure.high <= 1
    assert set(noisy.figures) >= {"auc_random", "auc_hard", "recall_at_10", "ndcg_at_10", "ece", "brier"}
    without = measured([Numbered("exact"), Numbered("twin")], MeasurementPlan(draws=0)).sets[0]
    assert {figure.low for result in without.results for figure in result.figures.values()} == {None}
    assert without.tests[0].p is None


def test_the_macro_average_is_the_mean_of_fields() -> None:
    fields = [make_evaluation_set(f"numbers {seed}", *numbered(seed=seed)) for seed in range(2)]
    found = evaluate([Numbered("a", noise=0.5), Numbered("b", noise=0.7)], fields, MeasurementPlan(draws=50))
    assert isinstance(found.macro, SetResult)
    for place, average in enumerate(found.macro.results):
        single = [field.results[place].figures["auc"].value for field in found.sets]
        assert average.figures["auc"].value == pytest.approx(sum(single) / 2)
    assert found.macro.pairs == sum(field.pairs for field in found.sets)


def test_models_are_attacked_and_controls_are_not() -> None:
    def attack(system: object, field: EvaluationSet, threshold: float | None) -> RobustnessResult:
        raise AssertionError("there is no model here")

    field = make_evaluation_set("numbers", *numbered())
    assert evaluate([Numbered("a")], [field], MeasurementPlan(draws=0), attack=attack).sets[0].robustness == {}


@pytest.mark.parametrize(
    ("pairs", "validation", "part"),
    [
        ([LabelledPair("0", "1", True, None, "train")], None, "--split"),
        ([LabelledPair("0", "1", True)], None, "have the same label"),
        (
            [LabelledPair("0", "1", True), LabelledPair("2", "1", False)],
            [LabelledPair("1", "0", True)],
            "validation pairs",
        ),
        (
            [LabelledPair("0", "1", True), LabelledPair("2", "1", False)],
            [LabelledPair("1", "0", True), LabelledPair("0", "2", False)],
            "validation pairs too",
        ),
    ],
)
def test_pairs_that_cannot_be_measured(
    pairs: list[LabelledPair], validation: list[LabelledPair] | None, part: str
) -> None:
    with pytest.raises(DataError, match=part):
        make_evaluation_set("numbers", [row(str(number)) for number in range(3)], pairs, validation)


def test_partners_are_links_else_classes() -> None:
    pairs = [LabelledPair("0", "1", True), LabelledPair("1", "2", False)]
    linked = [row("0", related=("1", "gone")), row("1", label="x"), row("2", label="x")]
    field = make_evaluation_set("f", linked, pairs)
    assert [field.relevant, field.relevance] == [{"0": {"1"}, "1": {"0"}}, "links"]
    classes = make_evaluation_set("f", [row("0"), row("1", label="x"), row("2", label="x")], pairs)
    assert [classes.relevant, classes.relevance] == [{"1": {"2"}, "2": {"1"}}, "labels"]


def words(texts: dict[str, str], training: Sequence[str] = ()) -> EvaluationSet:
    rows = [row(name, text, "train" if name in training else "test") for name, text in texts.items()]
    one, two, three = [name for name in texts if name not in training][:3]
    return make_evaluation_set("words", rows, [LabelledPair(one, two, True), LabelledPair(one, three, False)])


def test_judgements_that_contradict_the_labels_are_counted() -> None:
    rows = [row(str(number), label="odd" if number % 2 else "even") for number in range(6)]
    related = [LabelledPair("0", "2", True), LabelledPair("1", "3", True)]
    unrelated = [LabelledPair("0", "1", False), LabelledPair("0", "4", False), LabelledPair("1", "5", False)]
    field = make_evaluation_set("f", rows, [*related, *unrelated])
    assert field.contradictions == 2
    (measured,) = evaluate([Numbered("n")], [field], MeasurementPlan(draws=0)).sets
    assert any("2 of the 3 unrelated ones" in note and "AUC 0.667" in note for note in measured.notes)
    by_links = make_evaluation_set("f", rows, [*related, *unrelated, LabelledPair("2", "3", True)])
    assert by_links.contradictions == 0
    assert (
        make_evaluation_set("f", [row(str(number)) for number in range(6)], [*related, *unrelated]).contradictions == 0
    )


def test_tfidf_counts_words_in_the_training_documents() -> None:
    texts = {
        "a": "hive queen", "b": "hive brood", "c": "keel queen", "t1": "hive keel brood", "t2": "hive queen",
    }  # fmt: skip
    scorer = tfidf(words(texts, ["t1", "t2"]))
    # In the training documents `hive` stands twice, the others once.
    rare, common = np.log(3 / 2) + 1, 1.0
    length = np.hypot(rare, common)
    expected = [common**2 / length**2, rare**2 / (length * np.hypot(rare, rare))]
    assert scorer.scores([("a", "b"), ("a", "c")]) == pytest.approx(expected, rel=1e-5)
    assert scorer.notes == ("Document frequencies are those of training documents (2).",)


def test_bm25_is_symmetric_and_one_for_a_document_and_itself() -> None:
    texts = {"a": "hive queen queen", "b": "hive brood", "c": "keel mast", "d": "hive queen queen"}
    scorer = bm25(words(texts))
    same, mirrored, forward, nothing = scorer.scores([("a", "a"), ("b", "a"), ("a", "b"), ("a", "c")])
    assert same == pytest.approx(1, rel=1e-5)
    assert mirrored == pytest.approx(forward)
    assert 0 == nothing < forward < 1
    # By hand: N = 4; document frequencies hive 3, queen 2, brood 1; lengths 3 and 2 of a mean of 2.5.
    idf = {
        word: np.log1p((4 - count + 0.5) / (count + 0.5)) for word, count in {"hive": 3, "queen": 2, "brood": 1}.items()
    }
    a, b = (1.2 * (0.25 + 0.75 * length / 2.5) for length in (3, 2))
    own_a = idf["hive"] * 2.2 / (1 + a) + 2 * idf["queen"] * 4.4 / (2 + a)
    own_b = (idf["hive"] + idf["brood"]) * 2.2 / (1 + b)
    expected = (idf["hive"] * 2.2 / (1 + b) / own_a + idf["hive"] * 2.2 / (1 + a) / own_b) / 2
    assert forward == pytest.approx(expected, rel=1e-5)


def test_words_that_are_none() -> None:
    with pytest.raises(DataError, match="no words to compare"):
        tfidf(words({"a": "the of", "b": "and", "c": "is"}))


def encoding(document: Document, vectors: list[list[float]]) -> Encoding:
    chunks = np.array(vectors, np.float32)
    centred_unit_vectors = chunks / np.linalg.norm(chunks, axis=1, keepdims=True)
    return Encoding(document, (), Vectors(chunks, centred_unit_vectors, OwnVectors(centred_unit_vectors[0], chunks)))


def test_controls_of_chunk_vectors_by_hand() -> None:
    field = words({"a": "x", "b": "x", "c": "x"})
    vectors = {"a": [[1.0, 0.0], [0.0, 1.0]], "b": [[1.0, 0.0]], "c": [[0.0, -2.0]]}
    known = {name: encoding(field.documents[name], found) for name, found in vectors.items()}
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert mean_of_chunks(known).scores(pairs) == pytest.approx([0.5**0.5, -(0.5**0.5), 0])
    # From a: 1 and 0 with b, 0 and -1 with c; from the other side the best of both.
    assert max_mean(known).scores(pairs) == pytest.approx([(0.5 + 1) / 2, (-0.5 + 0) / 2, 0])
    uncentred = centred_mean(field, known)
    assert uncentred.scores(pairs) == pytest.approx(mean_of_chunks(known).scores(pairs))
    assert "Not centred" in uncentred.notes[0]


def test_the_centre_is_that_of_validation_documents_only() -> None:
    held = [str(number) for number in range(10)]
    rows = [row(name, split="validation") for name in held] + [row(name, split="test") for name in "abc"]
    pairs = [LabelledPair(one, other, one == "0", None, "validation") for one, other in itertools.pairwise(held)]
    pairs += [LabelledPair("a", "b", True, None, "test"), LabelledPair("a", "c", False, None, "test")]
    field = make_evaluation_set("f", rows, pairs)
    vectors = {name: [[3.0, 1.0]] for name in held} | {"a": [[4.0, 1.0]], "b": [[5.0, 1.0]], "c": [[3.0, 2.0]]}
    known = {name: encoding(field.documents[name], found) for name, found in vectors.items()}
    assert centred_mean(field, known).scores([("a", "b"), ("a", "c")]) == pytest.approx([1, 0], abs=1e-6)
