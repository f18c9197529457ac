"""The gates: the action and the hooks as their runners start them, and the ways around them, of which none passes."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ROOT
from git_repository import Repository, empty_repository, write_pdf
from word_files import p, write_word

DATA = ROOT / "tests" / "data"
TERMS = (
    p("Delivery", "berschrift1")
    + p("The Seller shall deliver the malt within {} days of the order. The price is stated in Schedule 2.")
    + p("Ending", "berschrift1")
    + p("Either party may end this agreement by notice in writing at the end of {} season.")
)
OLD, ALLOWED, FORBIDDEN = (TERMS.format(*gaps) for gaps in (("14", "any"), ("41", "any"), ("41", "no")))
NOTES = "# Delivery\n\nThe malt comes within {} days.\n\n# Ending\n\nNotice is given at the end of {} season.\n"
FILES = "*.pdf *.docx\n*.md *.tex"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
_ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
_HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository whose main branch holds documents of two kinds and a workflow."""
    made = empty_repository(tmp_path)
    write_word(made.folder / "letter.docx", OLD)
    (made.folder / "notes.md").write_text(NOTES.format("14", "any"))
    (made.folder / "paper.tex").write_text("\\section{Ending}\nNotice is given at the end of any season.\n")
    write_pdf(made.folder / "sealed.pdf")
    (made.folder / ".github").mkdir()
    (made.folder / ".github" / "check.yml").write_text("allow: Delivery\n")
    made.commit()
    made("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    return made


def action(
    repository: Repository, status: int | None = 0, allow: str = "Delivery\n", *, whole: bool = False, **env: str
) -> str:
    """Run the script of the action as a runner does, on what is committed; return log and summary.

    What it ends with, `colde`, runs in this process, unless the action is to run as a `whole`.

    Args:
        repository: in which it runs.
        status: wanted; None for any but 0.
        allow: the input of this name.
        env: further variables; the inputs among them in capitals.
    """
    script = textwrap.dedent(_ACTION.split("      run: |\n")[1])
    inputs = dict.fromkeys(re.findall(r"^        (\w+): \$\{\{ inputs\.\w+ \}\}$", _ACTION, re.MULTILINE), "")
    plain = dict(re.findall(r'^        (\w+): "(.*)"$', _ACTION, re.MULTILINE))
    summary = repository.folder.parent / "summary.md"
    summary.write_text("")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "me/terms", "GITHUB_STEP_SUMMARY": str(summary)}
    github["GITHUB_WORKFLOW_REF"] = "me/terms/.github/check.yml@refs/pull/1/merge"
    given = inputs | plain | github | {"FILES": FILES, "ALLOW": allow} | env
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    if whole:
        return repository(*shell, status=status, **given) + summary.read_text(encoding="utf-8")
    programs = repository.folder.parent / "bin"
    repository(*shell, status=0, **given, PATH=f"{programs / 'noted'}{os.pathsep}{os.environ['PATH']}")
    asked = (programs / "asked").read_text(encoding="utf-8").split("\0")[:-1]
    return repository("colde", *asked, status=status, **given) + summary.read_text(encoding="utf-8")


def hook(name: str) -> list[str]:
    """The command of a hook of `.pre-commit-hooks.yaml`."""
    part = _HOOKS.split(f"- id: {name}\n")[1].partition("\n- id")[0]
    entry = re.search(r"^  entry: (.*)$", part, re.MULTILINE)
    assert entry is not None
    return shlex.split(entry[1])


def verify_hook(repository: Repository, status: int | None = 0, **env: str) -> str:
    """Run the hook on what is staged."""
    assert "pass_filenames: false" in _HOOKS.split("- id: colde-verify")[1]
    return repository(*hook("colde-verify"), "--allow", "Delivery", "--", *FILES.split(), status=status, **env)


def committed(repository: Repository, status: int | None) -> str:
    """Commit what is staged, and run the action."""
    repository("git", "commit", "--quiet", "--message", "a change")
    return action(repository, status)


