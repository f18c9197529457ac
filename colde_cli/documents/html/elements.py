"""What becomes of the elements of a web page: body text, texts outside it, parts that are not read.

An `ElementReader` is told of elements and text in reading order, by the walk through a page (`read_html.py`) and by the
reader of Markdown (`markdown.py`).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import unquote_to_bytes

from colde_cli.documents.html.flow import BLOCKS, MOST_ABOUT, Attributes, Marks, TextFlow, TextFlows
from colde_cli.documents.html.mathml import Formula
from colde_cli.documents.notation import TICKED, UNTICKED, lowered, raised
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of

CONTENT = "-content"
"""An attribute that a walk gives to the element with the content of a page."""

_CONTENT = frozenset("main article section".split())
_CHROME = {"nav": OutsideKind.NAVIGATION, "header": OutsideKind.HEADERS, "footer": OutsideKind.FOOTERS}
_ROLES = {
    **dict.fromkeys(("navigation", "search"), OutsideKind.NAVIGATION),
    **{"banner": OutsideKind.HEADERS, "contentinfo": OutsideKind.FOOTERS},
}
_OUTSIDE = _CONTENT | {*_CHROME, "dialog"}
"""Elements that can stand outside the body, or hold what does not, without any attribute."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STRUCK = re.compile(r"text-decoration[\w-]*\s*:[^;]*line-through", re.IGNORECASE)
_SHIFTED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_REVERSED = re.compile(r"unicode-bidi\s*:[^;]*override", re.IGNORECASE)
_PICTURE = re.compile(r"url\(\s*[\"']?([^\"')]+)", re.IGNORECASE)
_REFRESH = re.compile(r"url\s*=\s*[\"']?([^\"']+)", re.IGNORECASE)
_MADE_UP = re.compile(r"\S{20,}|.*(?:csrf|token|nonce|session|viewstate)", re.IGNORECASE)
_PERMALINKS = frozenset("¶§#\U0001f517")
_MOST_SCRIPTS = 10  # scripts of scripts; the text of deeper ones would be copied too often
_LONGEST_ADDRESS = 2000
_DATA = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
_REFERENCE = re.compile(r"(url\(\s*[\"']?)?#([^)\"'\s]+)")
_SILENT = frozenset(("script", "style"))
_LINES = frozenset("text title desc p div li td th h1 h2 h3 h4 h5 h6 br foreignobject".split())
_PLACED = frozenset(("x", "y", "dx", "dy"))


def is_hidden(marks: Marks) -> bool:
    """Whether attributes hide an element; style sheets are not applied."""
    if not marks:
        return False
    aria = (marks.get("aria-hidden") or "").lower() == "true"
    return "hidden" in marks or aria or bool(_HIDDEN.search(marks.get("style") or ""))


def address(value: str) -> str:
    """An address as it is written; the end of a long one is replaced by its digest."""
    bare = re.sub(r"[\t\r\n]", "", value.strip())
    if len(bare) <= _LONGEST_ADDRESS:
        return bare
    return f"{bare[:200]}... {digest_of(bare.encode('utf-8', 'replace'))}"


def _digest_of_source(source: str) -> str:
    """The digest of the bytes within an address (`data:`), else of the address, or of any source."""
    match = _DATA.match(source)
    if match:
        data = unquote_to_bytes(source[match.end() :].strip())
        if not match[0].lower().endswith(";base64,"):
            return digest_of(data)
        try:
            return digest_of(base64.b64decode(b"".join(data.split()) + b"=="))
        except binascii.Error:
            pass  # it is no picture, but it can be told from another
    return digest_of(" ".join(source.split()).encode("utf-8", "replace"))


