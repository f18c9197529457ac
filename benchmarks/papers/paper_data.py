"""Load a labelled set for training heads: chunks, frozen chunk vectors, training documents, labelled pairs.

FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md). Chunk vectors come from the int8 graph of
`--model`. The shipped one learned from these sets; `colde train DATA --freeze-backbone --epochs 1 -o minilm` makes one
whose MiniLM is as published. Vectors missing in colde's cache are encoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import colde_cli
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import TOKENIZER
from colde_cli.encoder.vector_cache import digest, file_digest
from colde_cli.evaluation.data import (
    EvaluationSet,
    TrainingData,
    make_evaluation_set,
    members,
    read_data,
    read_evaluation_sets,
    read_pairs,
)
from colde_cli.learning.colde_training import ColdeTask
from colde_cli.learning.loop import Task
from colde_cli.learning.sampling import Positives, Split, split_by_pairs
from colde_cli.learning.tokens import ChunkStore, chunk_documents, ends

RUNS = Path("runs/papers")
"""The folder of all results of these scripts. What is kept there is keyed by data, model and code."""
ROOMS = ("documents", "encoder", "scoring", "evaluation", "learning", "systems")
"""The parts of the package that results come from."""


@cache
def code_digest(folders: tuple[Path, ...] = (Path(__file__).parent,)) -> bytes:
    """Hash the Python code of `ROOMS` and of some folders, those of these scripts; a change trains everything anew."""
    package = Path(colde_cli.__file__).parent
    files = [
        file
        for root in (*(package / room for room in ROOMS), *folders)
        for file in ([root] if root.suffix else sorted(root.rglob("*.py")))
    ]
    return digest(*(file.name.encode() + file_digest(file) for file in files))


def run_key(folder: Path, *more: bytes) -> str:
    """Hash what a result depends on beside its options: documents and pairs of a set, code, and `more`."""
    data = (file_digest(folder / f"{name}.jsonl.gz") for name in ("docs", "pairs"))
    return digest(*data, code_digest(), *more).hex()[:12]


@dataclass(frozen=True, slots=True, eq=False)
class PaperSet:
    """A labelled set with its chunks and vectors.

    Attributes:
        name: of its folder.
        data: its documents.
        evaluation_set: its pairs, in the order of all scores.
        store: chunks of all documents.
        vectors: [n, H] float32, zeros for chunks that are not needed.
        task: the training task of a head.
        key: hash of documents, pairs, training documents, encoder and code.
    """

    name: str
    folder: Path
    data: TrainingData
    evaluation_set: EvaluationSet
    store: ChunkStore
    vectors: NDArray[np.float32]
    task: ColdeTask
    key: str = ""

    @property
    def numbers(self) -> dict[str, int]:
        """Id of a document to its index."""
        return self.data.numbers()

    def pairs(self, split: str) -> list[tuple[str, str]]:
        """Ids of the pairs of "validation" or "test"."""
        chosen = self.evaluation_set.validation if split == "validation" else self.evaluation_set.pairs
        return [(pair.a, pair.b) for pair in chosen]

    def related(self, split: str) -> NDArray[np.bool_]:
        """Judgements of the pairs, [P]."""
        chosen = self.evaluation_set.validation if split == "validation" else self.evaluation_set.pairs
        return np.array([pair.related for pair in chosen], bool)

    def among(self, split: str, negatives: str) -> NDArray[np.bool_]:
        """Which pairs are related, or unrelated in this way ("random", "hard"; "all" for every pair), [P]."""
        chosen = self.evaluation_set.validation if split == "validation" else self.evaluation_set.pairs
        return np.array([negatives == "all" or pair.related or pair.relation == negatives for pair in chosen])


def load_set(folder: Path, encoder: Encoder, most: int | None = None, windows: int = 0) -> PaperSet:
    """Read a set, cut its documents and look up or compute the chunk vectors.

    Args:
        folder: of the set.
        encoder: whose chunk vectors heads are trained on, with a cache.
        most: training documents at most, see `linked_first`; all if None.
        windows: chunks of a document at most, see `spread_chunks`; all if 0.
    """
    data = read_data([folder / "docs.jsonl.gz"])
    pairs = read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    evaluation_set = make_evaluation_set(folder.name, data.documents, pairs)
    store = _chunks(folder, data, encoder)
    if windows:
        store = thinned(store, windows)
    positives = Positives.of(data)
    split = split_by_pairs(data, list(evaluation_set.validation))
    if most is not None:
        split = replace(split, training=np.sort(linked_first(split.training, positives)[:most]))
    vectors = _vectors(store, needed_documents(split, evaluation_set, data.numbers()), encoder)
    files = np.zeros(len(data.documents), np.int64)
    task = Task(store, positives, split, files, folder.name)
    # Of the graph that runs, not of the weights it was quantised from: vectors are the graph's.
    key = run_key(folder, split.training.tobytes(), encoder.identity, str(windows).encode())
    return PaperSet(folder.name, folder, data, evaluation_set, store, vectors, task, key)


def labelled_set(folder: Path) -> EvaluationSet:
    """Read a set's documents and pairs alone; nothing is cut or encoded."""
    (found,) = read_evaluation_sets([folder / "docs.jsonl.gz"], [folder / "pairs.jsonl.gz"], [], "test")
    return found