def edit(repository: Repository, body: str = FORBIDDEN, name: str = "letter.docx") -> None:
    write_word(repository.folder / name, body)


@pytest.mark.slow
def test_what_is_allowed_passes(repository: Repository) -> None:
    edit(repository, ALLOWED)
    repository("git", "mv", "notes.md", "notes 1.md")
    repository("git", "add", "--all")
    assert "Verified: nothing changed but what is allowed." in verify_hook(repository)
    repository.commit()
    shown = action(repository, whole=True)
    assert "::warning file=letter.docx,title=" in shown
    assert "41" in shown
    assert "letter.docx → " not in shown.partition("::notice")[0]
    assert "renamed, the same bytes" in shown
    assert "standard input" not in shown
    assert "2 documents changed since" in shown


# Ways around: each changes the end of the agreement, which must not change, or takes it away.


def rename(repository: Repository) -> None:
    repository("git", "mv", "notes.md", "notes 2.md")
    (repository.folder / "notes 2.md").write_text(NOTES.format("14", "no"))


def link_instead(repository: Repository) -> None:
    edit(repository, name="other.bin")
    (repository.folder / "letter.docx").unlink()
    (repository.folder / "letter.docx").symlink_to("other.bin")


def folder_instead(repository: Repository) -> None:
    (repository.folder / "letter.docx").unlink()
    (repository.folder / "letter.docx").mkdir()
    edit(repository, name="letter.docx/letter.bin")


def submodule_instead(repository: Repository) -> None:
    repository("git", "rm", "-q", "letter.docx")
    commit = repository("git", "rev-parse", "HEAD").strip()
    repository("git", "update-index", "--add", "--cacheinfo", f"160000,{commit},letter.docx")
    (repository.folder / "letter.docx").mkdir()


def attributes(repository: Repository) -> None:
    """A filter that the clone has, and the encodings of git, would make both versions the same."""
    edit(repository)
    (repository.folder / "notes.md").write_text(NOTES.format("14", "no"))
    repository("git", "config", "filter.same.smudge", f"cat {shlex.quote(str(DATA / 'report.docx'))}")
    repository("git", "config", "diff.same.textconv", "echo same;:")
    repository("git", "config", "diff.external", "true")
    made_up = "filter=same diff=same binary -diff working-tree-encoding=UTF-16 ident eol=crlf linguist-generated"
    (repository.folder / ".gitattributes").write_text(f"*.docx {made_up}\n*.md {made_up}\n")
    repository("git", "add", ".gitattributes")
    for name in ("letter.docx", "notes.md"):
        blob = repository("git", "hash-object", "-w", "--no-filters", name).strip()
        repository("git", "update-index", "--cacheinfo", f"100644,{blob},{name}")


def settings(repository: Repository) -> None:
    edit(repository)
    tables = ("diff", "verify", "git-check")
    lines = "\n".join(f'[{table}]\nignore-like = ["letter.docx"]\nskip-sections = ["."]\n' for table in tables)
    (repository.folder / "colde.toml").write_text(lines)


def grow(repository: Repository) -> None:
    """Past the limit of a file of LaTeX."""
    (repository.folder / "paper.tex").write_bytes(b"\\section{Ending}\nNo notice.\n" + b"% \n" * (6 << 20))


def point_elsewhere(repository: Repository) -> None:
    digest = hashlib.sha256(b"something else").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 14\n"
    (repository.folder / "letter.docx").write_text(pointer)


def swap(repository: Repository) -> None:
    for name, body in (("letter.docx", FORBIDDEN), ("copy.docx", OLD)):
        edit(repository, body, name)


def move(repository: Repository, to: str, body: str = "") -> None:
    repository("git", "mv", "--", "letter.docx", to)
    if body:
        edit(repository, body, to)


