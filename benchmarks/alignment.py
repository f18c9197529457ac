"""Measure what `colde diff` says about sections and passages: agreement with labels, planted edits.

    python benchmarks/alignment.py sections FOLDER... [--cases 60] [--no-model] [--no-cosine] [--csv FILE]
    python benchmarks/alignment.py planted FOLDER... [--cases 40] [--each 3] [--whole]

`sections`: FOLDER holds `docs.jsonl.gz` and `section_diffs.jsonl.gz` with computed labels of version pairs. F1 of which
section answers which, and macro-F1 over what became of a section (same, changed, added, removed, moved). Compared with
difflib on section texts, difflib on headings, and the assignment of section vectors with the largest sum of cosines
from 0.5 (`scipy.optimize.linear_sum_assignment`).

`planted`: FOLDER holds `docs.jsonl.gz`. Plants edits (planting.py) and reports recall of every kind and the precision
of each finding. False flags are those of pairs without an edit, per 100 unchanged passages. Only passages without a
partner in wording are encoded; `--whole` encodes the documents first, whose chunks rule some passages out.
"""

from __future__ import annotations

import csv
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from planting import EDITS, Edit, Planted, plant_edits
from scipy.optimize import linear_sum_assignment
from script import arguments, document_of, machine, records

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import passages
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.scoring.score import cosines
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.alignment import align
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.pairs import Alignment, PassagePair, State
from colde_cli.similarity.section_changes import SectionChange, SectionState, section_changes

STATES = ("same", "changed", "added", "removed", "moved")
_COSINE = 0.5
_SILVER = {
    "rewritten": "changed",
    "moved_or_merged": "moved",
    "moved_or_split": "moved",
    **{state: state for state in STATES},
}


