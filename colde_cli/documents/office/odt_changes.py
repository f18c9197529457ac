"""Reject the tracked changes of an OpenDocument text while it is read (OpenDocument 1.3 part 3, § 5.5).

What was deleted stands in front of the text, by the identifier of the change, and comes back where `text:change` marks
its place. What was inserted stands in the text between two marks, and is read as a deletion beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from colde_cli.documents.office.archive import Attributes, XmlHandler

_PARAGRAPHS = ("text:p", "text:h")
_MARKS = ("text:change", "text:change-start", "text:change-end")


class _Event(NamedTuple):
    """The begin of an element, its end (`attributes` is None), or text (`name` is "")."""

    name: str
    attributes: Attributes | None = None
    text: str = ""


@dataclass(slots=True)
class RejectedChanges(XmlHandler):
    """Passes the elements of a text on, as they were before its changes."""

    target: XmlHandler  # what reads them
    tracked: int = 0  # number of changes
    _deleted: dict[str, list[_Event]] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)  # elements that the target has begun
    _region: str = ""  # the change that is described
    _within: int = 0  # depth inside a description
    _record: list[_Event] | None = None  # what is deleted, or inserted
    _inserted: set[str] = field(default_factory=set)  # insertions that have begun

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        if name == "text:tracked-changes" or self._within:
            self._within += 1
            self._describe(name, attributes)
        elif name in _MARKS:
            self._mark(name, attributes.get("text:change-id", ""))
        elif self._record is not None:
            self._record.append(_Event(name, attributes))
        else:
            self._pass(_Event(name, attributes))

    def end(self, name: str) -> None:
        """End an element."""
        if self._within:
            self._within -= 1
            if name == "text:deletion" and self._record is not None:
                self._deleted[self._region], self._record = list(_without_remarks(self._record)), None
            elif self._record is not None:
                self._record.append(_Event(name))
        elif name in _MARKS:
            return
        elif self._record is not None:
            self._record.append(_Event(name))
        else:
            self._pass(_Event(name))

    def characters(self, text: str) -> None:
        """Take text."""
        if self._record is not None:
            self._record.append(_Event("", None, text))
        elif not self._within:
            self.target.characters(text)

    def finish(self) -> None:
        """Pass on what an insertion without an end held back: nothing of it is lost."""
        for event in self._record or ():
            self._pass(event)
        self._record = None

    def _describe(self, name: str, attributes: Attributes) -> None:
        if self._record is not None:
            self._record.append(_Event(name, attributes))
        elif name == "text:changed-region":
            self.tracked += 1
            self._region = attributes.get("text:id") or attributes.get("xml:id", "")
        elif name == "text:deletion":
            self._record = []
        elif name == "text:insertion":
            self._inserted.add(self._region)

    def _mark(self, name: str, change: str) -> None:
        if name == "text:change":
            self._restore(self._deleted.pop(change, []))
        elif change in self._inserted and name == "text:change-start" and self._record is None:
            self._record, self._region = [], change
        elif name == "text:change-end" and self._record is not None and change == self._region:
            inserted, self._record = self._record, None
            self._set_aside(inserted)

    def _restore(self, events: list[_Event]) -> None:
        """Put deleted content back: its first paragraph goes on in the one around it, and its last is gone on with."""
        if self._record is not None:  # of an insertion
            self._record += events
            return
        within = self._open[-1:] and self._open[-1] in _PARAGRAPHS
        if not within and any(name in _PARAGRAPHS for name in self._open):  # inside a span: its words alone
            events = [event for event in events if not event.name]
        elif within and events and events[0].name in _PARAGRAPHS and events[-1].name in _PARAGRAPHS:
            events = events[1:-1]
        for event in events:
            self._pass(event)

    def _set_aside(self, events: list[_Event]) -> None:
        """Pass inserted content on as a deletion; a paragraph that it divides is whole again."""
        ends, starts = _unmatched(events)
        whole = [
            *(_Event(name, {}) for name in reversed(ends)),
            *events,
            *(_Event(one.name) for one in reversed(starts)),
        ]
        for event in (_Event("text:deletion", {}), *whole, _Event("text:deletion")):
            self._pass(event)
        if ends != [one.name for one in reversed(starts)]:
            for event in (*map(_Event, ends), *starts):
                self._pass(event)

    def _pass(self, event: _Event) -> None:
        if not event.name:
            self.target.characters(event.text)
        elif event.attributes is None:
            if self._open:
                self._open.pop()
            self.target.end(event.name)
        else:
            self._open.append(event.name)
            self.target.start(event.name, event.attributes)


def _without_remarks(events: list[_Event]) -> Iterator[_Event]:
    """The content of a deletion without author, date and comment of it, and without blanks between its paragraphs."""
    depth = remarks = 0
    for event in events:
        remark = event.name == "office:change-info"
        remarks += remark and event.attributes is not None
        if not remarks and (event.name or depth):
            yield event
        remarks -= remark and event.attributes is None
        depth += 0 if not event.name else 1 if event.attributes is not None else -1


def _unmatched(events: list[_Event]) -> tuple[list[str], list[_Event]]:
    """The names of the elements that end in a piece of XML without a begin, and those that begin without an end."""
    ends: list[str] = []
    starts: list[_Event] = []
    for event in events:
        if event.attributes is not None:
            starts.append(event)
        elif event.name and starts:
            starts.pop()
        elif event.name:
            ends.append(event.name)
    return ends, starts
