"""Cut sections into chunks of at most 512 tokens, `[CLS]` and `[SEP]` included (CoLDE §3.1).

Each chunk lies within one section. Chunks never overlap and together cover every token. They end with a sentence where
that costs little (SMITH's greedy sentence filling, Yang et al. 2020, §4.1.1).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from colde_cli.documents.document import Chunk, Document, Section, Span
from colde_cli.errors import LimitError, ModelError

# A chunk may end early with a sentence if it is at least this full; otherwise it ends with a word.
_MIN_FILL = 0.75
# A last chunk emptier than this shares its tokens with the one before it: a mean over ten tokens is noise.
_MIN_TAIL = 0.25
_SLICE, _LONGEST_SLICE = 1 << 16, 1 << 22
"""Characters that are made into tokens at a time: as a rule, and at most."""
Progress = Callable[[int], None]
# The names in RoBERTa, and so in Longformer.
_OTHER_NAMES = {"[CLS]": "<s>", "[SEP]": "</s>"}


class TokenEncoding(Protocol):
    """The part of `tokenizers.Encoding` that chunking needs."""

    @property
    def ids(self) -> list[int]: ...  # noqa: D102
    @property
    def offsets(self) -> list[tuple[int, int]]: ...  # noqa: D102


class TextTokenizer(Protocol):
    """The part of `tokenizers.Tokenizer` that chunking needs."""

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> TokenEncoding: ...  # noqa: D102
    def token_to_id(self, token: str) -> int | None: ...  # noqa: D102


def plain_tokenizer(text: str) -> TextTokenizer:
    """Load a tokenizer from the text of `tokenizer.json`, with truncation and padding switched off.

    A model's own settings truncate texts. That is right for sentences but loses most of a document.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    plain: TextTokenizer = tokenizer
    return plain


def special_token(tokenizer: TextTokenizer, token: str) -> int:
    """Look up the id of `[CLS]` or `[SEP]` under either of its names.

    Raises:
        ModelError: the vocabulary has neither name.
    """
    for name in (token, _OTHER_NAMES.get(token, token)):
        number = tokenizer.token_to_id(name)
        if number is not None:
            return number
    place = getattr(tokenizer, "path", "The model's tokenizer.json")
    raise ModelError(f"{place} has no {token} token; fetch or train the model again.")


