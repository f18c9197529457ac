"""What holds of every document and of every pair: nothing lost, nothing twice, the same both ways, both rebuilt.

`HYPOTHESIS_PROFILE=deep` tries some hundred times as many (docs/development.md).
"""

from __future__ import annotations

import html
import io
import re
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from odt_files import h, write_odt
from odt_files import p as odt_p
from word_changes import paragraph_texts, paragraphs_of
from word_files import p, write_word
from written import SENTENCES, document, documents, edited, examples, headings, paragraphs, parts, versions

from colde_cli.documents.chunking import Chunker, TextTokenizer, sections_with_text
from colde_cli.documents.document import Document, Part
from colde_cli.documents.html.read_html import read_html
from colde_cli.documents.markdown import read_markdown
from colde_cli.documents.office.docx import read_docx
from colde_cli.documents.office.odt import read_odt
from colde_cli.documents.passages import passages
from colde_cli.documents.plain_text import read_text
from colde_cli.encoder.layout import TOKENIZER
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.errors import NoTextError, UnsupportedFormatError
from colde_cli.similarity.alignment import align
from colde_cli.similarity.cutting import passages_of_both
from colde_cli.similarity.pairs import Alignment, State
from colde_cli.similarity.redline import Operation, redline, run_together, words
from colde_cli.similarity.section_changes import section_changes
from colde_cli.similarity.tracked_changes import tracked_text
from colde_cli.similarity.word_flow import WordFlow
from colde_cli.views.document_text import document_markdown


