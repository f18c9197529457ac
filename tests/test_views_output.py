"""Where data goes, and in which format."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from command_line import ROOT

from colde_cli.errors import OptionError
from colde_cli.views.output import Format, choose_format, deliver


@pytest.mark.parametrize(
    ("asked", "name", "expected"),
    [
        (None, None, Format.TABLE),
        (None, "out.json", Format.JSON),
        (None, "out.JSON", Format.JSON),
        (None, "out.txt", Format.TABLE),
        (None, "out", Format.TABLE),
        (Format.JSON, None, Format.JSON),
        (Format.JSON, "out.txt", Format.JSON),
        (Format.TABLE, "out.xyz", Format.TABLE),
    ],
)
def test_the_format_is_the_one_asked_for_else_that_of_the_suffix(
    tmp_path: Path, asked: Format | None, name: str | None, expected: Format
) -> None:
    assert choose_format(asked, tmp_path / name if name else None) is expected


@pytest.mark.parametrize(
    ("name", "expected"), [("out.md", Format.MARKDOWN), ("out.csv", Format.CSV), ("out.html", Format.HTML)]
)
def test_suffixes_of_formats_that_a_command_offers(tmp_path: Path, name: str, expected: Format) -> None:
    assert choose_format(None, tmp_path / name, offered=tuple(Format)) is expected


@pytest.mark.parametrize("name", ["out.html", "out.md", "out.csv"])
def test_formats_that_a_command_does_not_write_say_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="does not write"):
        choose_format(None, tmp_path / name)


def test_an_unknown_suffix_a_folder_and_a_missing_folder_are_refused_before_the_work(tmp_path: Path) -> None:
    for place in (tmp_path / "out.docx", tmp_path, tmp_path / "missing" / "out.json"):
        with pytest.raises(OptionError, match=str(place.parent)):
            choose_format(None, place)


def test_an_unknown_suffix_is_told_those_that_the_command_writes(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"use \.txt or \.json, or add --format"):
        choose_format(None, tmp_path / "out.pdf")


def test_a_file_appears_whole_with_the_usual_mode(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    deliver("Zwölf → 12\n", target)
    assert target.read_text(encoding="utf-8") == "Zwölf → 12\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o600)
    deliver("new", target)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_what_cannot_be_written_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))  # stands in for a disk that is full
    try:
        with pytest.raises(OptionError, match="cannot be written"):
            deliver("long" * 1000, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_half_a_character_of_a_file_name_is_escaped(tmp_path: Path) -> None:
    deliver('"a lone surrogate \udcff"', tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_bytes()) == "a lone surrogate \udcff"


def test_standard_output_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    deliver("text\n", None)
    assert capsys.readouterr().out == "text\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_standard_output_that_is_not_utf_8_gets_what_the_format_has_for_missing_characters(
    encoding: str,
) -> None:
    shown = "─┃→… – “é” 関 👍 \udcff"
    code = (
        "import json; from colde_cli.views.output import Format, deliver; text = json.loads(input())\n"
        "deliver(text + '\\n', None)\n"
        "deliver(json.dumps(text, ensure_ascii=False) + '\\n', None, Format.JSON)\n"
        "deliver(text + '\\n', None, Format.MARKDOWN)"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(shown).encode(),
        env=environment,
        capture_output=True,
        check=True,
    )
    table, value, markdown = done.stdout.decode(encoding).splitlines()
    assert json.loads(value) == shown
    if encoding == "ascii":
        assert table == '-|>~ - "?" ?? ?? ?'
    assert unescape(markdown).replace("\N{REPLACEMENT CHARACTER}", "\udcff") == shown
