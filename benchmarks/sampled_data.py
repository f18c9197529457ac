"""Sample the training data for a small machine; the same sample every time.

    python benchmarks/sampled_data.py OUTPUT DOCUMENTS FILE... --validation FILE --pairs PAIRS

Each FILE was written by shipped_data.py. OUTPUT/FILE keeps DOCUMENTS of its training documents: random ones, each with
a random partner, until there are enough. It keeps all documents of the validation split, and drops links and classes of
missing documents. OUTPUT/validation.jsonl has PAIRS validation pairs of each set: all pairs of random documents, until
there are enough.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from colde_cli.evaluation.data import json_lines


def partners(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Documents that each belongs with, by link or by label, sorted."""
    classes: defaultdict[str, set[str]] = defaultdict(set)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["label"]:
            classes[row["label"]].add(row["id"])
        for other in row["related"]:
            found[row["id"]].add(other)
            found[other].add(row["id"])
    for members in classes.values():
        for name in members:
            found[name] |= members - {name}
    return {name: sorted(others) for name, others in sorted(found.items()) if others}


def chosen(rows: list[dict[str, Any]], count: int) -> set[str]:
    """Ids of `count` documents (one more where the last brings its partner along), or of all that have a partner."""
    generator = random.Random(0)
    known = partners(rows)
    kept: set[str] = set()
    for name in generator.sample(list(known), len(known)):
        if len(kept) >= count:
            break
        kept |= {name, generator.choice(known[name])}
    return kept


def sample(source: Path, target: Path, count: int) -> None:
    """Write `target`, the part of `source`."""
    rows = [row for _, row in json_lines(source)]
    training = [row for row in rows if row["split"] == "train"]
    kept = chosen(training, count)
    labels = Counter(row["label"] for row in training if row["id"] in kept)
    with gzip.open(target, "wt", encoding="utf-8", compresslevel=1) as out:
        for row in rows:
            if row["split"] == "train" and row["id"] not in kept:
                continue
            row["related"] = [other for other in row["related"] if other in kept]
            row["label"] = row["label"] if labels[row["label"]] > 1 else None
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def sample_pairs(source: Path, target: Path, count: int) -> None:
    """Write `target`, `count` pairs of each field of `source` (the last document brings all of its own)."""
    by_document: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in source.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        by_document[pair["a"]].append(pair)
    names = random.Random(0).sample(sorted(by_document), len(by_document))
    taken: Counter[str] = Counter()
    with target.open("w", encoding="utf-8") as out:
        for name in names:
            field = name.partition("/")[0]
            if taken[field] < count:
                taken[field] += len(by_document[name])
                out.writelines(json.dumps(pair, ensure_ascii=False) + "\n" for pair in by_document[name])


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("documents", type=int)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=90)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        sample(file, options.output / file.name, options.documents)
    sample_pairs(options.validation, options.output / "validation.jsonl", options.pairs)


if __name__ == "__main__":
    main()