WAYS: dict[str, Callable[[Repository], object]] = {
    "rename": rename,
    "rename out of the patterns": lambda repository: move(repository, "letter.bin"),
    "rename out of the patterns and edit": lambda repository: move(repository, "letter.bin", FORBIDDEN),
    "rename in capitals": lambda repository: move(repository, "LETTER.DOCX", FORBIDDEN),
    "move and edit beside": lambda repository: move(repository, "-o.docx", FORBIDDEN),
    "delete": lambda repository: (repository.folder / "letter.docx").unlink(),
    "add": lambda repository: edit(repository, name="Letter (valid).DocX"),
    "edit": edit,
    "link instead": link_instead,
    "folder instead": folder_instead,
    "submodule instead": submodule_instead,
    "attributes": attributes,
    "settings": settings,
    "damage": lambda repository: (repository.folder / "letter.docx").write_bytes(b"PK\x03\x04 no archive"),
    "encrypt": lambda repository: shutil.copy(DATA / "encrypted.pdf", repository.folder / "letter.docx"),
    "grow": grow,
    "point elsewhere": point_elsewhere,
    # The text stays the same, the page does not.
    "seal": lambda repository: write_pdf(repository.folder / "sealed.pdf", b"1 0 0 rg 300 300 80 80 re f"),
    "swap": swap,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_around(repository: Repository, way: str) -> None:
    WAYS[way](repository)
    if way != "attributes":
        repository("git", "add", "--all")
    for found in (verify_hook(repository, None), committed(repository, None)):
        assert "did not pass." in found or "Error: " in found
        assert "Traceback" not in found


STRANGE = (
    *("-o.docx", "--allow=x.docx", "100%0A::error::.docx", "a\nb\t\x1b[31m.docx", "é“ü”'\"$(id).docx"),
    "##[add-mask]x.docx",
)


def test_names_that_look_like_options_commands_and_lines(repository: Repository) -> None:
    for body in (OLD, FORBIDDEN):
        for name in STRANGE:
            edit(repository, body, name)
        repository("git", "add", "--all")
        if body == OLD:
            repository.commit()
            repository("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    assert verify_hook(repository, 1).count("Not verified:") == len(STRANGE)
    repository.commit()
    shown = action(repository, 1)
    assert shown.count("::error file=") == len(STRANGE)
    assert f"{len(STRANGE)} documents changed since" in shown
    assert {name for name, _ in executed(shown)} == {"error", "warning", "notice", "stop-commands"}


_COMMANDS = (
    *("error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-matcher"),
    *("remove-matcher", "set-output", "save-state", "set-env", "add-path", "stop-commands", "echo"),
)


def executed(log: str) -> list[tuple[str, str]]:
    """The commands that GitHub's runner takes from a log, with their texts (its ActionCommand and its manager)."""
    found, stopped = [], ""
    for line in re.split(r"\r\n|\r|\n", log):
        match = re.match(r"\s*::([\w-]+)( [^:]*)?::(.*)", line) or re.search(r"##\[([\w-]+)( [^\]]*)?\](.*)", line)
        if match is None:
            continue
        if stopped:
            stopped = "" if match[1] == stopped else stopped
        elif match[1] in _COMMANDS:
            found.append((match[1], match[3]))
            stopped = match[3] if match[1] == "stop-commands" else ""
    return found


HOSTILE = (
    "::error file=x::gotcha ", "##[add-mask]season ", "word ##[stop-commands]never ",
    "\x1b[2J\x1b]0;title\x07 ::add-mask::Ending ",
    "a line of some words that is so long that it is wrapped in a table of one hundred columns ::set-output name=a::b ",
)  # fmt: skip


def test_the_text_of_a_document_is_no_command(repository: Repository) -> None:
    for season in ("any", "no"):
        lines = "\n\n".join(f"{line * 8}{season}\n\n{line}\n::error::gotcha {season}" for line in HOSTILE)
        (repository.folder / "notes.md").write_text(NOTES.format("14", season) + lines)
        (repository.folder / "odd.md").write_text("".join(f"# {line}{season}\n\n{line}\n" for line in HOSTILE))
        repository("git", "add", "--all")
        if season == "any":
            repository.commit()
            repository("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    staged = verify_hook(repository, 1, GITHUB_ACTIONS="true")
    assert "gotcha" in staged
    assert [name for name, _ in executed(staged)] == ["stop-commands"]
    repository.commit()
    shown = action(repository, 1)
    log = shown.partition("\n## ")[0]
    assert "\x1b" not in staged + shown
    assert "\x07" not in staged + shown
    names = [name for name, _ in executed(log)]
    assert names[0] == "stop-commands"
    assert set(names[1:]) == {"error", "warning", "notice"}
    assert "gotcha" not in [text for _, text in executed(log)]
    # Each line between the commands that stop and start them again would be harmless as well: there is none.
    assert all(line.startswith("::") for line in log.splitlines())


def test_an_error_leaves_the_runner_deaf(repository: Repository) -> None:
    edit(repository)
    repository.commit()
    name = "##[add-mask]x"
    shown = action(repository, 2, OPTIONS=f"--model {name}")
    assert name in shown
    assert [command for command, _ in executed(shown)] == ["stop-commands"]


def test_a_template_that_is_changed_as_well_hides_nothing(repository: Repository) -> None:
    edit(repository)
    edit(repository, OLD + FORBIDDEN, "template.bin")
    shutil.copy(repository.folder / "template.bin", repository.folder / "template.docx")
    repository.commit()
    assert "changed as well" in action(repository, 2, OPTIONS="--ignore-like template.docx")


@pytest.mark.parametrize(
    "variable",
    [{"COLDE_IGNORE": "outside"}, {"COLDE_IGNORE_LIKE": "letter.docx"}, {"COLDE_IGNORE_CASE": "1"}],
)
def test_no_variable_weakens_it(repository: Repository, variable: dict[str, str]) -> None:
    edit(repository)
    repository("git", "add", "--all")
    assert "comes from the environment" in verify_hook(repository, 2, **variable)
    assert "Not verified" in verify_hook(repository, 1, COLDE_ALLOW="Ending", COLDE_EXIT_ZERO="1", COLDE_PAGES="1")


@pytest.mark.slow
def test_a_workflow_that_changes_with_the_documents_is_no_check(repository: Repository) -> None:
    (repository.folder / ".github" / "check.yml").write_text("allow: .*\n")
    edit(repository)
    repository.commit()
    shown = action(repository, 1, allow=".*")
    assert "::error file=.github/check.yml,title=colde · the workflow of this check::It is changed" in shown
    action(repository, 0, allow=".*", GITHUB_WORKFLOW_REF="other/rules/.github/check.yml@refs/heads/main")
    repository("git", "checkout", "--quiet", "origin/main", "letter.docx")
    repository.commit()
    action(repository, 0, allow=".*")


def test_the_hook_looks_at_what_is_staged(repository: Repository) -> None:
    edit(repository)
    repository("git", "add", "--all")
    edit(repository, OLD)
    verify_hook(repository, 1)
    repository("git", "update-index", "--assume-unchanged", "letter.docx")
    verify_hook(repository, 1)


def test_the_hook_looks_at_the_commits_of_a_run_of_pre_commit(repository: Repository) -> None:
    edit(repository)
    repository.commit()
    verify_hook(repository)
    ends = {"PRE_COMMIT_FROM_REF": "origin/main", "PRE_COMMIT_TO_REF": "HEAD"}
    verify_hook(repository, 1, **ends)
    verify_hook(repository, 2, **ends | {"PRE_COMMIT_FROM_REF": "nowhere"})


def test_the_first_commit_and_a_conflict(tmp_path: Path) -> None:
    repository = empty_repository(tmp_path)
    edit(repository)
    repository("git", "add", "--all")
    assert "only --allow-added" in verify_hook(repository, 1)
    repository(*hook("colde-verify"), "--allow-added", "--")
    repository.commit()
    for branch, body in (("one", ALLOWED), ("two", OLD)):
        repository("git", "checkout", "--quiet", "-B", branch, "main")
        edit(repository, body)
        repository.commit()
    repository("git", "merge", "one", status=1)
    assert "resolve the conflict first" in verify_hook(repository, 2)


def test_without_anything_to_allow_the_action_tells_and_does_not_judge(repository: Repository) -> None:
    edit(repository)
    repository("git", "mv", "notes.md", "notes 1.md")
    edit(repository, name="new.docx")
    repository.commit()
    shown = action(repository, 0, allow="")
    assert "::warning file=letter.docx,title=" in shown
    assert re.search(r"^::notice file=new\.docx,title=colde · added::", shown, re.MULTILINE)
    assert "## letter.docx\n" in shown
    assert "## new.docx (added)\n" in shown
    assert "3 documents changed since" in shown
    edit(repository, name="new.docx")
    (repository.folder / "letter.docx").write_bytes(b"PK\x03\x04 no archive")
    repository.commit()
    assert re.search(
        r"^::error file=letter\.docx,title=colde::.*\w{7}/letter\.docx", action(repository, 2, allow=""), re.M
    )
    action(repository, 2, allow="", BASE="nowhere")


@pytest.mark.slow
def test_more_options_of_the_action(repository: Repository) -> None:
    edit(repository)
    (repository.folder / "notes.md").unlink()
    repository.commit()
    action(repository, 1, allow="Delivery\n  \nEnding\n")
    shown = action(repository, 0, allow="Delivery\n  \nEnding\n", OPTIONS="--allow-deleted\n--ignore renumbering")
    assert "deleted" in shown
    action(repository, 1, allow="", OPTIONS="--verify --allow-deleted")
    assert "Its score is" in action(repository, 1, allow="", OPTIONS="--fail-under 1")
    action(repository, 0, allow="", FILES="", OPTIONS="--verify --allow Ending --allow Delivery")


@pytest.mark.slow
def test_documents_that_git_lfs_keeps(repository: Repository) -> None:
    """A program in place of Git LFS, with and without the documents; one that gives something else is not believed."""
    kept, pointers = repository.folder.parent / "kept", {}
    kept.mkdir()
    lfs = repository.folder.parent / "bin" / "git-lfs"
    lfs.write_text(f'#!/bin/sh\ncat "{kept}/$(sed -n "s/oid sha256://p")"\n')
    lfs.chmod(0o755)
    for name, body in (("old", OLD), ("allowed", ALLOWED), ("forbidden", FORBIDDEN)):
        content = write_word(kept / "made.docx", body).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        (kept / digest).write_bytes(content)
        pointers[name] = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"
    for name, status in (("old", 0), ("allowed", 0), ("forbidden", 1)):
        (repository.folder / "letter.docx").write_text(pointers[name])
        repository("git", "add", "--all")
        verify_hook(repository, status)
    digest = pointers["forbidden"].partition("sha256:")[2][:64]
    (kept / digest).write_bytes((kept / "made.docx").read_bytes() + b"x")
    assert "Git LFS pointer" in " ".join(verify_hook(repository, 2).split())


def test_the_hook_that_documents_can_be_read(repository: Repository) -> None:
    repository(*hook("colde-text"), "--", "letter.docx", "notes.md")
    (repository.folder / "bad.docx").write_bytes(b"PK\x03\x04 no archive")
    shutil.copy(DATA / "scan.pdf", repository.folder / "-o.pdf")
    for name in ("bad.docx", "-o.pdf", "nowhere.docx"):
        assert name in repository(*hook("colde-text"), "--", "letter.docx", name, status=1)
    (repository.folder / "colde.toml").write_text('[text]\nonly-sections = ["Delivery"]\n')
    repository(*hook("colde-text"), "--", "letter.docx", status=2)
