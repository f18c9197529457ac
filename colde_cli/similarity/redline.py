"""Cut texts into comparable words, without what is to be ignored, and find the deleted and the inserted words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from colde_cli.documents.document import Document, Span
from colde_cli.documents.notation import FRACTIONS, LOWERED, RAISED, in_line
from colde_cli.documents.selection import one_or_more
from colde_cli.similarity.layout_marks import (
    BOXES,
    bars,
    bullets,
    clause_numbers,
    content_marks,
    dashes_at_items,
    list_marks,
)
from colde_cli.similarity.numbers import LABEL, NAMED_LABEL, NUMBER


@dataclass(frozen=True, slots=True)
class IgnoreOptions:
    """The differences between two texts to ignore; by default only those that the redline never shows.

    Attributes:
        case: capital and small letters are the same.
        whitespace: white space that parts no digits, and typesetting (ligatures, kinds of quotes and dashes) do not
            count for `Comparison.same_content`. The redline never shows them.
        numbers: all numbers are the same: figures, words ("thirty"), dates, and labels of sections and list items.
            Units, currencies and the per cent sign still count.
        like: paths of templates; their text is left out of both documents (`boilerplate`).
        renumbering: the numbers of clauses and list items are the same, and so are references to them.
        list_marks: list items have no marks, such as "(a)" or "2.". Bullets never count.
        kinds: names of kinds of texts outside and of parts not read, or "outside" and "parts" for all of them.
        divided: words, see `ReadReport.divided_words`, that are the same with a hyphen and without (`between`).
        layout: bars of tables and boxes at items may come or go: one text is printed, the other is not (`between`).
    """

    case: bool = False
    whitespace: bool = False
    numbers: bool = False
    like: tuple[str, ...] = ()
    renumbering: bool = False
    list_marks: bool = False
    kinds: tuple[str, ...] = ()
    divided: frozenset[str] = frozenset()
    layout: bool = False

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
_SCRIPT = r"[\^_](?:[+−-]?\d+(?:[.,]\d+)*|[^\W\d_](?![^\W_]))"
"""An exponent or an index: "^2", "_n"."""
_SCRIPTS = re.compile(f"[{RAISED}{LOWERED}{FRACTIONS}]")
_BEFORE_FRACTION = re.compile(rf"\s*[{FRACTIONS}]")
_NUMBER = re.compile(rf"(?P<label>{LABEL})|(?P<number>{NAMED_LABEL}|{NUMBER})")


@cache
def _pattern(numbers: bool, unicode: bool) -> re.Pattern[str]:
    """The pattern of a word; without `unicode`, its super- and subscripts and fractions, it is faster."""
    own = rf"[{RAISED}]+|[{LOWERED}]+|[{FRACTIONS}]|" if unicode else ""
    letters = rf"[^\W\d_{RAISED}{LOWERED}{FRACTIONS}]+" if unicode else r"[^\W\d_]+"
    word = rf"{letters}(?:(?:[\u00ad'’]|{_ACCENTS}+){letters})*{_ACCENTS}*"
    first = f"{_NUMBER.pattern}|" if numbers else ""
    return re.compile(rf"{first}\d+(?:[.,:]\d+)*|{own}{_SCRIPT}|{word}|[^\s\u00ad]")


_CLAUSE_KEY = "0#"
"""The key of every number of a clause where renumbering is ignored."""
_AS = {"number": "0", "label": "(0)"}
"""The key of every number and of every label where numbers are ignored."""

_ONE_FORM = str.maketrans(
    {**dict.fromkeys("‘’‚‛`´′", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—―−", "-"), "\u00ad": None}
)
_AS_THEY_ARE = re.compile("([①-⒛⓪㉑-㉟㊱-㊿㋀-㋋㍘-㍰㍸㍹㏠-㏾\U0001f100-\U0001f10a]+)")
"""Characters that NFKC writes with digits, which would join those beside them."""
_WITH_DIGITS = re.compile(f"[{RAISED}{LOWERED}{FRACTIONS}⁄∕①-⒛⓪㉑-㉟㊱-㊿㋀-㋋㍘-㏾\U0001f100-\U0001f10a]")
"""Those, and all that `in_line` writes in another way."""
_AFTER_HYPHEN = re.compile(r"[-‐]\s+([^\W\d_]+)")
_LETTERS_AT_END = re.compile(r"[^\W\d_]+$")
_LONGEST_WORD = 100
_SEPARATORS = frozenset(".,:/⁄∕'’")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign.

    Attributes:
        key: the same for words that differ only in quotes, dashes, ligatures, soft hyphens or ignored differences. That
            of a sign between digits, or of an exponent after one, begins with a blank if white space parts them.
        start: offset of its first character in the text.
    """

    key: str
    start: int
    end: int

    @property
    def sign(self) -> bool:
        """Whether it is a sign, such as punctuation: neither word nor number."""
        return not self.key[:1].isalnum()


