"""Cut texts into comparable words, without what is to be ignored, and find the deleted and the inserted words.

Marks of a layout (bullets, marks of list items, numbers of clauses) are found here, since they can be ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from colde_cli.documents.document import Span
from colde_cli.documents.selection import one_or_more
from colde_cli.similarity.numbers import LABEL, NAMED_LABEL, NUMBER

_DOTS = r"[ \t]*(?:[-–—•▪‣◦*·○●■□➢✓\uf0b7][ \t]+)"
_AT_LINE_START = rf"^{_DOTS}+(?=\S)"
_LINE_BULLET = re.compile(_AT_LINE_START, re.MULTILINE)
_BULLET = re.compile(rf"{_AT_LINE_START}|(?<!\S)[•▪‣◦●○■□➢✓](?=\s+\S)", re.MULTILINE)
_PROSE_LINE = re.compile(r"^[^\n=∈∑<>]+$", re.MULTILINE)
_BAR = re.compile(r"(?<= )\|(?= |$)", re.MULTILINE)
_BEFORE = 200
"""Number of characters before a bar that are searched for an open bracket."""
_ITEM = r"\((?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))\)|(?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))[.)]"
_DECIMAL = r"\d{1,3}(?:\.\d{1,3})+\.?(?=[ \t]+[\"“(]?[A-Z])"
_LIST_MARK = re.compile(rf"^(?:{_DOTS})?[ \t]*(?P<mark>{_DECIMAL}|{_ITEM})(?=[ \t]+\S)", re.MULTILINE)
_NAMED = (
    r"(?i:sections?|articles?|clauses?|paragraphs?|subsections?|schedules?|exhibits?|annex|appendix|chapters?|parts?|rules?"
    r"|tables?|figures?|fig\.|equations?|eq\.)"
)
_CLAUSE = r"\d+(?:\.\d+)+\.?|\d{1,3}[.)]|\d{1,3}(?=[ \t]+[A-Z])"
_NUMBER_OF_CLAUSE = re.compile(
    rf"^[ \t]*(?:{_CLAUSE}|{_ITEM})(?=[ \t]+\S|$)|(?<=[.;:])[ \t]+(?:\d+(?:\.\d+)+\.?|{_ITEM})(?=[ \t]+\W*[A-Z])"
    rf"|(?<=\b)(?:{_NAMED})\s+(?P<reference>\d+(?:\.\d+)*[A-Za-z]?(?:\([a-z0-9]+\))*|[IVX]+\b|[A-Z]\b)|§+\s*(?P<sign>\d+[\d.]*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class IgnoreOptions:
    """The differences between two texts to ignore; by default only those that the redline never shows.

    Attributes:
        case: capital and small letters are the same.
        whitespace: white space and typesetting (hyphens between letters, ligatures, kinds of quotes and dashes) do not
            count for `Comparison.same_content`. The redline never shows them.
        numbers: all numbers are the same: figures, words ("thirty"), dates, and labels of sections and list items.
            Units, currencies and the per cent sign still count.
        like: paths of templates; their text is left out of both documents (`boilerplate`).
        renumbering: the numbers of clauses and list items are the same, and so are references to them.
        list_marks: list items have no marks, such as "(a)" or "2.". Bullets never count.
        kinds: names of kinds of texts outside and of parts not read, or "outside" and "parts" for all of them.
    """

    case: bool = False
    whitespace: bool = False
    numbers: bool = False
    like: tuple[str, ...] = ()
    renumbering: bool = False
    list_marks: bool = False
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("like", "kinds"):  # one name alone, or a list from a caller of the Python API
            object.__setattr__(self, name, tuple(map(str, one_or_more(getattr(self, name)))))

    def __bool__(self) -> bool:
        """Whether anything is ignored."""
        return bool(self.names) or bool(self.like) or bool(self.kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """The switches that are on."""
        return tuple(name for name in SWITCHES if getattr(self, name))


SWITCHES = ("case", "whitespace", "numbers", "renumbering", "list_marks")
"""The fields of `IgnoreOptions` that are on or off."""
NOTHING_IGNORED = IgnoreOptions()


_ACCENTS = r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
"""Marks that belong to the letter before them; `re` does not count them as letters."""
_WORD = rf"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:(?:[\u00ad'’]|{_ACCENTS}+)[^\W\d_]+)*{_ACCENTS}*|[^\s\u00ad]"
_TOKEN = re.compile(_WORD)
_NUMBER = re.compile(rf"(?P<label>{LABEL})|(?P<number>{NAMED_LABEL}|{NUMBER})")
_NUMBER_OR_TOKEN = re.compile(rf"{_NUMBER.pattern}|{_WORD}")
_CLAUSE_KEY = "0#"
"""The key of every number of a clause where renumbering is ignored."""
_AS = {"number": "0", "label": "(0)"}
"""The key of every number and of every label where numbers are ignored."""

_ONE_FORM = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": None,
    }
)
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s-]+(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign.

    Attributes:
        key: the same for words that differ only in quotes, dashes, ligatures, soft hyphens or ignored differences.
        start: offset of its first character in the text.
        end: offset after its last character.
    """

    key: str
    start: int
    end: int

    @property
    def sign(self) -> bool:
        """Whether it is a sign, such as punctuation: neither word nor number."""
        return not self.key[:1].isalnum()


