"""Elongation: does a document that says the same m times over still score the same (LA(SER)³, length attack)?

At chunk level the chunks of a document are repeated m times, their vectors reused and the document head run again;
numbers of chunks beyond the model's last stay at the last. At text level its text is repeated m times as one section,
cut into chunks anew and encoded again, so that chunks begin at other words. m = 1 is the document as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.rearranging import rearranged
from colde_cli.evaluation.robustness.report import PairRow, ProtocolReport
from colde_cli.evaluation.robustness.scored import Bench, Encoded

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ElongationOptions:
    """How far documents are elongated.

    Attributes:
        times: m.
        max_chunks: a document is not made longer than this at chunk level: its m is then smaller.
        text_documents: how many documents are elongated at text level, where every repetition is encoded; those of
            the first pairs.
        max_tokens: a document is not made longer than this at text level.
    """

    times: tuple[int, ...] = (1, 2, 4, 8, 16, 100)
    max_chunks: int = 2048
    text_documents: int = 20
    max_tokens: int = 32_768


def elongation(bench: Bench, options: ElongationOptions) -> Iterable[ProtocolReport]:
    """Elongate one document of every pair, then both: one report per level."""
    if bench.by_chunks is not None:
        yield _chunk_level(bench, bench.by_chunks, options)
    if options.text_documents > 0:
        yield _text_level(_sample(bench, options.text_documents), options)


def tiled(encoding: Encoding, times: int, document_vector: FloatArray) -> Encoding:
    """The encoding with its chunks repeated, given what the head made of them."""
    rows = np.tile(np.arange(len(encoding.chunks)), times)
    return replace(
        encoding,
        chunks=encoding.chunks * times,
        chunk_vectors=encoding.chunk_vectors[rows],
        directions=encoding.directions[rows],
        document_vector=document_vector,
    )


def elongated(document: Document, times: int) -> Document:
    """The document's text `times` over, as one section."""
    return assemble(document.path, document.title, [Part("", "\n\n".join([document.text] * times))])


def _chunk_level(bench: Bench, model: Encoder, options: ElongationOptions) -> ProtocolReport:
    against_itself, pairs = [], [bench.clean_row(ratios=True)]
    for times in options.times:
        allowed = {
            name: min(times, max(1, options.max_chunks // len(encoding.chunks)))
            for name, encoding in bench.encodings.items()
        }
        vectors = {
            name: _tiled_vector(model, bench.encodings[name], count) for name, count in allowed.items()
        }
        attacked = partial(_tiled_encoding, bench, allowed, vectors)
        against_itself.append(bench.self_row(_title(times, allowed), attacked, list(bench.encodings)))
        pairs += _pair_rows(bench, _title(times, allowed), attacked)
    note = (
        f"No document is made longer than {options.max_chunks} chunks; its m is then smaller (“reached by”)."
    )
    return ProtocolReport("elongation", "Elongation ×m, chunks", tuple(against_itself), tuple(pairs), (note,))


def _tiled_vector(model: Encoder, encoding: Encoding, times: int) -> FloatArray:
    if times == 1:
        return encoding.document_vector
    # A model that adds positions before BERT has them in its chunk vectors, which copies share.
    kept = model.config.chunk_position == "input"
    rows = list(range(len(encoding.chunks))) * times
    return rearranged(encoding, rows, model, "kept" if kept else "anew").document_vector


def _tiled_encoding(
    bench: Bench, times: Mapping[str, int], vectors: Mapping[str, FloatArray], name: str
) -> Encoding:
    return tiled(bench.encodings[name], times[name], vectors[name])


def _text_level(bench: Bench, options: ElongationOptions) -> ProtocolReport:
    names = list(bench.encodings)
    cut = _text_encodings(bench, dict.fromkeys(names, 1)).__getitem__
    against_itself = [bench.self_row("cut anew", cut, names)]
    pairs = [bench.clean_row(ratios=True), bench.pair_row("cut anew", "both", cut, cut, ratios=True)]
    for times in options.times:
        allowed = {
            name: min(times, max(1, options.max_tokens // max(1, encoding.tokens)))
            for name, encoding in bench.encodings.items()
        }
        longer = {name: count for name, count in allowed.items() if count > 1}
        attacked = {**bench.encodings, **_text_encodings(bench, longer)}.__getitem__
        against_itself.append(bench.self_row(_title(times, allowed), attacked, names))
        pairs += _pair_rows(bench, _title(times, allowed), attacked)
    notes = (
        f"{len(names)} documents, those of {len(bench.pairs)} pairs; none is made longer than "
        f"{options.max_tokens} tokens; its m is then smaller (“reached by”).",
        "“Cut anew” is the document once, as one section: what other chunks alone change.",
    )
    return ProtocolReport("elongation", "Elongation ×m, text", tuple(against_itself), tuple(pairs), notes)


def _text_encodings(bench: Bench, times: Mapping[str, int]) -> dict[str, Encoding]:
    documents = [elongated(bench.documents[name], count) for name, count in times.items()]
    return dict(zip(times, bench.encoder.encode_many(documents), strict=True))


def _pair_rows(bench: Bench, title: str, attacked: Encoded) -> list[PairRow]:
    return [
        bench.pair_row(title, "one", attacked, bench.clean_encoding, ratios=True),
        bench.pair_row(title, "both", attacked, attacked, ratios=True),
    ]


def _title(times: int, allowed: Mapping[str, int]) -> str:
    reached = sum(count == times for count in allowed.values())
    return f"×{times}" if reached == len(allowed) else f"×{times} (reached by {reached} of {len(allowed)})"


def _sample(bench: Bench, count: int) -> Bench:
    """The bench cut to pairs of at most `count` documents, one pair at least: the first of each judgement by turns."""
    chosen: set[str] = set()
    kept: list[int] = []
    for index in _by_turns([related for _, _, related in bench.pairs]):
        a, b, _ = bench.pairs[index]
        if not kept or len(chosen | {a, b}) <= count:
            chosen |= {a, b}
            kept.append(index)
    return replace(
        bench,
        documents={name: bench.documents[name] for name in sorted(chosen)},
        encodings={name: bench.encodings[name] for name in sorted(chosen)},
        pairs=tuple(bench.pairs[index] for index in kept),
        clean=bench.clean[kept],
    )


def _by_turns(related: Sequence[bool]) -> list[int]:
    """Indices of related and unrelated pairs by turns, so that a sample has both."""
    turns = [[index for index, value in enumerate(related) if value is wanted] for wanted in (True, False)]
    order = {index: place for group in turns for place, index in enumerate(group)}
    return sorted(order, key=lambda index: (order[index], index))
