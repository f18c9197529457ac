"""What becomes of the elements of a web page: body text, texts outside it, parts that are not read.

An `ElementReader` is told of elements and text in reading order, by the walk through a page (`engine.py`) and by the
reader of Markdown (`tags.py`). It needs nothing but the standard library, as the reader process runs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from colde_cli.documents.html.flow import BLOCKS, MOST_ABOUT, TextFlow, TextFlows
from colde_cli.documents.html.formulas import Formula
from colde_cli.documents.html.unread import Marks, Unread, address, digest_of_source, sources
from colde_cli.documents.notation import TICKED, UNTICKED, lowered, raised
from colde_cli.documents.outside import OutsideKind, PartKind

CONTENT = "-content"
"""An attribute that a walk gives to the element with the content of a page."""

_CONTENT = frozenset("main article section".split())
_CHROME = {
    "nav": OutsideKind.NAVIGATION,
    "header": OutsideKind.HEADERS,
    "footer": OutsideKind.FOOTERS,
}
_ROLES = {
    "navigation": OutsideKind.NAVIGATION,
    "search": OutsideKind.NAVIGATION,
    "banner": OutsideKind.HEADERS,
    "contentinfo": OutsideKind.FOOTERS,
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


def is_hidden(marks: Marks) -> bool:
    """Whether attributes hide an element; style sheets are not applied."""
    if not marks:
        return False
    aria = (marks.get("aria-hidden") or "").lower() == "true"
    return "hidden" in marks or aria or bool(_HIDDEN.search(marks.get("style") or ""))


class ElementReader(TextFlows):
    """Reads elements and text into flows and an account."""

    def __init__(self, *sinks: Any, chrome: bool = False, title: str = "") -> None:  # noqa: ANN401
        """Begin.

        Args:
            sinks: those of `TextFlows`.
            chrome: navigation, heads and feet of the page are body text.
            title: of the page, where its body text has it.
        """
        super().__init__(*sinks)
        self._chrome, self._title = chrome, title
        self._content = self._scripts = 0
        self._inner: Unread | Formula | None = None
        self._values: list[str] = []

    def start(self, tag: str, marks: Marks) -> None:
        """Begin an element."""
        self.depth += 1
        if self._inner is not None:
            self._inner.start(tag, marks)
            return
        if marks or tag in _OUTSIDE:
            self._enter_outside(tag, marks)
        rule = _RULES.get(tag)
        if rule is not None:
            rule(self, marks)
        else:
            self.start_block(tag, marks)
        if marks and self._inner is None:
            self._read_marks(marks)

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

    def _enter_outside(self, tag: str, marks: Marks) -> None:
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
            self.at_end(self._leave_content)

    def _leave_content(self) -> None:
        self._content -= 1

    def _kind(self, tag: str, marks: Marks) -> OutsideKind | None:
        """The kind of text outside that an element holds; None for body text."""
        if is_hidden(marks) or (tag == "dialog" and "open" not in marks):
            return OutsideKind.HIDDEN
        if "mw-editsection" in (marks.get("class") or ""):  # the [edit] next to the headings of a wiki
            return OutsideKind.NAVIGATION
        role = marks.get("role") or ""
        if role == "doc-toc":
            return OutsideKind.CONTENTS
        if self._chrome:
            return None
        outer = tag == "nav" or not self._content
        return _ROLES.get(role) or (_CHROME.get(tag) if outer else None)

    def _read_marks(self, marks: Marks) -> None:
        """Read what attributes do to any element."""
        if style := marks.get("style"):
            self._read_style(style, marks)
        if marks.get("background"):
            self.picture({"src": marks["background"]}, "")
        if marks.get("role") == "img":
            self._beside(OutsideKind.ALTERNATIVES, marks.get("aria-label"))
        for name, value in marks.items():
            if name.startswith("on") and value:
                self._part(PartKind.SCRIPTS, f"{name}={value}", name)

    def _read_style(self, style: str, marks: Marks) -> None:
        if _STRUCK.search(style):
            self._start_struck(marks)
        if shift := _SHIFTED.search(style):
            self._start_script(lowered if shift[1].lower() == "sub" else raised, marks)
        if _REVERSED.search(style):
            self._start_reversed({"dir": "rtl" if "rtl" in style else marks.get("dir")})
        for found in _PICTURE.finditer(style):
            self.picture({"src": found[1]}, "")

    def _beside(self, kind: OutsideKind, text: str | None, about: str = "") -> None:
        self.account.add_text(kind, text or "", about)

    def _part(self, kind: PartKind, source: str | None, about: str = "") -> None:
        if source and source.strip():
            self.account.add_part(kind, digest_of_source(source.strip()), about or address(source))

    def picture(self, marks: Marks, about: str) -> None:
        """Account for a picture, by its bytes if they are in the page, else by its address."""
        self._part(PartKind.PICTURES, sources(marks), about)

    # Elements within a line.

    def _start_break(self, _: Marks) -> None:
        """Break a line; two breaks in a row end a paragraph."""
        flow = self.flow
        flow.breaks += 1
        if flow.breaks > 1 and not flow.single and not flow.pre:
            self.flush()
        flow.pieces.append("\n" if flow.pre else " ")

    def _start_script(self, write: Callable[[str, str, str], str], _: Marks) -> None:
        flow, start, flushed = self.flow, len(self.flow.pieces), self.flow.flushed
        if self._scripts >= _MOST_SCRIPTS:
            return
        self._scripts += 1

        def end() -> None:
            self._scripts -= 1
            if flow.flushed == flushed and len(flow.pieces) > start:
                before = next((piece for piece in reversed(flow.pieces[:start]) if piece.strip()), "")
                flow.write = partial(write, before.rstrip(), "".join(flow.pieces[start:]))
                flow.pieces[start:] = [flow.write("")]
                flow.script = len(flow.pieces)

        self.at_end(end)

    def _start_aside(self, kind: OutsideKind) -> None:
        if self.flow.kind not in (kind, OutsideKind.HIDDEN):
            self.enter(TextFlow(kind))

    def _start_struck(self, _: Marks) -> None:
        if self.flow.kind is not OutsideKind.DELETED:
            self._tap(lambda text: self._beside(OutsideKind.DELETED, text, "struck through"))

    def _tap(self, take: Callable[[str], None]) -> None:
        """Give the text within the element that began last to `take`; it stays in its flow."""
        flow = self.flow
        tap = flow.tap()

        def end() -> None:
            take(flow.tapped(tap) if tap else "")
            if tap:
                flow.taps.remove(tap)

        self.at_end(end)

    def _start_link(self, marks: Marks) -> None:
        target = address(marks.get("href") or "")
        flow, start, flushed = self.flow, len(self.flow.pieces), self.flow.flushed

        def take(words: str) -> None:
            if not target.startswith("#"):
                self.link(target, words or marks.get("aria-label") or "")
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

    def _start_quotation(self, _: Marks) -> None:
        flow = self.flow
        flow.pieces.append("“")
        self.at_end(lambda: flow.pieces.append("”"))

    def _start_reversed(self, marks: Marks) -> None:
        """Keep the direction of text that is shown from right to left: 001 is shown as 100."""
        flow = self.flow
        if (marks.get("dir") or "").lower() == "rtl":
            flow.pieces.append("\u202e")
            self.at_end(lambda: flow.pieces.append("\u202c"))

    def _start_ruby(self, _: Marks) -> None:
        self._tap(lambda _: None)

    def _start_reading(self, _: Marks) -> None:
        flow = self.flow
        base = ""
        for tap in flow.taps[-1:]:
            base = flow.tapped(tap)
            tap.start, tap.saved = len(flow.pieces), []
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, base[:MOST_ABOUT]))

    def _start_formula(self, _: Marks) -> None:
        flow = self.flow
        formula = self._inner = Formula()

        def end() -> None:
            self._inner = None
            flow.add(f" {formula.written()} ")

        self.at_end(end)

    # Pictures, sound and film, scripts, what is embedded.

    def _start_unread(self, kind: PartKind, tag: str, marks: Marks) -> None:
        unread = self._inner = Unread(tag, marks)
        about = address(marks.get("src") or "") or marks.get("aria-label") or tag

        def end() -> None:
            self._inner = None
            self.account.add_part(kind, unread.digest, unread.title or about)
            for text in unread.texts if kind is PartKind.DRAWINGS else ():
                self._beside(OutsideKind.ALTERNATIVES, text, "drawing")

        self.at_end(end)

    def _start_program(self, marks: Marks) -> None:
        if (marks.get("type") or "").startswith("math/"):  # TeX, which a script turns into a formula
            self.enter(TextFlow(OutsideKind.CODE, "formula"))
        else:
            self._start_unread(PartKind.SCRIPTS, "script", marks)

    def _start_template(self, marks: Marks) -> None:
        shown = "shadowrootmode" in marks
        self._start_unread(PartKind.EMBEDDED if shown else PartKind.SCRIPTS, "template", marks)

    def _start_drawing(self, marks: Marks) -> None:
        self.flow.add(" ")
        self._start_unread(PartKind.DRAWINGS, "svg", marks)

    def _start_image(self, marks: Marks) -> None:
        alternative = marks.get("alt") or ""
        self.picture(marks, alternative)
        self.flow.add(f" {alternative} ")

    def _start_source(self, marks: Marks) -> None:
        # Of a picture, `srcset` names the files; of sound and film, `src`.
        self._part(PartKind.PICTURES if "srcset" in marks else PartKind.MEDIA, sources(marks))

    def _start_media(self, marks: Marks) -> None:
        self.flow.add(" ")
        self._start_source(marks)
        self.picture({"src": marks.get("poster")}, "")
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, "sound or film"))

    def _start_embedded(self, marks: Marks) -> None:
        self.flow.add(" ")
        named = (marks[name] for name in ("srcdoc", "src", "data", "code") if marks.get(name))
        self._part(PartKind.EMBEDDED, next(named, ""), marks.get("title") or "")
        self.enter(TextFlow(OutsideKind.ALTERNATIVES, "embedded file"))

    def _start_area(self, marks: Marks) -> None:
        alternative, target = marks.get("alt") or "", address(marks.get("href") or "")
        self._beside(OutsideKind.ALTERNATIVES, alternative)
        if not target.startswith("#"):
            self.link(target, alternative)

    def _start_nothing(self, _: Marks) -> None:
        """Pass over brackets that only browsers without ruby show."""
        self._gather(OutsideKind.ALTERNATIVES, "", lambda _: None)

    # What concerns the whole page.

    def _start_title(self, _: Marks) -> None:
        def take(text: str) -> None:
            self._beside(OutsideKind.METADATA, text if text != self._title else "", "title")

        self._gather(OutsideKind.METADATA, "title", take)

    def _gather(self, kind: OutsideKind, about: str, take: Callable[[str], None]) -> None:
        """Give all text within the element that began last to `take`, as one line."""
        outer, flow = self.flow, TextFlow(kind, about, inline=True)
        self.flow = flow

        def end() -> None:
            self.flow = outer
            take(flow.line())

        self.at_end(end)

    def _start_style_link(self, marks: Marks) -> None:
        if "stylesheet" in (marks.get("rel") or "").lower():
            self._part(PartKind.SCRIPTS, marks.get("href"))

    def _start_meta(self, marks: Marks) -> None:
        found = _REFRESH.search(marks.get("content") or "")
        if found and (marks.get("http-equiv") or "").lower() == "refresh":
            self._beside(OutsideKind.LINKS, address(found[1]), "next page")

    def _start_base(self, marks: Marks) -> None:
        self._beside(OutsideKind.LINKS, address(marks.get("href") or ""), "base of all addresses")

    # Forms.

    def _start_form(self, marks: Marks) -> None:
        self._beside(OutsideKind.LINKS, address(marks.get("action") or ""), "form")
        self.start_block("form", marks)

    def _start_input(self, marks: Marks) -> None:
        kind, name, value = (marks.get("type") or "text").lower(), _name(marks), marks.get("value") or ""
        if kind in ("checkbox", "radio"):
            self.flow.add(f" {TICKED if 'checked' in marks else UNTICKED} ")
            self._beside(OutsideKind.FORM_VALUES, value if value.lower() != "on" else "", name)
            return
        self.flow.add(" ")
        if kind == "hidden" and (_MADE_UP.match(value) or _MADE_UP.match(name)):
            # A server made it up for this copy of the page; nobody reads it.
            self._part(PartKind.SCRIPTS, value, name)
        elif kind == "image":
            self.picture(marks, marks.get("alt") or "")
            self._beside(OutsideKind.ALTERNATIVES, marks.get("alt"))
        else:
            self._beside(OutsideKind.FORM_VALUES, value, name)
            self._beside(OutsideKind.FORM_VALUES, marks.get("placeholder"), f"hint of {name}")

    def _start_field(self, marks: Marks) -> None:
        """Read what a text area, a button or a list of suggestions holds."""
        self.flow.add(" ")
        self._beside(OutsideKind.FORM_VALUES, marks.get("placeholder"), f"hint of {_name(marks)}")
        self._beside(OutsideKind.LINKS, address(marks.get("formaction") or ""), "form")
        self.enter(TextFlow(OutsideKind.FORM_VALUES, _name(marks)))

    def _start_choice(self, marks: Marks) -> None:
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

    def _start_option(self, marks: Marks) -> None:
        label, value = marks.get("label") or "", marks.get("value") or ""
        if self.flow.inline:
            self.flow.add(f" {TICKED if 'selected' in marks else UNTICKED} {label}")
            self._values += [value] if value else []
        else:
            self.start_block("li", marks)
            self._beside(OutsideKind.FORM_VALUES, f"{value} {label}", "suggestion")

    def _start_options(self, marks: Marks) -> None:
        self.flow.add(f" {marks.get('label') or ''}: ")

    def _start_gauge(self, marks: Marks) -> None:
        if marks.get("value"):
            self._beside(
                OutsideKind.FORM_VALUES, f"{marks['value']} of {marks.get('max') or '1'}", _name(marks)
            )


def _name(marks: Marks) -> str:
    """What a field of a form is called."""
    names = (marks.get(name) for name in ("aria-label", "name", "id", "placeholder", "type"))
    return next(filter(None, names), "field")


_Rule = Callable[[ElementReader, Marks], None]


def _unread(tag: str) -> _Rule:
    return lambda reader, marks: reader._start_unread(PartKind.SCRIPTS, tag, marks)


_RULES: dict[str, _Rule] = {
    "br": ElementReader._start_break,
    "sup": lambda reader, marks: reader._start_script(raised, marks),
    "sub": lambda reader, marks: reader._start_script(lowered, marks),
    "s": ElementReader._start_struck,
    "strike": ElementReader._start_struck,
    "del": lambda reader, _: reader._start_aside(OutsideKind.DELETED),
    "a": ElementReader._start_link,
    "q": ElementReader._start_quotation,
    "bdo": ElementReader._start_reversed,
    "ruby": ElementReader._start_ruby,
    "rt": ElementReader._start_reading,
    "rtc": ElementReader._start_reading,
    "rp": ElementReader._start_nothing,
    "math": ElementReader._start_formula,
    "svg": ElementReader._start_drawing,
    "img": ElementReader._start_image,
    "source": ElementReader._start_source,
    "track": ElementReader._start_source,
    "video": ElementReader._start_media,
    "audio": ElementReader._start_media,
    "template": ElementReader._start_template,
    "script": ElementReader._start_program,
    "area": ElementReader._start_area,
    "title": ElementReader._start_title,
    "link": ElementReader._start_style_link,
    "meta": ElementReader._start_meta,
    "base": ElementReader._start_base,
    "form": ElementReader._start_form,
    "input": ElementReader._start_input,
    "textarea": ElementReader._start_field,
    "button": ElementReader._start_field,
    "datalist": ElementReader._start_field,
    "select": ElementReader._start_choice,
    "option": ElementReader._start_option,
    "optgroup": ElementReader._start_options,
    "meter": ElementReader._start_gauge,
    "progress": ElementReader._start_gauge,
    **dict.fromkeys(("iframe", "frame", "embed", "object", "applet"), ElementReader._start_embedded),
    **{tag: _unread(tag) for tag in ("style", "noscript", "noframes", "noembed", "canvas")},
}
"""What is done at the start of elements that are more than a block or a stretch of a line."""
