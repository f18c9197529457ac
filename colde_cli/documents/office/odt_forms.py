"""The controls of forms in OpenDocument texts: what they show, and what they hold beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import XmlHandler
from colde_cli.documents.outside import Account, OutsideKind

_ENTRIES = frozenset(("form:option", "form:item"))
_BOXES = frozenset(("form:checkbox", "form:radio"))
_TICKS = ("form:current-state", "form:state", "form:current-selected", "form:selected")
_GROUPS = frozenset(
    ("form:form", "form:properties", "form:property", "form:list-property", "form:list-value")
)
_UNSHOWN = frozenset(("form:hidden", "form:password"))


@dataclass(slots=True)
class _Control:
    """A control that is being read.

    Attributes:
        choices: of a list.
        chosen: those that are.
        words: of a text with several lines.
    """

    name: str
    attributes: dict[str, str]
    choices: list[str] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.attributes.get("form:name", "") or self.attributes.get("form:label", "")

    def shown(self) -> str:
        """What the page shows: a box and its label, the chosen entries, or the value."""
        label = self.attributes.get("form:label", "")
        if self.name in _BOXES:
            return f"{TICKED if self._is_ticked() else UNTICKED} {label}"
        if self.chosen:
            return ", ".join(self.chosen)
        value = next((self.attributes[name] for name in _VALUES if self.attributes.get(name)), "")
        return value or " ".join("".join(self.words).split()) or label

    def _is_ticked(self) -> bool:
        state = next((self.attributes[name] for name in _TICKS if name in self.attributes), "")
        return state in ("checked", "true")


_VALUES = ("form:current-value", "form:value")


@dataclass(slots=True)
class FormControls(XmlHandler):
    """The controls in `office:forms`; the text refers to them by their identifiers.

    Attributes:
        account: receives choices, tooltips and hidden values.
    """

    account: Account
    _open: list[_Control | None] = field(default_factory=list)
    _shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    _placed: set[str] = field(default_factory=set)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        control = self._current()
        if (href := attributes.get("xlink:href", "")).strip(" ./") and not href.startswith("#"):
            self.account.add_text(OutsideKind.LINKS, href, control.label if control else "form")
        if name in _ENTRIES and control:
            self._take_entry(control, attributes)
        begins = name.startswith("form:") and name not in _ENTRIES | _GROUPS
        self._open.append(_Control(name, attributes) if begins else None)

    def end(self, name: str) -> None:
        """End an element."""
        control = self._open.pop() if self._open else None
        if control:
            self._finish(control)

    def characters(self, text: str) -> None:
        """Take words of a text with several lines."""
        if control := self._current():
            control.words.append(text)

    def place(self, identifier: str) -> str:
        """What the control of this identifier shows, at its place in the text; "" if it comes later or nowhere."""
        if identifier not in self._shown:
            return ""
        self._placed.add(identifier)
        return self._shown[identifier][0]

    def add_unplaced(self) -> None:
        """Account for the controls that have no place in the text."""
        for identifier, (shown, label) in self._shown.items():
            if identifier not in self._placed:
                self.account.add_text(OutsideKind.FORM_VALUES, shown, label)

    def _current(self) -> _Control | None:
        return next((control for control in reversed(self._open) if control), None)

    def _take_entry(self, control: _Control, attributes: dict[str, str]) -> None:
        entry = attributes.get("form:label", "")
        control.choices.append(entry)
        selected = attributes.get("form:current-selected", attributes.get("form:selected", ""))
        if selected == "true":
            control.chosen.append(entry)

    def _finish(self, control: _Control) -> None:
        attributes, label = control.attributes, control.label
        shown = control.shown()
        self.account.add_text(OutsideKind.FORM_VALUES, " | ".join(control.choices), label)
        self.account.add_text(OutsideKind.FORM_VALUES, attributes.get("form:title", ""), label)
        if control.name in _UNSHOWN:
            self.account.add_text(OutsideKind.FORM_VALUES, shown, label)
            return
        identifier = attributes.get("form:id") or attributes.get("xml:id") or f"\0{len(self._shown)}"
        self._shown[identifier] = shown, label


@dataclass(slots=True)
class FieldMark(XmlHandler):
    """A form field as it comes from Word: its parameters.

    Attributes:
        type: such as "vnd.oasis.opendocument.field.FORMCHECKBOX".
    """

    type: str
    _parameters: list[tuple[str, str]] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take a parameter."""
        if name == "field:param":
            self._parameters.append((attributes.get("field:name", ""), attributes.get("field:value", "")))

    def shown(self) -> str:
        """What it shows, if that is no text of the paragraph: a box, or the chosen entry."""
        stated = dict(self._parameters)
        if "CHECKBOX" in self.type:
            return TICKED if stated.get("Checkbox_Checked") == "true" else UNTICKED
        entries, chosen = self.entries(), stated.get("Dropdown_Selected", "")
        return entries[int(chosen)] if chosen.isdecimal() and int(chosen[:9]) < len(entries) else ""

    def entries(self) -> list[str]:
        """The entries of a list."""
        return [value for name, value in self._parameters if name == "Dropdown_ListEntry"]

    def others(self) -> list[tuple[str, str]]:
        """Names and values of the other parameters: tips, what it held at first, its code in Word."""
        known = ("Dropdown_", "Checkbox_")
        return [(name, value) for name, value in self._parameters if not name.startswith(known)]
