"""A document as plain data, which JSON can hold, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from colde_cli.documents.document import Document, Ignored, ReadReport, Section, SectionKind, Span


def document_header(document: Document, title: str) -> dict[str, Any]:
    """A document as JSON, but for its path; `title` is "" where it is only the name of a file."""
    return {
        "title": title,
        "text": document.text,
        "page_starts": document.page_starts,
        "sections": [asdict(section) for section in document.sections],
        "report": asdict(document.report),
    }


def kept_title(document: Document) -> str:
    """The title to keep: "" for one that is only the file's name, as files of the same content may have others."""
    return "" if document.title == Path(document.path).name else document.title


def document_of(path: str, name: str, header: dict[str, Any]) -> Document:
    """The document of a header; `name` is the title of one without."""
    return Document(
        path,
        header["title"] or name,
        header["text"],
        tuple(_section(values) for values in header["sections"]),
        tuple(header["page_starts"]),
        _report(header["report"]),
    )


def _report(values: dict[str, Any]) -> ReadReport:
    frozen = {name: _frozen(value) for name, value in values.items()}
    ignored = frozen["ignored"]
    if ignored is not None:
        ignored = Ignored(**{name: _frozen(value) for name, value in ignored.items()})
    return ReadReport(**{**frozen, "ignored": ignored})


def _section(values: dict[str, Any]) -> Section:
    frozen = {name: _frozen(value) for name, value in values.items()}
    return replace(Section(**frozen), kind=SectionKind(values["kind"]), span=Span(**values["span"]))


def _frozen(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    return tuple(value) if isinstance(value, list) else value
