"""Documents as people write them, made up by hypothesis: nested headings, lists, tables, passages that come again,
several scripts, signs that combine, words without end. And later versions of them.

How many examples a property gets is a share of the profile's, so that the profile `deep` reaches all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble

T = TypeVar("T")

SENTENCES = [
    *(
        "The keeper rows out to the buoy at dawn.",
        "He counts 12 bells before the tide turns, and writes them down.",
        "The council shall levy a tax of EUR 40.50 on every house, payable by 3 March 2024.",
        "The council shall levy a tax of EUR 45.50 on every house, payable by 3 March 2024.",
        "It may not refund it, unless Section 3.2(a) or Article IV says so.",
        "See Fig. 3, e.g. the low-cost pump of Dr. J. Vale et al. (2019).",
        "Is it dry? It is not!",
        "None.",
        "Not applicable.",
        "9 3.2",
        "p. 3",
    ),
    *(
        "Der Fluß steigt über die Straße; Ärzte fahren täglich 17 km weit.",
        "Le délai n’excède pas « trente » jours — sauf accord.",
        "Договор вступает в силу с 1 января 2024 года.",
        "本協定は三十日以内に発効する。関係者はこれを守る。",
        "החוזה ייכנס לתוקף ביום 1 בינואר 2024.",
        "يدخل العقد حيز التنفيذ بعد ٣٠ يومًا.",
        "این قرارداد می\u200cتواند تا ۳۰ روز فسخ شود.",
        "यह समझौता ३० दिनों में लागू होगा; क्\u200dष।",
        "이 계약은 삼십 일 안에 발효한다.",
        "ข้อตกลงนี้มีผลบังคับใช้ภายในสามสิบวัน",
    ),
    *(
        "Cafe\u0301 nai\u0308ve Z\u0334\u0321\u034ae\u0301\u0302\u0303 a\u030a.",
        "The oﬃce ﬁlls “low-cost” orders, soft\u00adhyphens and no\u00a0break blanks.",
        "\u200fשלום\u200e (abc) \u202bmixed\u202c 12.",
        "👩‍👩‍👧‍👦 family, 🇫🇷 flag, 👍🏽.",
        "x² + y₂ = ½ · π ≤ ∞ ∑ ‰ № ℵ.",
        "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 3 + " ends.",
        "https://example.org/a/very/long/path?with=arguments&and=" + "abc%20" * 30,
        "A" * 700,
        "數" * 150 + "。",
        "a-" * 90 + "b",
        "* _ ` # > | [x](y) <b> & \\ ~ $ % { } ^",
        "...... 5",
        "I. II. III. iv) (v) 1) 2.",
    ),
]
_WORDS = (
    "the keeper rows out bell tide lamp rope pier shall not may 9 30 3.2 40% EUR (a) Section -- – — ' ’"
    " “ ” . , ; : ? ! … naïve e\u0301 שלום עד يوم می\u200cتواند 本 ﬁ \u00ad x\u00ady a\u200bb a\u2060b \u0301 \u200d •"
    " | / & low-cost U.S. ½ ² №"
).split(" ")
_HEADINGS = [
    *("1 Scope", "1.1 Terms", "1.1.1 Rope", "2 Fees", "Annex A", "Article 4", "References", "Abstract"),
    *("SCHEDULE", "Scope", "§ 5 Haftung", "第1条 目的", "المادة 1", "Conclusion and outlook", "4", "Table 2"),
    "None.",
]

_MARKS = ("- ", "• ", "(a) ", "1. ", "(iv) ", "2) ", "")
_SIGNS = "".join(map(chr, [*range(32, 127), *range(0xA0, 0x180), *range(0x300, 0x320), *range(0x5D0, 0x5EB)]))
_EDITS = ("drop", "add", "move", "again", "other words", "number", "join", "divide")


class Writer:
    """Writes by choices that bytes make: one draw a document, hundreds of times as fast as one draw a word.

    Fewer and smaller bytes make a shorter and plainer document, so that hypothesis can still shrink it.
    """

    def __init__(self, data: bytes) -> None:
        self._choices = iter(data)

    def below(self, count: int) -> int:
        """A number below `count`; 0 when the bytes are used up."""
        return next(self._choices, 0) % count

    def one_of(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.below(len(choices))]

    def many(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        """So many of what `make` makes."""
        return [make() for _ in range(least + self.below(most - least + 1))]

    def phrase(self) -> str:
        """Some words."""
        return " ".join(self.many(lambda: self.one_of(_WORDS), 1, 6))

    def sentence(self) -> str:
        """A sentence; of one in five the words are drawn, of one in sixteen the characters."""
        kind = self.below(16)
        if kind == 15:
            return "".join(self.many(lambda: self.one_of(_SIGNS), 1, 8))
        return self.phrase() if kind > 12 else self.one_of(SENTENCES)

    def paragraph(self) -> str:
        """Sentences."""
        return " ".join(self.many(self.sentence, 1, 3))

    def block(self) -> str:
        """Paragraphs, a list, a table, or a long paragraph."""
        kind = self.below(8)
        if kind == 7:
            rows = self.many(lambda: " | ".join(self.many(self.phrase, 2, 3)), 1, 3)
            return "\n".join(rows)
        if kind == 6:
            mark = self.one_of(_MARKS)
            return "\n\n".join(mark + text for text in self.many(self.sentence, 1, 4))
        if kind == 5 and self.below(4) == 3:
            first = self.below(20)
            return " ".join(SENTENCES[(first + 7 * number) % 20] for number in range(12 + self.below(30)))
        return self.paragraph()

    def heading(self) -> str:
        """A heading, or none."""
        kind = self.below(8)
        return "" if kind < 3 else self.phrase() if kind == 7 else self.one_of(_HEADINGS)

    def parts(self, most: int) -> list[Part]:
        """Sections; blocks come again."""
        pool = self.many(self.block, 1, 3)

        def body() -> str:
            again = (self.one_of(pool) if self.below(3) == 0 else self.block() for _ in range(self.below(4)))
            return "\n\n".join(again)

        made = self.many(lambda: Part(self.heading(), body(), 1 + self.below(4)), 1, most)
        # What nothing is left of would be a document without text.
        return [*made, Part("", "The end.")]

    def later(self, before: list[Part]) -> list[Part]:
        """The sections of a later version; one in eight is another document."""
        if self.below(8) == 7:
            return self.parts(4)
        after = before[:-1]
        for _ in range(self.below(4)):
            place = self.below(len(after))
            part = after[place]
            after[place] = Part(part.heading, "\n\n".join(self.edited(part.text.split("\n\n"))), part.level)
        kind = self.below(8)
        if kind == 7:
            after = after[::-1]
        elif kind == 6:
            after.insert(self.below(len(after)), after.pop(self.below(len(after))))
        elif kind == 5:
            after.append(after[0])
        elif kind == 4:
            after[0] = Part(self.heading(), after[0].text, after[0].level)
        return [*after, before[-1]]

    def edited(self, pieces: list[str]) -> list[str]:
        """Paragraphs after one edit."""
        kind, at, other = self.one_of(_EDITS), self.below(len(pieces)), self.below(len(pieces))
        text = self.sentence()
        if kind == "drop":
            del pieces[at]
        elif kind == "add":
            pieces.insert(at, text)
        elif kind == "move":
            pieces.insert(other, pieces.pop(at))
        elif kind == "again":
            pieces.insert(other, pieces[at])
        elif kind == "other words":
            words = pieces[at].split(" ")
            words[self.below(len(words))] = text.split(" ")[0]
            pieces[at] = " ".join(words)
        elif kind == "number":
            pieces[at] = pieces[at].translate(str.maketrans("0123456789", "1234567890"))
        elif kind == "join":
            pieces[at : at + 2] = [" ".join(pieces[at : at + 2])]
        else:
            pieces[at : at + 1] = pieces[at].split(". ", 1)
        return pieces


def document(of: Sequence[Part], path: str = "a.txt") -> Document:
    """The document that has these sections."""
    return assemble(path, "Title", of)


def _versions(writer: Writer) -> tuple[Document, Document]:
    before = writer.parts(4)
    return document(before), document(writer.later(before), "b.txt")


_writers = st.one_of(st.binary(max_size=30), st.binary(min_size=40, max_size=200)).map(Writer)
parts = _writers.map(lambda writer: writer.parts(5))
documents = parts.map(document)
versions = _writers.map(_versions)
"""A document and a later version of it."""
paragraphs = _writers.map(lambda writer: writer.block() if writer.below(2) else writer.paragraph())
edited = _writers.map(lambda writer: (text := writer.block(), "\n\n".join(writer.edited(text.split("\n\n")))))
"""A text and a later version of it."""
headings = _writers.map(lambda writer: writer.heading())


def examples(share: float = 1.0) -> Callable[..., object]:
    """So large a share of the examples of the profile, which `HYPOTHESIS_PROFILE` chooses."""
    default = settings.default
    assert default is not None
    return settings(max_examples=max(1, round(share * default.max_examples)))