@dataclass(frozen=True, slots=True)
class Chunker:
    """Cuts documents into chunks for one tokenizer."""

    tokenizer: TextTokenizer  # maps text to word pieces with offsets; truncation and padding switched off
    chunk_tokens: int = 512  # size of a chunk, specials included (CoLDE: 512)

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """Cut a document into chunks, in reading order."""
        return tuple(self.chunks(document))

    def chunks(self, document: Document, progress: Progress | None = None) -> Iterator[Chunk]:
        """Yield the chunks of a document as they are cut: whoever takes no more of them pays for no more.

        Args:
            progress: called with 0 for each further slice of a long text; what it raises ends the work.

        Raises:
            LimitError: a text without a place to cut it, too long for the memory of a tokenizer.
        """
        index, name = 0, document.path or document.title
        for section in sections_with_text(document):
            text, offset = document.section_text(section), section.span.start
            bounds = _bounds(text, self._cut(text, progress or (lambda _: None), name))
            for position, (start, end, ids) in enumerate(bounds):
                span = Span(offset + start, offset + end)
                yield Chunk(index, section.index, position, span, ids, document.pages_of(span))
                index += 1

    def first_chunk(self, text: str) -> Chunk | None:
        """Cut the first chunk of a text without a document; None if the text has no token."""
        for start, end, ids in self._cut(text, lambda _: None, "A passage"):
            return Chunk(0, 0, 0, Span(start, end), ids)
        return None

    def _cut(self, text: str, progress: Progress, name: str) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield where the first token of each chunk begins and its last one ends, and the ids with specials.

        Tokens take fifty times the room of their text, so that they are made of one slice after another. A cut depends
        on the tokens before it, and on no more than two chunks that follow (`cut_at`).
        """
        first, last = special_token(self.tokenizer, "[CLS]"), special_token(self.tokenizer, "[SEP]")
        capacity = self.chunk_tokens - 2
        sentences, ids, offsets = _Sentences(text), list[int](), list[tuple[int, int]]()
        numbers: dict[int, int] = {}  # one object for all tokens of a number: they take a quarter of the memory
        for start, end in _slices(text, getattr(self.tokenizer, "breaks", None), name):
            if start:
                progress(0)
            encoding = self.tokenizer.encode(text[start:end], add_special_tokens=False)
            ids += [numbers.setdefault(number, number) for number in encoding.ids]
            offsets += [(start + begin, start + finish) for begin, finish in encoding.offsets]
            cuts = cut_points(sentences.between(offsets), offsets, capacity)
            if end < len(text):
                cuts = [cut for cut in cuts if len(ids) - cut > capacity] or [0]
            for begin, finish in pairwise(cuts):
                yield offsets[begin][0], offsets[finish - 1][1], (first, *ids[begin:finish], last)
            del ids[: cuts[-1]], offsets[: cuts[-1]]


def _slices(text: str, breaks: re.Pattern[str] | None, name: str) -> Iterator[tuple[int, int]]:
    """Yield where slices of a text begin and end, cut only where `breaks` matches: tokens are those of the whole text.

    Raises:
        LimitError: a slice would be too long.
    """
    start = 0
    while start < len(text):
        place = breaks.search(text, start + _SLICE) if breaks and len(text) - start > _SLICE else None
        end = place.start() if place else len(text)
        if end - start > _LONGEST_SLICE:
            raise LimitError(
                f"{name} has {end - start:,} characters that the model's tokenizer needs at once; break it into lines,"
                " or sections."
            )
        yield start, end
        start = end


class _Sentences:
    """Where the sentences of a text begin, found as far as its tokens are known."""

    def __init__(self, text: str) -> None:
        self._rest, self._known = _starts(text), list[int]()

    def between(self, offsets: Sequence[tuple[int, int]]) -> Sequence[int]:
        """Those between the first and the last of these tokens, perhaps with others."""
        if not offsets:
            return ()
        while not self._known or self._known[-1] < offsets[-1][1]:
            following = next(self._rest, None)
            if following is None:
                break
            self._known.append(following)
        del self._known[: bisect_left(self._known, offsets[0][0])]
        return self._known


def _bounds(
    text: str, chunks: Iterator[tuple[int, int, tuple[int, ...]]]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Have each chunk of a text begin where the one before it ends, blanks between them left out.

    A tokenizer has no token for a soft hyphen, say, or a control character. These belong to the chunk before them,
    and to the first one where none is before: no character is in no chunk, nor in two.
    """
    start = len(text) - len(text.lstrip())
    before = next(chunks, None)
    while before is not None:
        following = next(chunks, None)
        end = len(text) if following is None else following[0]
        yield start, start + len(text[start:end].rstrip()), before[2]
        start, before = end, following


def sections_with_text(document: Document) -> Iterator[Section]:
    """Yield the sections to cut into chunks: all but bare headings over subsections.

    The vector of two words would be noise among the vectors of the subsections.
    """
    for section in document.sections:
        if section.body_start < section.span.end or not document.subsections(section):
            yield section


def cut_points(sentences: Sequence[int], offsets: Sequence[tuple[int, int]], capacity: int) -> list[int]:
    """Find the tokens at which chunks of at most `capacity` tokens begin: `[0, c1, ..., n]`; `[0]` without tokens.

    Args:
        sentences: where sentences begin in the text, ascending.
        offsets: start and end of each token in the text; special tokens are not counted.
    """
    tokens = sentence_tokens(sentences, offsets) if len(offsets) > capacity else []
    return cut_at(len(offsets), tokens, lambda token: begins_word(offsets, token), capacity)


