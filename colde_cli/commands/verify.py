"""`colde verify`: check that only what is allowed changed between two documents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli import settings
from colde_cli.commands.options import OUTPUT, AllowOption, Destination, Ignoring, Reporter, format_option, option
from colde_cli.commands.reading_options import OcrMode, OcrOption, PagesOption, PasswordOption, parse_pages, show_pages
from colde_cli.documents.outside import digest_of
from colde_cli.errors import OptionError
from colde_cli.similarity.redline import NOTHING_IGNORED, SWITCHES, IgnoreOptions
from colde_cli.views.output import Format, choose_format, write_file

if TYPE_CHECKING:
    from colde_cli.similarity.verification import Verification

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN)


def verify(
    a: Annotated[str, typer.Argument(metavar="A", help="A document, or - for standard input.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Its copy or later version, or -.")],
    *,
    allow: AllowOption = None,
    receipt: Annotated[
        Path | None,
        option(
            "--receipt",
            panel=OUTPUT,
            metavar="FILE",
            help="Write digests of both files and their parts, options and changes. If FILE is there already, check A"
            " and B against it.",
        ),
    ] = None,
    password: PasswordOption = None,
    pages: PagesOption = None,
    ocr: OcrOption = None,
    ignoring: Ignoring,
    format: Annotated[Format | None, format_option("table|json|markdown")] = None,
    out: Destination,
    reporter: Reporter,
) -> None:
    """Check that only what is allowed changed between two documents.

    Compares the text, the texts outside it (headers, comments, link targets and
    the like) and the parts that are not read (pictures, attachments and the
    like). Exits with status 0 if so, with 1 and a list if anything else changed
    or could not be compared, with 2 if something went wrong or a document could
    not be read whole. No model is loaded.
    """
    from colde_cli import model_api
    from colde_cli.views.comparison_page import CheckedReceipt

    ignored = ignoring.options()
    chosen = choose_format(format, out.output, (a, b, *ignored.like), FORMATS)
    given = _ReceiptOptions(tuple(allow or ()), ignored, parse_pages(pages), _asked(ocr))
    show_pages()
    before = None if receipt is None else _read_receipt(receipt)
    if before is not None:
        if given != _ReceiptOptions():
            raise OptionError(f"{receipt} holds the options of its verification; give none but --password.")
        given = _ReceiptOptions.of(before, str(receipt))
    found = model_api.verify(
        *(a, b, given.allow), ignore=given.ignore, pages=given.pages, password=password, ocr=given.ocr
    )
    for rule in found.allowed:
        if not rule.found:
            reporter.warning(f"--allow {rule.text} names nothing of the two documents.")
    ignoring.warn_if_in_vain((found.a, found.b), reporter)
    faults = _check_receipt(found, given, before, receipt) if receipt is not None else []
    checked = None if before is None or receipt is None else CheckedReceipt(receipt.name, tuple(faults))
    out.show(found, chosen, receipt=checked)
    raise typer.Exit(0 if found.verified and not faults else 1)


def _asked(ocr: OcrMode | None) -> str | None:
    """The mode of the command line; None for that of the environment, which is no option of this verification."""
    return ocr.value if ocr and ocr.value != os.environ.get(settings.OCR) else None


@dataclass(frozen=True, slots=True)
class _ReceiptOptions:
    """The options that a receipt keeps."""

    allow: tuple[str, ...] = ()
    ignore: IgnoreOptions = NOTHING_IGNORED
    pages: tuple[int, int] | None = None
    ocr: str | None = None

    def data(self) -> dict[str, Any]:
        """The options as JSON; templates with the digests of their bytes."""
        like = [{"path": path, "sha256": digest_of(Path(path).read_bytes())} for path in self.ignore.like]
        switches = {name: getattr(self.ignore, name) for name in SWITCHES}
        ignore = {**switches, "kinds": list(self.ignore.kinds), "like": like}
        ocr = {} if self.ocr is None else {"ocr": self.ocr}
        return {"allow": list(self.allow), "ignore": ignore, "pages": self.pages, **ocr}

    @classmethod
    def of(cls, receipt: Mapping[str, Any], shown: str) -> _ReceiptOptions:
        """The options of a receipt.

        Raises:
            OptionError: they are none of ours.
        """
        try:
            options = receipt["options"]
            ignore, pages = options["ignore"], options["pages"]
            like = tuple(str(one["path"]) for one in ignore["like"])
            switches: dict[str, Any] = {name: ignore[name] is True for name in SWITCHES}
            kinds = tuple(map(str, ignore["kinds"]))
            first_last = None if pages is None else (int(pages[0]), int(pages[1]))
            return cls(
                tuple(map(str, options["allow"])),
                replace(IgnoreOptions(like=like, kinds=kinds), **switches),
                first_last,
                str(options["ocr"]) if "ocr" in options else None,
            )
        except (LookupError, TypeError, ValueError) as error:
            raise OptionError(f"{shown} is no whole receipt of colde verify; name another file.") from error


def _read_receipt(file: Path) -> dict[str, Any] | None:
    """A receipt that is there already; None where there is no such file."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != "colde.receipt/1":
        raise OptionError(f"{file} is there and is no receipt of colde verify; name another file.")
    return found


def _check_receipt(
    found: Verification, options: _ReceiptOptions, before: Mapping[str, Any] | None, file: Path
) -> list[str]:
    """Where an earlier receipt does not hold; without one, write it."""
    from colde_cli.views import json as views_json
    from colde_cli.views.receipt import receipt, receipt_faults

    now = receipt(found, options.data())
    if before is None:
        write_file([views_json.text(now).encode()], file)
        return []
    # What was read is JSON, too: lists where there are tuples here.
    return receipt_faults(before, json.loads(views_json.text(now)))
