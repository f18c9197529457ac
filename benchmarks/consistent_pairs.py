"""Remove labelled pairs that contradict the labels of their documents.

    python benchmarks/consistent_pairs.py docs.jsonl.gz pairs.jsonl.gz consistent.jsonl

If related pairs are documents of one class (contracts of one type), an unrelated pair of one class contradicts them.
Writes all other pairs, and prints how many were left out in each split.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from colde_cli.evaluation.data import json_lines


def contradicts(pair: dict[str, Any], labels: dict[str, str | None]) -> bool:
    """Whether a pair is unrelated although both documents have one class."""
    a, b = labels[pair["a"]], labels[pair["b"]]
    return not pair["label"] and a is not None and a == b


def main() -> None:
    """Write the consistent pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    for name in ("documents", "pairs", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    labels = {row["id"]: row.get("label") for _, row in json_lines(options.documents)}
    unrelated: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    with options.output.open("w", encoding="utf-8") as output:
        for _, pair in json_lines(options.pairs):
            split = pair.get("split") or "all"
            unrelated[split] += not pair["label"]
            if contradicts(pair, labels):
                left_out[split] += 1
            else:
                output.write(json.dumps(pair, ensure_ascii=False) + "\n")
    for split, count in unrelated.items():
        gone = left_out[split]
        ceiling = f"; knowing all labels: AUC {1 - gone / count / 2:.3f}" if count else ""
        print(f"{split}: {gone} of {count} unrelated pairs left out{ceiling}")


if __name__ == "__main__":
    main()