def words(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Word, ...]:
    """Cut a text into words, numbers and signs, in order."""
    unicode = not text.isascii() and _SCRIPTS.search(text) is not None
    pattern = _pattern(ignore.numbers, unicode)
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
    word = match[0]
    if not (word.isascii() and word.isalnum()):  # few
        word = _plain_key(match)
    return word.casefold() if ignore.case else word


def _plain_key(match: re.Match[str]) -> str:
    """The key of a sign or of a word with characters besides ASCII."""
    word = match[0]
    if word in _SEPARATORS:
        return _separator(match)
    if word.isascii() and word[0] not in "^_":
        return plain(word)
    start = match.start()
    key = plain(word, match.string[start - 1 : start]).strip()
    apart = key.startswith(("^", "_")) and _digit_apart(match.string, start - 1, -1)
    return f" {key}" if apart else key


def _separator(match: re.Match[str]) -> str:
    """The key of a sign that may part the digits of a number: with the white space between it and them."""
    text, start, end = match.string, match.start() - 1, match.end()
    key = plain(match[0])
    if start < 0 or text[start].isalpha():  # most
        return key
    before, after = _digit_apart(text, start, -1), _digit_apart(text, end, 1)
    beside = _counts(text[start : start + 1]), _counts(text[end : end + 1])
    if not (before or beside[0]) or not (after or beside[1]):
        return key
    # After a full stop, a comma or a colon a blank is no wonder: "5. 30" are two numbers, and "5.30" is one word.
    after = after and (before or key not in _CLOSE or _BEFORE_FRACTION.match(text, end) is not None)
    return f"{' ' * before}{key}{' ' * after}"


def _digit_apart(text: str, place: int, step: int) -> bool:
    """Whether white space comes at a place, and then, in the direction of `step`, a digit."""
    first = place
    while 0 <= place < len(text) and text[place].isspace():
        place += step
    return place != first and 0 <= place < len(text) and _counts(text[place])


def _counts(sign: str) -> bool:
    """Whether a character is a digit or a fraction."""
    return sign.isnumeric() and not sign.isalpha()


def squeezed(words: Sequence[Word], divided: Container[str] = ()) -> tuple[str, list[int]]:
    """Join words without blanks, but leave one where it parts digits; also return the offset of each word."""
    pieces: list[str] = []
    starts: list[int] = []
    length = 0
    for place, word in enumerate(words):
        key = word.key
        between_words = key == "-" and divided and 0 < place < len(words) - 1
        if between_words and (words[place - 1].key + words[place + 1].key).casefold() in divided:
            key = ""
        elif key[:1].isdigit() and _ends_in_number("".join(pieces[-2:]), fraction="/" in key):
            pieces.append(" ")
            length += 1
        starts.append(length)
        pieces.append(key)
        length += len(key)
    return "".join(pieces), starts


