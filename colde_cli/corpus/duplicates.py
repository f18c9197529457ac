"""Find the families of a corpus: copies, files with the same text, versions of one document, and parts of others.

The files are read once each. Those with the same bytes or the same text as another are known before any are compared.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from colde_cli.corpus.finding import ALL, Filter, HalfRead, Skipped
from colde_cli.corpus.near_pairs import NearPair, NearPairs, text_digest, text_words, word_numbers
from colde_cli.corpus.pipeline import AS_IT_IS, CorpusReader, call_ahead, skipping
from colde_cli.corpus.reused_passages import Reuse, ReusedPassage, connected
from colde_cli.corpus.stores import DocumentStore
from colde_cli.documents.document import Document
from colde_cli.documents.sandbox import readers
from colde_cli.documents.stages import stage
from colde_cli.encoder.vector_cache import file_digest
from colde_cli.settings import usable_cores
from colde_cli.similarity.plain_data import fields_data

MIN_WORDS = 50
"""Shorter texts are compared only as a whole: many documents contain the few words of a form."""
MIN_SHARE = 0.4
"""Two documents are versions of one if each contains at least this share of the other's words."""
MIN_CONTAINED = 0.8
"""A document is part of another that contains at least this share of its words."""
NEAR = 0.9
"""Two documents are near-duplicates if each contains at least this share of the other's words."""
_HELD_PAIRS = 1 << 18  # before only those are kept that hold groups together


class Relation(StrEnum):
    """How a document is related to the closest of its group."""

    IDENTICAL = "identical"
    SAME_TEXT = "same-text"
    NEAR_DUPLICATE = "near-duplicate"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class Closest:
    """The document of a group that a member is closest to.

    Attributes:
        share: of the member's words that stand in it, in [0, 1].
        share_back: of its words that stand in the member.
    """

    path: str
    relation: Relation
    share: float
    share_back: float


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a group.

    Attributes:
        title: as printed, else the file's name.
        words: how many it has; 0 where it could not be read.
        size: of the file in bytes.
        closest: None for the first, which is the longest.
    """

    path: str
    title: str
    words: int
    size: int
    closest: Closest | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Copies and versions of one document, the longest first; each follows one that it is close to."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Containment:
    """A document that is part of a longer one, such as an article in a volume.

    Attributes:
        share: of the part's words that stand in the whole, in [0, 1].
        share_back: of the whole's words that stand in the part.
    """

    part: Member
    whole: Member
    share: float
    share_back: float


@dataclass(frozen=True, slots=True, repr=False)
class Families:
    """The families of a corpus.

    Attributes:
        groups: the largest first, then by path.
        contained: by the path of the whole, then the largest part first.
        searched: how many files were compared, by their bytes at least.
        half_read: files that were read in part.
        min_share: of words that versions have in common, both ways.
        min_contained: of the words of a part that stand in the whole.
        crowded: how many documents share much with more than `near_pairs.NEIGHBOURS` others before or after them. Each
            was compared with the next of these only: no group is cut, but a part of a document may be missing.
        passages: those that stand in several documents, by words times further documents, the highest first; None
            where they were not asked for.
        passages_found: how many there are, listed or not.
    """

    groups: tuple[Family, ...]
    contained: tuple[Containment, ...]
    searched: int
    skipped: tuple[Skipped, ...] = ()
    half_read: tuple[HalfRead, ...] = ()
    min_share: float = MIN_SHARE
    min_contained: float = MIN_CONTAINED
    crowded: int = 0
    passages: tuple[ReusedPassage, ...] | None = None
    passages_found: int = 0

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.groups or self.contained or self.passages)

    def __repr__(self) -> str:
        counts = f"groups={len(self.groups)}, contained={len(self.contained)}, searched={self.searched}"
        return f"Families({counts}, skipped={len(self.skipped)})"

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Paths of the pairs that differ, to compare: each member with its closest, each part with its whole."""
        close = [
            (member.closest.path, member.path)
            for group in self.groups
            for member in group.members
            if member.closest is not None and member.closest.relation in (Relation.NEAR_DUPLICATE, Relation.VERSION)
        ]
        return (*close, *((item.part.path, item.whole.path) for item in self.contained))

    def to_dict(self) -> dict[str, Any]:
        """The families as schema colde.dupes/1: what `colde dupes --format json` writes."""
        return {
            "schema": "colde.dupes/1",
            "groups": fields_data(self, "groups")["groups"],
            "contained": [_contained_data(item) for item in self.contained],
            **fields_data(self, "searched min_share min_contained crowded passages passages_found skipped"),
            "warnings": fields_data(self, "half_read")["half_read"],
        }


def _contained_data(item: Containment) -> dict[str, Any]:
    data = fields_data(item, "part whole share share_back")
    del data["part"]["closest"], data["whole"]["closest"]
    return data


