"""Tell a changed reference ("Section 4.2" became "Section 4.4") from one that follows a renumbering."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from colde_cli.similarity.clause_labels import ClauseLabel, clause_labels, labels_within, without_name
from colde_cli.similarity.mentions import Flag, FlagKind

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.pairs import PassagePair

_LABEL = re.compile(
    r"^\W*(?P<named>(?:section|article|clause|paragraph|schedule|exhibit|annex|appendix|rule)\s+)?"
    r"(?P<label>\d+(?:\.\d+)*[A-Z]?|[A-Z](?=[.:)])|[IVX]+(?=[.:)]))(?=[.:)]?\s|[.:)]?$)"
    r"(?(named)(?!\s+(?-i:[a-z])))",  # "Section 4.2 applies" is a reference
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*|[A-Z]\b|[IVX]+\b)[A-Za-z]?(?:\s?\([a-z0-9]+\))*$")
_OFTEN = 3
"""Passages in which the same reference changes the same way, at least, so that it was renumbered."""

Labels = Mapping[str, set[str]]
"""The labels of B that the section or clause with a label of A has."""


def labels(pairs: Sequence[PassagePair], a: Document, b: Document) -> Labels:
    """Find the labels of clauses and headings in A, and what their partners are called in B."""
    found: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if not pair.a or not pair.b:
            continue
        _add(found, pair.a_text, pair.b_text)
        one, two = a.sections[pair.a[0].section], b.sections[pair.b[0].section]
        _add(found, one.heading, two.heading)
        if one.number and two.number:
            found[without_name(one.number)].add(without_name(two.number))
    if a.numbers or b.numbers:
        _add_counted(found, pairs, clause_labels(a), clause_labels(b))
    return found


def _add_counted(
    found: dict[str, set[str]], pairs: Iterable[PassagePair], left: Sequence[ClauseLabel], right: Sequence[ClauseLabel]
) -> None:
    for pair in pairs:
        here, there = labels_within(left, pair.a), labels_within(right, pair.b)
        if len(here) == len(there):
            for one, two in zip(here, there, strict=True):
                found[without_name(left[one].label)].add(without_name(right[two].label))


def _add(found: dict[str, set[str]], a: str, b: str) -> None:
    old, new = _LABEL.match(a), _LABEL.match(b)
    if old and new:
        found[old["label"]].add(new["label"])


def changed_references(pairs: Iterable[PassagePair], known: Labels, *, rules: bool) -> dict[tuple[str, str], bool]:
    """Decide for each changed reference, as the words of A and of B, whether it now points elsewhere.

    Args:
        rules: whether the documents are contracts or the like. In papers a reference to an unknown label is left out.
    """
    flags = [flag for pair in pairs for flag in pair.flags if flag.kind is FlagKind.REFERENCE]
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for flag in flags:
        counts[flag.a, flag.b] += 1
    return {words: _elsewhere(*words, known, count, rules) for words, count in counts.items()}


def _elsewhere(a: str, b: str, known: Labels, count: int, rules: bool) -> bool:
    old, new = _number(a), _number(b)
    if not rules:
        return old in known and new not in known[old] and not f"{old}.".startswith(f"{new}.")
    for place in range(len(old), 0, -1):
        stem, rest = old[:place], old[place:]
        if stem in known and (not rest or rest[0] in ".("):
            return new not in {other + rest for other in known[stem]}
    return count < _OFTEN


def _number(words: str) -> str:
    match = _NUMBER.search(words)
    return re.sub(r"\s", "", match[0]) if match else words


def points_elsewhere(flag: Flag, decided: Mapping[tuple[str, str], bool]) -> bool:
    """Whether to keep a flag: no reference, or one that now points elsewhere."""
    return flag.kind is not FlagKind.REFERENCE or decided.get((flag.a, flag.b), True)
