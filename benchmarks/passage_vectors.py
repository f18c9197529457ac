"""Compare two kinds of passage vectors: passages encoded alone, or means of token states of the chunks' own pass.

    python benchmarks/passage_vectors.py partners FOLDER... [--cases 40]
    python benchmarks/passage_vectors.py sections FOLDER... [--cases 60]
    python benchmarks/passage_vectors.py time A.pdf B.pdf [--repetitions 7]

`partners`: a passage of A has one right partner in B. How often does it have the highest cosine of all passages of B,
and by how much does it lead the best wrong one (median)? Three ground truths; each FOLDER holds `docs.jsonl.gz`, and
for the last also `section_diffs.jsonl.gz`:

    in place        a document and a copy with passages reworded by rule (planting.py)
    elsewhere       a run of sentences reworded and planted into an unrelated document
    versions        passages of two versions without a match in wording, alone between the same neighbours on both sides

`sections`: data as for `alignment.py sections`. Alignment with either kind of vectors in its last round, with the
thresholds of that round as they are, lower and higher.

`time`: seconds and peak memory to encode and align two documents, nothing cached. Each measurement is a fresh process,
by turns: without passage vectors; passages encoded alone if they could mean the same, as `colde diff` does; all
passages without a partner in wording; all passages from the chunks' own pass.

For the chunks' own pass the shipped graph gets its token states as a further output, in memory. The vector of a passage
is the mean over its tokens, whatever chunks they stand in.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import alignment
import numpy as np
import onnx
import onnxruntime
from alignment import documents
from numpy.typing import NDArray
from planting import plant_edits, plant_passage

from colde_cli import settings
from colde_cli.documents.document import Chunk, Document, Part, Span, assemble
from colde_cli.documents.passages import Passage, passages, passages_of_both
from colde_cli.documents.reading import read
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder, open_tokenizer
from colde_cli.encoder.layout import ENCODER_GRAPHS, TOKENIZER
from colde_cli.scoring.score import cosines
from colde_cli.similarity import alignment as alignment_module
from colde_cli.similarity.alignment import State, align
from colde_cli.similarity.candidates import ChunkCosines
from colde_cli.similarity.matching import Thresholds

FloatArray = NDArray[np.float32]


class SamePass:
    """A chunk encoder that also returns its token states."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        graph = encoder.folder.file(ENCODER_GRAPHS[encoder.info.precision])
        self._session, self._states = _session_with_states(graph)
        self._tokenizer = open_tokenizer(encoder.folder.file(TOKENIZER))

    def read(self, document: Document, found: Sequence[Passage]) -> tuple[FloatArray, FloatArray]:
        """Chunk vectors [n, H], and passage vectors [p, H] of the same pass; neither is centred."""
        chunks = self.encoder.chunk(document)
        rows = {chunk.index: n for n, chunk in enumerate(chunks)}
        # Longest first, as the encoder does it.
        order = sorted(chunks, key=lambda chunk: -len(chunk.ids))
        with ThreadPoolExecutor(settings.default_threads()) as pool:
            ran = dict(zip((chunk.index for chunk in order), pool.map(self._run, order), strict=True))
        vectors = np.stack([ran[chunk.index][0] for chunk in sorted(chunks, key=lambda c: rows[c.index])])
        states = {index: tokens for index, (_, tokens) in ran.items()}
        return vectors, self._pooled(document, found, chunks, states)

    def _run(self, chunk: Chunk) -> tuple[FloatArray, FloatArray]:
        feed = {"input_ids": np.array([chunk.ids], np.int64)}
        vectors, states = self._session.run(["chunk_vectors", self._states], feed)
        return vectors[0], states[0, 1:-1]

    def _pooled(
        self,
        document: Document,
        found: Sequence[Passage],
        chunks: Sequence[Chunk],
        states: dict[int, FloatArray],
    ) -> FloatArray:
        """Means over the tokens that begin in each passage; zeros where there is none."""
        pooled = np.zeros((len(found), self.encoder.config.hidden_size), np.float32)
        for section in document.sections:
            own = [states[chunk.index] for chunk in chunks if chunk.section == section.index]
            if not own:
                continue
            tokens = np.concatenate(own)
            text = document.section_text(section)
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
            starts = np.array([section.span.start + start for start, _ in offsets])
            for passage in found:
                if passage.section == section.index:
                    first, last = np.searchsorted(starts, (passage.span.start, passage.span.end))
                    if first < last:
                        pooled[passage.index] = tokens[first:last].mean(0)
        return pooled


