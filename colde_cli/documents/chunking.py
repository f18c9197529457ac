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
from colde_cli.errors import ModelError

# A chunk may end early with a sentence if it is at least this full; otherwise it ends with a word.
_MIN_FILL = 0.75
# A last chunk emptier than this shares its tokens with the one before it: a mean over ten tokens is noise.
_MIN_TAIL = 0.25
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
        chunks: list[Chunk] = []
        for section in sections_with_text(document):
            chunks.extend(self._chunk_section(document, section, len(chunks)))
        return tuple(chunks)

    def first_chunk(self, text: str) -> Chunk | None:
        """Cut the first chunk of a text without a document; None if the text has no token."""
        offsets, cuts, ids = self._cut(text)
        return Chunk(0, 0, 0, Span(offsets[0][0], offsets[cuts[1] - 1][1]), ids[0]) if ids else None

    def _cut(self, text: str) -> tuple[list[tuple[int, int]], list[int], list[tuple[int, ...]]]:
        """The offsets of the tokens, those at which chunks begin, and the ids of each chunk."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        cuts = cut_points(text, encoding.offsets, self.chunk_tokens - 2)
        first, last = special_token(self.tokenizer, "[CLS]"), special_token(self.tokenizer, "[SEP]")
        return (
            encoding.offsets,
            cuts,
            [(first, *encoding.ids[start:end], last) for start, end in pairwise(cuts)],
        )

    def _chunk_section(self, document: Document, section: Section, first_index: int) -> Iterator[Chunk]:
        text = document.section_text(section)
        offsets, cuts, all_ids = self._cut(text)
        spans = _whole_spans(text, [offsets[begin][0] for begin in cuts[:-1]], section.span.start)
        for position, (ids, span) in enumerate(zip(all_ids, spans, strict=True)):
            pages = document.pages_of(span)
            yield Chunk(first_index + position, section.index, position, span, ids, pages)


def _whole_spans(text: str, starts: Sequence[int], offset: int) -> Iterator[Span]:
    """Yield the spans of chunks that begin at `starts` of a text, which itself begins at `offset`.

    A tokenizer has no token for a soft hyphen, say, or a control character. These belong to the chunk before them,
    and to the first one where none is before: no character is in no chunk, nor in two.
    """
    if not starts:
        return
    first = len(text) - len(text.lstrip())
    for start, following in pairwise([first, *starts[1:], len(text)]):
        end = len(text[:following].rstrip())
        yield Span(offset + start, offset + max(start, end))


def sections_with_text(document: Document) -> Iterator[Section]:
    """Yield the sections to cut into chunks: all but bare headings over subsections.

    The vector of two words would be noise among the vectors of the subsections.
    """
    for section in document.sections:
        if section.body_start < section.span.end or not document.subsections(section):
            yield section


def cut_points(text: str, offsets: list[tuple[int, int]], capacity: int) -> list[int]:
    """Find the tokens at which chunks of at most `capacity` tokens begin: `[0, c1, ..., n]`; `[0]` without tokens.

    `offsets` are the start and end of each token in `text`; special tokens are not counted.
    """
    sentences = sentence_tokens(text, offsets) if len(offsets) > capacity else []
    return cut_at(len(offsets), sentences, lambda token: begins_word(offsets, token), capacity)


def sentence_tokens(text: str, offsets: list[tuple[int, int]]) -> list[int]:
    """Find the tokens that begin a sentence, ascending; the last entry may be the number of tokens."""
    token_starts = [start for start, _ in offsets]
    return sorted({bisect_left(token_starts, start) for start in sentence_starts(text)})


def begins_word(offsets: list[tuple[int, int]], token: int) -> bool:
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
    ends = (match for match in _END.finditer(text) if match.group(1) is None or _ends_sentence(text, match))
    starts = [0, *(match.end() for match in ends)]
    return starts if starts[-1] < len(text) or len(starts) == 1 else starts[:-1]


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
