"""What changed besides what is allowed: in the terminal, as Markdown, and as JSON of schema colde.verify/1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from colde_cli.similarity.comparison import ignored_data, placed_data
from colde_cli.views.console import rendered, titled
from colde_cli.views.escaping import markdown
from colde_cli.views.json import text
from colde_cli.views.markdown import pair_block
from colde_cli.views.terminal import pair_lines
from colde_cli.views.wording import apart_from, names_apart, plain, plural

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.verification import Verification

_TYPESETTING = (
    "The texts also differ in blanks, hyphens or kinds of quotation marks, which --ignore-whitespace ignores,"
    " or in the places of headings."
)


def sentence(verification: Verification) -> str:
    """The answer in a sentence."""
    but = " but what is allowed" if any(rule.changes for rule in verification.allowed) else ""
    if verification.verified:
        return f"Verified: nothing changed{but}{apart_from(verification.ignore)}."
    count = len(verification.passages) + len(verification.headings) + bool(verification.typesetting)
    return f"Not verified: {plural(count, 'change')} {'is' if count == 1 else 'are'} not allowed."


def verification_table(verification: Verification, *, to_file: bool = False) -> str:
    """A verification as text, in colours if standard output is a terminal that shows them."""
    return rendered(Group(*_blocks(verification)), to_file=to_file)


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
    if verification.typesetting:
        yield Text(_TYPESETTING)


def _names(verification: Verification) -> list[str]:
    return names_apart([verification.a.path, verification.b.path])


def _rules(verification: Verification) -> list[str]:
    return [f"{rule.text} ({plural(rule.changes, 'change')})" for rule in verification.allowed]


def _parts(verification: Verification) -> list[tuple[str, tuple[PassagePair, ...]]]:
    parts = (("Changes", verification.passages), ("Headings", verification.headings))
    return [part for part in parts if part[1]]


def verification_markdown(verification: Verification) -> str:
    """A verification as GitHub Flavored Markdown; text of documents is escaped."""
    blocks = [f"**{markdown(sentence(verification))}**", " → ".join(map(markdown, _names(verification)))]
    if rules := _rules(verification):
        blocks.append(f"Allowed: {' · '.join(map(markdown, rules))}")
    for title, pairs in _parts(verification):
        blocks += [f"### {title} ({len(pairs)})"]
        blocks += [pair_block(verification.a, verification.b, pair) for pair in pairs]
    if verification.typesetting:
        blocks.append(_TYPESETTING)
    return "\n\n".join(blocks) + "\n"


def verification_json(verification: Verification) -> str:
    """A verification as text of schema colde.verify/1."""
    a, b = verification.a, verification.b
    return text(
        {
            "schema": "colde.verify/1",
            "a": _document(a),
            "b": _document(b),
            "verified": verification.verified,
            "allowed": [
                {"text": rule.text, "found": rule.found, "changes": rule.changes}
                for rule in verification.allowed
            ],
            "passages": [placed_data(pair, a, b) for pair in verification.passages],
            "headings": [placed_data(pair, a, b) for pair in verification.headings],
            "typesetting": bool(verification.typesetting),
            "ignored": ignored_data(a, b, verification.ignore),
        }
    )


def _document(document: Document) -> dict[str, Any]:
    return {"path": document.path, "title": document.title, "pages": document.report.pages}