def load_sets(
    folders: Sequence[Path], encoder: Encoder, most: Sequence[int] | None, windows: int = 0
) -> list[PaperSet]:
    """Several sets, with one number of training documents for all or one for each.

    Raises:
        SystemExit: there are neither one number nor as many as folders.
    """
    numbers: list[int | None] = list(most) if most else [None]
    if len(numbers) not in (1, len(folders)):
        raise SystemExit(f"--most takes one number or {len(folders)}, not {len(numbers)}.")
    each = numbers * len(folders) if len(numbers) == 1 else numbers
    return [load_set(folder, encoder, number, windows) for folder, number in zip(folders, each, strict=True)]


def needed_documents(split: Split, evaluation_set: EvaluationSet, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Indices of the documents that train or stand in a validation or test pair, ascending."""
    ids = members((*evaluation_set.pairs, *evaluation_set.validation))
    return np.union1d(split.training, np.array([numbers[name] for name in ids], np.int64))


def linked_first(training: NDArray[np.int64], positives: Positives) -> NDArray[np.int64]:
    """Training documents from the first on, each followed by those it is linked to, and they by theirs.

    The first N of them hold more links than N documents in the order of the file, or at random.
    """
    allowed = set(training.tolist())
    found: dict[int, None] = {}
    for start in training.tolist():
        waiting = deque([start])
        while waiting:
            number = waiting.popleft()
            if number in allowed and number not in found:
                found[number] = None
                waiting.extend(positives.partners(number).tolist())
    return np.array(list(found), np.int64)


def thinned(store: ChunkStore, windows: int) -> ChunkStore:
    """The store with at most so many chunks of each document, spread over it."""
    kept = [spread_chunks(store, number, windows) for number in range(len(store.documents) - 1)]
    chunks = np.concatenate(kept)
    return ChunkStore(
        np.concatenate([store.tokens(int(chunk)) for chunk in chunks]),
        ends(store.lengths_of(chunks).tolist()),
        store.sections[chunks],
        ends([len(some) for some in kept]),
    )


def spread_chunks(store: ChunkStore, document: int, windows: int) -> NDArray[np.int64]:
    """The chunks in the middle of each of so many equal parts of a document, each once."""
    chunks = store.chunks_of(document)
    last = np.cumsum(store.lengths_of(chunks) - 2)
    middles = (np.arange(windows) + 0.5) / windows * last[-1]
    return chunks[np.unique(np.searchsorted(last, middles, side="right"))]


def _chunks(folder: Path, data: TrainingData, encoder: Encoder) -> ChunkStore:
    """The chunks of all documents, kept in a file since cutting takes a minute."""
    tokenizer = encoder.folder.file(TOKENIZER)
    size = encoder.config.chunk_tokens
    key = run_key(folder, file_digest(tokenizer), str(size).encode())
    path = RUNS / "chunks" / f"{folder.name}-{key}.npz"
    if not path.is_file():
        documents = [item.document for item in data.documents]
        store = chunk_documents(documents, tokenizer.read_text(encoding="utf-8"), size)
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {name: getattr(store, name) for name in ("ids", "starts", "sections", "documents")}
        np.savez(path, **arrays)
    with np.load(path) as kept:
        return ChunkStore(kept["ids"], kept["starts"], kept["sections"], kept["documents"])


def _vectors(store: ChunkStore, documents: NDArray[np.int64], encoder: Encoder) -> NDArray[np.float32]:
    table = np.zeros((len(store), encoder.config.hidden_size), np.float32)
    numbers = np.concatenate([store.chunks_of(int(document)) for document in documents])
    table[numbers] = encoder.encode_chunks([store.chunk(int(number)) for number in numbers])
    return table