def words(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Word, ...]:
    """Cut a text into words, numbers and signs, in order.

    Args:
        text: to cut.
        ignore: with numbers ignored, a date of several words is one word.
    """
    pattern = _NUMBER_OR_TOKEN if ignore.numbers else _TOKEN
    found = (Word(_key(match, ignore), match.start(), match.end()) for match in pattern.finditer(text))
    marks = _marks(text, ignore)
    return tuple(_without_marks(found, marks) if marks else found)


def _marks(text: str, ignore: IgnoreOptions) -> list[tuple[Span, str]]:
    """Find the marks to ignore, in order and apart, each with the key it gets: "" where it is as if it were not there.

    The number of a list item is also that of a clause. Where marks are ignored, it is left out.
    """
    marks = [(span, "") for span in list_marks(text)] if ignore.list_marks else []
    if not ignore.renumbering:
        return marks
    taken = {place for span, _ in marks for place in range(span.start, span.end)}
    numbers = [span for span in clause_numbers(text) if taken.isdisjoint(range(span.start, span.end))]
    return sorted([*marks, *((span, _CLAUSE_KEY) for span in numbers)], key=lambda mark: mark[0].start)


def _without_marks(found: Iterable[Word], marks: Sequence[tuple[Span, str]]) -> Iterator[Word]:
    """Leave out the words of marks; a mark with a key becomes one word."""
    place, told = 0, -1
    for word in found:
        while place < len(marks) and marks[place][0].end <= word.start:
            place += 1
        if place == len(marks) or word.end <= marks[place][0].start:
            yield word
            continue
        span, key = marks[place]
        if key and told != place:
            told = place
            yield Word(key, word.start, span.end)


def _key(match: re.Match[str], ignore: IgnoreOptions) -> str:
    if match.lastgroup:
        return _AS[match.lastgroup]
    key = plain(match[0])
    return key.casefold() if ignore.case else key


def squeezed(words: Sequence[Word]) -> tuple[str, list[int]]:
    """Join words without blanks and without hyphens between letters; also return the offset of each word."""
    pieces: list[str] = []
    starts: list[int] = []
    length, hyphens, letters = 0, 0, False
    for word in words:
        if hyphens and word.key != "-":
            if letters and word.key[:1].isalpha():  # they divided a word
                length -= hyphens
                del pieces[-hyphens:]
                starts[-hyphens:] = [length] * hyphens
            hyphens = 0
        starts.append(length)
        pieces.append(word.key)
        length += len(word.key)
        if word.key == "-":
            hyphens += 1
        else:
            letters = word.key[-1:].isalpha()
    return "".join(pieces), starts


def plain(text: str) -> str:
    """Normalise Unicode: one kind of each quote and of dashes, and no soft hyphens."""
    if text.isascii() and "`" not in text:  # most words
        return text
    return unicodedata.normalize("NFKC", text).translate(_ONE_FORM)


def normal(text: str, ignore: IgnoreOptions) -> str:
    """Normalise a text to be compared as a whole: single blanks, without ignored differences."""
    if ignore.whitespace:
        return run_together(text, ignore)
    return " ".join(_without_ignored(text, ignore).split())


