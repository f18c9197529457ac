"""Hard negatives: nearest by words, of one field, and never a document that belongs with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from test_learning_splits import data
from tiny_backbone import write_backbone

from colde_cli.documents.document import Part, assemble
from colde_cli.learning.hard_negatives import hard_negatives
from colde_cli.learning.sampling import Positives
from colde_cli.learning.tokens import chunk_documents

TEXTS = (
    "queen brood honey frame swarm",
    "queen brood honey frame comb",  # the nearest, but of the same class
    "queen brood honey keel mast",
    "queen keel mast sail hull",
    "queen brood honey frame swarm",  # the same text in another file
    "dough yeast crust oven flour",
    "queen brood honey frame swarm",  # the same text, and not for training
)
LABELS = ("a", "a", "b", "c", "d", "e", "f")
FIELDS = np.array([0, 0, 0, 0, 1, 0, 0])


def test_the_nearest_by_words_that_do_not_belong_together(tmp_path: Path) -> None:
    tokenizer = (write_backbone(tmp_path / "tiny") / "tokenizer.json").read_text(encoding="utf-8")
    store = chunk_documents([assemble("", text, [Part("", text)]) for text in TEXTS], tokenizer, 48)
    positives = Positives.of(data(*[(label, []) for label in LABELS]))
    documents = np.arange(6)
    found = hard_negatives(store, tokenizer, positives, documents, FIELDS, 2)
    assert found[0].tolist() == [2, 3]
    assert found[3].tolist()[0] == 2
    assert found[4].tolist() == [], "alone in its file"
    assert set(found) == set(range(6))
    assert all(len(near) <= 2 and number not in near for number, near in found.items())
