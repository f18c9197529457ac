"""ONNX Runtime sessions, set up as measured: one thread per operator on the CPU, many chunks side by side.

On two cores a shared session with a pool of threads, one chunk per call at its exact length and no mask, is the
fastest layout, and the only one in which the same chunk always gives the same bytes: dynamic int8 takes its
scales from whatever else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.devices import CPU_PROVIDER, CUDA_PROVIDER
from colde_cli.errors import DeviceError, ModelError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from colde_cli.documents.document import Chunk

FloatArray = NDArray[np.float32]
Progress = Callable[[int], None]

# Tokens of one GPU batch, padding included: fills an accelerator and stays well under a gigabyte.
_BATCH_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class Contract:
    """What `layout` promises of a graph.

    Attributes:
        inputs: all that it may ask for.
        outputs: all that it must give, with the size of their last axis (None where that varies).
    """

    inputs: frozenset[str]
    outputs: Mapping[str, int | None]

    def check(self, session: InferenceSession, graph: Path) -> None:
        """See that a graph keeps the contract, before a document is read in vain.

        Raises:
            ModelError: it asks for other inputs or gives other outputs.
        """
        strange = {item.name for item in session.get_inputs()} - self.inputs
        if strange:
            raise ModelError(f"{graph} asks for {', '.join(sorted(strange))}, which colde models do not.")
        given = {item.name: item.shape[-1] for item in session.get_outputs()}
        for name, size in self.outputs.items():
            if name not in given:
                raise ModelError(f"{graph} gives no {name}; it is not the graph of a colde model.")
            if size is not None and isinstance(given[name], int) and given[name] != size:
                raise ModelError(f"{graph} gives {name} of size {given[name]}, but config.json says {size}.")


def encoder_contract(hidden: int) -> Contract:
    """Of a chunk encoder whose vectors have `hidden` numbers."""
    names = ("input_ids", "attention_mask", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"chunk_vectors": hidden})


def head_contract(hidden: int) -> Contract:
    """Of a document head over chunk vectors of `hidden` numbers."""
    names = ("chunk_vectors", "lengths", "partners", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"vectors": None, "attention": None, "directions": hidden})


def open_session(graph: Path, contract: Contract, cuda: int | None = None) -> InferenceSession:
    """A session for one graph, on the CPU or on CUDA device number `cuda`.

    Raises:
        ModelError: the file is not a graph that this ONNX Runtime can run, or breaks the contract.
        DeviceError: CUDA was planned but the session did not get it.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # the native log would speak over our own errors
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    providers: list[str | tuple[str, dict[str, int]]] = [CPU_PROVIDER]
    # Measured on CPUs: fusing "skip + layer norm" costs 14 %.
    disabled = ["SkipLayerNormFusion"]
    if cuda is not None:
        providers, disabled = [(CUDA_PROVIDER, {"device_id": cuda}), CPU_PROVIDER], []
    try:
        session = onnxruntime.InferenceSession(
            str(graph), options, providers=providers, disabled_optimizers=disabled
        )
    except Exception as error:  # ONNX Runtime raises several types of its own, none of them public
        raise ModelError(
            f"{graph} is damaged or not an ONNX graph; fetch or export the model again."
        ) from error
    if cuda is not None and CUDA_PROVIDER not in session.get_providers():
        raise DeviceError("ONNX Runtime could not start CUDA for this model; run with --device cpu.")
    contract.check(session, graph)
    return session


@dataclass(frozen=True, slots=True)
class ChunkRunner:
    """Runs the chunk encoder over chunks.

    Attributes:
        session: of the chunk encoder.
        threads: chunks encoded at the same time on the CPU.
        batched: padded batches (GPU) instead of one chunk per call (CPU).
    """

    session: InferenceSession
    threads: int
    batched: bool

    def run(self, chunks: Sequence[Chunk], progress: Progress | None = None) -> list[FloatArray]:
        """Chunk vectors [H] in the order of `chunks`.

        Args:
            chunks: of any documents.
            progress: told of every number of finished chunks, from the threads that finish them.

        Raises:
            ModelError: the graph cannot take these token ids.
            DeviceError: memory ran out.
        """
        inputs = {item.name for item in self.session.get_inputs()}
        # Longest first: the pool then ends with the short ones, and batches hold chunks of like length.
        order = sorted(range(len(chunks)), key=lambda index: -len(chunks[index].ids))
        groups = _batches(order, chunks) if self.batched else [[index] for index in order]
        vectors: list[FloatArray | None] = [None] * len(chunks)

        def encode(group: list[int]) -> None:
            feed = _feed([chunks[index] for index in group], inputs)
            for index, vector in zip(group, self._vectors(feed), strict=True):
                vectors[index] = np.asarray(vector, np.float32)
            if progress is not None:
                progress(len(group))

        with ThreadPoolExecutor(1 if self.batched else self.threads) as pool:
            for _ in pool.map(encode, groups):
                pass
        return [vector for vector in vectors if vector is not None]

    def _vectors(self, feed: Mapping[str, NDArray[np.int64]]) -> FloatArray:
        (vectors,) = run_graph(self.session, ["chunk_vectors"], feed, part="chunk encoder", cuda=self.batched)
        return vectors


def run_graph(
    session: InferenceSession,
    outputs: Sequence[str],
    feed: Mapping[str, NDArray[np.int64]],
    *,
    part: str,
    cuda: bool,
) -> list[FloatArray]:
    """The outputs of a graph; `part` names it in errors.

    Raises:
        ModelError: the graph cannot take these token ids.
        DeviceError: memory ran out.
    """
    try:
        found: list[FloatArray] = session.run(list(outputs), feed)
    except Exception as error:  # as in `open_session`
        if "allocate memory" in str(error):
            where = "the graphics card; run with --device cpu" if cuda else "this machine"
            raise DeviceError(f"There is too little memory on {where}.") from error
        reason = str(error).rpartition("Status Message: ")[2]
        raise ModelError(f"The model's {part} failed; its files may not fit together ({reason}).") from error
    return found


def _batches(order: Sequence[int], chunks: Sequence[Chunk]) -> list[list[int]]:
    """Runs of `order` that hold at most `_BATCH_TOKENS` tokens once padded to their first, longest chunk."""
    groups: list[list[int]] = []
    for index in order:
        longest = len(chunks[groups[-1][0]].ids) if groups else 0
        if groups and longest * (len(groups[-1]) + 1) <= _BATCH_TOKENS:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _feed(group: Sequence[Chunk], inputs: set[str]) -> dict[str, NDArray[np.int64]]:
    """Tensors for a group of chunks, padded to the longest; only those the graph asks for.

    A graph that takes positions gets those of a document read whole: section 0, and the number of the chunk in
    its document, which the graph clamps to the rows that it has.
    """
    width = max(len(chunk.ids) for chunk in group)
    ids = np.zeros((len(group), width), np.int64)
    mask = np.zeros_like(ids)
    for row, chunk in enumerate(group):
        ids[row, : len(chunk.ids)] = chunk.ids
        mask[row, : len(chunk.ids)] = 1
    feed = {
        "input_ids": ids,
        "attention_mask": mask,
        "section_ids": np.zeros(len(group), np.int64),
        "chunk_ids": np.array([chunk.index for chunk in group], np.int64),
    }
    return {name: values for name, values in feed.items() if name in inputs}
