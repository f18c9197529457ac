"""Paste every command's `--help` into docs/commands.md: `python docs/generate.py [--check]`.

Each command has a section on that page, with its help between two markers:

    <!-- help: colde diff -->
    ...
    <!-- end help -->

The checksum of the shipped model's card is written as well. With `--check` nothing is written; the status is 1 if the
page or that checksum is stale, a command is undocumented, or the README or a page of docs/ shows a command or an option
that does not exist.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "commands.md"
MODEL = ROOT / "models" / "colde-minilm-l6"
WIDTH = 100

# The help of the command named in the opening marker, and nothing else, lies between the markers.
_HELP = re.compile(r"<!-- help: (?P<command>[a-z -]+?) -->\n(?P<body>.*?)<!-- end help -->", re.DOTALL)
_FENCE = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PRINT_HELP = """
import contextlib, io, json, sys
from colde_cli.app import app
texts = {}
for command in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        app([*command.split()[1:], "--help"], prog_name="colde", standalone_mode=False)
    texts[command] = shown.getvalue()
print(json.dumps(texts))
"""
# Each of these makes rich use colours or another width.
_DISTURBING = ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "COLUMNS", "TERMINAL_WIDTH")


def command_tree() -> dict[str, frozenset[str]]:
    """Every visible command, "colde diff", with its options ("--format", "-o"), groups included."""
    sys.path.insert(0, str(ROOT))
    from typer.main import get_command

    from colde_cli.app import app

    return dict(_walk("colde", get_command(app)))


def _walk(
    name: str,
    command: Any,  # noqa: ANN401 - Typer keeps its Click to itself
) -> Iterator[tuple[str, frozenset[str]]]:
    options = {option for item in command.params for option in (*item.opts, *item.secondary_opts)}
    yield name, frozenset(options | {"--help", "-h"})
    for child, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from _walk(f"{name} {child}", below)


def help_texts(commands: Iterable[str]) -> dict[str, str]:
    """What `COMMAND --help` prints at a width of 100 columns, without colours or trailing blanks.

    One process of its own prints them all: rich reads its environment when it is imported.
    """
    kept = {key: value for key, value in os.environ.items() if key not in _DISTURBING and key[:6] != "COLDE_"}
    plain = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_HELP, *commands],
        cwd=ROOT,
        env={**kept, **plain, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    printed = json.loads(done.stdout)
    return {name: _trimmed(text) for name, text in printed.items()}


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in _ANSI.sub("", text).splitlines()).strip()


def fill(page: str, helps: Mapping[str, str]) -> str:
    """The page with the current help of every command that it has markers for."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        if command not in helps:
            return match[0]
        return f"<!-- help: {command} -->\n```text\n{helps[command]}\n```\n<!-- end help -->"

    return _HELP.sub(block, page)


def page_problems(page: str, helps: Mapping[str, str]) -> list[str]:
    """The faults of the page: commands that are missing, gone, or shown with an old help."""
    shown = {match["command"]: match[0] for match in _HELP.finditer(page)}
    current = {match["command"]: match[0] for match in _HELP.finditer(fill(page, helps))}
    missing = [f"`{name}` has no section with markers" for name in helps if name not in shown]
    gone = [f"`{name}` is documented but does not exist" for name in shown if name not in helps]
    stale = [
        f"the help of `{name}` is stale: run python docs/generate.py"
        for name in shown
        if name in helps and shown[name] != current[name]
    ]
    return missing + gone + stale


def example_problems(text: str, tree: Mapping[str, frozenset[str]]) -> list[str]:
    """Commands and options that the shell blocks of a page use and that do not exist."""
    problems = []
    for words in _colde_calls(text):
        name = _longest_command(words, tree)
        if name == "colde" and len(words) > 1 and not words[1].startswith("-"):
            problems.append(f"`colde {words[1]}` does not exist")
            continue
        used = [word.split("=")[0] for word in words[len(name.split()) :] if re.match(r"--?[a-zA-Z]", word)]
        problems.extend(f"`{name}` has no option {option}" for option in used if option not in tree[name])
    return problems


def _colde_calls(text: str) -> Iterator[list[str]]:
    """The words of every `colde ...` in the shell blocks of a page, prompts, pipes and `&&` resolved."""
    for block in _FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>()")
            lexer.whitespace_split = True
            call: list[str] = []
            for word in (*lexer, ";"):
                if set(word) <= set("|&;<>()"):
                    if call[:1] == ["colde"]:
                        yield call
                    call = []
                else:
                    call.append(word)


def _longest_command(words: list[str], tree: Mapping[str, frozenset[str]]) -> str:
    return max((name for name in tree if words[: len(name.split())] == name.split()), key=len)


def problems() -> list[str]:
    """All faults in the documentation of the commands, a sentence each."""
    tree = command_tree()
    helps = help_texts(tree)
    faults = [f"{PAGE.name}: {item}" for item in page_problems(PAGE.read_text(encoding="utf-8"), helps)]
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        faults += [
            f"{path.name}: {item}" for item in example_problems(path.read_text(encoding="utf-8"), tree)
        ]
    return [*faults, *_card_problems()]


def _card_problems() -> list[str]:
    """Whether the card of the shipped model, which is documentation too, has the checksum of what it says."""
    from colde_cli.encoder.checksums import check_folder

    stale = "README.md" in check_folder(MODEL).altered
    return ["the checksum of the model's card is stale: run python docs/generate.py"] if stale else []


def _record_card() -> None:
    from colde_cli.encoder.checksums import record_checksums

    record_checksums(MODEL, ["README.md"])


def main() -> int:
    """Write the page, or check it; the status is 0 if all is well."""
    parser = argparse.ArgumentParser(description="Paste every command's --help into docs/commands.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if anything is stale")
    if not parser.parse_args().check:
        helps = help_texts(command_tree())
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), helps), encoding="utf-8")
        _record_card()
    faults = problems()
    sys.stderr.writelines(f"{problem}\n" for problem in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