def sentence_tokens(sentences: Sequence[int], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Find the tokens that begin a sentence, ascending; the last entry may be the number of tokens."""
    token_starts = [start for start, _ in offsets]
    return sorted({bisect_left(token_starts, start) for start in sentences})


def begins_word(offsets: Sequence[tuple[int, int]], token: int) -> bool:
    """Whether a token other than the first has a gap before it."""
    return offsets[token][0] > offsets[token - 1][1]


def cut_at(count: int, sentences: Sequence[int], starts_word: Callable[[int], bool], capacity: int) -> list[int]:
    """Cut `count` tokens as `cut_points` does, given the tokens that begin a sentence, ascending, or a word."""
    if count == 0:
        return [0]
    cuts = [0]
    while count - cuts[-1] > capacity:
        cuts.append(_next_cut(starts_word, sentences, cuts[-1], cuts[-1] + capacity))
    cuts.append(count)
    if len(cuts) > 2 and cuts[-1] - cuts[-2] < _MIN_TAIL * capacity:
        start, middle = cuts[-3], cuts[-3] + (count - cuts[-3] + 1) // 2
        cuts[-2] = _next_cut(starts_word, sentences, start, middle)
        if count - cuts[-2] > capacity:
            cuts[-2] = middle
    return cuts


def _next_cut(starts_word: Callable[[int], bool], sentences: Sequence[int], start: int, limit: int) -> int:
    """Find the best place in (start, limit] to end a chunk: the end of a sentence, else of a word, else `limit`."""
    floor = start + _MIN_FILL * (limit - start)
    place = bisect_left(sentences, limit + 1) - 1
    if place >= 0 and sentences[place] >= floor:
        return sentences[place]
    return next((cut for cut in range(limit, int(floor), -1) if starts_word(cut)), limit)


# Short forms after which a full stop rarely ends a sentence, in papers, patents and legal prose.
_ABBREVIATIONS = re.compile(
    r"al|approx|art|arts|assn|ca|cf|ch|chap|cl|co|corp|dept|dr|ed|eds|e\.g|eq|eqs|esp|est|etc|ex|fig|figs"
    r"|i\.e|inc|jr|ltd|mr|mrs|ms|no|nos|op|p|para|paras|pat|pp|prof|reg|rev|ref|refs|sec|secs|sect|st|ser"
    r"|u\.s|u\.k|v|viz|vol|vols|vs"
)
_END = re.compile(r"""([.!?…]["'”’)\]]*)\s+(?=["'“‘(\[]?[^\W_])|\n\s*\n\s*""")
_ITEM_MARK = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlcIVXLC]{1,6})[.)]\s*")
_LAST_WORD = re.compile(r"([^\s(\[“\"']+)$")


def sentence_starts(text: str) -> list[int]:
    """Find the offsets at which sentences begin, ascending; the first is 0 for any text.

    A full stop ends a sentence if the next word does not start in lower case and the word before is neither an
    abbreviation nor a single initial. A blank line ends a sentence without a full stop. The mark of a list item, as in
    "1. Open it.", counts as a sentence: chunks were cut so when the models were trained.
    """
    return list(_starts(text))


def _starts(text: str) -> Iterator[int]:
    yield 0
    for match in _END.finditer(text):
        if match.end() < len(text) and (match.group(1) is None or _ends_sentence(text, match)):
            yield match.end()


def whole_sentence_starts(text: str) -> list[int]:
    """As `sentence_starts`, but the mark of a list item belongs to its first sentence."""
    starts = sentence_starts(text)
    after_marks = {end for start, end in pairwise(starts) if _ITEM_MARK.fullmatch(text, start, end)}
    return [start for start in starts if start not in after_marks]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 4].lstrip("\"'“‘([")[:1] if match.end() < len(text) else ""
    if following.islower():
        return False
    if not match.group(1).startswith("."):
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())
    token = word.group(1).casefold() if word else ""
    is_initial = len(token) == 1 and token.isalpha()
    return not (is_initial or _ABBREVIATIONS.fullmatch(token))


def rows_of_sections(document: Document, chunks: Sequence[Chunk]) -> list[list[int]]:
    """The places of each section's chunks among all; a bare heading has those of the sections under it."""
    by_section: dict[int, list[int]] = {}
    for row, chunk in enumerate(chunks):
        by_section.setdefault(chunk.section, []).append(row)
    rows = []
    for section in document.sections:
        under = () if section.index in by_section else document.subsections(section)
        rows.append([row for part in (section, *under) for row in by_section.get(part.index, [])])
    return rows
