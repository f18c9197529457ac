"""Labelled sets as SMITH reads them: documents packed to blocks once, for all lengths and all networks.

Blocks are those of `colde train --system smith` (32 tokens, whole sentences, BERT's word pieces). A document is packed
to `BLOCKS` of them; a network that reads fewer reads the first ones. Word pieces that the training documents hold
fewer than `RARE` times are one [UNK]: masked words are guessed among thousands then, and not among 30,522.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from paper_data import RUNS

from colde_cli.documents.chunking import plain_tokenizer, special_token
from colde_cli.encoder.cache import digest, file_digest
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.packing import Rows, document_text, pack_blocks
from colde_cli.evaluation.data import LabelledPair, TrainingData, read_data, read_pairs
from colde_cli.learning.backbone import DEFAULT_BACKBONE, Backbone, load_backbone
from colde_cli.learning.masking import MaskingVocabulary
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import Split, split_by_pairs

ROW_TOKENS = 32
BLOCKS = 32
RARE = 10
_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SmithSet:
    """One set.

    Attributes:
        name: of its folder.
        data: its documents.
        rows: int32 [N, BLOCKS, ROW_TOKENS], the blocks of every document in ids from 0 to `len(kept)` - 1.
        kept: int64 [V], what the ids are in BERT's vocabulary; the first are those of `_SPECIALS`.
        positives: which documents belong together.
        split: documents that train, and the validation pairs: related and random ones, as many of each.
        pairs: the test pairs.
    """

    name: str
    data: TrainingData
    rows: NDArray[np.int32]
    kept: IntArray
    positives: Positives
    split: Split
    pairs: tuple[LabelledPair, ...]

    @property
    def masking(self) -> MaskingVocabulary:
        """What pre-training must know of the ids."""
        return MaskingVocabulary(len(self.kept), _SPECIALS.index("[MASK]"), tuple(range(len(_SPECIALS))))

    def documents(self, blocks: int) -> list[Rows]:
        """The first so many blocks of every document."""
        return [Rows.of(filled(rows[:blocks])).small() for rows in self.rows]

    def places(self) -> IntArray:
        """Numbers of the documents of the test pairs, [P, 2]."""
        numbers = self.data.numbers()
        return np.array([(numbers[pair.a], numbers[pair.b]) for pair in self.pairs], np.int64)


def load_smith_set(folder: Path, most: int | None = None) -> SmithSet:
    """Read and pack a set; `most` bounds its training documents (the first ones).

    Raises:
        ColdeError: the files are not as docs/training-data.md says.
    """
    data = read_data([folder / "docs.jsonl.gz"])
    pairs = read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    split = split_by_pairs(data, even([pair for pair in pairs if pair.split == "validation"]))
    training = split.training[:most]
    split = Split(training, split.pairs, split.related, split.judged)
    packed = _packed(folder, data)
    kept = frequent(packed[training], backbone_specials(backbone()), RARE)
    test = tuple(pair for pair in pairs if pair.split == "test")
    return SmithSet(folder.name, data, renumbered(packed, kept), kept, Positives.of(data), split, test)


def even(pairs: Sequence[LabelledPair]) -> list[LabelledPair]:
    """The related and the random pairs: one of these to each of those, as in the paper."""
    return [pair for pair in pairs if pair.related or pair.relation == "random"]


def filled(rows: NDArray[np.integer]) -> list[list[int]]:
    """Rows [R, L] without padding, and without empty rows."""
    return [row[row != 0].tolist() for row in rows if row.any()]


def frequent(rows: NDArray[np.integer], specials: Sequence[int], least: int) -> IntArray:
    """Ids that occur in `rows` so many times at least, ascending, behind the special ones."""
    counts = np.bincount(rows.ravel())
    counts[[number for number in specials if number < len(counts)]] = 0
    return np.concatenate([np.asarray(specials, np.int64), np.flatnonzero(counts >= least)])


def renumbered(rows: NDArray[np.integer], kept: IntArray) -> NDArray[np.int32]:
    """Each id by its place in `kept`, where padding comes first; others become the second, which is [UNK]."""
    table = np.ones(int(max(rows.max(), kept.max())) + 1, np.int32)
    table[kept] = np.arange(len(kept))
    return np.asarray(table[rows])


def backbone() -> Backbone:
    """MiniLM, for its word pieces."""
    return load_backbone(DEFAULT_BACKBONE)


def backbone_specials(found: Backbone) -> list[int]:
    """Ids of `_SPECIALS` in its vocabulary."""
    tokenizer = plain_tokenizer(found.tokenizer)
    return [special_token(tokenizer, token) for token in _SPECIALS]


def _packed(folder: Path, data: TrainingData) -> NDArray[np.int32]:
    """Blocks in BERT's ids [N, BLOCKS, ROW_TOKENS], kept in a file."""
    found = backbone()
    key = digest(file_digest(folder / "docs.jsonl.gz"), found.tokenizer.encode()).hex()[:12]
    path = RUNS / "smith" / "rows" / f"{folder.name}-{ROW_TOKENS}-{BLOCKS}-{key}.npy"
    if not path.is_file():
        tokenizer = plain_tokenizer(found.tokenizer)
        config = TowerConfig("smith", "blocks", ROW_TOKENS, BLOCKS, 1)
        table = np.zeros((len(data.documents), BLOCKS, ROW_TOKENS), np.int32)
        for place, item in zip(table, data.documents, strict=True):
            ids = pack_blocks(document_text(item.document), tokenizer, config).ids
            place[: ids.shape[0], : ids.shape[1]] = ids
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, table)
    kept: NDArray[np.int32] = np.load(path)
    return kept
