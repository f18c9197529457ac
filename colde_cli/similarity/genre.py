"""Tell contracts, policies and papers from other texts, so that a verdict can name them."""

from __future__ import annotations

import re
from enum import StrEnum

from colde_cli.documents.document import Document, SectionKind
from colde_cli.similarity.duties import normative

_HEAD = 1500
"""Characters at the beginning of a text that may name what it is."""
_ABSTRACT = re.compile(r"\b(?:Abstract|ABSTRACT)\b")
_CITES = 5
"""Times that a paper names authors "et al.", where its list of references was not found."""
_POLICY = re.compile(
    r"\b(?:polic(?:y|ies)|terms of (?:use|service)|privacy|conditions|statement)\b", re.IGNORECASE
)
_CONTRACT = re.compile(
    r"\b(?:agreement|contract|lease|licen[cs]e|amendment|addendum|deed|covenant|vertrag|contrat|contrato)\b",
    re.IGNORECASE,
)


class Genre(StrEnum):
    """What a text is, in one word."""

    CONTRACT = "contract"
    POLICY = "policy"
    PAPER = "paper"
    TEXT = "text"


def genre(document: Document) -> Genre:
    """Name the genre of a document; a text that fits none is a text."""
    kinds = {section.kind for section in document.sections}
    abstract = SectionKind.ABSTRACT in kinds or _ABSTRACT.search(document.text[: 2 * _HEAD])
    cites = SectionKind.REFERENCES in kinds or document.text.count("et al.") >= _CITES
    if abstract and cites:
        return Genre.PAPER
    if not normative(document.text):
        return Genre.TEXT
    if _POLICY.search(document.title):
        return Genre.POLICY
    if _CONTRACT.search(document.title):
        return Genre.CONTRACT
    head = document.text[:_HEAD]
    if _CONTRACT.search(head):
        return Genre.CONTRACT
    return Genre.POLICY if _POLICY.search(head) else Genre.TEXT


def common_genre(a: Document, b: Document) -> Genre:
    """The genre of two documents; a text where they differ."""
    first, second = genre(a), genre(b)
    return first if first is second else Genre.TEXT
