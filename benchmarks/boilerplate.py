"""Measure what `--ignore-like` leaves out of contracts, what a lower threshold would, and which changes stay flagged.

    python benchmarks/boilerplate.py documents.jsonl.gz [--pairs 40]

Each line of the file has `id` and `sections` of `heading` and `text`. Two contracts count as being on one template if
15 to 90 % of their sentences of six words or more stand in the other word for word. The table counts the sentences
that stand in the other contract, or nearly. The last line compares two contracts without the sentences of a third on
the same template: how many flags of the plain comparison (without meaning) are left, and how many would be left if the
counterpart of a changed sentence were removed too.
"""

from __future__ import annotations

import argparse
import platform
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from rapidfuzz.distance import Indel

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.errors import NoTextError
from colde_cli.evaluation.data import json_lines
from colde_cli.similarity.alignment import align
from colde_cli.similarity.boilerplate import Boilerplate, ComparedSentence, sentences
from colde_cli.similarity.flags import Flag, flags
from colde_cli.similarity.redline import NOTHING_IGNORED, redline

BANDS = (0.98, 0.95, 0.9, 0.8)
_MOST = 600  # sentences of a document
_LEAST = 30

Clauses = Mapping[str, Sequence[ComparedSentence]]


def read_documents(path: Path) -> dict[str, Document]:
    """Documents by id."""
    found = {}
    for _, value in json_lines(path):
        parts = [Part(section["heading"], section["text"]) for section in value["sections"]]
        found[value["id"]] = assemble(value["id"], value.get("title", ""), parts)
    return found


def on_one_template(found: Clauses) -> list[tuple[str, str]]:
    """Pairs of documents that share much, but not nearly all."""
    holders: dict[str, set[str]] = defaultdict(set)
    for name, own in found.items():
        for clause in own:
            holders[clause.run].add(name)
    shared: Counter[tuple[str, str]] = Counter()
    for names in holders.values():
        if len(names) <= 20:
            shared.update(combinations(sorted(names), 2))
    pairs = []
    for (a, b), count in sorted(shared.items()):
        lengths = sorted((len(found[a]), len(found[b])))
        if lengths[0] >= _LEAST and lengths[1] < _MOST and 0.15 <= count / lengths[1] <= 0.9:
            pairs.append((a, b))
    return pairs


def bands(
    pairs: Sequence[tuple[str, str]], found: Clauses, documents: Mapping[str, Document]
) -> Counter[str]:
    """Sentences of the first of each pair, by how alike the nearest sentence of the second is, and what differs."""
    counts: Counter[str] = Counter()
    for a, b in pairs:
        runs = {clause.run for clause in found[b]}
        for clause in found[a]:
            counts["all"] += 1
            if clause.run in runs:
                counts["equal"] += 1
                continue
            near = max(found[b], key=lambda other: Indel.normalized_similarity(clause.keys, other.keys))
            score = Indel.normalized_similarity(clause.keys, near.keys)
            band = next((band for band in BANDS if score >= band), None)
            if band is not None:
                one, two = _text(documents[a], clause), _text(documents[b], near)
                counts[f"{band} {_difference(one, two, clause.keys == near.keys)}"] += 1
    return counts


def _text(document: Document, clause: ComparedSentence) -> str:
    return document.text[clause.span.start : clause.span.end]


def _difference(a: str, b: str, same_words: bool) -> str:
    if flags(a, b):
        return "flagged"
    if same_words or not redline(a, b):
        return "signs"
    return "words"


def flags_left(a: Document, b: Document, template: Document) -> tuple[int, int, int]:
    """Flags of the plain comparison; how many are left without the template; and without counterparts."""
    whole, boilerplate = _flags(a, b), Boilerplate([template])
    try:
        left = _flags(*boilerplate.without_both(a, b))
        apart = _flags(boilerplate.without(a), boilerplate.without(b))
    except NoTextError:
        return 0, 0, 0
    return whole.total(), (whole & left).total(), (whole & apart).total()


def _flags(a: Document, b: Document) -> Counter[Flag]:
    return Counter(flag for pair in align(a, b, None).pairs for flag in pair.flags)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="What --ignore-like leaves out of contracts.")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--pairs", type=int, default=40)
    options = parser.parse_args()
    print(f"{platform.machine()}; {options.documents}, {options.pairs} pairs and triples at most, one run")
    documents = read_documents(options.documents)
    found = {
        name: [clause for clause in sentences(document, NOTHING_IGNORED) if clause.long]
        for name, document in documents.items()
    }
    pairs = on_one_template(found)
    chance = random.Random(0)
    sample = chance.sample(pairs, min(options.pairs, len(pairs)))
    counts = bands(sample, found, documents)
    print(f"{len(sample)} of {len(pairs)} pairs, {counts['all']} sentences, {counts['equal']} equal")
    print(f"{'wording':>8} {'flagged':>8} {'words':>8} {'signs':>8}")
    for band in BANDS:
        print(f"{band:8}", *(f"{counts[f'{band} {kind}']:8}" for kind in ("flagged", "words", "signs")))
    beside: dict[str, set[str]] = defaultdict(set)
    for a, b in pairs:
        beside[a].add(b)
        beside[b].add(a)
    triples = [(a, b, c) for a, b in pairs for c in sorted(beside[a] & beside[b])]
    chosen = chance.sample(triples, min(options.pairs, len(triples)))
    totals = [flags_left(*(documents[name] for name in triple)) for triple in chosen]
    flagged, left, apart = (sum(total[n] for total in totals) for n in range(3))
    print(f"{len(chosen)} triples: {flagged} flags, {left} left, {apart} if counterparts went")


if __name__ == "__main__":
    main()