class _Unread:
    """The digest of an element and all it holds, apart from the names of its parts and the order of attributes.

    Attributes:
        digest: of all so far.
        texts: what can be read of it, by paragraphs.
        title: the first of its titles.
    """

    def __init__(self, tag: str, marks: Marks) -> None:
        self.texts: list[str] = []
        self.title = ""
        self.digest = sha256()
        self._names: dict[str, int] = {}
        self._open: list[str] = []
        self._words: list[str] = []
        self._silent = 0
        self.start(tag, marks)

    def start(self, tag: str, marks: Marks) -> None:
        tag = tag.lower()
        self._open.append(tag)
        self._silent += tag in _SILENT
        if tag in _LINES:
            self._end_line(tag)
        elif not _PLACED.isdisjoint(marks):
            self._words.append(" ")
        written = [f"{name}={self._written(name, value or '')}" for name, value in sorted(marks.items())]
        self._update(f"<{tag} {' '.join(written)}>")

    def text(self, data: str) -> None:
        self._update(" ".join(data.split()))
        if not self._silent:
            self._words.append(data)

    def end(self) -> None:
        tag = self._open.pop() if self._open else ""
        self._silent -= tag in _SILENT
        if tag in _LINES or not self._open:
            self._end_line(tag)
        self._update(">")

    def _end_line(self, tag: str) -> None:
        words, self._words = " ".join("".join(self._words).split()), []
        if words:
            self.texts.append(words)
            self.title = self.title or (words if tag == "title" else "")

    def _update(self, written: str) -> None:
        self.digest.update(written.encode("utf-8", "replace"))

    def _written(self, name: str, value: str) -> str:
        """Write a value with numbers for the names of parts: programs invent names anew whenever they save."""
        if name == "id":
            return f"#{self._names.setdefault(value, len(self._names))}"
        return _REFERENCE.sub(
            lambda match: (match[1] or "") + f"#{self._names.get(match[2], match[2])}", " ".join(value.split())
        )


_Rule = Callable[["ElementReader", str, Attributes], None]
_RULES: dict[str, _Rule] = {}  # what is done at the start of elements that are more than a block or a stretch of a line


def _on(names: str) -> Callable[[_Rule], _Rule]:
    """Let a function act at the start of elements, given their name and their attributes."""

    def register(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(names.split(), rule))
        return rule

    return register