def _session_with_states(graph: Path) -> tuple[onnxruntime.InferenceSession, str]:
    """Open a session like the encoder's; returns it with the name of the output of token states."""
    model = onnx.load(graph)
    (pool,) = (node for node in model.graph.node if "chunk_vectors" in node.output)
    name = pool.input[0]
    model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],
    )
    return session, name


def extra_pass(document: Document, found: Sequence[Passage], encoder: Encoder) -> FloatArray:
    """Vectors [p, H] of passages that are read alone, each its first chunk; not centred."""
    parts = [Part("", document.text[passage.span.start : passage.span.end]) for passage in found]
    chunks = encoder.chunk(assemble("", "", parts))
    first = {chunk.section: row for row, chunk in reversed(list(enumerate(chunks)))}
    vectors = encoder.encode_chunks(chunks)
    none = np.zeros_like(vectors[0])
    return np.stack([vectors[first[n]] if n in first else none for n in range(len(found))])


def centred(vectors: FloatArray, encoder: Encoder) -> FloatArray:
    """[p, H], less the training corpus' mean and of unit length, as chunk scores have it."""
    return encoder.head.run([vectors]).centred_unit_vectors[0]


def centred_on_own(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same, less the mean over the passages of the two documents."""
    mean = np.concatenate([a, b]).mean(0)
    return a - mean, b - mean


Both = tuple[FloatArray, FloatArray]
WAYS = ("none", "promising alone", "all alone", "same pass")
FEWEST = 6
"""Least number of passages of B to choose from."""


@dataclass(frozen=True)
class Case:
    """Two documents, their passages, and the right passages of B for some of A."""

    kind: str
    a: Document
    b: Document
    of_a: tuple[Passage, ...]
    of_b: tuple[Passage, ...]
    right: dict[int, set[int]]


def cases(folder: Path, count: int) -> Iterator[Case]:
    """All cases of a set."""
    chosen = list(documents(folder, count))
    for n, document in enumerate(chosen):
        planted = plant_edits(document, ["-"], 4, seed=n)
        spans = [(e.a, e.b) for e in planted.edits if e.kind == "reword" and e.a and e.b]
        yield _case("in place", planted.a, planted.b, spans)
        other = plant_passage(document, chosen[n - 1], "reworded", "inserted", n)
        if other is not None:
            yield _case("elsewhere", other.a, other.b, [(other.source, other.planted)])
    if (folder / "section_diffs.jsonl.gz").exists():
        for version in alignment.version_pairs(folder, count):
            yield _between_neighbours(version.a, version.b)


def _case(kind: str, a: Document, b: Document, spans: Sequence[tuple[Span, Span]]) -> Case:
    of_a, of_b = passages_of_both(a, b)
    right: dict[int, set[int]] = {}
    for source, target in spans:
        for passage in of_a:
            inside = _overlap(passage.span, source)
            if inside < 0.8 * len(passage.span) or len(passage.span) < 60:
                continue
            # Where a sentence of a passage stands in the reworded one is taken in proportion to the lengths.
            middle = (passage.span.start + passage.span.end) / 2 - source.start
            place = target.start + middle * len(target) / len(source)
            found = {q.index for q in of_b if q.span.start <= place < q.span.end}
            if found:
                right[passage.index] = found
    return Case(kind, a, b, of_a, of_b, right)


def _overlap(one: Span, two: Span) -> int:
    return max(0, min(one.end, two.end) - max(one.start, two.start))


def _between_neighbours(a: Document, b: Document) -> Case:
    aligned = align(a, b, None)
    partner = {
        p.index: q.index for pair in aligned.pairs for p in pair.a[-1:] for q in pair.b[-1:] if pair.score
    }
    alone_a = {pair.a[0].index for pair in aligned.pairs if pair.state is State.ONLY_A}
    alone_b = {pair.b[0].index for pair in aligned.pairs if pair.state is State.ONLY_B}
    right = {}
    for i in alone_a:
        j = partner.get(i - 1, -9) + 1
        if j in alone_b and partner.get(i + 1, -9) == j + 1 and min(_size(a, aligned.a[i]), 60) == 60:
            right[i] = {j}
    return Case("versions", a, b, aligned.a, aligned.b, right)


def _size(document: Document, passage: Passage) -> int:
    return len(document.text[passage.span.start : passage.span.end])


class Vectors:
    """Both kinds of vectors of two documents, and three ways to centre them."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self._same = encoder, SamePass(encoder)

    def alone(self, case: Case) -> Both:
        """Each passage read alone."""
        return (
            extra_pass(case.a, case.of_a, self._encoder),
            extra_pass(case.b, case.of_b, self._encoder),
        )

    def same_pass(self, case: Case) -> Both:
        """From the chunks' own pass."""
        return self._same.read(case.a, case.of_a)[1], self._same.read(case.b, case.of_b)[1]

    def ways(self, case: Case) -> Iterator[tuple[str, Both]]:
        """Every kind by name."""
        for name, (a, b) in (("read alone", self.alone(case)), ("same pass", self.same_pass(case))):
            yield f"{name}, as they are", (a, b)
            yield f"{name}, centred", (centred(a, self._encoder), centred(b, self._encoder))
            yield f"{name}, centred on the two documents", centred_on_own(a, b)


def run_partners(folders: Sequence[Path], count: int, encoder: Encoder) -> None:
    """Rank passages of B for each of A, count, print."""
    vectors = Vectors(encoder)
    first: dict[tuple[str, str], list[bool]] = defaultdict(list)
    lead: dict[tuple[str, str], list[float]] = defaultdict(list)
    for folder in folders:
        for case in cases(folder, count):
            if not case.right or len(case.of_b) < FEWEST:
                continue
            for name, (a, b) in vectors.ways(case):
                table = cosines(a, b)
                for i, right in case.right.items():
                    own = max(float(table[i, j]) for j in right)
                    wrong = max(float(v) for j, v in enumerate(table[i]) if j not in right)
                    first[case.kind, name].append(own > wrong)
                    lead[case.kind, name].append(own - wrong)
    print(f"{'':12s} {'vectors':44s} {'passages':>8s}  first  lead, median  10th percentile")
    for (kind, name), hits in sorted(first.items()):
        leads = lead[kind, name]
        low = float(np.percentile(leads, 10))
        print(
            f"{kind:12s} {name:44s} {len(hits):8d}  {np.mean(hits):.3f}  "
            f"{statistics.median(leads):12.3f}  {low:15.3f}"
        )


def with_vectors(case: Case, both: Both) -> AbstractContextManager[object]:
    """Let the alignment use these vectors of all passages, [p, H] of each document, instead of encoding them.

    A text that stands in both documents gets the vector of B: such passages have a partner in wording anyway.
    """
    known = {
        document.text[p.span.start : p.span.end]: vector
        for document, passages, vectors in ((case.a, case.of_a, both[0]), (case.b, case.of_b, both[1]))
        for p, vector in zip(passages, vectors, strict=True)
    }

    def encode_passages(encoder: object, texts: Sequence[str], progress: object = None) -> FloatArray:
        return np.stack([known[text] for text in texts])

    return patch.object(Encoder, "encode_passages", encode_passages)


def run_sections(folders: Sequence[Path], count: int, encoder: Encoder) -> None:
    """Align with either kind of vectors, count, print."""
    vectors = Vectors(encoder)
    bars = {
        shift: (
            Thresholds(0.8 + shift, 0.8 + shift),
            Thresholds(0.65 + shift, 0.8 + shift, 0.5 + shift, reach=3),
        )
        for shift in (-0.1, -0.05, 0.0, 0.05, 0.1)
    }
    for folder in folders:
        tallies: dict[str, alignment.Tally] = {}
        for version in alignment.version_pairs(folder, count):
            case = Case("", version.a, version.b, *passages_of_both(version.a, version.b), {})
            labelled = {"wording alone": alignment.ours(version, None)}
            a, b = vectors.same_pass(case)
            same_pass = with_vectors(case, (centred(a, encoder), centred(b, encoder)))
            for name, replaced in (("read alone", nullcontext()), ("same pass", same_pass)):
                with replaced:
                    for shift, (sure, other) in bars.items():
                        with (
                            patch.object(alignment_module, "_SURE_MEANING", sure),
                            patch.object(alignment_module, "_MEANING", other),
                        ):
                            labelled[f"{name}, {shift:+.2f}"] = alignment.ours(version, encoder)
            for name, labels in labelled.items():
                tallies.setdefault(name, alignment.Tally()).add(labels, version.truth)
        print(f"{folder.name}, {count} version pairs\n{alignment.table(tallies)}")


def run_time(a: Path, b: Path, repetitions: int) -> None:
    """Measure by turns, print medians and the median of ratios."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(repetitions):
        for way in WAYS:
            command = [sys.executable, __file__, "once", str(a), str(b), "--way", way]
            done = subprocess.run(command, capture_output=True, check=True, text=True)
            seconds, megabytes = json.loads(done.stdout)
            found[way].append((seconds, megabytes))
    for way, values in found.items():
        ratios = [value[0] / base[0] for value, base in zip(values, found["none"], strict=True)]
        print(
            f"{way:16s} {statistics.median(v[0] for v in values):6.2f} s, {statistics.median(ratios):.2f} of that "
            f"without, peak {statistics.median(v[1] for v in values):.0f} MB"
        )


def run_once(a: Path, b: Path, way: str) -> None:
    """One measurement, printed as JSON."""
    encoder = Encoder.load(device="cpu", cache=None)
    left, right = read(str(a)), read(str(b))
    case = Case("", left, right, *passages_of_both(left, right), {})
    same = SamePass(encoder)
    # Sessions are opened, and every path walked once, before the clock runs.
    short = assemble("", "", [Part("", "A sentence.")])
    same.read(short, passages(short))
    encoder.encode(short)
    start = time.perf_counter()
    first, second = encoder.encode_many([left, right]) if way != "same pass" else (None, None)
    if way == "same pass":
        (_, one), (_, two) = same.read(left, case.of_a), same.read(right, case.of_b)
        with with_vectors(case, (centred(one, encoder), centred(two, encoder))):
            align(left, right, encoder)
    elif way == "promising alone" and first is not None and second is not None:
        align(left, right, encoder, chunk_cosines=ChunkCosines.of(first, second))
    else:
        align(left, right, encoder if way == "all alone" else None)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("partners", "sections", "time", "once"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--way", choices=WAYS, default="none", help="of `once`")
    options = parser.parse_args()
    if options.what != "once":
        names = ", ".join(path.name for path in options.paths)
        print(f"{platform.machine()}, {os.cpu_count()} cores; {names}")
    if options.what == "time":
        run_time(*options.paths, options.repetitions)
    elif options.what == "once":
        run_once(*options.paths, options.way)
    else:
        encoder = Encoder.load(device="cpu", cache=Cache.open())
        run = run_partners if options.what == "partners" else run_sections
        run(options.paths, options.cases, encoder)


if __name__ == "__main__":
    main()