@dataclass
class Labels:
    """Labels of the sections of two versions: pairs of indices, and a state for each section of each side."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    a: dict[int, str] = field(default_factory=dict)
    b: dict[int, str] = field(default_factory=dict)

    def pair(self, a: int, b: int, state: str) -> None:
        """Note that two sections answer each other."""
        self.pairs.add((a, b))
        self.a[a] = self.b[b] = state


@dataclass(frozen=True)
class VersionPair:
    """Two versions of a document, and the labels of their sections."""

    name: str
    a: Document
    b: Document
    truth: Labels


def version_pairs(folder: Path, count: int, seed: int = 0) -> Iterator[VersionPair]:
    """A sample of the version pairs of a data set."""
    cases = list(records(folder, "section_diffs"))
    chosen = random.Random(seed).sample(cases, min(count, len(cases)))
    wanted = {case[side] for case in chosen for side in ("old", "new")}
    rows = {record["id"]: record for record in records(folder) if record["id"] in wanted}
    for case in chosen:
        old, new = rows[case["old"]], rows[case["new"]]
        yield VersionPair(f"{case['old']} {case['new']}", _document(old), _document(new), _truth(case))


def _document(record: dict[str, Any]) -> Document:
    """Make a document of all sections; an empty one gets a hyphen as text, so that indices stay."""
    parts = [
        Part(section["heading"], section["text"]) if (section["heading"] + section["text"]).strip() else Part("", "-")
        for section in record["sections"]
    ]
    return assemble(record["id"], record.get("title", ""), parts)


def _truth(case: dict[str, Any]) -> Labels:
    labels = Labels()
    for entry in case["sections"]:
        a, b, state = entry["a_sec"], entry["b_sec"], _SILVER[entry["status"]]
        if a is not None and b is not None:
            labels.pair(a, b, state)
        elif a is not None:
            labels.a[a] = state
        else:
            labels.b[b] = state
    return labels


def aligned(a: Document, b: Document, encoder: DocumentEncoder | None) -> Alignment:
    """Align two documents as `colde diff` does; by wording alone without an encoder."""
    if encoder is None:
        return align(a, b, None)
    first, second = encoder.encode_many([a, b])
    return align(a, b, encoder, encodings=(first, second))


def ours(case: VersionPair, encoder: DocumentEncoder | None) -> Labels:
    """The labels that `colde diff` gives."""
    changes = section_changes(aligned(case.a, case.b, encoder), case.a, case.b)
    labels = Labels()
    for change in changes:
        _told(labels, change)
    for a, b in labels.pairs:
        equal = body(case.a, a) == body(case.b, b)
        labels.a[a] = labels.b[b] = "same" if equal else "changed"
    return labels


def _told(labels: Labels, change: SectionChange) -> None:
    if change.state is SectionState.DROPPED:
        labels.a[change.a[0]] = "removed"
    elif change.state is SectionState.ADDED:
        labels.b[change.b[0]] = "added"
    else:
        labels.pair(change.a[0], change.b[0], "changed")
        labels.a.update(dict.fromkeys(change.a[1:], "moved"))
        labels.b.update(dict.fromkeys(change.b[1:], "moved"))


def by_difflib(case: VersionPair, *, headings: bool) -> Labels:
    """Labels from difflib on lists of texts or headings: equal runs are partners, replaced runs too, in order."""
    left, right = (
        [section.heading if headings else body(document, n) for n, section in enumerate(document.sections)]
        for document in (case.a, case.b)
    )
    labels = Labels()
    for _, i, j, k, n in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        common = min(j - i, n - k)
        for step in range(common):
            equal = body(case.a, i + step) == body(case.b, k + step)
            labels.pair(i + step, k + step, "same" if equal else "changed")
        labels.a.update(dict.fromkeys(range(i + common, j), "removed"))
        labels.b.update(dict.fromkeys(range(k + common, n), "added"))
    return labels


def by_cosine(case: VersionPair, encoder: DocumentEncoder) -> Labels:
    """Labels from section vectors alone."""
    first, second = encoder.encode_many([case.a, case.b])
    table = cosines(first.section_vectors, second.section_vectors)
    labels = Labels()
    for i, j in zip(*linear_sum_assignment(np.where(table >= _COSINE, -table, 0)), strict=True):
        if table[i, j] >= _COSINE:
            equal = body(case.a, i) == body(case.b, j)
            labels.pair(int(i), int(j), "same" if equal else "changed")
    labels.a.update({n: "removed" for n in range(len(case.a.sections)) if n not in labels.a})
    labels.b.update({n: "added" for n in range(len(case.b.sections)) if n not in labels.b})
    return labels


def body(document: Document, index: int) -> str:
    """The words of a section, its heading left out."""
    section = document.sections[index]
    return " ".join(document.text[section.body_start : section.span.end].split())


@dataclass
class Tally:
    """Counts of pairs and of states over many version pairs."""

    hits: int = 0
    said: int = 0
    true: int = 0
    states: dict[str, list[int]] = field(default_factory=lambda: {state: [0, 0, 0] for state in STATES})

    def add(self, found: Labels, truth: Labels) -> None:
        """Count a version pair."""
        self.hits += len(found.pairs & truth.pairs)
        self.said += len(found.pairs)
        self.true += len(truth.pairs)
        for mine, theirs in ((found.a, truth.a), (found.b, truth.b)):
            for section, state in theirs.items():
                said = mine.get(section, "")
                self.states[state][2] += 1
                if said:
                    self.states[said][1] += 1
                self.states[state][0] += said == state

    @property
    def pair_f1(self) -> float:
        """F1 over pairs of sections."""
        return 2 * self.hits / max(1, self.said + self.true)

    def state_f1(self, state: str) -> float:
        """F1 of a state over sections of both sides."""
        hits, said, true = self.states[state]
        return 2 * hits / max(1, said + true)

    def figures(self) -> list[str]:
        """Pair F1, macro-F1 and the F1 of every state, to three decimals."""
        values = (self.pair_f1, self.macro_f1, *map(self.state_f1, STATES))
        return [f"{value:.3f}" for value in values]

    @property
    def macro_f1(self) -> float:
        """Mean of the states' F1."""
        return sum(map(self.state_f1, STATES)) / len(STATES)


def table(tallies: dict[str, Tally]) -> str:
    """The figures as text."""
    lines = [f"{'':22s} pair F1  macro F1  " + "  ".join(f"{state:>7s}" for state in STATES)]
    for name, tally in tallies.items():
        pair, macro, *states = tally.figures()
        lines.append(f"{name:22s} {pair:>7s}  {macro:>8s}  " + "  ".join(f"{state:>7s}" for state in states))
    return "\n".join(lines)


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
            self.right[pair.state.value] += bool(kinds & expected.get(pair.state, set(EDITS)))
        for name, told, kind in (("number", NUMERIC, "number"), ("negation", {FlagKind.NEGATION}, "negation")):
            if any(flag.kind in told for flag in pair.flags):
                self.said[f"flag {name}"] += 1
                self.right[f"flag {name}"] += kind in kinds
        if not edits:
            self.false_flags.update(flag.kind.value for flag in pair.flags)
        self.flags_on_rewording += bool(pair.flags) and kinds == {"reword"}

    def report(self) -> str:
        """The figures as text."""
        lines = [f"{'planted':10s} {'count':>6s} {'recall':>7s}"]
        lines += [f"{k:10s} {self.planted[k]:6d} {self.recalled[k] / max(1, self.planted[k]):7.3f}" for k in EDITS]
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
    """Whether the alignment shows the planted edit."""
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
    """Whether a pair holds most of the edited passage on either side, or most of the pair lies in it."""
    return any(
        span is not None and any(_shared(span, own.span) >= 0.5 * min(len(span), len(own.span)) for own in side)
        for span, side in ((edit.a, pair.a), (edit.b, pair.b))
    )