@stage("comparing texts")
def find_families(
    corpus: Sequence[Path] | DocumentStore,
    *,
    chosen: Filter | None = None,
    min_share: float = MIN_SHARE,
    min_contained: float = MIN_CONTAINED,
    passages: int = 0,
    reader: CorpusReader = AS_IT_IS,
    progress: Callable[[int], None] | None = None,
) -> Families:
    """Compare all files with each other; no model is needed.

    Arguments are those of `colde_cli.dupes`; the corpus is a list of files such as `corpus.finding.walk` finds, whose
    order changes nothing, or an open index, whose texts are taken, as far as `chosen` takes them.

    Raises:
        BadIndexError: the index is damaged or out of reach.
    """
    advance = progress or (lambda number: None)
    versions: list[NearPair] = []
    parts: list[NearPair] = []
    with NearPairs(min(min_share, min_contained)) as texts:
        reuse = Reuse(texts) if passages else None
        originals = _Originals(texts, reuse)
        if isinstance(corpus, DocumentStore):
            originals.read_index(corpus, chosen or ALL, advance)
        else:
            originals.read(sorted(corpus, key=str), reader, advance)
        for pair in texts.pairs(min_share, min_contained):
            (versions if min(pair.share_a, pair.share_b) >= min_share else parts).append(pair)
            if len(versions) > _HELD_PAIRS + len(texts):
                versions = strongest_links(versions)
        reused = None if reuse is None else tuple(_reused(reuse, len(texts), versions, parts, passages))
    groups = sorted(_groups(originals, versions), key=lambda group: (-len(group.members), group.members[0].path))
    return Families(
        tuple(groups),
        tuple(_contained(originals, parts, groups)),
        originals.searched,
        tuple(sorted(originals.skipped, key=lambda item: item.path)),
        tuple(sorted(originals.half_read)),
        min_share,
        min_contained,
        texts.crowded,
        reused,
        0 if reuse is None else reuse.found,
    )


def _reused(
    reuse: Reuse, count: int, versions: Sequence[NearPair], parts: Sequence[NearPair], top: int
) -> list[ReusedPassage]:
    """Passages that documents of several groups share, but for those that only a part and its whole hold."""
    ends = np.array([(pair.a, pair.b) for pair in versions], np.int64).reshape(-1, 2)
    groups = connected(count, ends[:, 0], ends[:, 1])
    known = {frozenset((int(groups[pair.a]), int(groups[pair.b]))) for pair in parts}
    return [reuse.passage(spots) for spots in reuse.passages(groups, top, known.__contains__)]


class _Originals:
    """What is known of the files of a corpus.

    Attributes:
        texts: a file for each text, by its number in `NearPairs`.
        copies: by path of an original, files with the same bytes, then those with the same words and other bytes.
        unread: files that cannot be read, and of which there are copies.
    """

    def __init__(self, near: NearPairs, reuse: Reuse | None) -> None:
        self._near, self._reuse = near, reuse
        self._known: dict[bytes, Member] = {}
        self.texts: list[Member] = []
        self.copies: dict[Relation, dict[str, list[Member]]] = {
            Relation.IDENTICAL: defaultdict(list),
            Relation.SAME_TEXT: defaultdict(list),
        }
        self.unread: list[Member] = []
        self.searched = 0
        self.skipped: list[Skipped] = []
        self.half_read: list[HalfRead] = []

    def read(self, files: Sequence[Path], reader: CorpusReader, progress: Callable[[int], None]) -> None:
        """Read each file, but only one of those with the same bytes, by threads a few files ahead."""
        copies = self._same_bytes(files)
        progress(len(files) - sum(1 + len(alike) for _, alike in copies.values()))
        with readers(usable_cores()) as pool:
            documents = call_ahead(pool, skipping(reader.read), list(copies))
            for (path, (size, alike)), document in zip(copies.items(), documents, strict=True):
                if isinstance(document, Skipped):
                    self.skipped += [document, *(Skipped(str(copy), document.reason) for copy in alike)]
                    original = Member(str(path), path.name, 0, size)
                    self.unread += [original] if alike else []
                else:
                    original = self._add(document, size)
                for copy in alike:
                    title = copy.name if original.title == path.name else original.title
                    self._copy(Relation.IDENTICAL, original, Member(str(copy), title, original.words, size))
                self.searched += 1 + len(alike) if alike or not isinstance(document, Skipped) else 0
                progress(1 + len(alike))

    def read_index(self, index: DocumentStore, chosen: Filter, progress: Callable[[int], None]) -> None:
        """Take the texts that an index holds; no file is read.

        Raises:
            BadIndexError: it is damaged or out of reach.
        """
        first: dict[bytes, Member] = {}
        with index.reading():
            # An index numbers documents as they were written, not in an order that the next run gives again.
            for item in sorted(index.documents(chosen), key=lambda item: item.path):
                if item.content in first:
                    same = first[item.content]
                    self._copy(Relation.IDENTICAL, same, Member(item.path, item.title, same.words, item.size))
                else:
                    first[item.content] = self._add(index.document(item.number), item.size)
                self.searched += 1
                progress(1)
            self.skipped += index.bad_files()

    def with_copies(self, text: Member, closest: Closest | None = None) -> Iterator[Member]:
        """A document, then those with the same text, then those with the same bytes as one of these."""
        yield replace(text, closest=closest)
        for relation, copies in self.copies.items():
            for copy in copies.get(text.path, ()):
                yield from self.with_copies(copy, Closest(text.path, relation, 1.0, 1.0))

    def _copy(self, relation: Relation, of: Member, copy: Member) -> None:
        self.copies[relation][of.path].append(copy)

    def _add(self, document: Document, size: int) -> Member:
        words, report = text_words(document.text), document.report
        member = Member(document.path, document.title, len(words), size)
        if report.warnings:
            self.half_read.append(HalfRead(document.path, report.warnings))
        # What was not read may differ.
        whole = not (report.pages_without_text or report.unreadable_characters or report.unread_values)
        first = self._known.setdefault(text_digest(words), member) if words and whole else member
        if first is not member:
            self._copy(Relation.SAME_TEXT, first, member)
        else:
            self.texts.append(member)
            self._near.add(word_numbers(words if len(words) >= MIN_WORDS else []))
            if self._reuse is not None:
                self._reuse.add(document)
        return member

    def _same_bytes(self, files: Sequence[Path]) -> dict[Path, tuple[int, list[Path]]]:
        """Group files of equal bytes: the first of each, its size, and the rest. Only files of one size are hashed."""
        sizes: dict[int, list[Path]] = defaultdict(list)
        for path in files:
            if path.is_file():
                sizes[path.stat().st_size].append(path)
            else:
                self.skipped.append(Skipped.unopened(path))
        contents: dict[tuple[int, bytes], list[Path]] = defaultdict(list)
        for size, alike in sizes.items():
            for path in alike:
                try:
                    contents[size, file_digest(path) if len(alike) > 1 else b""].append(path)
                except OSError as error:
                    self.skipped.append(Skipped.unopened(path, error))
        copies = {first: (size, others) for (size, _), (first, *others) in contents.items()}
        return {path: copies[path] for path in files if path in copies}


