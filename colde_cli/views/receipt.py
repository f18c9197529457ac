"""Receipts of `colde verify`, schema colde.receipt/1: digests by which the same verification can be checked later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from colde_cli.documents.document import document_text
from colde_cli.documents.outside import digest_of
from colde_cli.settings import VERSION
from colde_cli.similarity.plain_data import fields_data

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.verification import Verification


def receipt(verification: Verification, options: Mapping[str, Any]) -> dict[str, Any]:
    """Build schema colde.receipt/1: the digests of both files and of all they hold, options, version and changes."""
    return {
        "schema": "colde.receipt/1",
        "colde": VERSION,
        "options": dict(options),
        "verified": verification.verified,
        "a": _receipt_of(verification.a),
        "b": _receipt_of(verification.b),
        "verification": verification.to_dict(),
    }


def _receipt_of(document: Document) -> dict[str, Any]:
    return {
        "name": PurePath(document.path).name,
        "format": document.format,
        "sha256": document.digest,
        "text": _text_digest(document_text(document)),
        "outside": [
            {**fields_data(item, "kind about"), "sha256": _text_digest(item.text)} for item in document.outside
        ],
        "parts": [fields_data(part, "kind about digest pages") for part in document.parts],
    }


def _text_digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))


def receipt_faults(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Where an old receipt does not hold, in sentences, by that of the files as they are now, with the same options."""
    faults = []
    if old.get("options") != new["options"]:
        faults.append("A template has other bytes than the receipt says.")
    for side in "ab":
        before, now = old.get(side), new[side]
        if not isinstance(before, dict) or before.get("sha256") != now["sha256"]:
            faults.append(f"{side.upper()} has other bytes than the receipt says.")
        elif {**before, "name": ""} != {**now, "name": ""}:
            faults.append(f"{side.upper()} is read in another way than the receipt says.")
    if not faults and _results(old) != _results(new):
        faults.append("The changes are others than the receipt says.")
    if old.get("colde") != new["colde"] and faults:
        faults.append(f"The receipt was written by colde {old.get('colde')}, this is {new['colde']}.")
    return faults


def _results(written: Mapping[str, Any]) -> object:
    """What a receipt says of the changes, without the paths of the files."""
    found = written.get("verification")
    kept = {key: value for key, value in found.items() if key not in "ab"} if isinstance(found, dict) else None
    return written.get("verified"), kept