class ElementReader(TextFlows):
    """Reads elements and text into flows and an account."""

    def __init__(self, *sinks: Any, chrome: bool = False, title: str = "") -> None:  # noqa: ANN401
        """Begin with what `TextFlows` takes; with `chrome`, navigation, heads and feet of the page are body text.

        `title` is that of the page, where its body text has it.
        """
        super().__init__(*sinks)
        self._chrome, self._title = chrome, title
        self._content = self._scripts = 0
        self._inner: _Unread | Formula | None = None
        self._values: list[str] = []

    def start(self, tag: str, marks: Marks) -> None:
        """Begin an element."""
        self.depth += 1
        if self._inner is not None:
            self._inner.start(tag, marks)
            return
        attributes = Attributes((name, value or "") for name, value in marks.items())
        if attributes or tag in _OUTSIDE:
            self._enter_outside(tag, attributes)
        rule = _RULES.get(tag)
        if rule is not None:
            rule(self, tag, attributes)
        else:
            self.start_block(tag, attributes)
        if attributes and self._inner is None:
            self._read_attributes(attributes)

    def text(self, data: str) -> None:
        """Add text."""
        if self._inner is None:
            self.flow.add(data)
        else:
            self._inner.text(data)

    def end(self) -> None:
        """End the element that began last."""
        if self._inner is not None:
            self._inner.end()
        self.end_element()

    def close(self) -> None:
        """End all elements, and the last paragraph."""
        super().close()
        self._inner = None

    def _enter_outside(self, tag: str, marks: Attributes) -> None:
        """Enter a flow of its own with an element that is not body text."""
        if CONTENT in marks:
            outer = self.flow
            self.at_end(lambda: setattr(outer, "kind", OutsideKind.FOOTERS))
            self.enter(TextFlow())
        elif (kind := self._kind(tag, marks)) and self.flow.kind not in (kind, OutsideKind.HIDDEN):
            if kind is not OutsideKind.HIDDEN and tag in BLOCKS:
                self.flush()
            self.enter(TextFlow(kind))
        if tag in _CONTENT:
            self._content += 1
            self.at_end(lambda: setattr(self, "_content", self._content - 1))

    def _kind(self, tag: str, marks: Attributes) -> OutsideKind | None:
        if is_hidden(marks) or (tag == "dialog" and "open" not in marks):
            return OutsideKind.HIDDEN
        if "mw-editsection" in marks["class"]:  # the [edit] next to the headings of a wiki
            return OutsideKind.NAVIGATION
        if marks["role"] == "doc-toc":
            return OutsideKind.CONTENTS
        if self._chrome:
            return None
        outer = tag == "nav" or not self._content
        return _ROLES.get(marks["role"]) or (_CHROME.get(tag) if outer else None)

    def _read_attributes(self, marks: Attributes) -> None:
        style = marks["style"]
        if _STRUCK.search(style):
            self._struck("s", marks)
        if shift := _SHIFTED.search(style):
            self._script("sub" if shift[1].lower() == "sub" else "sup", marks)
        if _REVERSED.search(style):
            self._reversed("bdo", Attributes(dir="rtl") if "rtl" in style else marks)
        for match in _PICTURE.finditer(style):
            self._part(PartKind.PICTURES, match[1])
        self._part(PartKind.PICTURES, marks["background"])
        if marks["role"] == "img":
            self._beside(OutsideKind.ALTERNATIVES, marks["aria-label"])
        for name, value in marks.items():
            if name.startswith("on") and value:
                self._part(PartKind.SCRIPTS, f"{name}={value}", name)

    def _beside(self, kind: OutsideKind, text: str, about: str = "") -> None:
        self.account.add_text(kind, text, about)

    def _part(self, kind: PartKind, source: str, about: str = "") -> None:
        if source.strip():
            self.account.add_part(kind, _digest_of_source(source.strip()), about or address(source))

    def picture(self, marks: Marks, about: str, kind: PartKind = PartKind.PICTURES) -> None:
        """Account for a picture, by its bytes if they are in the page, else by its address."""
        values = (marks.get(name) for name in ("src", "srcset", "data-src", "data-srcset"))
        self._part(kind, " ".join(value.strip() for value in values if value), about)

    def _tap(self, take: Callable[[str], None]) -> None:
        """Give the text within the element that began last to `take`; it stays in its flow."""
        flow = self.flow
        tap = flow.tap()

        def end() -> None:
            take(flow.tapped(tap) if tap else "")
            if tap:
                flow.taps.remove(tap)

        self.at_end(end)

    def _gather(self, kind: OutsideKind, about: str, take: Callable[[str], None]) -> None:
        """Give all text within the element that began last to `take`, as one line."""
        outer, flow = self.flow, TextFlow(kind, about, inline=True)
        self.flow = flow

        def end() -> None:
            self.flow = outer
            take(flow.line())

        self.at_end(end)

    # Elements within a line.

    @_on("br")
    def _break(self, _tag: str, _marks: Attributes) -> None:
        """Break a line; two breaks in a row end a paragraph."""
        flow = self.flow
        flow.breaks += 1
        if flow.breaks > 1 and not flow.single and not flow.pre:
            self.flush()
        flow.pieces.append("\n" if flow.pre else " ")

    @_on("sup sub")
    def _script(self, tag: str, _: Attributes) -> None:
        flow, start, flushed = self.flow, len(self.flow.pieces), self.flow.flushed
        if self._scripts >= _MOST_SCRIPTS:
            return
        self._scripts += 1

        def end() -> None:
            self._scripts -= 1
            if flow.flushed == flushed and len(flow.pieces) > start:
                before = next((piece for piece in reversed(flow.pieces[:start]) if piece.strip()), "")
                write = raised if tag == "sup" else lowered
                flow.write = partial(write, before.rstrip(), "".join(flow.pieces[start:]))
                flow.pieces[start:] = [flow.write("")]
                flow.script = len(flow.pieces)

        self.at_end(end)

    @_on("del")
    def _deleted(self, _tag: str, _marks: Attributes) -> None:
        if self.flow.kind not in (OutsideKind.DELETED, OutsideKind.HIDDEN):
            self.enter(TextFlow(OutsideKind.DELETED))

    @_on("s strike")
    def _struck(self, _tag: str, _marks: Attributes) -> None:
        if self.flow.kind is not OutsideKind.DELETED:
            self._tap(lambda text: self._beside(OutsideKind.DELETED, text, "struck through"))

    @_on("a")
    def _link(self, _: str, marks: Attributes) -> None:
        target = address(marks["href"])
        flow, start, flushed = self.flow, len(self.flow.pieces), self.flow.flushed

        def take(words: str) -> None:
            if not target.startswith("#"):
                self.link(target, words or marks["aria-label"])
            elif flow.heading and words in _PERMALINKS and flow.flushed == flushed:
                del flow.pieces[start:]
                flow.script = -1

        if target:
            self._tap(take)

    def link(self, target: str, words: str) -> None:
        """Account for the target of a link, if it is not what the link says."""
        if target.lower().startswith("javascript:"):
            self._part(PartKind.SCRIPTS, target, words or "link")
        elif target not in ("", words, f"mailto:{words}", f"tel:{words}"):
            self._beside(OutsideKind.LINKS, target, words[:MOST_ABOUT])

    @_on("q")
    def _quotation(self, _tag: str, _marks: Attributes) -> None:
        self._around("“", "”")

    @_on("bdo")
    def _reversed(self, _: str, marks: Attributes) -> None:
        """Keep the direction of text that is shown from right to left: 001 is shown as 100."""
        if marks["dir"].lower() == "rtl":
            self._around("\u202e", "\u202c")

    def _around(self, opening: str, closing: str) -> None:
        flow = self.flow
        flow.pieces.append(opening)
        self.at_end(lambda: flow.pieces.append(closing))

    @_on("ruby")
    def _ruby(self, _tag: str, _marks: Attributes) -> None:
        self._tap(lambda _: None)

    @_on("rt rtc")
    def _reading(self, _tag: str, _marks: Attributes) -> None:
        flow = self.flow
        base = ""
        for tap in flow.taps[-1:]:
            base = flow.tapped(tap)
            tap.start, tap.saved = len(flow.pieces), []
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, base[:MOST_ABOUT]))

    @_on("rp")
    def _nothing(self, _tag: str, _marks: Attributes) -> None:
        """Pass over brackets that only browsers without ruby show."""
        self._gather(OutsideKind.ALTERNATIVES, "", lambda _: None)

    @_on("math")
    def _formula(self, _tag: str, _marks: Attributes) -> None:
        flow = self.flow
        formula = self._inner = Formula()

        def end() -> None:
            self._inner = None
            flow.add(f" {formula.written()} ")

        self.at_end(end)

    # Pictures, sound and film, scripts, what is embedded.

    @_on("script style noscript noframes noembed canvas template svg")
    def _unread(self, tag: str, marks: Attributes) -> None:
        """Account for all that an element holds by one digest, and for the words of a drawing."""
        if tag == "script" and marks["type"].startswith("math/"):  # TeX, which a script turns into a formula
            self.enter(TextFlow(OutsideKind.CODE, "formula"))
            return
        kind = PartKind.EMBEDDED if tag == "template" and "shadowrootmode" in marks else PartKind.SCRIPTS
        if tag == "svg":
            kind = PartKind.DRAWINGS
            self.flow.add(" ")
        unread = self._inner = _Unread(tag, marks)
        about = address(marks["src"]) or marks["aria-label"] or tag

        def end() -> None:
            self._inner = None
            self.account.add_part(kind, unread.digest.hexdigest(), unread.title or about)
            for text in unread.texts if tag == "svg" else ():
                self._beside(OutsideKind.ALTERNATIVES, text, "drawing")

        self.at_end(end)

    @_on("img")
    def _image(self, _: str, marks: Attributes) -> None:
        self.picture(marks, marks["alt"])
        self.flow.add(f" {marks['alt']} ")

    @_on("source track")
    def _source(self, _: str, marks: Attributes) -> None:
        # Of a picture, `srcset` names the files; of sound and film, `src`.
        self.picture(marks, "", PartKind.PICTURES if "srcset" in marks else PartKind.MEDIA)

    @_on("video audio")
    def _media(self, tag: str, marks: Attributes) -> None:
        self.flow.add(" ")
        self._source(tag, marks)
        self._part(PartKind.PICTURES, marks["poster"])
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, "sound or film"))

    @_on("iframe frame embed object applet")
    def _embedded(self, _: str, marks: Attributes) -> None:
        self.flow.add(" ")
        named = (marks[name] for name in ("srcdoc", "src", "data", "code") if marks[name])
        self._part(PartKind.EMBEDDED, next(named, ""), marks["title"])
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, "embedded file"))

    @_on("area")
    def _area(self, _: str, marks: Attributes) -> None:
        target = address(marks["href"])
        self._beside(OutsideKind.ALTERNATIVES, marks["alt"])
        if not target.startswith("#"):
            self.link(target, marks["alt"])

    # What concerns the whole page.

    @_on("title")
    def _page_title(self, _tag: str, _marks: Attributes) -> None:
        def take(text: str) -> None:
            self._beside(OutsideKind.METADATA, text if text != self._title else "", "title")

        self._gather(OutsideKind.METADATA, "title", take)

    @_on("link")
    def _style_sheet(self, _: str, marks: Attributes) -> None:
        if "stylesheet" in marks["rel"].lower():
            self._part(PartKind.SCRIPTS, marks["href"])

    @_on("meta")
    def _refresh(self, _: str, marks: Attributes) -> None:
        match = _REFRESH.search(marks["content"])
        if match and marks["http-equiv"].lower() == "refresh":
            self._beside(OutsideKind.LINKS, address(match[1]), "next page")

    @_on("base")
    def _base(self, _: str, marks: Attributes) -> None:
        self._beside(OutsideKind.LINKS, address(marks["href"]), "base of all addresses")

    # Forms.

    @_on("form")
    def _form(self, tag: str, marks: Attributes) -> None:
        self._beside(OutsideKind.LINKS, address(marks["action"]), "form")
        self.start_block(tag, marks)

    @_on("input")
    def _input(self, _: str, marks: Attributes) -> None:
        kind, name, value = (marks["type"] or "text").lower(), _name(marks), marks["value"]
        if kind in ("checkbox", "radio"):
            self.flow.add(f" {TICKED if 'checked' in marks else UNTICKED} ")
            self._beside(OutsideKind.FORM_VALUES, value if value.lower() != "on" else "", name)
            return
        self.flow.add(" ")
        if kind == "hidden" and (_MADE_UP.match(value) or _MADE_UP.match(name)):
            # A server made it up for this copy of the page; nobody reads it.
            self._part(PartKind.SCRIPTS, value, name)
        elif kind == "image":
            self.picture(marks, marks["alt"])
            self._beside(OutsideKind.ALTERNATIVES, marks["alt"])
        else:
            self._beside(OutsideKind.FORM_VALUES, value, name)
            self._beside(OutsideKind.FORM_VALUES, marks["placeholder"], f"hint of {name}")

    @_on("textarea button datalist")
    def _field(self, _: str, marks: Attributes) -> None:
        """Read what a text area, a button or a list of suggestions holds."""
        self.flow.add(" ")
        self._beside(OutsideKind.FORM_VALUES, marks["placeholder"], f"hint of {_name(marks)}")
        self._beside(OutsideKind.LINKS, address(marks["formaction"]), "form")
        self.enter(TextFlow(OutsideKind.FORM_VALUES, _name(marks)))

    @_on("select")
    def _choice(self, _: str, marks: Attributes) -> None:
        self.flow.add(" ")
        name, outer = _name(marks), self._values
        values = self._values = []

        def take(text: str) -> None:
            self._values = outer
            if TICKED not in text and "multiple" not in marks:
                text = text.replace(UNTICKED, TICKED, 1)  # a browser shows the first one
            self._beside(OutsideKind.FORM_VALUES, text, name)
            self._part(PartKind.SCRIPTS, "\n".join(values), f"values of {name}")

        self._gather(OutsideKind.FORM_VALUES, name, take)

    @_on("option")
    def _option(self, _: str, marks: Attributes) -> None:
        label, value = marks["label"], marks["value"]
        if self.flow.inline:
            self.flow.add(f" {TICKED if 'selected' in marks else UNTICKED} {label}")
            self._values += [value] if value else []
        else:
            self.start_block("li", marks)
            self._beside(OutsideKind.FORM_VALUES, f"{value} {label}", "suggestion")

    @_on("optgroup")
    def _options(self, _: str, marks: Attributes) -> None:
        self.flow.add(f" {marks['label']}: ")

    @_on("meter progress")
    def _gauge(self, _: str, marks: Attributes) -> None:
        if marks["value"]:
            self._beside(OutsideKind.FORM_VALUES, f"{marks['value']} of {marks['max'] or 1}", _name(marks))


def _name(marks: Attributes) -> str:
    """What a field of a form is called."""
    names = (marks[name] for name in ("aria-label", "name", "id", "placeholder", "type"))
    return next(filter(None, names), "field")
