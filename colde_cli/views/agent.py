"""Results for agents: a summary first, then as much as fits into a number of characters, as text and as data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from colde_cli.documents.passages import passages
from colde_cli.errors import OptionError
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.pairs import State
from colde_cli.views import sentences, wording
from colde_cli.views.changes import TITLE, marked, outside_rows, pieces, row_line

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Hit, MatchedSection, Ranking
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.comparison import Comparison

    Item = TypeVar("Item", "PassageText", "HitText", str)


_CLOSEST = 4
"""Maximum number of closest sections, and of closest chunks, of two different texts."""
_NAMED = 3
"""Maximum number of files and folders that are named as unread."""
_MOST_OUTSIDE, _OUTSIDE = 20, 200
"""Maximum number of differences outside the text, and of characters of each."""


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage of a document, or a pair of passages of two.

    Attributes:
        number: its place in the document, or among the pairs.
        place: pages and heading.
        state: of a pair: same, edited, moved, only in A, only in B.
        flags: of a pair: the kinds of differences that matter.
        text: with edits as [-deleted-] and {+inserted+}.
    """

    number: int
    place: str
    text: str
    state: str = ""
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        facts = [self.place, self.state, ", ".join(self.flags)]
        return f"[{self.number} · {' · '.join(fact for fact in facts if fact)}] {self.text}"


@dataclass(frozen=True, slots=True)
class PassagesAnswer:
    """Passages in order, of so many in all; `cursor` says where to go on, "" at the end."""

    summary: str
    total: int
    passages: list[PassageText]
    cursor: str

    def __str__(self) -> str:
        more = [f"More: call again with cursor {self.cursor!r}."] if self.cursor else []
        return "\n\n".join([self.summary, *map(str, self.passages), *more])


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """What two documents have in common, and what changed.

    Attributes:
        verdict: what they are and how much they share, in sentences.
        documents: title, file and size of A and of B.
        related: None for a model without a threshold.
        same: neither the texts differ, nor what stands outside them.
        same_content: the texts are the same.
        versions: both are versions of one text; False for two different texts.
        reasons: what of two different texts is alike and unlike, in a sentence.
        counts: passages in each state.
        flags: changes with a flag of each kind.
        sections: what became of sections that changed, in versions of one text.
        closest_sections: of two different texts, with their scores.
        closest_chunks: of two different texts, with scores, pages and first words.
        warnings: what was left out, ignored or not read well.
        outside: what differs outside the text, such as headers, comments and pictures.
        changes: the most important first; of two different texts the similar passages.
        changes_in_all: of which `changes` lists some.
    """

    verdict: str
    documents: list[str]
    score: float
    probability: float | None
    related: bool | None
    same: bool
    same_content: bool
    versions: bool
    reasons: str
    counts: dict[str, int]
    flags: dict[str, int]
    sections: list[str]
    closest_sections: list[str]
    closest_chunks: list[str]
    warnings: list[str]
    outside: list[str]
    changes: list[PassageText]
    changes_in_all: int

    def __str__(self) -> str:
        lines = [self.verdict, *self.documents]
        lines += [sentences.counted_passages(self.counts)] if self.versions else [self.reasons] if self.reasons else []
        if self.flags:
            lines.append(f"Flags: {', '.join(f'{name} {count}' for name, count in self.flags.items())}.")
        lines += [f"Sections: {'; '.join(self.sections)}."] if self.sections else []
        lines += self.warnings
        lines += [f"{TITLE}:", *(f"- {line}" for line in self.outside)] if self.outside else []
        for name, closest in (("sections", self.closest_sections), ("chunks", self.closest_chunks)):
            lines += [f"Closest {name}:", *(f"- {line}" for line in closest)] if closest else []
        name, noun = ("Changes", "change") if self.versions else ("Similar passages", "similar passage")
        if self.changes:
            lines.append(f"{name} ({len(self.changes)} of {self.changes_in_all}), the most important first:")
        lines += [f"- {change}" for change in self.changes]
        left = self.changes_in_all - len(self.changes)
        noun = f"more {noun}" if self.changes else noun
        lines += [f"{wording.plural(left, noun)}: read_passages with both documents."] if left else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class HitText:
    """A document of a ranking, with the sections that match; `closeness` is a probability or percentile in words."""

    rank: int
    path: str
    title: str
    score: float
    closeness: str
    matches: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.rank}. {self.score:.2f} {self.path} – {self.title}"
        lines = [f"{head} ({self.closeness})" if self.closeness else head]
        return "\n".join([*lines, *(f"   {match}" for match in self.matches)])


