"""What was deleted from one text and inserted in another, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colde_cli.documents.document import Span
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, Word, plain, squeezed, words


@dataclass(frozen=True, slots=True)
class Edit:
    """A place at which two texts differ: `a` was deleted, `b` inserted; either may be empty, not both.

    Attributes:
        a: characters of the first text.
        b: characters of the second.
    """

    a: Span
    b: Span


def redline(
    a: str, b: str, *, readable: bool = True, ignore: IgnoreOptions = NOTHING_IGNORED
) -> tuple[Edit, ...]:
    """All edits that make `b` of `a`, in order; none where only white space, hyphenation, quotes or ligatures differ.

    The words that stay are a longest common subsequence of the two.

    Args:
        a: the first text.
        b: the second.
        readable: join edits between which only a word or a sign stayed by chance; without, every edit is as small
            as can be.
        ignore: what is no edit either.
    """
    left, right = words(a, ignore), words(b, ignore)
    blocks = [block for block in _blocks(left, right) if not _alike(left, right, block)]
    if readable:
        blocks = _joined(blocks, left)
    return tuple(Edit(_span(left, i, j, len(a)), _span(right, k, n, len(b))) for i, j, k, n in blocks)


_Block = tuple[int, int, int, int]


def _blocks(left: Sequence[Word], right: Sequence[Word]) -> list[_Block]:
    """Words [i, j) of the left that became words [k, n) of the right."""
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


def _alike(left: Sequence[Word], right: Sequence[Word], block: _Block) -> bool:
    """The two say the same, differently divided; a word on either side is read with them."""
    i, j, k, n = block
    if i == j and k == n:
        return True
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1)):
        one = left[max(0, i - before) : j + after]
        two = right[max(0, k - before) : n + after]
        # Signs that compose with the letter before them are words of their own.
        if plain(squeezed(one)[0]) == plain(squeezed(two)[0]):
            return True
    return False


def _joined(blocks: Sequence[_Block], left: Sequence[Word]) -> list[_Block]:
    found: list[_Block] = []
    for block in blocks:
        if found:
            i, j, k, n = found[-1]
            stayed = sum(not word.sign for word in left[j : block[0]])
            changed = min(j - i + n - k, block[1] - block[0] + block[3] - block[2])
            # The same count of words stayed on both sides only where no noise lies between.
            if block[0] - j == block[2] - n and (stayed == 0 or (stayed == 1 and changed >= 4)):
                found[-1] = (i, block[1], k, block[3])
                continue
        found.append(block)
    return found


def _span(own: Sequence[Word], first: int, last: int, length: int) -> Span:
    if first < last:
        return Span(own[first].start, own[last - 1].end)
    place = own[first - 1].end if first else 0
    return Span(min(place, length), min(place, length))
