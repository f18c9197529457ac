"""Fields and forms of a Word file: links, prompts, boxes and drop-down lists, formulas, and what their codes say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from colde_cli.documents.notation import TICKED, UNTICKED, fraction, raised
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.word_styles import switched_on

PAGE_NUMBERS = frozenset(("PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION"))
"""Fields whose result hangs on the layout."""
# A reader sees the result of these, but it hangs on what the code says.
_TELLING = frozenset(
    "IF = INCLUDETEXT INCLUDEPICTURE LINK DDE DDEAUTO ASK FILLIN SET DATABASE COMPARE MERGEFIELD NEXTIF SKIPIF".split()
)
_PROMPTS = frozenset(("MACROBUTTON", "GOTOBUTTON"))
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"((?:[^"\\]|\\.)*)"|([^\s"\\]\S*))?', re.IGNORECASE)
_LINK_PLACE = re.compile(r'\\l\s+"([^"]*)"', re.IGNORECASE)
_FRACTION = re.compile(r"EQ\s+\\f\s*\((.*?)[,;](.*)\)", re.IGNORECASE)
_ROOT = re.compile(r"EQ\s+\\r\s*\((?:(.*?)[,;])?(.*)\)", re.IGNORECASE)
_RAISED = re.compile(r"EQ\s+\\s\s*\\up\s*\d*\s*\((.*)\)", re.IGNORECASE)


@dataclass(slots=True)
class Form:
    """A content control (`w:sdt`), or a box, a list or a line of an old form (`w:ffData`).

    Attributes:
        title: that an editor shows.
        kind: the element of an old form that says what it is.
        ticked: of a box; None for anything else.
        choice: index of the choice that is shown.
        hidden: texts that a reader sees only on asking for them.
    """

    title: str = ""
    kind: str = ""
    ticked: bool | None = None
    choice: int = 0
    choices: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def take(self, name: str, attributes: Attributes) -> None:
        """Take one of its properties."""
        value = attributes.get("w:val", "")
        match name:
            case "w:alias" | "w:name":
                self.title = value
            case "w14:checkbox":
                self.ticked = False
            case "w14:checked":
                self.ticked = attributes.get("w14:val", "1") not in ("0", "false", "off")
            case "w:listItem":
                shown, value = attributes.get("w:displayText", ""), attributes.get("w:value", "")
                both = shown and value and shown != value
                self.choices.append(f"{shown} ({value})" if both else shown or value)
            case "w:date" if "w:fullDate" in attributes:
                self.hidden.append(attributes["w:fullDate"])
            case "w:checkBox" | "w:ddList" | "w:textInput":
                self.kind = name
            case "w:checked":
                self.ticked = switched_on(attributes)
            case "w:default" if self.kind == "w:checkBox":
                self.ticked = switched_on(attributes) if self.ticked is None else self.ticked
            case "w:listEntry":
                self.choices.append(value)
            case "w:helpText" | "w:statusText":
                self.hidden.append(value)
            case "w:default" if self.kind == "w:textInput":
                self.hidden.append(value)
            case "w:default" | "w:result" if value.isdecimal():
                self.choice = int(value[:6])

    @property
    def shown(self) -> str:
        """The box of an old form, ticked or not, or the choice."""
        if self.kind == "w:checkBox":
            return TICKED if self.ticked else UNTICKED
        return self.choices[self.choice] if self.choice < len(self.choices) else ""

    @property
    def values(self) -> list[str]:
        """Its choices in one text, and the hidden texts."""
        return [", ".join(self.choices), *self.hidden]


@dataclass(slots=True)
class WordField:
    """A field that is being read.

    Attributes:
        paragraph: the one that it began in.
        start: place in the log of text at which its result begins.
        within_result: the code has ended.
        code: pieces of what it says, and of the results of fields inside it.
    """

    paragraph: object
    start: int
    within_result: bool = False
    code: list[str] = field(default_factory=list)
    form: Form | None = None

    @property
    def words(self) -> str:
        """Its code in one line."""
        return " ".join("".join(self.code).split())

    @property
    def name(self) -> str:
        """The first word of its code, in capitals; "=" for a formula."""
        words = self.words
        return "=" if words.startswith("=") else words.partition(" ")[0].upper()

    @property
    def link(self) -> str:
        """The target of a link, apart from those within the document."""
        match = _LINK.match(self.words)
        if not match:
            return ""
        target = (match.group(1) or match.group(2) or "").replace("\\\\", "\\")
        place = _LINK_PLACE.search(self.words)
        return f"{target}#{place.group(1)}" if target and place else target

    def is_told(self, result: str) -> bool:
        """Whether its code matters beside its result."""
        return not result.strip() or self.name in _TELLING

    def shown(self, before: str) -> str:
        """What a reader sees of a field without a result."""
        words = self.words
        if self.form:
            return self.form.shown
        if self.name in _PROMPTS:
            return words.split(" ", 2)[2] if words.count(" ") > 1 else ""
        if match := _FRACTION.fullmatch(words):
            return fraction(*match.groups())
        if match := _ROOT.fullmatch(words):
            return f"√{f'[{match.group(1)}]' if match.group(1) else ''}({match.group(2)})"
        if match := _RAISED.fullmatch(words):
            return raised(before, match.group(1))
        return ""
