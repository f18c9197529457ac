"""Compare two texts word by word: find the deleted and the inserted words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colde_cli.documents.document import Span
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, Word, plain, squeezed, words


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
    subsequence of the two texts.

    Args:
        a: the first text.
        b: the second.
        readable: join two edits if only a word or a sign between them is the same by chance. If False, every edit is
            as small as possible.
        ignore: the differences that make no edit either.
    """
    left, right = words(a, ignore), words(b, ignore)
    blocks = [block for block in _blocks(left, right) if not _same_letters(left, right, block)]
    if readable:
        blocks = _joined(blocks, left)
    return tuple(Edit(_span(left, i, j, len(a)), _span(right, k, n, len(b))) for i, j, k, n in blocks)


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
