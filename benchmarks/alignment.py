"""Measure what `colde diff` says about sections and passages: agreement with labels, planted edits, matching.

    python benchmarks/alignment.py sections FOLDER... [--cases 60] [--no-model] [--no-cosine] [--csv FILE]
    python benchmarks/alignment.py disagreements FOLDER [--cases 120] [--show 20] [--seed 0] [--no-model]
    python benchmarks/alignment.py planted FOLDER... [--cases 40] [--each 3] [--whole]
    python benchmarks/alignment.py assignment FOLDER... [--cases 60]

`sections`: FOLDER holds `docs.jsonl.gz` and `section_diffs.jsonl.gz` with computed labels of version pairs. F1 of which
section answers which, and macro-F1 over what became of a section (same, changed, added, removed, moved). Compared with
difflib on section texts, difflib on headings, and the assignment of section vectors with the largest sum of cosines
from 0.5 (`scipy.optimize.linear_sum_assignment`).

`disagreements`: the same data. Prints random sections whose partner or state differs from the label, at most two of a
version pair, for a reader to judge; for each alleged partner the share of common words in order.

`planted`: FOLDER holds `docs.jsonl.gz`. Plants edits (planting.py) and reports recall of every kind and the precision
of each finding. False flags are those of pairs without an edit, per 100 unchanged passages. Only passages without a
partner in wording are encoded; `--whole` encodes the documents first, whose chunks rule some passages out.

`assignment`: data as for `sections`. Counts passages that get another partner if each round of matching maximises the
sum of scores instead of taking the best first; wording alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from planting import EDITS, Edit, Planted, plant_edits
from scipy.optimize import linear_sum_assignment

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import passages
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.scoring.score import cosines
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity import alignment as alignment_module
from colde_cli.similarity.alignment import align
from colde_cli.similarity.candidates import PairCandidate, wording
from colde_cli.similarity.matching import Matching
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
    with gzip.open(folder / "section_diffs.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    chosen = random.Random(seed).sample(cases, min(count, len(cases)))
    wanted = {case[side] for case in chosen for side in ("old", "new")}
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = {record["id"]: record for record in map(json.loads, lines) if record["id"] in wanted}
    for case in chosen:
        old, new = records[case["old"]], records[case["new"]]
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
    of = heading if headings else body
    left = [of(case.a, n) for n in range(len(case.a.sections))]
    right = [of(case.b, n) for n in range(len(case.b.sections))]
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


def heading(document: Document, index: int) -> str:
    """The heading of a section."""
    return document.sections[index].heading


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
        states = "  ".join(f"{tally.state_f1(state):7.3f}" for state in STATES)
        lines.append(f"{name:22s} {tally.pair_f1:7.3f}  {tally.macro_f1:8.3f}  {states}")
    return "\n".join(lines)


_PER_PAIR = 2
_SHOWN = 260


@dataclass(frozen=True)
class Disagreement:
    """A section whose state and partner, (state, index), differ between `colde diff` and the label."""

    case: VersionPair
    side: str
    section: int
    ours: tuple[str, int | None]
    label: tuple[str, int | None]

    @property
    def kind(self) -> str:
        """Label and state, as text."""
        return f"{self.label[0]} -> {self.ours[0]}"


def disagreements(case: VersionPair, found: Labels) -> list[Disagreement]:
    """List disagreements of both sides; a pair that differs only in state is listed once, for A."""
    listed = []
    for side, mine, label in (("a", found.a, case.truth.a), ("b", found.b, case.truth.b)):
        partners, silver = _partners(found, side), _partners(case.truth, side)
        for section, state in label.items():
            one = (mine.get(section, ""), partners.get(section))
            two = (state, silver.get(section))
            if one != two and not (side == "b" and one[1] is not None and one[1] == two[1]):
                listed.append(Disagreement(case, side, section, one, two))
    return listed


def _partners(labels: Labels, side: str) -> dict[int, int]:
    pairs = sorted(labels.pairs)
    return dict(pairs) if side == "a" else {b: a for a, b in pairs}


def told(item: Disagreement) -> str:
    """Describe a disagreement."""
    own, other = (item.case.a, item.case.b) if item.side == "a" else (item.case.b, item.case.a)
    lines = [f"{item.case.name}   {item.side}[{item.section}] {_shown(own, item.section)}"]
    for name, (state, partner) in (("label", item.label), ("ours", item.ours)):
        lines.append(f"  {name}: {state}" + (f", partner [{partner}]" if partner is not None else ""))
        if partner is not None:
            alike = _alike(own, item.section, other, partner)
            lines.append(f"      {alike:.2f} {_shown(other, partner)}")
    best = max(range(len(other.sections)), key=lambda n: _alike(own, item.section, other, n))
    if best not in (item.label[1], item.ours[1]):
        alike = _alike(own, item.section, other, best)
        lines.append(f"  most alike: [{best}] {alike:.2f} {_shown(other, best)}")
    return "\n".join(lines)


def _alike(own: Document, i: int, other: Document, j: int) -> float:
    left, right = (tuple(body(d, n).casefold().split()) for d, n in ((own, i), (other, j)))
    return wording(left, right)


def _shown(document: Document, index: int) -> str:
    text = body(document, index)
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 2 :]}"
    return f"{heading(document, index)[:70]!r} ({len(text.split())} words) {cut}"


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


class Optimal(Matching):
    """Matching by the largest sum of scores."""

    def take(self, good: list[tuple[float, int, PairCandidate]]) -> None:
        """Choose among candidates."""
        table = np.zeros((1 + max((c.a for *_, c in good), default=0), 1 + max((c.b for *_, c in good), default=0)))
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
        for case in version_pairs(folder, cases):
            greedy = partners_of(align(case.a, case.b, None))
            with patch.object(alignment_module, "Matching", Optimal):
                optimal = partners_of(align(case.a, case.b, None))
            differ += sum(greedy[passage] != optimal[passage] for passage in greedy)
            total += len(greedy)
        print(f"{folder.name}: {differ} of {total} passages of A differ")


def partners_of(alignment: Alignment) -> dict[int, tuple[int, ...]]:
    """Index of each passage of A to the indices of its partners in B."""
    return {p.index: tuple(q.index for q in pair.b) for pair in alignment.pairs for p in pair.a}


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


def run_disagreements(folders: list[Path], cases: int, count: int, seed: int, encoder: DocumentEncoder | None) -> None:
    """Print random sections on which `colde diff` and the labels differ."""
    generator = random.Random(seed)
    for folder in folders:
        listed: list[Disagreement] = []
        total = 0
        for case in version_pairs(folder, cases):
            of_pair = disagreements(case, ours(case, encoder))
            total += len(of_pair)
            listed += generator.sample(of_pair, min(_PER_PAIR, len(of_pair)))
        kinds = Counter(item.kind for item in listed)
        print(f"{total} sections disagree; of those at most {_PER_PAIR} of a pair: {dict(kinds.most_common())}")
        for number, item in enumerate(generator.sample(listed, min(count, len(listed))), 1):
            print(f"\n{number}. {told(item)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=("sections", "disagreements", "planted", "assignment"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, help="version pairs of each set, or documents of all sets")
    parser.add_argument("--each", type=int, default=3, help="planted edits of a kind in a document")
    parser.add_argument("--show", type=int, default=20, help="disagreements to print")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of disagreements")
    parser.add_argument("--whole", action="store_true", help="encode whole documents too")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--no-model", action="store_true", help="wording alone")
    parser.add_argument("--no-cosine", action="store_true", help="without the matching by section cosines")
    parser.add_argument("--csv", type=Path, help="write the table of `sections` here as well")
    options = parser.parse_args()
    cases = options.cases or {"planted": 40, "disagreements": 120}.get(options.measure, 60)
    wording_only = options.no_model or options.measure == "assignment"
    encoder = None if wording_only else open_encoder(options.model, device="cpu", cache=Cache.open())
    names = ", ".join(folder.name for folder in options.folders)
    print(f"{platform.machine()}, {os.cpu_count()} cores; {names}, {cases} cases, one run")
    if options.measure == "sections":
        run_sections(options.folders, cases, encoder, not options.no_cosine, options.csv)
    elif options.measure == "disagreements":
        run_disagreements(options.folders, cases, options.show, options.seed, encoder)
    elif options.measure == "assignment":
        run_assignment(options.folders, cases)
    else:
        run_planted(options.folders, cases, options.each, encoder, options.whole)


if __name__ == "__main__":
    main()
