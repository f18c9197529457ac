"""`colde git-diff` and `colde text --for-git` as git itself runs them, set up by the commands of docs/git.md."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_line import ROOT, check_trouble, run, run_here
from git_repository import Repository, empty_repository, write_pdf
from word_files import p, write_word

DATA = ROOT / "tests" / "data"
PAGE = (ROOT / "docs" / "git.md").read_text(encoding="utf-8")
ATTRIBUTES = re.search(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
OLD = (
    p("Delivery", "berschrift1")
    + p("The Seller shall deliver the malt within 14 days of the order. The price is stated in Schedule 2.")
    + p("Ending", "berschrift1")
    + p("Either party may end this agreement by notice in writing at the end of any season.")
)
NEW = OLD.replace("14 days", "41 days")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def shown(name: str) -> str:
    """The block of docs/git.md below `<!-- test: NAME -->`."""
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


def set_up(repository: Repository, name: str) -> None:
    repository("bash", "-e", "-c", shown(name))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with a first commit of `letter.docx`."""
    made = empty_repository(tmp_path)
    assert ATTRIBUTES
    (made.folder / ".gitattributes").write_text(ATTRIBUTES[1])
    write_word(made.folder / "letter.docx", OLD)
    made.commit()
    return made


@pytest.mark.slow
def test_textconv_makes_a_changed_sentence_a_changed_line(repository: Repository) -> None:
    set_up(repository, "textconv")
    write_word(repository.folder / "letter.docx", NEW)
    lines = repository("git", "diff").splitlines()
    assert [line for line in lines if re.match(r"[-+](?![-+])", line)] == [
        "-The Seller shall deliver the malt within 14 days of the order.",
        "+The Seller shall deliver the malt within 41 days of the order.",
    ]
    assert " # Delivery" in lines
    repository.commit()
    assert "+The Seller shall deliver" in repository("git", "log", "-p", "-1")
    assert "Bin" in repository("git", "show", "--stat")


@pytest.mark.slow
def test_textconv_tells_of_files_that_cannot_be_read_and_goes_on(repository: Repository) -> None:
    set_up(repository, "textconv")
    shutil.copy(DATA / "encrypted.pdf", repository.folder / "a.pdf")
    shutil.copy(DATA / "scan.pdf", repository.folder / "b.pdf")
    write_word(repository.folder / "z.docx", OLD)
    repository.commit()
    text = repository("git", "show")
    assert "+Cannot read this file: it is encrypted; give its password with --password." in text
    assert "+Cannot read this file: it has no text layer; read by OCR" in text
    assert "+# Ending" in text


@pytest.mark.slow
def test_the_driver_shows_the_comparison(repository: Repository) -> None:
    set_up(repository, "driver")
    write_word(repository.folder / "letter.docx", NEW)
    (repository.folder / "notes.txt").write_text("one\n")
    repository("git", "add", "notes.txt")
    text = repository("git", "diff", "HEAD")
    assert text.startswith("letter.docx ───")
    assert "\x1b" not in text
    assert re.search(r"letter\.docx @ [0-9a-f]{7} · 2 sections", text)
    assert "letter.docx, working tree · 2 sections" in text
    ignoring = repository("git", "-c", "diff.colde.command=colde git-diff --ignore-numbers", "diff", "HEAD")
    assert "The texts are the same" in ignoring
    assert "{+41+}" not in ignoring
    assert "[-14-] {+41+} days" in text
    assert "diff --git a/notes.txt b/notes.txt" in text
    repository.commit()
    assert "{+41+} days" in repository("git", "log", "-p", "--ext-diff", "-1")
    assert "{+41+} days" not in repository("git", "show")


