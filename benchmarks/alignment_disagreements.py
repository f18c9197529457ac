"""Where `colde diff` and the silver labels of version pairs disagree on a section, to be judged by a reader.

    python benchmarks/alignment_disagreements.py FOLDER [--cases 120] [--show 20] [--seed 0] [--no-model]

Each FOLDER holds `docs.jsonl.gz` and `section_diffs.jsonl.gz`. Of all sections of a sample of version pairs whose
partner or state differs from its label, so many are drawn at random, at most two of a version pair. Printed are the
section, what either says of it, and of each alleged partner the share of words that the two have in common in order.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import alignment_sections as sections

from colde_cli.documents.document import Document
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.loading import open_encoder
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.candidates import wording

_PER_PAIR = 2
_SHOWN = 260


@dataclass(frozen=True)
class Disagreement:
    """A section of which two things are said: state and partner, ours and the label's."""

    case: sections.VersionPair
    side: str
    section: int
    ours: tuple[str, int | None]
    label: tuple[str, int | None]

    @property
    def kind(self) -> str:
        """Both states."""
        return f"{self.label[0]} -> {self.ours[0]}"


def disagreements(case: sections.VersionPair, found: sections.Labels) -> list[Disagreement]:
    """Of both sides; a pair on which only the states differ is told once, of A."""
    listed = []
    for side, mine, label in (("a", found.a, case.truth.a), ("b", found.b, case.truth.b)):
        partners, silver = _partners(found, side), _partners(case.truth, side)
        for section, state in label.items():
            one = (mine.get(section, ""), partners.get(section))
            two = (state, silver.get(section))
            if one != two and not (side == "b" and one[1] is not None and one[1] == two[1]):
                listed.append(Disagreement(case, side, section, one, two))
    return listed


def _partners(labels: sections.Labels, side: str) -> dict[int, int]:
    pairs = sorted(labels.pairs)
    return dict(pairs) if side == "a" else {b: a for a, b in pairs}


def told(item: Disagreement) -> str:
    """A disagreement as text."""
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
    left, right = (tuple(sections.body(d, n).casefold().split()) for d, n in ((own, i), (other, j)))
    return wording(left, right)


def _shown(document: Document, index: int) -> str:
    text = sections.body(document, index)
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 2 :]}"
    return f"{sections.heading(document, index)[:70]!r} ({len(text.split())} words) {cut}"


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-model", action="store_true", help="wording alone")
    options = parser.parse_args()
    encoder = None if options.no_model else open_encoder(DEFAULT_MODEL, device="cpu", cache=Cache.open())
    generator = random.Random(options.seed)
    listed: list[Disagreement] = []
    total = 0
    for case in sections.version_pairs(options.folder, options.cases):
        own = disagreements(case, sections.ours(case, encoder))
        total += len(own)
        listed += generator.sample(own, min(_PER_PAIR, len(own)))
    kinds = Counter(item.kind for item in listed)
    print(f"{total} sections disagree; of those at most {_PER_PAIR} of a pair: {dict(kinds.most_common())}")
    for number, item in enumerate(generator.sample(listed, min(options.show, len(listed))), 1):
        print(f"\n{number}. {told(item)}")


if __name__ == "__main__":
    main()
