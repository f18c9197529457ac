"""`colde git-check`: the gate of the action and the hook; compares the documents that a commit changes (docs/git.md).

Nobody who proposes a change may weaken it. So nothing but the command line sets what may change: no file, no variable.
A document that was renamed, added, deleted or replaced is told of, and one that cannot be compared is trouble. In a log
of GitHub no line of a document is a command to the runner.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.commands import options
from colde_cli.commands.options import OUTPUT, Level, ModelChoice, format_option, option
from colde_cli.commands.reading_options import OcrOption, PasswordOption
from colde_cli.corpus.git_changes import Change, Repository, StoredFile
from colde_cli.errors import DocumentError, OptionError
from colde_cli.views.output import Format, choose_format, deliver, output_trouble, show
from colde_cli.views.wording import plain, plural

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.model_api import Model
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.similarity.verification import Verification

FORMATS = (Format.TABLE, Format.GITHUB)
PATTERNS = ("*.pdf", "*.docx", "*.odt")
_MOST_SUMMARY = 900_000
"""Characters of the summary: GitHub shows none of more than a megabyte."""
_DECIDES = (
    *("patterns", "base", "hook", "allow", "allow_added", "allow_deleted", "verify", "fail_under", "ignore"),
    *("ignore_case", "ignore_whitespace", "ignore_numbers", "ignore_renumbering", "ignore_list_marks"),
    *("ignore_like", "summary"),
)
"""Parameters that decide what passes."""


def git_check(
    context: typer.Context,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATTERN]...", help="Of the documents, as git takes them. Default: PDF, Word and OpenDocument."
        ),
    ] = None,
    *,
    base: Annotated[str, option("--base", metavar="COMMIT", help="Compare HEAD with this commit.")] = "",
    hook: Annotated[
        bool, option("--hook", help="Compare what is staged with HEAD, or the commits that pre-commit names.")
    ] = False,
    allow: options.AllowOption = None,
    verify: Annotated[bool, option("--verify", help="Nothing else may change, even if nothing is allowed.")] = False,
    allow_added: Annotated[
        bool, option("--allow-added", help="With --allow or --verify: documents may be added.")
    ] = False,
    allow_deleted: Annotated[
        bool, option("--allow-deleted", help="With --allow or --verify: documents may be deleted.")
    ] = False,
    fail_under: options.FailUnderOption = None,
    ignoring: options.Ignoring,
    password: PasswordOption = None,
    ocr: OcrOption = None,
    format: Annotated[Format | None, format_option("table|github", "table")] = None,
    summary: Annotated[
        Path | None, option("--summary", panel=OUTPUT, metavar="FILE", help="Also add Markdown to this file.")
    ] = None,
    level: options.LevelOption = Level.PASSAGE,
    top: options.TopOption = 10,
    debug: options.DebugOption = False,
    model: ModelChoice,
) -> None:
    """Check the documents that a commit changes: the gate of the action and of the hook.

    Renamed, added, deleted and replaced documents are told of. Exits with
    status 0 if all pass, with 1 if one does not, with 2 if one cannot be
    compared. docs/git.md says more.
    """
    options.from_the_command_line(context, _DECIDES)
    ignored = ignoring.options()
    chosen = choose_format(format, None, (), FORMATS)
    strict = verify or bool(allow)
    with _not_commands(chosen):
        repository = Repository.here()
        old, new = _commits(repository, base, hook=hook)
        _check_templates(repository, old, new, ignored)
        gate = _Gate(
            repository,
            (old[:7], new[:7] if new else "staged"),
            tuple(allow or ()),
            ignored,
            {"password": password, "ocr": ocr},
            model.open(),
            strict=strict,
            scored=not strict or fail_under is not None or chosen is Format.GITHUB or summary is not None,
            allow_added=allow_added,
            allow_deleted=allow_deleted,
            fail_under=fail_under,
        )
        changes = repository.changes(old, new, patterns or PATTERNS)
        # Views open files again: for lines, and for what is told apart only where all else is the same.
        with tempfile.TemporaryDirectory(prefix="colde-") as folder:
            found = gate.findings(changes, Path(folder).resolve())
            if strict and changes and (workflow := _changed_workflow(repository, old, new)):
                found.append(workflow)
            report = _Report(found, f"since {old[:7]}", level, top)
            shown = report.table() if chosen is Format.TABLE else report.annotations()
            if summary is not None:
                report.add_to(summary)
        if chosen is Format.TABLE:
            deliver(shown, None)
    if chosen is Format.GITHUB:
        deliver(shown, None, chosen)
    raise typer.Exit(max((finding.status for finding in found), default=0))


@contextmanager
def _not_commands(chosen: Format) -> Iterator[None]:
    """Have GitHub's runner take no line of the log for a command; after an error it takes none at all.

    Lines such as `::error::` and `##[error]` are commands wherever a program prints them, and a document or a name may
    hold such a line.
    """
    if chosen is not Format.GITHUB and os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    word = secrets.token_hex(16)
    typer.echo(f"::stop-commands::{word}")
    yield
    typer.echo(f"::{word}::")


def _commits(repository: Repository, base: str, *, hook: bool) -> tuple[str, str | None]:
    """The commits to compare; None stands for what is staged."""
    if hook == bool(base):
        raise OptionError("Name the commit to compare with: colde git-check --base COMMIT, or --hook for a hook.")
    if base:
        return repository.commit(base), repository.commit("HEAD")
    ends = [os.environ.get(f"PRE_COMMIT_{name}_REF", "") for name in ("FROM", "TO")]
    if not all(ends):
        return repository.head(), None
    old, new = map(repository.commit, ends)
    return repository.fork(old, new), new


def _check_templates(repository: Repository, old: str, new: str | None, ignored: IgnoreOptions) -> None:
    """Refuse a template that the same change alters: it could then hold, and so hide, whatever else is changed."""
    for like in ignored.like:
        path = Path(like).resolve()
        inside = path.is_relative_to(repository.root.resolve())
        name = path.relative_to(repository.root.resolve()).as_posix() if inside else ""
        if name and repository.changed(old, new, name):
            raise OptionError(f"{like} is changed as well, and its text would be ignored; change it first, alone.")


def _changed_workflow(repository: Repository, old: str, new: str | None) -> _Finding | None:
    """Refuse a change of documents and of the workflow that runs this check: it may allow what it should not."""
    place, _, _ = os.environ.get("GITHUB_WORKFLOW_REF", "").partition("@")
    name = place.removeprefix(f"{os.environ.get('GITHUB_REPOSITORY', '')}/")
    if name == place or not repository.changed(old, new, name):
        return None
    side = StoredFile(name, "100644", "", watched=True)
    finding = _Finding(Change(side, side), "the workflow of this check")
    finding.refuse("It is changed together with documents; change it first, alone.", 1)
    return finding


@dataclass(slots=True)
class _Finding:
    """What was found out about a change.

    Attributes:
        state: in a word or two; "" for a document at its place.
        status: 0 if it passes, 1 if it is refused, 2 if it cannot be compared.
    """

    change: Change
    state: str = ""
    status: int = 0
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    comparison: Comparison | None = None
    verification: Verification | None = None

    def refuse(self, sentence: str, status: int) -> None:
        """Note why it does not pass."""
        self.problems.append(sentence)
        self.status = max(self.status, status)

    def verdict(self) -> str:
        """What its verification says; "" without one."""
        from colde_cli.views.comparison_page import verification_sentence

        return "" if self.verification is None else verification_sentence(self.verification)


@dataclass(frozen=True, slots=True)
class _Gate:
    """Decides which changes pass.

    Attributes:
        labels: the names of the two versions.
        reading: password and mode of OCR, as for `read`.
        strict: nothing may change but what `allow`, `allow_added` and `allow_deleted` name.
        scored: documents are compared by a model as well.
    """

    repository: Repository
    labels: tuple[str, str]
    allow: tuple[str, ...]
    ignore: IgnoreOptions
    reading: dict[str, Any]
    model: Model
    strict: bool
    scored: bool
    allow_added: bool
    allow_deleted: bool
    fail_under: float | None

    def findings(self, changes: Sequence[Change], folder: Path) -> list[_Finding]:
        """Look at each change; its documents are written below `folder`."""
        return [self._look(change, folder / str(number)) for number, change in enumerate(changes)]

    def _look(self, change: Change, folder: Path) -> _Finding:
        finding = _Finding(change, _state(change))
        for side in (change.old, change.new):
            if side.what:
                finding.refuse(f"{side.name} is {side.what}, which cannot be compared.", 2)
        if change.in_conflict:
            finding.refuse("It is not merged; resolve the conflict first.", 2)
        if self.strict and change.came and not self.allow_added:
            finding.refuse("A document was added; only --allow-added lets it pass.", 1)
        if self.strict and change.went and not self.allow_deleted:
            finding.refuse("A document went; only --allow-deleted lets it pass.", 1)
        if finding.status < 2 and change.new.exists and not change.same_bytes:
            self._read(finding, folder)
        return finding

    def _read(self, finding: _Finding, folder: Path) -> None:
        """Read both versions, or the added document, and compare."""
        sides = [side for side in (finding.change.old, finding.change.new) if side.exists]
        labels = self.labels[-len(sides) :]
        try:
            documents = [
                self._document(side, folder / label, finding) for side, label in zip(sides, labels, strict=True)
            ]
            if len(documents) == 2:
                self._compare(finding, documents[0], documents[1])
        except DocumentError as error:
            finding.refuse(_named(str(error), folder), 2)
        finding.remarks = [_named(sentence, folder) for sentence in finding.remarks]

    def _document(self, side: StoredFile, folder: Path, finding: _Finding) -> Document:
        from colde_cli import read

        document = read(str(self.repository.write(side, folder)), **self.reading)
        finding.remarks += [f"{document.path}: {sentence}" for sentence in document.report.warnings]
        return document

    def _compare(self, finding: _Finding, old: Document, new: Document) -> None:
        if self.strict:
            verification = self.model.verify(old, new, self.allow, ignore=self.ignore, **self.reading)
            finding.verification = verification
            if verification.verified:
                finding.remarks.append(finding.verdict())
            else:
                finding.refuse(finding.verdict(), 1)
        if self.scored:
            comparison = self.model.compare(
                old, new, ignore=self.ignore, scores=self.fail_under is not None, **self.reading
            )
            finding.comparison = comparison
            if self.fail_under is not None and comparison.score < self.fail_under:
                finding.refuse(f"Its score is {comparison.score:.3f}, under {self.fail_under:g}.", 1)


def _state(change: Change) -> str:
    if not change.old.exists:
        return "added"
    if not change.new.exists:
        return "deleted"
    if change.old.name != change.new.name:
        return f"renamed{', the same bytes' if change.same_bytes else ''}"
    return "the same bytes" if change.same_bytes else ""


def _named(sentence: str, folder: Path) -> str:
    """A sentence with the version and name of a file in place of its temporary path."""
    return sentence.replace(f"{folder}{os.sep}", "")


@dataclass(frozen=True, slots=True)
class _Report:
    """All findings, to show."""

    findings: Sequence[_Finding]
    since: str
    level: Level
    top: int

    def conclusion(self) -> str:
        """How many documents changed, and how many do not pass."""
        refused = sum(finding.status > 0 for finding in self.findings)
        changed = plural(len(self.findings), "document") if self.findings else "No document"
        passing = f"; {refused:,} did not pass" if refused else ""
        return f"{changed} changed {self.since}{passing}."

    def table(self) -> str:
        """For a terminal or a log."""
        from rich.text import Text

        from colde_cli.views.console import rendered, titled

        blocks = []
        for finding in self.findings:
            blocks.append(rendered(titled(plain(finding.change.title), finding.state)))
            others = [sentence for sentence in finding.problems if sentence != finding.verdict()]
            blocks += [rendered(Text(plain(sentence), "bold red")) for sentence in others]
            blocks += [rendered(Text(plain(sentence), "dim")) for sentence in finding.remarks]
            if finding.verification is not None and not finding.verification.verified:
                blocks.append(show(finding.verification))
            elif finding.comparison is not None:
                blocks.append(show(finding.comparison, level=self.level.value, top=self.top))
        return "".join([*blocks, rendered(Text(self.conclusion()))])

    def annotations(self) -> str:
        """As workflow commands: every line is one."""
        from colde_cli.views.github import MAX_WARNINGS, SourceLines, annotation, comparison_annotations

        share = max(1, MAX_WARNINGS // max(1, len(self.findings)))
        lines = []
        for finding in self.findings:
            place = {"file": finding.change.new.name}
            title = " · ".join(part for part in ("colde", finding.state) if part)
            lines += [annotation("error", {**place, "title": title}, text) for text in finding.problems]
            lines += [annotation("notice", {**place, "title": title}, text) for text in finding.remarks]
            if finding.state and not finding.problems:
                lines.append(annotation("notice", {**place, "title": title}, finding.change.title))
            if finding.comparison is not None:
                source = SourceLines.of(finding.comparison.b.document)
                lines.append(comparison_annotations(finding.comparison, source, place["file"], share))
        return "".join([*lines, annotation("notice", {"title": "colde"}, self.conclusion())])

    def add_to(self, summary: Path) -> None:
        """Add all findings as Markdown to a file, as far as GitHub shows it.

        Raises:
            OptionError: it cannot be written.
        """
        blocks = [f"{block}\n\n" for finding in self.findings for block in self._markdown(finding)]
        length, kept = 0, []
        for block in blocks:
            length += len(block.encode("utf-8", "backslashreplace"))
            kept += [block] if length < _MOST_SUMMARY else []
        if len(kept) < len(blocks):
            kept.append("More is changed than fits here; run colde diff on the documents.\n\n")
        with output_trouble(summary), summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines([*kept, f"{self.conclusion()}\n"])

    def _markdown(self, finding: _Finding) -> Iterator[str]:
        from colde_cli.views.escaping import markdown

        yield f"## {markdown(finding.change.title)}{f' ({finding.state})' if finding.state else ''}"
        for sentence in finding.problems:
            if sentence != finding.verdict():
                yield f"**Not passed:** {markdown(sentence)}"
        for sentence in finding.remarks:
            yield markdown(sentence)
        if finding.verification is not None and not finding.verification.verified:
            yield show(finding.verification, Format.MARKDOWN)
        if finding.comparison is not None:
            yield show(finding.comparison, Format.MARKDOWN, level=self.level.value, top=self.top)