def _ends_in_number(text: str, *, fraction: bool) -> bool:
    """Whether a text ends with a digit, the sign of an exponent, or a digit and a sign that numbers hold.

    A number is one word, so that a blank comes after that sign; before a fraction the sign has the blank itself.
    """
    last = text[-1:]
    return last.isdigit() or last == "^" or (not fraction and last in _CLOSE and text[-2:-1].isdigit())


_CLOSE = frozenset(".,:")
"""Signs within a number; a number that is written without blanks is one word."""


def divided_words(text: str) -> frozenset[str]:
    """Find the words that a line's end may have divided, in lower case: of "measure- ment" and "pre- and"."""
    found = set()
    for match in _AFTER_HYPHEN.finditer(text):
        before = _LETTERS_AT_END.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
        if before:
            found.add((before[0] + match[1]).casefold())
    return frozenset(found)


def between(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> IgnoreOptions:
    """The differences to ignore between two documents, with those that the layout of pages makes."""
    printed = (a.report.pages is None) is not (b.report.pages is None)
    return replace(ignore, divided=ignore.divided | divided_in(a) | divided_in(b), layout=printed)


def divided_in(document: Document) -> frozenset[str]:
    """Find the words of a document that a line's end divided, or may have divided."""
    return divided_words(document.text).union(document.report.divided_words)


def plain(text: str, before: str = "") -> str:
    """Normalise Unicode: one kind of each quote and of dashes, scripts and fractions as `in_line`, no soft hyphens.

    No digit comes to stand beside another one: ① stays as it is.
    """
    if text.isascii() and "`" not in text:  # most words
        return text
    if _WITH_DIGITS.search(text):
        pieces = _AS_THEY_ARE.split(in_line(text, before))
        pieces[::2] = (unicodedata.normalize("NFKC", piece) for piece in pieces[::2])
        text = "".join(pieces)
    else:
        text = unicodedata.normalize("NFKC", text)
    return text.translate(_ONE_FORM)


def normal(text: str, ignore: IgnoreOptions) -> str:
    """Normalise a text to be compared as a whole: single blanks, without ignored differences."""
    if ignore.whitespace:
        return run_together(text, ignore)
    return " ".join(_without_ignored(text, ignore).split())


def run_together(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Remove white space that parts no digits: the result is the same however words were divided."""
    return plain(squeezed(words(text, ignore), ignore.divided | divided_words(text))[0])


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


def redline(a: str, b: str, *, readable: bool = True, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Edit, ...]:
    """Find all edits that turn `a` into `b`, in order.

    White space that parts no digits, hyphens at the ends of lines, kinds of quotes and ligatures make no edit. The kept
    words are a longest common subsequence of the two texts. The edits that turn `b` into `a` are the same ones, turned
    over.

    Args:
        readable: join two edits if only a word or a sign between them is the same by chance. If False, every edit is
            as small as possible.
    """
    if b < a:
        # Which of two equally long common subsequences is found depends on the order; the edits must not.
        return tuple(turned(edit) for edit in redline(b, a, readable=readable, ignore=ignore))
    left, right = words(a, ignore), words(b, ignore)
    content = frozenset[str]() if ignore.layout else content_marks(a, b)
    if "|" not in content:
        left, right = _without_bars(a, left), _without_bars(b, right)
    blocks = changed_blocks([word.key for word in left], [word.key for word in right])
    if blocks:
        divided = ignore.divided | divided_words(a) | divided_words(b)
        blocks = [block for block in blocks if not _same_letters(left, right, block, divided)]
        blocks = _with_neighbours(_without_bullets(blocks, (a, left), (b, right), content), left, right)
    if readable:
        blocks = _joined(blocks, left)
    return tuple(Edit(_span(left, i, j, len(a)), _span(right, k, n, len(b))) for i, j, k, n in blocks)


def turned(edit: Edit) -> Edit:
    """The edit that undoes an edit."""
    return Edit(edit.b, edit.a)


_Block = tuple[int, int, int, int]
"""Words [i, j) of the first text that became words [k, n) of the second."""


def changed_blocks(left: Sequence[str], right: Sequence[str]) -> list[_Block]:
    """The stretches in which two sequences differ, in order; the rest is a longest common subsequence."""
    from rapidfuzz.distance import LCSseq

    blocks: list[_Block] = []
    for code in LCSseq.opcodes(left, right):
        if code.tag == "equal":
            continue
        block = (code.src_start, code.src_end, code.dest_start, code.dest_end)
        if blocks and (blocks[-1][1], blocks[-1][3]) == (block[0], block[2]):
            block = (blocks[-1][0], block[1], blocks.pop()[2], block[3])
        blocks.append(block)
    return blocks


def _without_bars(text: str, found: tuple[Word, ...]) -> tuple[Word, ...]:
    """Leave out the bars between the cells of a table."""
    places = {bar.start for bar in bars(text)}
    return tuple(word for word in found if word.start not in places) if places else found


def _without_bullets(
    blocks: Sequence[_Block], a: tuple[str, Sequence[Word]], b: tuple[str, Sequence[Word]], content: Container[str]
) -> list[_Block]:
    """Drop the blocks of bullets alone."""
    marks = [{place for span in bullets(text, content) for place in range(span.start, span.end)} for text, _ in (a, b)]
    if not any(marks):
        return list(blocks)
    dashes = [set(dashes_at_items(text)) for text, _ in (a, b)]
    return [block for block in blocks if not _only_marks(block, (a[1], b[1]), marks, dashes)]


def _only_marks(
    block: _Block,
    words: tuple[Sequence[Word], Sequence[Word]],
    marks: Sequence[Container[int]],
    dashes: Sequence[Container[int]],
) -> bool:
    """Whether a block has only marks of a layout, and no box became another one.

    A dash before a number is a mark only in the place of a bullet.
    """
    sides = [words[side][block[2 * side] : block[2 * side + 1]] for side in (0, 1)]
    boxes = [{word.key for word in side} & set(BOXES) for side in sides]
    if all(boxes) and boxes[0] != boxes[1]:
        return False
    all_marks = [all(word.start in own for word in side) for side, own in zip(sides, marks, strict=True)]
    if all(all_marks) or not (any(all_marks) and all(sides)):
        return all(all_marks)
    return all(
        word.start in own or word.start in beside
        for side, own, beside in zip(sides, marks, dashes, strict=True)
        for word in side
    )


def _same_letters(left: Sequence[Word], right: Sequence[Word], block: _Block, divided: Container[str]) -> bool:
    """Whether both sides have the same letters, divided differently; one more word at either end is tried, too."""
    i, j, k, n = block
    if i == j and k == n:
        return True
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1)):
        one = left[max(0, i - before) : j + after]
        two = right[max(0, k - before) : n + after]
        # Combining signs are cut from their letter: they are words by themselves.
        if plain(squeezed(one, divided)[0]) == plain(squeezed(two, divided)[0]):
            return True
    return False


def _with_neighbours(blocks: Sequence[_Block], left: Sequence[Word], right: Sequence[Word]) -> list[_Block]:
    """Widen the blocks of signs that differ in the blanks beside them alone by the numbers that these part."""
    widened: list[_Block] = []
    for block in blocks:
        i, j, k, n = block
        one, two = ([word.key.strip() for word in side] for side in (left[i:j], right[k:n]))
        if one == two:
            after = int(one[-1] in _SEPARATORS and j < len(left) and n < len(right))
            block = (max(0, i - 1), j + after, max(0, k - 1), n + after)  # noqa: PLW2901 - the same, wider
        if widened and (widened[-1][1] > block[0] or widened[-1][3] > block[2]):
            before = widened.pop()
            block = (before[0], block[1], before[2], block[3])  # noqa: PLW2901
        widened.append(block)
    return widened


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
