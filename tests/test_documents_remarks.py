"""Remarks of reviews: comments of Word files with their threads, and lists of remarks in texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from word_files import linked, p, root, write_word

from colde_cli.documents.office.docx import read_word_comments
from colde_cli.documents.reading import read
from colde_cli.documents.remarks import Review, ReviewRemark, line_words, read_review

_EXTENDED = "http://schemas.microsoft.com/office/word/2012/wordml"


def comment(number: int, author: str, text: str, identifier: str) -> str:
    """A comment of one paragraph."""
    said = f'<w:p w14:paraId="{identifier}"><w:r><w:t>{text}</w:t></w:r></w:p>'
    return f'<w:comment w:id="{number}" w:author="{author}" w:date="2026-03-0{number + 1}T09:30:00Z">{said}</w:comment>'


@pytest.fixture
def commented(tmp_path: Path) -> Path:
    """A Word file with a thread that is done, a comment across two paragraphs, one at a point, and a deletion."""
    body = (
        '<w:p><w:r><w:t xml:space="preserve">The rent is </w:t></w:r><w:commentRangeStart w:id="0"/>'
        '<w:r><w:t>EUR 58</w:t></w:r><w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>'
        '<w:del w:id="9"><w:r><w:delText> a week</w:delText></w:r></w:del><w:r><w:t> a month.</w:t></w:r></w:p>'
        '<w:p/><w:p><w:r><w:t xml:space="preserve">It is due </w:t></w:r><w:commentRangeStart w:id="2"/>'
        "<w:r><w:t>in advance.</w:t></w:r></w:p>"
        '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Heating</w:t></w:r><w:commentRangeEnd w:id="2"/></w:p></w:tc></w:tr></w:tbl>'
        '<w:p><w:r><w:t>Notice is one month.</w:t></w:r><w:r><w:commentReference w:id="3"/></w:r></w:p>'
    )
    comments = root(
        "comments",
        comment(0, "Ann", "Too much?", "AA")
        + comment(1, "Bob", "No.", "BB")
        + comment(2, "Ann", "Why?", "CC")
        + comment(3, "Ann", "Too short.", "DD"),
    )
    extended = (
        f'<w15:commentsEx xmlns:w15="{_EXTENDED}"><w15:commentEx w15:paraId="AA" w15:done="1"/>'
        '<w15:commentEx w15:paraId="BB" w15:paraIdParent="AA" w15:done="0"/></w15:commentsEx>'
    )
    parts = linked(
        {"c comments comments.xml": comments.encode(), "e commentsExtended commentsExtended.xml": extended.encode()}
    )
    return write_word(tmp_path / "review.docx", body, parts=parts)


def words(review: Review, remark: ReviewRemark) -> str:
    """The words of the text that a remark is on."""
    assert remark.words is not None
    return review.document.text[remark.words.start : remark.words.end]


def test_comments_of_word_keep_author_date_thread_and_words(commented: Path) -> None:
    review = read_review(commented)
    assert [(one.author, one.date, one.text, one.done) for one in review.comments] == [
        ("Ann", "2026-03-01T09:30:00Z", "Too much?", True),
        ("Ann", "2026-03-03T09:30:00Z", "Why?", False),
        ("Ann", "2026-03-04T09:30:00Z", "Too short.", False),
    ]
    rent, due, notice = review.comments
    assert [(reply.author, reply.text) for reply in rent.replies] == [("Bob", "No.")]
    assert (words(review, rent), rent.on) == ("EUR 58", "EUR 58")
    assert (words(review, due), due.on) == ("in advance.\n\nHeating", "in advance. Heating")
    assert notice.words is not None
    assert len(notice.words) == 0
    assert review.document.text[: notice.words.end].endswith("Notice is one month.")
    assert "a week" not in review.document.text


def test_a_comment_that_replies_to_itself_is_read(tmp_path: Path) -> None:
    comments = root("comments", comment(0, "Ann", "Why?", "AA"))
    itself = '<w15:commentEx w15:paraId="AA" w15:paraIdParent="AA"/>'
    extended = f'<w15:commentsEx xmlns:w15="{_EXTENDED}">{itself}</w15:commentsEx>'
    named = {"c comments comments.xml": comments.encode(), "e commentsExtended commentsExtended.xml": extended.encode()}
    path = write_word(tmp_path / "a.docx", p("The rent is due."), parts=linked(named))
    with path.open("rb") as file:
        document, found = read_word_comments(file, str(path))
    assert document.text == "The rent is due."
    assert [(one.text, one.words) for one in found.values()] == [("Why?", None)]
    assert [one.text for one in read_review(path).comments] == ["Why?"]


REVIEW = """\
# Review

Dear editors, thank you for asking me.

## Reviewer 1

In general I like the paper.

1. The rent is high.
   It was lower.

   > EUR 58

   Response: It is the market.

2) p. 4, l. 12: who pays?
   (a) the landlord
   (b) the tenant

## Reviewer #2

- one thing
- another

Kind regards,
A. B.

## Reviewer 3

The notice is short.

And so is the letter.
"""


@pytest.mark.parametrize("suffix", [".md", ".txt"])
def test_a_text_lists_remarks_by_number_bullet_or_paragraph(tmp_path: Path, suffix: str) -> None:
    text = REVIEW if suffix == ".md" else REVIEW.replace("## ", "").replace("# ", "")
    path = tmp_path / f"review{suffix}"
    path.write_text(text, encoding="utf-8")
    review = read_review(path)
    told = [(one.label, " ".join(one.text.split())) for one in review.listed]
    quoted = "“EUR 58”" if suffix == ".md" else "> EUR 58"
    assert ("Reviewer 1, 1", f"The rent is high. It was lower. {quoted}") in told
    assert ("Reviewer 1, 2", "p. 4, l. 12: who pays? (a) the landlord (b) the tenant") in told
    assert [label for label, said in told if said in ("one thing", "another")] == ["Reviewer #2", "Reviewer #2"]
    assert [label for label, said in told if said in ("The notice is short.", "And so is the letter.")] == [
        "Reviewer 3"
    ] * 2
    (answered,) = (one for one in review.listed if one.replies)
    assert [reply.text for reply in answered.replies] == ["It is the market."]
    everything = " ".join([*(said for _, said in told), *review.other])
    for kept in ("Dear editors", "In general I like", "Kind regards"):
        assert kept in everything


def test_lines_of_a_text_file_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One.\n\nTwo is\nhere.\n", encoding="utf-8")
    document = read(path)
    assert [line_words(document, *lines) for lines in ((1, 1), (3, 4), (9, 9))] == ["One.", "Two is here.", ""]
