"""`colde verify`, from the command line to what it prints."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from command_line import EXAMPLES, ROOT, V1, V2, check_trouble, run, run_json, schema_of, validate

Capture = pytest.CaptureFixture[str]
DATA = ROOT / "tests" / "data"
TEXT = "# Lease\n\nThe rent is EUR 58 a month.\n\n## Term\n\nIt ends on 3 May 2024.\n"


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """A contract, and a copy with another rent and another date."""
    a, b = tmp_path / "a.md", tmp_path / "b.md"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("58", "63").replace("3 May", "4 June"))
    return a, b


def test_status_follows_what_is_allowed(capsys: Capture, copies: tuple[Path, Path]) -> None:
    a, b = copies
    same = run(capsys, "verify", a, a)
    assert (same.status, same.err) == (0, "")
    compared = "Compared: 15 words with 15; 2 levels, list marks or code lines with 2.\n"
    assert same.out == f"Verified: nothing changed.\na.md → a.md\n{compared}"
    part = run(capsys, "verify", a, b, "--allow", "TERM")
    assert part.status == 1
    assert part.out.startswith("Not verified: 1 change is not allowed.\n")
    assert "[-58-] {+63+}" in part.out
    assert "May" not in part.out
    both = run(capsys, "verify", a, b, "--allow", "term", "--allow", r"/EUR \d+/")
    assert both.status == 0
    assert both.out.startswith("Verified: nothing changed but what is allowed.\n")
    assert run(capsys, "verify", a, b, "--ignore-numbers").status == 0


def test_a_rule_that_names_nothing_is_warned_about(capsys: Capture, copies: tuple[Path, Path]) -> None:
    result = run(capsys, "verify", *copies, "--allow", "appendix", "--allow", "/EUR/")
    assert result.err == "Warning: --allow appendix names nothing of the two documents.\n"
    assert run(capsys, "verify", *copies, "--allow", "appendix", "-q").err == ""
    check_trouble(run(capsys, "verify", *copies, "--allow", "/[/"))


def test_json_is_what_its_schema_says(capsys: Capture, tmp_path: Path) -> None:
    value = run_json(capsys, "verify", V1, V2, "--allow", "abstract")
    validate(value, "colde.verify.1")
    assert [*value, "receipt"] == list(schema_of("colde.verify.1")["properties"])
    assert value["verified"] is False
    assert value["passages"][0]["flagged"][0] == {"kind": "amount", "a": "EUR 58", "b": "EUR 63"}
    assert [(rule["text"], rule["changes"]) for rule in value["allowed"]] == [("abstract", 2)]
    headings = [(head["a"] or {}).get("text") for head in value["headings"]]
    assert "3 Instruments" in headings
    file = tmp_path / "x.json"
    assert run(capsys, "verify", V1, V1, "-o", file).status == 0
    assert json.loads(file.read_text("utf-8"))["verified"] is True


def test_markdown_lists_what_else_changed(capsys: Capture, copies: tuple[Path, Path]) -> None:
    said = run(capsys, "verify", *copies, "--allow", "Term", "--format", "markdown").out
    assert said.startswith("**Not verified: 1 change is not allowed.**\n")
    assert "> The rent is EUR <del>58</del> <ins>63</ins> a month." in said


def test_pages_without_text_are_verified_by_their_look(capsys: Capture, tmp_path: Path) -> None:
    other = tmp_path / "outline.pdf"
    other.write_bytes((DATA / "outline.pdf").read_bytes() + b"\n")
    assert run(capsys, "verify", DATA / "outline.pdf", other).status == 0


@pytest.mark.parametrize("name", ["outline.pdf", "scan.pdf"])
def test_the_same_bytes_are_the_same_even_where_they_cannot_be_read(capsys: Capture, name: str) -> None:
    assert run(capsys, "verify", DATA / name, DATA / name).status == 0


def test_standard_input_once_only(capsys: Capture) -> None:
    check_trouble(run(capsys, "verify", "-", "-"))
    check_trouble(run(capsys, "verify", EXAMPLES / "none.pdf", V1))


def test_a_receipt_is_checked_from_the_bytes(capsys: Capture, copies: tuple[Path, Path]) -> None:
    a, b = copies
    receipt = a.with_name("receipt.json")
    given = ("--allow", "term", "--allow", r"/EUR \d+/")
    assert run(capsys, "verify", a, b, *given, "--receipt", receipt).status == 0
    value = json.loads(receipt.read_text("utf-8"))
    validate(value, "colde.receipt.1")
    assert value["options"]["allow"] == ["term", r"/EUR \d+/"]
    assert value["a"]["sha256"] == sha256(a.read_bytes()).hexdigest()
    again = run(capsys, "verify", a, b, "--receipt", receipt)
    assert again.status == 0
    assert again.out.startswith("The receipt receipt.json holds.\nVerified: nothing changed but what is allowed.")
    b.write_text(b.read_text() + "\nOne more clause.\n")
    other = run(capsys, "verify", a, b, "--receipt", receipt)
    assert other.status == 1
    assert "The receipt receipt.json does not hold. B has other bytes than the receipt says." in other.out
    found = run_json(capsys, "verify", a, b, "--receipt", receipt)
    assert found["receipt"] == {"holds": False, "faults": ["B has other bytes than the receipt says."]}


def test_a_receipt_that_says_something_else_does_not_hold(capsys: Capture, copies: tuple[Path, Path]) -> None:
    a, b = copies
    receipt = a.with_name("receipt.json")
    assert run(capsys, "verify", a, b, "--receipt", receipt).status == 1
    value = json.loads(receipt.read_text("utf-8"))
    for path, forged in ((("verified",), True), (("verification", "passages"), []), (("a", "text"), "0")):
        changed = json.loads(receipt.read_text("utf-8"))
        place = changed
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = forged
        receipt.write_text(json.dumps(changed))
        result = run(capsys, "verify", a, b, "--receipt", receipt)
        assert result.status == 1
        assert "does not hold" in result.out
        receipt.write_text(json.dumps(value))


def test_a_file_that_is_no_receipt_is_not_overwritten(capsys: Capture, copies: tuple[Path, Path]) -> None:
    a, b = copies
    for text in ("", "[]", '{"schema": "colde.verify/1"}', '{"schema": "colde.receipt/1"}'):
        other = a.with_name("other.json")
        other.write_text(text)
        check_trouble(run(capsys, "verify", a, b, "--receipt", other))
        assert other.read_text() == text
    receipt = a.with_name("receipt.json")
    run(capsys, "verify", a, b, "--receipt", receipt)
    check_trouble(run(capsys, "verify", a, b, "--receipt", receipt, "--allow", "term"))