def run_together(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Remove white space and hyphens between letters: the result is the same however words were divided."""
    return "".join(_BETWEEN_LETTERS.sub("", plain(_without_ignored(text, ignore))).split())


def _without_ignored(text: str, ignore: IgnoreOptions) -> str:
    """Make case and numbers the same and leave marks out, where they are ignored."""
    pieces, end = [], 0
    for span, key in _marks(text, ignore):
        pieces += [text[end : span.start], f" {key} "]
        end = span.end
    text = "".join((*pieces, text[end:]))
    if ignore.numbers:  # before case is removed: only a capital tells the month from the modal "may"
        text = _NUMBER.sub(lambda match: _AS[match.lastgroup or "number"], text)
    return text.casefold() if ignore.case else text


class Operation(StrEnum):
    """Whether a stretch of text was kept, deleted or inserted."""

    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class Edit:
    """A place where two texts differ; one of the spans may be empty.

    Attributes:
        a: characters of the first text that were deleted.
        b: characters of the second text that were inserted.
    """

    a: Span
    b: Span


def redline(
    a: str, b: str, *, readable: bool = True, ignore: IgnoreOptions = NOTHING_IGNORED
) -> tuple[Edit, ...]:
    """Find all edits that turn `a` into `b`, in order.

    White space, hyphenation, kinds of quotes and ligatures make no edit. The kept words are a longest common
    subsequence of the two texts. The edits that turn `b` into `a` are the same ones, turned over.

    Args:
        a: the first text.
        b: the second.
        readable: join two edits if only a word or a sign between them is the same by chance. If False, every edit is
            as small as possible.
        ignore: the differences that make no edit either.
    """
    if b < a:
        # Which of two equally long common subsequences is found depends on the order; the edits must not.
        return tuple(turned(edit) for edit in redline(b, a, readable=readable, ignore=ignore))
    left, right = words(a, ignore), words(b, ignore)
    blocks = [block for block in _blocks(left, right) if not _same_letters(left, right, block)]
    blocks = _without_typesetting(blocks, (a, left), (b, right))
    if readable:
        blocks = _joined(blocks, left)
    return tuple(Edit(_span(left, i, j, len(a)), _span(right, k, n, len(b))) for i, j, k, n in blocks)


def turned(edit: Edit) -> Edit:
    """The edit that undoes an edit."""
    return Edit(edit.b, edit.a)


_Block = tuple[int, int, int, int]
"""Words [i, j) of the first text that became words [k, n) of the second."""


def _blocks(left: Sequence[Word], right: Sequence[Word]) -> list[_Block]:
    from rapidfuzz.distance import LCSseq

    found: list[_Block] = []
    codes = LCSseq.opcodes([word.key for word in left], [word.key for word in right])
    for code in codes:
        if code.tag == "equal":
            continue
        block = (code.src_start, code.src_end, code.dest_start, code.dest_end)
        if found and (found[-1][1], found[-1][3]) == (block[0], block[2]):
            block = (found[-1][0], block[1], found.pop()[2], block[3])
        found.append(block)
    return found


def _without_typesetting(
    blocks: Sequence[_Block], a: tuple[str, Sequence[Word]], b: tuple[str, Sequence[Word]]
) -> list[_Block]:
    """Drop the blocks of bullets and of bars between cells alone."""
    marks = [
        {place for span in typesetting(text) for place in range(span.start, span.end)} for text, _ in (a, b)
    ]
    if not any(marks):
        return list(blocks)
    return [
        block
        for block in blocks
        if not (
            all(word.start in marks[0] for word in a[1][block[0] : block[1]])
            and all(word.start in marks[1] for word in b[1][block[2] : block[3]])
        )
    ]


def _same_letters(left: Sequence[Word], right: Sequence[Word], block: _Block) -> bool:
    """Whether both sides have the same letters, divided differently; one more word at either end is tried, too."""
    i, j, k, n = block
    if i == j and k == n:
        return True
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1)):
        one = left[max(0, i - before) : j + after]
        two = right[max(0, k - before) : n + after]
        # Combining signs are cut from their letter: they are words by themselves.
        if plain(squeezed(one)[0]) == plain(squeezed(two)[0]):
            return True
    return False


def _joined(blocks: Sequence[_Block], left: Sequence[Word]) -> list[_Block]:
    joined: list[_Block] = []
    for block in blocks:
        if joined:
            i, j, k, n = joined[-1]
            stayed = sum(not word.sign for word in left[j : block[0]])
            changed = min(j - i + n - k, block[1] - block[0] + block[3] - block[2])
            # The same number of words stayed on both sides, unless ignored text is between them.
            if block[0] - j == block[2] - n and (stayed == 0 or (stayed == 1 and changed >= 4)):
                joined[-1] = (i, block[1], k, block[3])
                continue
        joined.append(block)
    return joined


def _span(words: Sequence[Word], first: int, last: int, length: int) -> Span:
    """Find the characters of words [first, last) in a text of `length`.

    An empty range is an empty span at the end of the word before it.
    """
    if first < last:
        return Span(words[first].start, words[last - 1].end)
    place = words[first - 1].end if first else 0
    return Span(min(place, length), min(place, length))


def typesetting(text: str) -> Iterator[Span]:
    """Find the bullets, the dashes at the beginning of lines, and the bars between the cells of a table."""
    yield from (Span(*match.span()) for match in _BULLET.finditer(text))
    if " | " in text:
        for row in _PROSE_LINE.finditer(text):
            for bar in _BAR.finditer(text, *row.span()):
                if not _in_brackets(text[max(row.start(), bar.start() - _BEFORE) : bar.start()]):
                    yield Span(*bar.span())


def without_bullets(text: str) -> str:
    """Remove the bullets at the beginnings of lines."""
    return _LINE_BULLET.sub("", text)


def without_typesetting(text: str) -> str:
    """Remove bullets and the bars of tables."""
    pieces, end = [], 0
    for span in sorted(typesetting(text), key=lambda span: span.start):
        pieces.append(text[end : span.start])
        end = max(end, span.end)
    return "".join((*pieces, text[end:])) if pieces else text


def _in_brackets(before: str) -> bool:
    """Whether a bracket is open: "P(A | B)"."""
    return any(before.count(opening) > before.count(closing) for opening, closing in ("()", "[]", "{}"))


def list_marks(text: str) -> Iterator[Span]:
    """Find the marks of list items at the beginning of lines: "(a)", "iv)", "2.", "4.2"."""
    return (Span(*match.span("mark")) for match in _LIST_MARK.finditer(text))


def clause_numbers(text: str) -> Iterator[Span]:
    """Find the numbers of clauses and list items, and those of references: "4.2" in "Section 4.2"."""
    for match in _NUMBER_OF_CLAUSE.finditer(text):
        yield Span(*match.span(match.lastgroup or 0))
