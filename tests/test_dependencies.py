"""What an installation brings: only licences that are listed, and no connection while documents are compared."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from command_line import ROOT, V1, V2, run_process
from packaging.requirements import Requirement

PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
LISTED = {
    package: licence
    for licence, packages in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", PAGE, re.MULTILINE)
    for package in packages.split(", ")
}
_SHORT = {
    r"MIT-0|^MIT": "MIT", r"Apache": "Apache-2.0", r"Mozilla|MPL": "MPL-2.0", r"BSD": "BSD", r"ISC": "ISC",
    r"PSF|Python": "PSF-2.0",
}  # fmt: skip
BLOCK = """
import sys, traceback
def hook(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
        with open({log!r}, "a") as file:
            file.write(f"{{event}} {{arguments[1:]}}\\n")
        raise OSError("no connection in this test")
sys.addaudithook(hook)
"""


def installed() -> dict[str, str]:
    """Every package that the runtime needs here, by name, with its licence as it states it."""
    found: dict[str, str] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(line) for line in project["dependencies"]]
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        package = metadata.metadata(name)
        classified = [line for line in package.get_all("Classifier") or [] if line.startswith("License ::")]
        said = {key: package[key] for key in ("License-Expression", "License") if key in package}
        found[name] = said.get("License-Expression") or "; ".join(classified) or said.get("License", "")
        waiting += [Requirement(line) for line in metadata.requires(name) or []]
    return found


def test_every_package_is_listed_with_its_licence() -> None:
    for name, stated in installed().items():
        short = {word for pattern, word in _SHORT.items() if re.search(pattern, stated.split("::")[-1].strip())}
        assert name in LISTED, f"add {name} ({stated}) to docs/dependencies.md"
        assert short & set(re.split(r" or | and |, ", LISTED[name])), f"{name} states {stated!r}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("diff", V1, V2, "--no-cache"), ("rank", V1, str(Path(V1).parent), "--glob", "*.pdf"), ("doctor",)],
)
def test_nothing_is_sent_or_fetched(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Holds for its reading processes too: each Python that starts gets the hook."""
    log = tmp_path / "log.txt"
    (tmp_path / "sitecustomize.py").write_text(BLOCK.format(log=str(log)))
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "COLDE_CACHE_DIR": str(tmp_path / "cache")}
    assert run_process(*arguments, env=env).status in (0, 1)
    assert not log.exists(), log.read_text()


def test_the_hook_of_these_tests_sees_connections(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    (tmp_path / "sitecustomize.py").write_text(BLOCK.format(log=str(log)))
    code = "import socket; socket.create_connection(('127.0.0.1', 9))"
    run_process(env={"PYTHONPATH": str(tmp_path)}, python=("-c", code))
    assert log.exists()