@pytest.mark.slow
def test_the_driver_on_files_added_deleted_unreadable_or_in_conflict(repository: Repository) -> None:
    set_up(repository, "driver")
    shutil.copy(DATA / "encrypted.pdf", repository.folder / "a.pdf")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (repository.folder / "b.pdf").write_text(pointer)
    repository.commit()
    shutil.copy(DATA / "encrypted_aes256.pdf", repository.folder / "a.pdf")
    (repository.folder / "b.pdf").write_text(pointer.replace("9", "10"))
    # So much text that git does not take it for the letter under another name: small Word files are alike.
    tides = " ".join(str(7919**number) for number in range(9, 60))
    write_word(repository.folder / "c.docx", p("Bells", "berschrift1") + p(f"They ring at {tides}."))
    (repository.folder / "letter.docx").unlink()
    repository.commit()
    text = repository("git", "show", "--ext-diff", "--no-renames")
    assert re.search(r"^Cannot read a\.pdf @ [0-9a-f]{7}: it is encrypted; give its password", text, re.MULTILINE)
    assert re.search(r"^Cannot read b\.pdf @ \w+: it is a Git LFS pointer", text, re.MULTILINE)
    assert "with: git lfs pull." in " ".join(text.split())
    assert re.search(r"^c\.docx  added ─+\n.*\n1 section · 55 words\n  Bells\n\n", text, re.MULTILINE)
    assert "letter.docx  deleted ──" in text

    repository("git", "checkout", "--quiet", "-b", "side", "HEAD~1")
    write_word(repository.folder / "letter.docx", NEW)
    repository.commit()
    repository("git", "merge", "main", status=1)
    assert "letter.docx  unmerged: resolve the conflict first" in repository("git", "diff")


@pytest.mark.slow
def test_the_driver_on_renames_and_modes(repository: Repository) -> None:
    set_up(repository, "driver")
    repository("git", "mv", "letter.docx", "contract 1.docx")
    write_word(repository.folder / "contract 1.docx", NEW)
    (repository.folder / "contract 1.docx").chmod(0o755)
    text = repository("git", "diff", "-M10%", "HEAD")
    assert text.startswith("letter.docx → contract 1.docx  mode 100644 → 100755 ──")
    assert "{+41+} days" in text


@pytest.mark.slow
def test_the_driver_looks_at_pages_whose_text_is_the_same(repository: Repository) -> None:
    set_up(repository, "driver")
    write_pdf(repository.folder / "sealed.pdf")
    repository.commit()
    write_pdf(repository.folder / "sealed.pdf", b"q 1 0 0 rg 300 300 80 80 re f Q")
    text = repository("git", "diff")
    assert "The texts are the same." not in text
    assert "The body text is the same, but" in text
    assert re.search(r"sealed\.pdf @ [0-9a-f]{7} · 1 page", text)


