"""Does `colde diff` find what changed? Sections of real versions, and edits planted into real documents.

    python benchmarks/alignment.py sections FOLDER... [--cases 60] [--no-model] [--no-cosine]
    python benchmarks/alignment.py planted FOLDER... [--cases 40] [--each 3] [--whole]
    python benchmarks/alignment.py assignment FOLDER... [--cases 60]

`sections`: each FOLDER holds `docs.jsonl.gz` and `section_diffs.jsonl.gz`, whose labels are computed, not judged: F1 of
pairs of sections, and macro-F1 over what became of each section (`alignment_sections.py`).

`planted`: each FOLDER holds `docs.jsonl.gz`; recall of every kind of edit, and precision of what is said of that kind
(`alignment_planting.py`); false flags are those in pairs that no planted edit touches, per 100 passages without an
edit. Only passages without a partner in wording are encoded; with `--whole` the documents first, by whose chunks
`colde diff` leaves some passages out.

`assignment`: data as for `sections`; how many passages get another partner, or none, where each round of matching
maximises the sum of scores (`scipy.optimize.linear_sum_assignment`) and does not take the best first; wording alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import alignment_sections as sections
import numpy as np
from alignment_planting import KINDS, Edit, Planted, plant
from scipy.optimize import linear_sum_assignment

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import passages
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity import alignment as alignment_module
from colde_cli.similarity.alignment import Alignment, PassagePair, State, align
from colde_cli.similarity.candidates import Candidate
from colde_cli.similarity.flags import FlagKind
from colde_cli.similarity.matching import Matching

NUMERIC = {FlagKind.NUMBER, FlagKind.DATE, FlagKind.AMOUNT, FlagKind.PERCENTAGE, FlagKind.UNIT}


@dataclass
class Found:
    """Counts over planted documents."""

    planted: Counter[str] = field(default_factory=Counter)
    recalled: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    false_flags: Counter[str] = field(default_factory=Counter)
    flags_on_rewording: int = 0
    unchanged: int = 0

    def add(self, case: Planted, alignment: Alignment) -> None:
        """Count a document."""
        for edit in case.edits:
            self.planted[edit.kind] += 1
            self.recalled[edit.kind] += recalled(edit, alignment)
        for pair in alignment.pairs:
            self._judge(pair, [edit for edit in case.edits if touches(edit, pair)])

    def _judge(self, pair: PassagePair, edits: list[Edit]) -> None:
        kinds = {edit.kind for edit in edits}
        self.unchanged += not edits
        expected = {State.ONLY_A: {"delete"}, State.ONLY_B: {"insert"}, State.MOVED: {"move"}}
        if pair.state is not State.SAME:
            self.said[pair.state.value] += 1
            self.right[pair.state.value] += bool(kinds & expected.get(pair.state, set(KINDS)))
        for name, told, kind in (
            ("number", NUMERIC, "number"),
            ("negation", {FlagKind.NEGATION}, "negation"),
        ):
            if any(flag.kind in told for flag in pair.flags):
                self.said[f"flag {name}"] += 1
                self.right[f"flag {name}"] += kind in kinds
        if not edits:
            self.false_flags.update(flag.kind.value for flag in pair.flags)
        self.flags_on_rewording += bool(pair.flags) and kinds == {"reword"}

    def report(self) -> str:
        """The figures as text."""
        lines = [f"{'planted':10s} {'count':>6s} {'recall':>7s}"]
        lines += [
            f"{k:10s} {self.planted[k]:6d} {self.recalled[k] / max(1, self.planted[k]):7.3f}" for k in KINDS
        ]
        lines.append(f"{'said':14s} {'count':>6s} {'precision':>9s}")
        lines += [f"{k:14s} {n:6d} {self.right[k] / n:9.3f}" for k, n in sorted(self.said.items())]
        flags = sum(self.false_flags.values())
        lines.append(
            f"false flags per 100 unchanged passages: {100 * flags / max(1, self.unchanged):.2f} "
            f"({flags} in {self.unchanged}: {dict(self.false_flags)}); "
            f"reworded passages with a flag: {self.flags_on_rewording} of {self.planted['reword']}"
        )
        return "\n".join(lines)


def recalled(edit: Edit, alignment: Alignment) -> bool:
    """The alignment says what was planted."""
    pairs = [pair for pair in alignment.pairs if touches(edit, pair)]
    if edit.kind in ("delete", "insert"):
        side = "a" if edit.kind == "delete" else "b"
        span = edit.a if edit.kind == "delete" else edit.b
        assert span is not None
        return covered(pairs, side, span) >= 0.8
    if edit.kind == "move":
        return any(pair.state is State.MOVED and partners(edit, pair) for pair in pairs)
    paired = [pair for pair in pairs if partners(edit, pair)]
    if edit.kind == "reword":
        return any(pair.edits for pair in paired)
    told = NUMERIC if edit.kind == "number" else {FlagKind.NEGATION}
    return any(flag.kind in told for pair in paired for flag in pair.flags)


def touches(edit: Edit, pair: PassagePair) -> bool:
    """The pair holds most of the edited passage on either side, or most of the pair is of it."""
    return any(
        span is not None
        and any(_shared(span, own.span) >= 0.5 * min(len(span), len(own.span)) for own in side)
        for span, side in ((edit.a, pair.a), (edit.b, pair.b))
    )


def partners(edit: Edit, pair: PassagePair) -> bool:
    """Both sides of the pair hold some of the edited passage."""
    return all(
        span is not None and any(_shared(span, own.span) for own in side)
        for span, side in ((edit.a, pair.a), (edit.b, pair.b))
    )


def covered(pairs: list[PassagePair], side: str, span: Span) -> float:
    """The share of a passage that stands on one side only, or is marked in a redline."""
    total = 0
    for pair in pairs:
        own, text = (pair.a, pair.a_text) if side == "a" else (pair.b, pair.b_text)
        if not (pair.a and pair.b):
            total += sum(_shared(span, passage.span) for passage in own)
        elif own:
            # Offsets of a group are those of its first passage but for the blanks between passages.
            shift = own[0].span.start
            marks = [edit.a if side == "a" else edit.b for edit in pair.edits]
            total += sum(_shared(span, Span(mark.start + shift, mark.end + shift)) for mark in marks)
            del text
    return total / len(span)


def _shared(one: Span, two: Span) -> int:
    return max(0, min(one.end, two.end) - max(one.start, two.start))


def documents(folder: Path, count: int, seed: int = 1) -> Iterator[Document]:
    """A sample of a data set."""
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    long = [record for record in records if sum(len(s["text"]) for s in record["sections"]) > 8000]
    for record in random.Random(seed).sample(long, min(count, len(long))):
        parts = [Part(section["heading"], section["text"]) for section in record["sections"]]
        yield assemble(record["id"], record.get("title", ""), parts)


def run_planted(
    folders: list[Path], cases: int, each: int, encoder: DocumentEncoder | None, whole: bool
) -> None:
    """Plant, align, count, print."""
    found, taken = Found(), 0.0
    for folder in folders:
        chosen = list(documents(folder, cases // len(folders)))
        pool = [_foreign(document) for document in chosen]
        for n, document in enumerate(chosen):
            foreign = [text for m, texts in enumerate(pool) if m != n for text in texts]
            case = plant(document, foreign, each, seed=n)
            start = time.perf_counter()
            alignment = (sections.aligned if whole else align)(case.a, case.b, encoder)
            taken += time.perf_counter() - start
            found.add(case, alignment)
    print(found.report())
    print(f"{taken:.0f} s of alignment")


class Optimal(Matching):
    """Matching by the largest sum of scores."""

    def take(self, good: list[tuple[float, int, Candidate]]) -> None:
        """Choose among candidates."""
        table = np.zeros(
            (1 + max((c.a for *_, c in good), default=0), 1 + max((c.b for *_, c in good), default=0))
        )
        scores = {(c.a, c.b): c.score for *_, c in good}
        for worth, offset, candidate in good:
            table[candidate.a, candidate.b] = worth - 1e-4 * min(offset, 100)
        for a, b in zip(*linear_sum_assignment(-table), strict=True):
            if (int(a), int(b)) in scores:
                self.add(int(a), int(b), scores[int(a), int(b)])


def run_assignment(folders: list[Path], cases: int) -> None:
    """Match both ways, count, print."""
    for folder in folders:
        differ = total = 0
        for case in sections.version_pairs(folder, cases):
            greedy = partners_of(align(case.a, case.b, None))
            with patch.object(alignment_module, "Matching", Optimal):
                optimal = partners_of(align(case.a, case.b, None))
            differ += sum(greedy[passage] != optimal[passage] for passage in greedy)
            total += len(greedy)
        print(f"{folder.name}: {differ} of {total} passages of A differ")


def partners_of(alignment: Alignment) -> dict[int, tuple[int, ...]]:
    """For each passage of A those of B that answer it."""
    return {p.index: tuple(q.index for q in pair.b) for pair in alignment.pairs for p in pair.a}


def _foreign(document: Document) -> list[str]:
    texts = (document.text[p.span.start : p.span.end] for p in passages(document))
    return [text for text in texts if 40 <= len(text.split()) <= 90]


def run_sections(folders: list[Path], cases: int, encoder: DocumentEncoder | None, cosine: bool) -> None:
    """Align versions, count, print."""
    for folder in folders:
        tallies: dict[str, sections.Tally] = {}
        for case in sections.version_pairs(folder, cases):
            said = {"colde": sections.ours(case, encoder)}
            said["difflib, texts"] = sections.by_difflib(case, headings=False)
            said["difflib, headings"] = sections.by_difflib(case, headings=True)
            if cosine and encoder is not None:
                said["section cosines"] = sections.by_cosine(case, encoder)
            for name, labels in said.items():
                tallies.setdefault(name, sections.Tally()).add(labels, case.truth)
        print(f"{folder.name}, {cases} version pairs\n{sections.table(tallies)}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("sections", "planted", "assignment"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--whole", action="store_true", help="encode whole documents too")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--no-model", action="store_true", help="wording alone")
    parser.add_argument("--no-cosine", action="store_true", help="without the matching by section cosines")
    options = parser.parse_args()
    encoder = None if options.no_model else open_encoder(options.model, device="cpu", cache=Cache.open())
    if options.what == "sections":
        run_sections(options.folders, options.cases, encoder, not options.no_cosine)
    elif options.what == "assignment":
        run_assignment(options.folders, options.cases)
    else:
        run_planted(options.folders, options.cases, options.each, encoder, options.whole)


if __name__ == "__main__":
    main()
