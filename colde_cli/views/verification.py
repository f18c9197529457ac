"""What changed besides what is allowed: in the terminal, as Markdown, and as JSON of schema colde.verify/1.

A receipt, schema colde.receipt/1, holds the digests by which the same verification can be checked later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from colde_cli.documents.document import document_text
from colde_cli.documents.outside import KINDS, digest_of, kinds_of
from colde_cli.settings import VERSION
from colde_cli.similarity.outside import MOST_LISTED, ignored_data, outside_data
from colde_cli.similarity.plain_data import pages_data
from colde_cli.similarity.triage import placed_data
from colde_cli.similarity.typesetting import typesetting_data
from colde_cli.views.console import rendered, titled
from colde_cli.views.escaping import markdown
from colde_cli.views.json import text
from colde_cli.views.markdown import outside_blocks, pair_block, typesetting_blocks
from colde_cli.views.outside import plural_of, uncompared
from colde_cli.views.terminal import outside_lines, pair_lines, typesetting_lines
from colde_cli.views.wording import apart_from, names_apart, plain, plural

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.verification import Verification


def sentence(verification: Verification) -> str:
    """The answer in a sentence."""
    but = " but what is allowed" if any(rule.changes for rule in verification.allowed) else ""
    if verification.verified:
        return f"Verified: nothing changed{but}{apart_from(verification.ignore)}."
    outside = verification.outside
    count = len(verification.passages) + len(verification.headings) + len(verification.typesetting)
    count += outside.changes
    if not count:
        return "Not verified: nothing that was compared changed, but not all could be compared."
    return f"Not verified: {plural(count, 'change')} {'is' if count == 1 else 'are'} not allowed."


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt that was checked from the bytes.

    Attributes:
        name: of its file.
        faults: where it does not hold, in sentences.
    """

    name: str
    faults: tuple[str, ...]

    def __str__(self) -> str:
        holds = f"does not hold. {' '.join(self.faults)}" if self.faults else "holds."
        return f"The receipt {self.name} {holds}"


def verification_table(
    verification: Verification, receipt: CheckedReceipt | None = None, *, to_file: bool = False
) -> str:
    """A verification as text, in colours if standard output is a terminal that shows them."""
    checked = []
    if receipt is not None:
        checked = [Text(plain(str(receipt)), "bold red" if receipt.faults else "bold green")]
    return rendered(Group(*checked, *_blocks(verification)), to_file=to_file)


def _blocks(verification: Verification) -> Iterator[RenderableType]:
    style = "bold green" if verification.verified else "bold red"
    yield Text(sentence(verification), style)
    yield Text(" → ".join(_names(verification)), "dim")
    if rules := _rules(verification):
        yield Text(f"Allowed: {' · '.join(plain(rule) for rule in rules)}", "dim")
    for title, pairs in _parts(verification):
        yield titled(title, str(len(pairs)))
        for pair in pairs:
            yield from pair_lines(verification.a, verification.b, pair)
    yield from typesetting_lines(verification.typesetting, MOST_LISTED, titled)
    yield from outside_lines(verification.outside, MOST_LISTED, titled)
    yield Text(compared(verification), "dim")
    left = uncompared(verification.outside, verification.a, verification.b)
    yield from (Text(one, "yellow") for one in left)


def compared(verification: Verification) -> str:
    """What was compared of A and of B: `Compared: 3,150 words with 3,160; 2 headers with 2; 5 pictures with 5.`."""
    a, b = verification.a, verification.b
    words = [len(document.text.split()) for document in (a, b)]
    skipped = {one.kind for one in verification.outside.uncompared} | kinds_of(verification.ignore.kinds)
    skipped |= kinds_of(rule.text for rule in verification.allowed)
    counts = [Counter(item.kind for item in side.beside) for side in (a, b)]
    facts = [f"{words[0]:,} words with {words[1]:,}"]
    facts += [
        f"{plural_of(kind, counts[0][kind])} with {counts[1][kind]:,}"
        for kind in KINDS.values()
        if kind not in skipped and (counts[0][kind] or counts[1][kind])
    ]
    return f"Compared: {'; '.join(facts)}."