@dataclass(frozen=True, slots=True)
class RankingAnswer:
    """The documents closest to one, the best first."""

    summary: str
    hits: list[HitText]
    searched: int
    skipped: int

    def __str__(self) -> str:
        return "\n".join([self.summary, *map(str, self.hits)])


def comparison_answer(comparison: Comparison, limit: int) -> ComparisonAnswer:
    """A comparison in at most about `limit` characters, as text and again as data."""
    versions = sentences.one_text(comparison)
    changed = [number for change in sentences.told_changes(comparison) for number in change.pairs]
    kinds = Counter(kind for number in changed for kind in wording.flag_kinds(comparison.passages[number].flags))
    answer = ComparisonAnswer(
        verdict=sentences.verdict(comparison),
        documents=sentences.both_documents(comparison),
        score=round(comparison.score, 4),
        probability=None if comparison.probability is None else round(comparison.probability, 4),
        related=comparison.related,
        same=comparison.same,
        same_content=comparison.same_content,
        versions=versions,
        reasons="" if versions else wording.reasons(comparison),
        counts={state.value: count for state, count in comparison.summary.items()},
        flags={kind.value: kinds[kind.value] for kind in FlagKind if kinds[kind.value]},
        sections=sentences.changed_sections(comparison) if versions else [],
        closest_sections=[],
        closest_chunks=[],
        warnings=sentences.reservations(comparison),
        outside=[
            wording.shorten(row_line(row), _OUTSIDE)
            for row in outside_rows(sentences.told_outside(comparison), _MOST_OUTSIDE)
        ],
        changes=[],
        changes_in_all=len(changed),
    )
    if not versions:
        found = _fitting(sentences.closest_sections(comparison, _CLOSEST), _room(answer, limit), least=0)
        answer = replace(answer, closest_sections=found)
        found = _fitting(sentences.closest_chunks(comparison, _CLOSEST), _room(answer, limit), least=0)
        answer = replace(answer, closest_chunks=found)
    listed = (_pair(comparison, number, context=36, longest=160) for number in changed)
    return replace(answer, changes=_fitting(listed, _room(answer, limit), least=int(versions)))


def _room(answer: ComparisonAnswer, limit: int) -> int:
    """The characters that are left for more."""
    return limit - max(len(str(answer)), _size(asdict(answer)))


def ranking_answer(ranking: Ranking, limit: int) -> RankingAnswer:
    """A ranking in at most about `limit` characters."""
    skipped = len(ranking.skipped)
    like = wording.shorten(ranking.query_title, 160)
    named = "; ".join(f"{item.path}: {item.reason}" for item in ranking.skipped[:_NAMED])
    unread = f"; {skipped} could not be read ({wording.shorten(named, 400)})" if skipped else ""
    summary = f"{wording.plural(ranking.searched, 'document')} searched for documents like {like}{unread}."
    if not ranking.results:
        summary += " None is similar enough."
    hits = (_hit(hit, ranking) for hit in ranking.results)
    return RankingAnswer(summary, _fitting(hits, limit - len(summary) - 60), ranking.searched, skipped)


def document_answer(document: Document, limit: int, cursor: str = "", page: int | None = None) -> PassagesAnswer:
    """The passages of a document from a cursor or a page on, in at most about `limit` characters.

    Raises:
        OptionError: the cursor is none of ours, or the document has no such page.
    """
    found = passages(document)
    first, offset = _place(cursor)
    if page is not None and not cursor:
        first = _first_on(found, page, document)
    pages = document.report.pages
    extent = wording.plural(pages, "page") if pages else wording.plural(len(document.sections), "section")
    summary = f"{wording.shorten(document.title, 160)}: {wording.plural(len(found), 'passage')}, {extent}."

    def passage(number: int) -> PassageText:
        here = found[number]
        text = wording.plain(document.text[here.span.start : here.span.end])
        where = ", ".join(part for part in wording.place(document, [here], 60) if part)
        return PassageText(number, where, text)

    return _page_of([*range(len(found))], passage, summary, first, offset, limit)


