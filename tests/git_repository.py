"""A repository of git in a folder of a test, in which `colde` is the one of this source."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import ROOT, run_here
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


@dataclass(frozen=True)
class Repository:
    folder: Path
    env: dict[str, str]

    def __call__(self, *command: str, status: int | None = 0, **env: str) -> str:
        """Run a command; its output. Its status has to be `status`; None is any but 0.

        `colde` runs in this process, unless a shell or git starts it.
        """
        if command[0] == "colde":
            here = run_here(*command[1:], env=self.env | env, cwd=self.folder)
            assert here.status != 0 if status is None else here.status == status, here.out + here.err
            return here.out + here.err
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        fits = done.returncode != 0 if status is None else done.returncode == status
        assert fits, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self, message: str = "a change") -> None:
        self("git", "add", "--all")
        self("git", "commit", "--quiet", "--message", message)


def empty_repository(tmp_path: Path) -> Repository:
    """A repository without a commit; nothing of the person who runs the tests leaks in."""
    programs, folder = tmp_path / "bin", tmp_path / "repository"
    programs.mkdir()
    folder.mkdir()
    colde = programs / "colde"
    colde.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m colde_cli "$@"\n')
    colde.chmod(0o755)
    (programs / "noted").mkdir()
    note = programs / "noted" / "colde"  # notes what it is asked, in place of doing it
    note.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >'{programs}/asked'\n")
    note.chmod(0o755)
    kept = {name: os.environ[name] for name in os.environ if name[:4] not in ("GIT_", "COLD")}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        kept.pop(name, None)
    env = kept | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "COLDE_CACHE_DIR": os.environ["COLDE_CACHE_DIR"],
        "COLDE_OCR": "never",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    made = Repository(folder, env)
    made("git", "init", "--quiet", "--initial-branch=main")
    return made


def write_pdf(path: Path, drawing: bytes = b"") -> None:
    """A PDF with one sentence, always the same, and a drawing."""
    writer = PdfWriter()
    page = writer.add_blank_page(612, 792)
    content = DecodedStreamObject()
    content.set_data(b"BT /F1 12 Tf 72 700 Td (The malt comes within 14 days of the order.) Tj ET " + drawing)
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    named = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): named})
    page[NameObject("/Contents")] = writer._add_object(content)
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    writer.write(path)
