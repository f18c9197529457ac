"""Rank and index 100 good documents and 100 that cannot be read: is all as with the good ones alone?

    python tests/hostile_files.py HOSTILE && python benchmarks/mixed_corpus.py HOSTILE... [--count 100]

The good documents are made up; the hostile ones are the first files of the folders that `colde text --check` cannot
read. Printed is, for `rank` of a folder, `index`, and `rank` of the index: the status, whether the ranking is the same
with and without the hostile files, and how often each hostile file is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from index_kills import make_text

from colde_cli.documents.reading import SUPPORTED_SUFFIXES, read
from colde_cli.errors import DocumentError

ROOT = Path(__file__).resolve().parent.parent


def colde(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "colde_cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def unreadable(folders: list[Path], count: int) -> list[Path]:
    """The first files that cannot be read, from each folder as many."""
    found: list[Path] = []
    for number, folder in enumerate(folders, start=1):
        wanted = count * number // len(folders)
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_size):
            if len(found) < wanted and path.suffix in SUPPORTED_SUFFIXES and not _opens(path):
                found.append(path)
    return found


def _opens(path: Path) -> bool:
    try:
        read(path)
    except DocumentError:
        return False
    return True


def ranking(run: subprocess.CompletedProcess[str]) -> list[tuple[str, float, float]]:
    """Names, scores and probabilities."""
    results = json.loads(run.stdout)["results"]
    return [(Path(item["path"]).name, item["score"], item["probability"]) for item in results]


def main() -> None:
    """Run and print; status 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("hostile", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    generator, right = random.Random(0), True
    with tempfile.TemporaryDirectory() as work:
        good, both = Path(work, "good"), Path(work, "both")
        good.mkdir()
        for number in range(options.count):
            (good / f"good-{number:03}.md").write_text(make_text(generator), encoding="utf-8")
        shutil.copytree(good, both)
        hostile = [
            shutil.copy(path, both / f"bad-{number:03}{path.suffix}")
            for number, path in enumerate(unreadable(options.hostile, options.count))
        ]
        print(f"{options.count} good documents, {len(hostile)} that cannot be read:")
        print(f"  {dict(Counter(path.suffix for path in hostile))}")
        query, index = Path(work, "query.md"), Path(work, "both.colde")
        query.write_text(make_text(generator), encoding="utf-8")
        list_all = ("--format", "json", "--top", options.count)
        colde("index", good, "-o", Path(work, "good.colde"))
        # Vectors of an index are rounded, so that its scores differ a little from those of the folder.
        alone = {
            place.name: ranking(colde("rank", query, place, *list_all))
            for place in (good, Path(work, "good.colde"))
        }
        for name, command in {
            "rank of the folder": ("rank", query, both, *list_all),
            "rank --strict": ("rank", query, both, "--strict", *list_all),
            "index": ("index", both, "-o", index),
            "rank of the index": ("rank", query, index, *list_all),
        }.items():
            run = colde(*command)
            told = Counter({path.name: run.stderr.count(f"Skipped {path}:") for path in hostile})
            times = dict(Counter(told.values()))
            if command[0] == "rank":
                skipped = Counter(item["path"] for item in json.loads(run.stdout)["skipped"])
                same = ranking(run) == alone[Path(command[2]).name.replace("both", "good")]
                listed = sorted(skipped) == sorted(map(str, hostile))
                right &= same and listed and set(skipped.values()) == {1}
                found = f"ranking {'the same' if same else 'DIFFERS'}; each once in the JSON: {listed}"
            else:
                found = run.stdout.strip().rpartition("/")[2]
            print(f"{name}: status {run.returncode}; {found}; times on stderr: {times}", flush=True)
            right &= "Traceback" not in run.stderr and "colde failed" not in run.stderr
    sys.exit(not right)


if __name__ == "__main__":
    main()