def letters(text: str) -> str:
    """Letters and digits, in one form; what readers and typesetting may change is left out."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def signs(text: str) -> list[int]:
    """The places of the characters that are not white space."""
    return [place for place, sign in enumerate(text) if not sign.isspace()]


def test_the_same_examples_are_tried_in_any_order_of_tests() -> None:
    """Hypothesis takes constants from the modules that are loaded, and those are other ones in each process."""
    providers = pytest.importorskip("hypothesis.internal.conjecture.providers")
    if settings.default is None or not settings.default.derandomize:
        pytest.skip("this profile draws new examples")
    assert not len(providers._get_local_constants())


# Reading: every character that is not white space is in one section, one passage or heading, and one chunk.


def check_sections(made: Document) -> None:
    held = [place for section in made.sections for place in range(section.span.start, section.span.end)]
    assert len(held) == len(set(held))
    assert set(signs(made.text)) <= set(held)
    for section in made.sections:
        assert made.text[section.span.start : section.body_start].strip() == section.heading
        assert made.text[section.span.end - 1].strip()


@examples()
@given(st.one_of(documents, documents, paragraphs, st.text(max_size=100)))
def test_every_character_of_a_text_is_in_one_section(made: Document | str) -> None:
    text = made if isinstance(made, str) else made.text
    try:
        found = read_text(text.encode("utf-8", "replace"), "a", "a")
    except NoTextError:
        assert not text.replace("\f", "").strip()
        return
    except UnsupportedFormatError:  # too many control characters
        return
    check_sections(found)
    if "\f" not in text:  # heads and feet of pages are left out
        assert letters(found.text) == letters(text)


@pytest.fixture(scope="module")
def tokenizer(model_folder: Path) -> TextTokenizer:
    return open_tokenizer(model_folder / TOKENIZER)


@examples()
@given(documents, st.sampled_from([12, 48, 512]))
def test_every_character_is_in_one_chunk(tokenizer: TextTokenizer, made: Document, size: int) -> None:
    check_sections(made)
    chunks = Chunker(tokenizer, size).chunk(made)
    held = [place for chunk in chunks for place in range(chunk.span.start, chunk.span.end)]
    assert len(held) == len(set(held))
    cut = {chunk.section for chunk in chunks}
    for section in sections_with_text(made):
        text = made.section_text(section)
        if section.index in cut:
            assert {section.span.start + place for place in signs(text)} <= set(held)
        else:
            assert not tokenizer.encode(text, add_special_tokens=False).ids
    for chunk in chunks:
        span = made.sections[chunk.section].span
        assert span.start <= chunk.span.start < chunk.span.end <= span.end
        assert 2 < len(chunk.ids) <= size


@examples()
@given(versions)
def test_every_character_of_a_body_is_in_one_passage(pair: tuple[Document, Document]) -> None:
    flow = WordFlow.of(pair[0].text, pair[1].text)
    for made, found in zip((*pair, pair[0]), (*passages_of_both(*pair, flow), passages(pair[0])), strict=True):
        held = [place for passage in found for place in range(passage.span.start, passage.span.end)]
        assert len(held) == len(set(held))
        bodies = (range(section.body_start, section.span.end) for section in made.sections)
        wanted = {place for body in bodies for place in body if not made.text[place].isspace()}
        assert wanted <= set(held)
        assert all(made.text[one.span.start : one.span.end].strip() for one in found)


def as_html(of: list[Part]) -> Document:
    pieces = []
    for part in of:
        level = min(part.level, 6)
        pieces.append(f"<h{level}>{html.escape(part.heading)}</h{level}>" if part.heading.strip() else "")
        pieces += [f"<p>{html.escape(text)}</p>" for text in part.text.split("\n\n")]
    return read_html(("<meta charset=utf-8>" + "".join(pieces)).encode(), "a", "a")


def escaped(text: str) -> str:
    return html.escape(" ".join(text.split()))


def as_word(of: list[Part]) -> Document:
    body = []
    for part in of:
        body.append(p(escaped(part.heading), f"berschrift{min(2, part.level)}") if part.heading.strip() else "")
        body += [p(escaped(text)) for text in part.text.split("\n\n")]
    with tempfile.TemporaryDirectory() as folder:
        data = write_word(Path(folder) / "a.docx", "".join(body)).read_bytes()
    return read_docx(io.BytesIO(data), "a", "a")


def as_odt(of: list[Part]) -> Document:
    body = []
    for part in of:
        body.append(h(escaped(part.heading), part.level) if part.heading.strip() else "")
        body += [odt_p(escaped(text)) for text in part.text.split("\n\n")]
    with tempfile.TemporaryDirectory() as folder:
        data = write_odt(Path(folder) / "a.odt", "".join(body)).read_bytes()
    return read_odt(io.BytesIO(data), "a", "a")


def as_markdown(of: list[Part]) -> Document:
    return read_markdown(document_markdown(document(of)).encode(), "a", "a")


def check_letters(found: Document, of: list[Part]) -> None:
    check_sections(found)
    assert letters(found.text) == letters(" ".join(f"{part.heading} {part.text}" for part in of))


@pytest.mark.parametrize("write", [as_markdown, as_word, as_odt])
@examples(0.3)
@given(parts)
def test_no_letter_is_lost_in_a_file(write: Callable[[list[Part]], Document], of: list[Part]) -> None:
    check_letters(write(of), of)


@examples(0.1)
@given(parts)
def test_no_letter_is_lost_in_a_web_page(of: list[Part]) -> None:
    check_letters(as_html(of), of)


# Alignment: a document with itself, both ways, in another order.


def mirrored(alignment: Alignment, *, back: bool = False) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """State and places of every pair; of the way back as of the way there."""
    found = []
    for pair in alignment.pairs:
        sides = tuple(one.index for one in pair.a), tuple(one.index for one in pair.b)
        state = pair.state.value
        if back:
            sides, state = sides[::-1], {"only_a": "only_b", "only_b": "only_a"}.get(state, state)
        found.append((state, *sides))
    return sorted(found)


@examples(0.2)
@given(documents)
def test_a_document_is_the_same_as_itself(made: Document) -> None:
    found = align(made, made, None)
    assert {pair.state for pair in found.pairs} <= {State.SAME}
    assert not any(pair.edits or pair.flags for pair in found.pairs)
    assert all(change.same and not change.moved for change in section_changes(found, made, made))


@examples(0.2)
@given(versions)
def test_the_way_back_is_the_mirror_image(pair: tuple[Document, Document]) -> None:
    a, b = pair
    there = align(a, b, None)
    assert sorted(one.index for each in there.pairs for one in each.a) == list(range(len(there.a)))
    assert sorted(one.index for each in there.pairs for one in each.b) == list(range(len(there.b)))
    assert mirrored(there) == mirrored(align(b, a, None), back=True)


LONG = [text for text in SENTENCES if len(text.split()) > 5]
"""A passage of fewer words says too little to be looked for in another place."""
ordered = st.lists(
    st.builds(Part, headings, st.lists(st.sampled_from(LONG), min_size=1, max_size=3).map("\n\n".join)),
    min_size=1,
    max_size=5,
)


@examples(0.2)
@given(ordered.flatmap(lambda of: st.tuples(st.just(of), st.permutations(of))))
def test_in_another_order_every_passage_is_found(orders: tuple[list[Part], list[Part]]) -> None:
    found = align(document(orders[0]), document(orders[1], "b.txt"), None)
    assert {pair.state for pair in found.pairs} <= {State.SAME, State.MOVED}
    assert not any(pair.edits for pair in found.pairs)


# Redline and tracked changes: both texts can be had back.


def undivided(text: str) -> str:
    """The text as the redline compares it: without what divides words and what typesetting changes."""
    bare = re.sub(r"(?m)^[ \t]*\*(?=\s)", "", text)  # the bullet of a list
    # Twice: an accent after a blank joins its letter once the blank is gone.
    return run_together(run_together(bare)).replace("-", "").replace("•", "").replace("|", "")


@examples()
@given(
    st.one_of(
        edited,
        edited,
        st.tuples(paragraphs, paragraphs),
        st.tuples(st.text(max_size=40), st.text(max_size=40)),
    ),
    st.booleans(),
)
@example(("- The keeper rows.\n\n- the the\n\n- The keeper rows.", "* The keeper rows.\n\n- the the"), False)
def test_both_texts_can_be_rebuilt_from_the_redline(pair: tuple[str, str], readable: bool) -> None:
    a, b = pair
    edits = redline(a, b, readable=readable)
    forth, back, at_a, at_b = "", "", 0, 0
    for edit in edits:
        assert at_a <= edit.a.start <= edit.a.end <= len(a)
        assert at_b <= edit.b.start <= edit.b.end <= len(b)
        assert edit.a or edit.b
        forth += a[at_a : edit.a.start] + b[edit.b.start : edit.b.end]
        back += b[at_b : edit.b.start] + a[edit.a.start : edit.a.end]
        at_a, at_b = edit.a.end, edit.b.end
    assert undivided(forth + a[at_a:]) == undivided(b)
    assert undivided(back + b[at_b:]) == undivided(a)


@examples()
@given(st.one_of(paragraphs, paragraphs, st.text(max_size=60)))
def test_words_are_in_order_and_hold_every_letter(text: str) -> None:
    found = words(text)
    end = 0
    for one in found:
        assert end <= one.start < one.end <= len(text)
        end = one.end
    outside = set(signs(text)) - {place for one in found for place in range(one.start, one.end)}
    assert {text[place] for place in outside} <= {"\u00ad"}
    assert redline(text, " ".join(text.split())) == ()


@examples(0.2)
@given(versions)
def test_both_documents_can_be_rebuilt_from_tracked_changes(pair: tuple[Document, Document]) -> None:
    a, b = pair
    text = tracked_text(a, b, align(a, b, None))
    for flow, source, steps in (
        (text.a, a, [step.a for step in text.steps]),
        (text.b, b, [step.b for step in text.steps]),
    ):
        assert "".join(flow.text[step.start : step.end] for step in steps) == flow.text
        assert flow.text.split() == source.text.split()
    for step in text.steps:
        if step.operation is Operation.KEPT:
            assert text.a.text[step.a.start : step.a.end] == text.b.text[step.b.start : step.b.end]
        else:
            assert not (step.b if step.operation is Operation.DELETED else step.a)


@examples(0.1)
@given(versions)
def test_accepting_tracked_changes_in_word_gives_b_and_rejecting_them_a(
    pair: tuple[Document, Document],
) -> None:
    from colde_cli.views.word.tracked_file import redline_docx

    a, b = pair
    file = redline_docx(a, b, align(a, b, None)).content
    assert paragraph_texts(file, accept=True) == paragraphs_of(b)
    assert paragraph_texts(file, accept=False) == paragraphs_of(a)