def pairs_answer(
    comparison: Comparison, limit: int, cursor: str = "", page: int | None = None, *, changed: bool = True
) -> PassagesAnswer:
    """Pairs of passages of two documents from a cursor or a page of A on, in at most about `limit` characters.

    Raises:
        OptionError: the cursor is none of ours, or A has no such page.
    """
    pairs = comparison.passages
    wanted = [number for number, pair in enumerate(pairs) if not changed or pair.state is not State.SAME]
    first, offset = _place(cursor)
    if page is not None and not cursor:
        document = comparison.a.document
        least = _first_on([pair.a[0] for pair in pairs if pair.a], page, document)
        number = [number for number, pair in enumerate(pairs) if pair.a]
        first = number[least] if least < len(number) else len(pairs)
    kind = "changed passage" if changed else "pair of passages"
    summary = f"{sentences.verdict(comparison)} {wording.plural(len(wanted), kind)}."
    return _page_of(wanted, lambda number: _pair(comparison, number), summary, first, offset, limit)


def _page_of(
    numbers: Sequence[int],
    item: Any,  # noqa: ANN401 - a function of a number
    summary: str,
    first: int,
    offset: int,
    limit: int,
) -> PassagesAnswer:
    """The items from number `first` on, its text from `offset` on, as far as there is room; at least a part of one."""
    room, shown = limit - len(summary) - 120, list[PassageText]()
    for number in (number for number in numbers if number >= first):
        whole: PassageText = item(number)
        text = whole.text[offset:] if number == first else whole.text
        start = offset if number == first else 0
        part = replace(whole, text=text)
        cost = _cost(part)
        if cost > room and shown:
            return PassagesAnswer(summary, len(numbers), shown, f"{number}:{start}")
        if cost > room:
            kept = max(100, room - (cost - len(text)))
            shown.append(replace(whole, text=text[:kept]))
            return PassagesAnswer(summary, len(numbers), shown, f"{number}:{start + kept}")
        shown.append(part)
        room -= cost
    return PassagesAnswer(summary, len(numbers), shown, "")


def _place(cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, 0
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", cursor)
    if match is None:
        raise OptionError(f"{cursor[:40]!r} is no cursor; give one that an answer gave, or leave it out.")
    return int(match[1]), int(match[2])


def _first_on(found: Sequence[Passage], page: int, document: Document) -> int:
    """The place of the first passage that reaches a page."""
    pages = document.report.pages
    if not pages or not 1 <= page <= pages:
        has = f"has pages 1 to {pages}" if pages else "has no pages"
        raise OptionError(f"{wording.shorten(document.title, 100)} {has}; page {page} is none of them.")
    return next((n for n, item in enumerate(found) if item.pages and item.pages[1] >= page), len(found))


def _pair(
    comparison: Comparison, number: int, *, context: int | None = None, longest: int | None = None
) -> PassageText:
    pair = comparison.passages[number]
    if pair.a and pair.b:
        text = marked(pieces(pair, context, longest))
    else:
        text = wording.plain(pair.a_text or pair.b_text)
        text = text if longest is None else wording.shorten(text, 2 * longest)
    return PassageText(
        number,
        sentences.change_place(comparison.a.document, comparison.b.document, pair),
        text,
        wording.pair_state(pair),
        wording.flag_kinds(pair.flags),
    )


def _hit(hit: Hit, ranking: Ranking) -> HitText:
    closeness = "" if hit.probability is None else f"{wording.percent(hit.probability)} related"
    if ranking.field is not None:
        closeness = wording.closer_than(hit.percentile, ranking.field)
    matches = [
        f"{match.score:.2f} {_matched(match.query)} ↔ {_matched(match.hit)}: {wording.shorten(match.hit.text, 160)}"
        for match in hit.matches
    ]
    title, score = wording.shorten(hit.title, 160), round(hit.score, 4)
    return HitText(hit.rank, wording.plain(hit.path), title, score, closeness, matches)


def _matched(place: MatchedSection) -> str:
    name = wording.shorten(place.section, 60) or "(front matter)"
    return f"{name} {wording.page_range(place.pages)}".strip()


def _fitting(items: Iterable[Item], room: int, least: int = 1) -> list[Item]:
    """The first items that fit, `least` of them in any case."""
    chosen: list[Item] = []
    for item in items:
        room -= _cost(item)
        if room < 0 and len(chosen) >= least:
            break
        chosen.append(item)
    return chosen


def _cost(item: PassageText | HitText | str) -> int:
    """Characters of an item as text or as data, whichever is more."""
    data = item if isinstance(item, str) else asdict(item)
    return max(len(str(item)), _size(data)) + 4


def _size(data: dict[str, Any] | str) -> int:
    return len(json.dumps(data, ensure_ascii=False))