def _names(verification: Verification) -> list[str]:
    return names_apart([verification.a.path, verification.b.path])


def _rules(verification: Verification) -> list[str]:
    return [f"{rule.text} ({plural(rule.changes, 'change')})" for rule in verification.allowed]


def _parts(verification: Verification) -> list[tuple[str, tuple[PassagePair, ...]]]:
    parts = (("Changes", verification.passages), ("Headings", verification.headings))
    return [part for part in parts if part[1]]


def verification_markdown(verification: Verification, receipt: CheckedReceipt | None = None) -> str:
    """A verification as GitHub Flavored Markdown; text of documents is escaped."""
    blocks = [] if receipt is None else [f"**{markdown(str(receipt))}**"]
    blocks += [f"**{markdown(sentence(verification))}**", " → ".join(map(markdown, _names(verification)))]
    if rules := _rules(verification):
        blocks.append(f"Allowed: {' · '.join(map(markdown, rules))}")
    for title, pairs in _parts(verification):
        blocks += [f"### {title} ({len(pairs)})"]
        blocks += [pair_block(verification.a, verification.b, pair) for pair in pairs]
    blocks += typesetting_blocks(verification.typesetting, MOST_LISTED)
    blocks += outside_blocks(verification.outside, MOST_LISTED)
    left = uncompared(verification.outside, verification.a, verification.b)
    blocks += [markdown(sentence) for sentence in (compared(verification), *left)]
    return "\n\n".join(blocks) + "\n"


def verification_json(verification: Verification, receipt: CheckedReceipt | None = None) -> str:
    """A verification as text of schema colde.verify/1."""
    checked = {} if receipt is None else {"holds": not receipt.faults, "faults": list(receipt.faults)}
    return text({**verification_data(verification), **({"receipt": checked} if checked else {})})


def verification_data(verification: Verification) -> dict[str, Any]:
    """Build schema colde.verify/1."""
    a, b = verification.a, verification.b
    return {
        "schema": "colde.verify/1",
        "a": _document(a),
        "b": _document(b),
        "verified": verification.verified,
        "allowed": [
            {"text": rule.text, "found": rule.found, "changes": rule.changes} for rule in verification.allowed
        ],
        "passages": [placed_data(pair, a, b) for pair in verification.passages],
        "headings": [placed_data(pair, a, b) for pair in verification.headings],
        "typesetting": bool(verification.typesetting),
        "typesetting_places": typesetting_data(verification.typesetting),
        "outside": outside_data(verification.outside),
        "ignored": ignored_data(a, b, verification.ignore),
    }


def _document(document: Document) -> dict[str, Any]:
    return {"path": document.path, "title": document.title, "pages": document.report.pages}


def receipt(verification: Verification, options: Mapping[str, Any]) -> dict[str, Any]:
    """Build schema colde.receipt/1: the digests of both files and of all they hold, options, version and changes.

    Args:
        verification: of two files.
        options: what was given to `verify`, as JSON can hold it.
    """
    return {
        "schema": "colde.receipt/1",
        "colde": VERSION,
        "options": dict(options),
        "verified": verification.verified,
        "a": _receipt_of(verification.a),
        "b": _receipt_of(verification.b),
        "verification": verification_data(verification),
    }


def _receipt_of(document: Document) -> dict[str, Any]:
    return {
        "name": PurePath(document.path).name,
        "format": document.format,
        "sha256": document.digest,
        "text": _text_digest(document_text(document)),
        "outside": [
            {
                "kind": item.kind.value,
                "about": item.about,
                "sha256": digest_of(item.text.encode("utf-8", "surrogatepass")),
            }
            for item in document.outside
        ],
        "parts": [
            {
                "kind": part.kind.value,
                "about": part.about,
                "digest": part.digest,
                "pages": pages_data(part.pages),
            }
            for part in document.parts
        ],
    }


def _text_digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))


def receipt_faults(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Where a receipt does not hold, in sentences; none where it does.

    Args:
        old: a receipt that was written earlier.
        new: the receipt of the files as they are now, made with the options of the old one.
    """
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
    kept = (
        {key: value for key, value in found.items() if key not in "ab"} if isinstance(found, dict) else None
    )
    return written.get("verified"), kept
