"""Section alignment against silver labels: version pairs whose sections are known to answer each other.

Beside it difflib on the texts of the sections, difflib on their headings, and a matching by the cosines of section
vectors alone (`scipy.optimize.linear_sum_assignment`, partners from a cosine of 0.5).
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.similarity.alignment import Alignment, align
from colde_cli.similarity.candidates import ChunkScores
from colde_cli.similarity.chunk_scores import cosines
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
    """What became of the sections: pairs of indices, and a state for each section of each side."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    a: dict[int, str] = field(default_factory=dict)
    b: dict[int, str] = field(default_factory=dict)

    def pair(self, a: int, b: int, state: str) -> None:
        """Two sections answer each other."""
        self.pairs.add((a, b))
        self.a[a] = self.b[b] = state


@dataclass(frozen=True)
class VersionPair:
    """Two versions of a document and what their sections are said to be."""

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
    """Every section, an empty one as a sign, so that indices stay."""
    parts = [
        Part(section["heading"], section["text"])
        if (section["heading"] + section["text"]).strip()
        else Part("", "-")
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
    """Two documents as `colde diff` aligns them; wording alone without an encoder."""
    if encoder is None:
        return align(a, b, None)
    first, second = encoder.encode_many([a, b])
    alike = cosines(first.centred_unit_vectors, second.centred_unit_vectors)
    return align(a, b, encoder, chunk_scores=ChunkScores(first.chunks, second.chunks, alike))


def ours(case: VersionPair, encoder: DocumentEncoder | None) -> Labels:
    """What `colde diff` says."""
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
    """What difflib says of lists of texts or of headings: equal runs are partners, replaced runs in order too."""
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
    """What section vectors alone say."""
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
    """Its heading."""
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
