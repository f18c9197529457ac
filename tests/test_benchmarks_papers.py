"""The scripts of the papers' tables: their pure functions, and one tiny run from documents to a table."""

from __future__ import annotations

import importlib
import math
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from late import needs

from colde_cli.evaluation.data import LabelledPair

pytestmark = needs("torch", "sklearn", "optimum")


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def laser(script: Any) -> ModuleType:
    module: ModuleType = script("paper_laser")
    return module


@pytest.fixture
def tables(script: Any) -> ModuleType:
    module: ModuleType = script("paper_tables")
    return module


def test_seeds_become_mean_and_spread(tables: ModuleType) -> None:
    assert tables.spread([0.7, 0.8, 0.9]) == "0.800 ± 0.100"
    assert tables.spread([0.5]) == "0.500"
    assert tables.spread([]) == "–"


def test_a_loss_that_settles(tables: ModuleType) -> None:
    losses = [2.0, 2.0, *[1.0] * 14, 0.5, 0.5, 0.4, 0.4]
    assert tables.settling(losses) == "2.000 → 0.500 → 0.400"
    assert tables.settling([1.0]) == "1.000 → 1.000 → 1.000"


def test_a_table_is_markdown_and_csv(tables: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.md"
    tables.write_table(path, "A table", ("system", "AUC, hard"), [("−LSTM", "0.1")], "\n- A note.\n")
    text = path.read_text(encoding="utf-8")
    assert text == "### A table\n\n| system | AUC, hard |\n| :-- | --: |\n| −LSTM | 0.1 |\n\n- A note.\n"
    assert path.with_suffix(".csv").read_text(encoding="utf-8") == 'system,"AUC, hard"\n−LSTM,0.1\n'
    with pytest.raises(ValueError, match="cells"):
        tables.write_table(path, "A table", ("system", "AUC"), [("CoLDE",)])


def test_pieces_are_spread_over_a_text(tables: ModuleType) -> None:
    text = "".join(f"{number:02} " for number in range(40))
    offsets = [(3 * number, 3 * number + 2) for number in range(40)]
    assert tables.spread_pieces(text, offsets, 1, 3) == ["00 01 02"]
    assert tables.spread_pieces(text, offsets, 2, 4) == ["08 09 10 11", "28 29 30 31"]
    # A text that is short enough is taken whole, the last piece with what is left.
    assert tables.spread_pieces(text, offsets[:7], 3, 3) == ["00 01 02", "03 04 05", "06"]


def test_rows_differ_and_are_known_to_the_program(tables: ModuleType) -> None:
    from colde_cli.learning.recipe import parse_settings
    from colde_cli.systems.base import system_recipe

    for table in tables.TABLES.values():
        assert len({row.name for row in table.rows}) == len({row.options for row in table.rows}) == len(table.rows)
        for row in table.rows:
            words = shlex.split(row.options)
            named = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
            if "--system" in words:
                system_recipe(words[words.index("--system") + 1], {}, named)
            else:
                parse_settings(named, "colde", {})


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
    laser = script("paper_laser")
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


def test_a_sample_has_related_and_unrelated_pairs(laser: ModuleType) -> None:
    labelled = [("a", "b", True), ("a", "c", True), ("a", "d", False), ("b", "d", False), ("c", "d", False)]
    pairs = [LabelledPair(*values) for values in labelled]
    some = laser.balanced(pairs)
    assert [pair.related for pair in some] == [True, False, True, False, False]
    assert set(some) == set(pairs)


@pytest.mark.slow
def test_from_documents_to_a_table(tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from labelled_set import write_labelled_set
    from tiny_backbone import write_backbone

    monkeypatch.chdir(tmp_path)
    folder, backbone = write_labelled_set(tmp_path / "made-up"), write_backbone(tmp_path / "bert")
    more = f"--backbone {backbone} --batch-size 8 --chunk-tokens 48"
    given = ["figure-8", str(folder), "--rounds", "2", "--most", "20", "--only", "−LSTM", "--options", more]
    monkeypatch.setattr("sys.argv", ["paper_tables.py", *given])
    tables.main()
    assert len(tables.training_ids(folder, 20)) == 20
    (texts,) = (tmp_path / "runs" / "papers" / "texts").iterdir()
    (model,) = (path.parent for path in texts.glob("*/config.json"))
    # What is there is not trained again.
    tables.main()
    header, *rows = (tmp_path / "runs" / "papers" / "figure-8.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("set,system,attack,side,AUC")
    assert [row.split(",")[:4] for row in rows] == [
        ["made-up", "−LSTM", "clean", "none"],
        ["made-up", "−LSTM", "numbered before", "both"],
        ["made-up", "−LSTM", "numbered after", "both"],
    ]
    row = tables.trained_row(tables.Texts("made-up", texts, 20), tables.HEADS[3], [model])
    assert len(row) == len(tables.HEADER)
    assert row[2] == "6"
