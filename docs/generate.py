"""Write docs/options.md, all options of all commands, from the commands: `python docs/generate.py [--check]`.

The checksum of the shipped model's card is written as well. With `--check` nothing is written; the status is 1 if the
page or that checksum is stale, a command has no section in docs/commands.md, or the README or a page of docs/ shows a
command or an option that does not exist.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "options.md"
COMMANDS = ROOT / "docs" / "commands.md"
MODEL = ROOT / "models" / "colde-minilm-l6"
_HEAD = """# Options

All options by name, made by `python docs/generate.py`. [Commands](commands.md) says what each command does, and how
options are set in the environment or in `colde.toml`. `-h` or `--help` shows the help of a command.

"""

_FENCE = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
Commands = Mapping[str, Any]  # Typer keeps its Click, the type of a command, to itself


def commands() -> dict[str, Any]:
    """Every visible command by its whole name, "colde diff", groups included."""
    sys.path.insert(0, str(ROOT))
    from typer.main import get_command

    from colde_cli.commands.app import app

    return dict(_walk("colde", get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    yield name, command
    for child, below in _below(command).items():
        if not below.hidden:
            yield from _walk(f"{name} {child}", below)


def command_tree(tree: Commands) -> dict[str, frozenset[str]]:
    """The options of every command, as they are typed ("--format", "-o"), hidden ones too."""
    return {
        name: frozenset(
            {"--help", "-h"} | {word for item in command.params for word in (*item.opts, *item.secondary_opts)}
        )
        for name, command in tree.items()
    }


def options_page(tree: Commands) -> str:
    """The options by name: the commands that take it, and the sentence of its help with the default.

    An option that means something else in another command has a line for each meaning.
    """
    rows: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for name, command in tree.items():
        for item in command.params:
            if item.opts[0].startswith("-") and not item.hidden and item.name != "help":
                words = ", ".join((*item.opts, *item.secondary_opts))
                use = name.removeprefix("colde ").strip(), item.metavar or "", _default(item)
                rows.setdefault((words, item.help or ""), []).append(use)
    every = [name.removeprefix("colde ") for name, command in tree.items() if name != "colde" and not _below(command)]
    ordered = sorted(rows.items(), key=lambda row: (row[0][0].split(",")[0], row[1]))
    return _HEAD + "".join(_line(words, sentence, uses, every) for (words, sentence), uses in ordered)


def _below(command: Any) -> Any:  # noqa: ANN401
    return getattr(command, "commands", {})


def _listed(users: list[str], every: list[str]) -> str:
    """The names of commands, or of those left out where these are few."""
    left = [name for name in every if name not in users]
    if len(users) < 2 * len(left) + 2:
        return ", ".join(users)
    return "all but " + ", ".join(left) if left else "all"


def _line(words: str, sentence: str, uses: list[tuple[str, str, str]], every: list[str]) -> str:
    """The line of an option; each use is a command, the value it takes and the default there."""
    metavars, defaults = (_by_value(uses, part) for part in (1, 2))
    if len(metavars) == 1:
        words, named = f"{words} {uses[0][1]}".rstrip(), _listed([name for name, *_ in uses], every)
    else:
        named = "; ".join(f"{', '.join(names)} `{metavar}`" for metavar, names in metavars.items())
    alike = len(defaults) == 1
    told = [value if alike else f"{', '.join(names)} {value}" for value, names in defaults.items() if value]
    default = f" Default: {'; '.join(told)}." if told else ""
    return f"- `{words}` ({named}): {' '.join((sentence + default).split())}\n"


def _by_value(uses: list[tuple[str, str, str]], part: int) -> dict[str, list[str]]:
    """The commands by one part of their uses."""
    found: dict[str, list[str]] = {}
    for use in uses:
        found.setdefault(use[part], []).append(use[0])
    return found


def _default(item: Any) -> str:  # noqa: ANN401
    shown = getattr(item, "show_default", None)
    value = shown if isinstance(shown, str) else getattr(item.default, "value", item.default)
    return "" if value in (None, False, ()) or callable(value) else str(value)


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
    tree = commands()
    stale = PAGE.read_text(encoding="utf-8") != options_page(tree)
    faults = ["docs/options.md is stale: run python docs/generate.py"] if stale else []
    described = set(re.findall(r"^## (colde[a-z -]*)$", COMMANDS.read_text(encoding="utf-8"), re.MULTILINE))
    top = {name for name in tree if name.count(" ") == 1}
    faults += [f"docs/commands.md: `{name}` has no section" for name in sorted(top - described)]
    faults += [f"docs/commands.md: `{name}` does not exist" for name in sorted(described - top)]
    options = command_tree(tree)
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        faults += [f"{path.name}: {item}" for item in example_problems(text, options)]
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
    parser = argparse.ArgumentParser(description="Write docs/options.md from the commands.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if anything is stale")
    if not parser.parse_args().check:
        PAGE.write_text(options_page(commands()), encoding="utf-8")
        _record_card()
    faults = problems()
    sys.stderr.writelines(f"{problem}\n" for problem in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