@pytest.mark.slow
def test_names_that_look_like_options_or_words(repository: Repository) -> None:
    for name in ("textconv", "driver", "difftool"):
        set_up(repository, name)
    attributes = repository.folder / ".gitattributes"
    attributes.write_text(attributes.read_text() + "a diff=colde\n")
    odd = repository.folder / "-q.docx"
    write_word(odd, OLD)
    (repository.folder / "a").write_bytes(b"PK\x03\x04 no archive")
    repository.commit()
    write_word(odd, NEW)
    (repository.folder / "a").write_bytes(b"PK\x03\x04 no archive either")
    text = " ".join(repository("git", "diff").split())
    assert "-q.docx, working tree · 2 sections" in text
    assert "a, working tree: it is damaged, or not a Word document" in text
    assert "+The Seller shall deliver the malt within 41" in repository("git", "diff", "--no-ext-diff")
    assert "{+41+}" in repository("git", "difftool", "--tool=colde", "--", "-q.docx")
    repository("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    repository.commit()
    assert "Two versions of one " in repository("bash", "-e", "-c", shown("pull-request"))


@pytest.mark.parametrize(
    ("environment", "setting", "coloured"),
    [
        ({}, "auto", False), ({"GIT_PAGER_IN_USE": "1"}, "auto", True), ({"GIT_PAGER_IN_USE": "1"}, "never", False),
        ({"GIT_PAGER_IN_USE": "1", "NO_COLOR": "1"}, "auto", False), ({"FORCE_COLOR": "1"}, "never", False),
    ],
)  # fmt: skip
def test_colours_are_those_of_git(
    repository: Repository, environment: dict[str, str], setting: str, coloured: bool
) -> None:
    repository("git", "config", "color.ui", setting)
    repository.env.update(environment)
    text = repository("colde", "git-diff", "x.docx", "/dev/null", ".", ".", "letter.docx", "0", "1")
    assert ("\x1b[1" in text) == coloured
    assert "Ending" in text


def test_leaving_the_pager_is_no_trouble(repository: Repository) -> None:
    set_up(repository, "driver")
    write_word(repository.folder / "letter.docx", NEW)
    text = repository("bash", "-c", "git diff | true; echo ${PIPESTATUS[0]}")
    assert text == "0\n"


@pytest.mark.slow
def test_the_step_of_a_pull_request(repository: Repository) -> None:
    write_word(repository.folder / "odd name.docx", OLD)
    repository.commit()
    repository("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    write_word(repository.folder / "odd name.docx", NEW)
    write_word(repository.folder / "new.docx", OLD)
    repository.commit()
    summary = repository.folder.parent / "summary.md"
    repository("bash", "-e", "-c", shown("pull-request"), GITHUB_STEP_SUMMARY=str(summary))
    text = summary.read_text(encoding="utf-8")
    assert text.count("**Two versions of one ") == 1
    assert "## odd name.docx\n" in text
    assert "## new.docx (added)\n" in text
    write_word(repository.folder / "odd name.docx", p("Bells ring at high tide under the pier."))
    repository.commit()
    repository("bash", "-e", "-c", shown("pull-request"), status=1)


@pytest.mark.slow
def test_files_that_a_filter_such_as_git_lfs_keeps_elsewhere(repository: Repository) -> None:
    """Packing stands in for Git LFS: what is in the repository is not what is checked out."""
    for name in ("textconv", "driver"):
        set_up(repository, name)
    repository("git", "config", "filter.packed.clean", "gzip -nc")
    repository("git", "config", "filter.packed.smudge", "gzip -dc")
    (repository.folder / ".gitattributes").write_text("*.docx diff=colde filter=packed\n")
    write_word(repository.folder / "packed.docx", OLD)
    repository.commit()
    repository("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    write_word(repository.folder / "packed.docx", NEW)
    repository.commit()
    assert "+The Seller shall deliver the malt within 41 days" in repository("git", "show")
    assert "[-14-] {+41+} days" in repository("git", "show", "--ext-diff")
    # A gate reads what is stored: the change brings the filter along. Git LFS is in test_commands_git_check.py.
    assert "it is a gzip archive" in repository("bash", "-e", "-c", shown("pull-request"), status=2)


def test_the_hook_of_pre_commit(repository: Repository) -> None:
    entry = shlex.split(shown("pre-commit").split("entry: ")[1])
    write_word(repository.folder / "letter.docx", NEW)
    write_word(repository.folder / "new.docx", NEW)
    repository("git", "add", "--all")
    assert repository(*entry).count("Two versions of one ") == 1
    write_word(repository.folder / "letter.docx", p("Bells ring at high tide under the pier."))
    repository("git", "add", "--all")
    assert "under 0.9" in repository(*entry, status=1)


def test_trouble_that_every_file_would_have_ends_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    letter = write_word(tmp_path / "letter.docx", OLD)
    check_trouble(run(capsys, "git-diff", "letter.docx", letter))
    check_trouble(run_here("git-diff", "x", letter, "1", "1", letter, "2", "1", "--model", "none"))


def test_a_file_that_is_all_boilerplate_does_not_stop_git(tmp_path: Path) -> None:
    old, new = tmp_path / "old.docx", tmp_path / "new.docx"
    write_word(old, OLD)
    write_word(new, OLD + p("Disputes are heard by the court of the town in which the malt was made."))
    arguments = ("a.docx", old, "1" * 40, "100644", new, "0" * 40, "100644")
    result = run_here("git-diff", "--ignore-like", old, *arguments)
    assert result.status == 0
    assert "is also in old.docx; nothing is left to compare." in " ".join(result.out.split())


@pytest.mark.slow
def test_a_document_that_is_too_long_does_not_stop_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.encoder.encoding.MAX_CHUNKS", 20)
    versions = tmp_path / "old.md", tmp_path / "new.md"
    for version in versions:
        version.write_text("\n".join(f"# {number}\n\n{version.stem} rent\n" for number in range(21)))
    result = run_here("git-diff", "a.md", versions[0], "1" * 40, "100644", versions[1], "2" * 40, "100644")
    assert result.status == 0
    assert "compares 20 chunks of a document at most" in result.out