def partners(edit: Edit, pair: PassagePair) -> bool:
    """Whether both sides of the pair hold some of the edited passage."""
    return all(
        span is not None and any(_shared(span, own.span) for own in side)
        for span, side in ((edit.a, pair.a), (edit.b, pair.b))
    )


def covered(pairs: list[PassagePair], side: str, span: Span) -> float:
    """The share of a passage that is shown as one-sided, or marked in a redline."""
    total = 0
    for pair in pairs:
        own = pair.a if side == "a" else pair.b
        if not (pair.a and pair.b):
            total += sum(_shared(span, passage.span) for passage in own)
        elif own:
            # Offsets of a group are those of its first passage but for the blanks between passages.
            shift = own[0].span.start
            marks = [edit.a if side == "a" else edit.b for edit in pair.edits]
            total += sum(_shared(span, Span(mark.start + shift, mark.end + shift)) for mark in marks)
    return total / len(span)


def _shared(one: Span, two: Span) -> int:
    return max(0, min(one.end, two.end) - max(one.start, two.start))


def documents(folder: Path, count: int, seed: int = 1) -> Iterator[Document]:
    """A sample of a data set."""
    long = [record for record in records(folder) if sum(len(s["text"]) for s in record["sections"]) > 8000]
    yield from map(document_of, random.Random(seed).sample(long, min(count, len(long))))


def run_planted(folders: list[Path], cases: int, each: int, encoder: DocumentEncoder | None, whole: bool) -> None:
    """Plant, align, count, print."""
    found, taken = Found(), 0.0
    for folder in folders:
        chosen = list(documents(folder, cases // len(folders)))
        pool = [_foreign(document) for document in chosen]
        for n, document in enumerate(chosen):
            foreign = [text for m, texts in enumerate(pool) if m != n for text in texts]
            case = plant_edits(document, foreign, each, seed=n)
            start = time.perf_counter()
            alignment = (aligned if whole else align)(case.a, case.b, encoder)
            taken += time.perf_counter() - start
            found.add(case, alignment)
    print(found.report())
    print(f"{taken:.0f} s of alignment")


def _foreign(document: Document) -> list[str]:
    texts = (document.text[p.span.start : p.span.end] for p in passages(document))
    return [text for text in texts if 40 <= len(text.split()) <= 90]


def run_sections(
    folders: list[Path], cases: int, encoder: DocumentEncoder | None, cosine: bool, target: Path | None
) -> None:
    """Align versions, count, print; write a CSV file if there is a target."""
    rows = []
    for folder in folders:
        tallies: dict[str, Tally] = {}
        for case in version_pairs(folder, cases):
            labels = {"colde": ours(case, encoder)}
            labels["difflib, texts"] = by_difflib(case, headings=False)
            labels["difflib, headings"] = by_difflib(case, headings=True)
            if cosine and encoder is not None:
                labels["section cosines"] = by_cosine(case, encoder)
            for name, found in labels.items():
                tallies.setdefault(name, Tally()).add(found, case.truth)
        print(f"{folder.name}, {cases} version pairs\n{table(tallies)}")
        rows += [[folder.name, cases, name, *tally.figures()] for name, tally in tallies.items()]
    if target is not None:
        header = ["set", "pairs", "method", "pair F1", "macro-F1", *STATES]
        with target.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main() -> None:
    """Measure and print."""
    options = arguments(
        __doc__, "measure", "folders...",
        cases=0, each=3, whole=False, model=DEFAULT_MODEL, no_model=False, no_cosine=False, csv=Path,
    )  # fmt: skip
    planted = str(options.measure) == "planted"
    cases = options.cases or (40 if planted else 60)
    encoder = None if options.no_model else open_encoder(options.model, device="cpu", cache=Cache.open())
    print(f"{machine()}; {', '.join(folder.name for folder in options.folders)}, {cases} cases, one run")
    if planted:
        run_planted(options.folders, cases, options.each, encoder, options.whole)
    else:
        run_sections(options.folders, cases, encoder, not options.no_cosine, options.csv)


if __name__ == "__main__":
    main()
