"""Find tables of contents: lines that end in rising page numbers and name headings that stand on those pages.

A list of prices can look like one. So most entries must be found again, at the beginning of lines, on pages that are
all as far from the page numbers: only then a number is that of a page, and can be left out of what is compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from colde_cli.documents.notation import from_roman
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.pdf.lines import Line

_FEWEST = 3
_CONFIRMED = 0.5  # minimum share of the entries that are found again
_BETWEEN = 2
"""Maximum number of lines without a number before an entry: an entry of several lines, or the name of a part."""
_LETTERS = 80  # maximum number of letters by which an entry is looked up
_RISING = 0.7  # minimum share of the entries whose number is not less than that of the entry before
_KEY = 4
_SHORTEST = 3  # minimum number of letters of a title that is found again
_LEAST_OF_LINE = 0.5  # share of an entry that the first line of a heading has at least
_DOTS = " .·…_‥․"
_NUMBER = re.compile(rf"(?:^|(?<=[{_DOTS}]))(?:\d{{1,4}}|[ivxlc]{{1,7}})$", re.IGNORECASE)
_LABEL = re.compile(
    r"\W*(?:(?:chapter|section|appendix|annex|part|article|schedule|exhibit|table|tab\.|figure|fig\.|listing|algorithm"
    r"|plate|map|box|kapitel|abschnitt|anhang|tabelle|abbildung|chapitre|annexe|tableau)\s*)?"
    r"(?:(?:[\divxlc]+(?:[.-]\d+)*|[a-z](?:[.-]\d+)*)(?=[\s.:)–-]))?[\s.:)–-]*"
)
_LAST = frozenset("0123456789ivxlcIVXLC")


@dataclass(slots=True)
class _Entry:
    """An entry of a table of contents."""

    index: int  # of its last line
    title: str  # of that line, without leader and number
    before: tuple[int, ...]  # indices of the lines before it that have no number
    written: str
    number: int  # of the page
    led: bool  # a row of dots leads to the number
    offsets: set[int] = field(default_factory=set)  # from its number to the pages on which its title is found
    confirmed: bool = False  # its title is on its page


def leave_out_contents(lines: Sequence[Line], headings: Collection[int], account: Account) -> set[int]:
    """Find the lines of tables of contents, and add their entries to an account, without page numbers and leaders.

    A line that looks like a heading may still be an entry if it ends in a number. Returns the indices of the lines.
    """
    blocks = [block for block in _blocks(lines, headings) if _rises(block)]
    if not blocks:
        return set()
    listed = {place for block in blocks for entry in block for place in (*entry.before, entry.index)}
    beginnings: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for index, line in enumerate(lines):
        if index not in listed:
            name = _name(line.text)
            beginnings[name[:_KEY]].append((name, line.page))
    left_out: set[int] = set()
    for block in blocks:
        _confirm(block, lines, beginnings)
        known = [place for place, entry in enumerate(block) if entry.confirmed or entry.led]
        # The first and the last entries may as well be other lines with numbers.
        entries = block[known[0] : known[-1] + 1] if known else []
        if entries:
            entries[0] = replace(entries[0], before=())
        titles = {_name(entry.title) for entry in entries if entry.confirmed}
        if len(titles) >= max(_FEWEST, _CONFIRMED * len(entries)):
            left_out.update(*((*entry.before, entry.index) for entry in entries))
            _account_for(entries, lines, account)
    return left_out


def _blocks(lines: Sequence[Line], headings: Collection[int]) -> Iterator[list[_Entry]]:
    block: list[_Entry] = []
    between: list[int] = []
    for index, line in enumerate(lines):
        entry = None if line.filled_in else _entry(index, line, between)
        if entry:
            block.append(entry)
            between = []
            continue
        near = bool(block) and len(between) < _BETWEEN and line.page <= lines[block[-1].index].page + 1
        if near and index not in headings and not line.filled_in:
            between.append(index)
        elif block:
            yield block
            block, between = [], []
    yield block


def _entry(index: int, line: Line, between: Sequence[int]) -> _Entry | None:
    """Take a line that ends in a number after a blank or a row of dots for an entry."""
    if line.text[-1:] not in _LAST:
        return None
    match = _NUMBER.search(line.text.rpartition(" ")[2])
    if match is None:
        return None
    written = match[0]
    before = line.text[: -len(written)]
    title = before.rstrip(_DOTS)
    led = len(before) - len(title) - before.count(" ", len(title)) > 1
    if not any(map(str.isalpha, title)) or not (led or before.endswith(" ")):
        return None
    number = int(written) if written.isdigit() else from_roman(written)
    return _Entry(index, title, tuple(between), written, number, led) if number else None


def _rises(block: Sequence[_Entry]) -> bool:
    """Whether most numbers do not fall, and enough titles can be looked up."""
    if len(block) < _FEWEST or len({entry.number for entry in block}) == 1:
        return False
    steps = [other.number >= one.number for one, other in pairwise(block)]
    if sum(steps) < _RISING * len(steps):
        return False
    names = {_name(entry.title) for entry in block}
    return sum(len(name) >= _SHORTEST for name in names) >= max(_FEWEST, _CONFIRMED * len(block))


def _pages(title: str, beginnings: Mapping[str, Sequence[tuple[str, int]]]) -> set[int]:
    """The pages on which a line begins with a title, or holds the first part of it."""
    name = _name(title)
    if len(name) < _SHORTEST:
        return set()
    return {
        page
        for line, page in beginnings.get(name[:_KEY], ())
        if line.startswith(name) or (name.startswith(line) and len(line) >= _LEAST_OF_LINE * len(name))
    }


def _name(text: str) -> str:
    """The letters of a title, without its number and what it numbers."""
    text = text.casefold()[: 2 * _LETTERS]
    label = _LABEL.match(text)
    name = text[label.end() :] if label else text
    return "".join(filter(str.isalnum, name or text))[:_LETTERS]


def _confirm(
    block: Sequence[_Entry], lines: Sequence[Line], beginnings: Mapping[str, Sequence[tuple[str, int]]]
) -> None:
    """Mark the entries that are found again on their pages."""
    for entry in block:
        whole = " ".join([*(lines[place].text for place in entry.before), entry.title])
        pages = _pages(entry.title, beginnings) | (_pages(whole, beginnings) if entry.before else set())
        entry.offsets = {entry.number - page for page in pages}
    for figures in (True, False):
        entries = [entry for entry in block if entry.written.isdigit() is figures]
        votes = Counter(offset for entry in entries for offset in entry.offsets)
        best = max(votes, key=lambda offset: (votes[offset], -abs(offset)), default=0)
        for entry in entries:
            entry.confirmed = best in entry.offsets


def _account_for(block: Sequence[_Entry], lines: Sequence[Line], account: Account) -> None:
    """Add the entries; a number that is not confirmed, nor in order between others that are, is kept."""
    for place, entry in enumerate(block):
        low = next((one.number for one in reversed(block[:place]) if one.confirmed), None)
        high = next((one.number for one in block[place + 1 :] if one.confirmed), None)
        in_order = low is not None and high is not None and low <= entry.number <= high
        words = [*(lines[index].text for index in entry.before), entry.title]
        if not (entry.confirmed or in_order):
            words.append(entry.written)
        page = lines[entry.index].page
        account.add_text(OutsideKind.CONTENTS, " ".join(words), pages=(page, page))