def strongest_links(pairs: Sequence[NearPair]) -> list[NearPair]:
    """The maximum spanning forest of documents (Kruskal 1956): the pairs that hold groups together.

    A pair is as strong as the smaller of its shares.
    """
    above: dict[int, int] = {}

    def top(number: int) -> int:
        while (higher := above.get(number, number)) != number:
            above[number] = number = above.get(higher, higher)
        return number

    links = []
    for pair in sorted(pairs, key=lambda pair: (-min(pair.share_a, pair.share_b), pair.a, pair.b)):
        first, second = top(pair.a), top(pair.b)
        if first != second:
            above[first] = second
            links.append(pair)
    return links


def _groups(originals: _Originals, versions: Sequence[NearPair]) -> Iterator[Family]:
    """Documents that are linked to each other, each with its copies."""
    links: dict[int, list[NearPair]] = defaultdict(list)
    for pair in strongest_links(versions):
        links[pair.a].append(pair)
        links[pair.b].append(pair)
    seen = set[int]()
    texts = originals.texts
    for number in sorted(range(len(texts)), key=lambda number: (-texts[number].words, texts[number].path)):
        if number not in seen:
            members = [
                member
                for place, closest in _tree(number, links, seen, texts)
                for member in originals.with_copies(texts[place], closest)
            ]
            if len(members) > 1:
                yield Family(tuple(members))
    for unread in originals.unread:
        yield Family(tuple(originals.with_copies(unread)))


def _tree(
    root: int, links: dict[int, list[NearPair]], seen: set[int], texts: Sequence[Member]
) -> Iterator[tuple[int, Closest | None]]:
    """The documents linked to `root`, nearest first, each with the one that links it."""
    queue = deque[tuple[int, Closest | None]]([(root, None)])
    seen.add(root)
    while queue:
        number, closest = queue.popleft()
        yield number, closest
        for pair in links.get(number, ()):
            if pair.a == number:
                other, share, back = pair.b, pair.share_b, pair.share_a
            else:
                other, share, back = pair.a, pair.share_a, pair.share_b
            if other not in seen:
                seen.add(other)
                relation = Relation.NEAR_DUPLICATE if min(share, back) >= NEAR else Relation.VERSION
                queue.append((other, Closest(texts[number].path, relation, share, back)))


def _contained(originals: _Originals, parts: Sequence[NearPair], groups: Sequence[Family]) -> list[Containment]:
    """Parts and their wholes, but not those that are versions of each other through a third document."""
    group_of = {member.path: place for place, group in enumerate(groups) for member in group.members}
    contained = []
    for pair in parts:
        a, b = originals.texts[pair.a], originals.texts[pair.b]
        if group_of.get(a.path, -1) == group_of.get(b.path, -2):
            continue
        if pair.share_a >= pair.share_b:
            contained.append(Containment(a, b, pair.share_a, pair.share_b))
        else:
            contained.append(Containment(b, a, pair.share_b, pair.share_a))
    return sorted(contained, key=lambda item: (item.whole.path, -item.part.words, item.part.path))
