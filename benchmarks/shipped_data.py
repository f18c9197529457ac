"""Write the training files of the shipped model from labelled sets.

    python benchmarks/shipped_data.py OUTPUT FOLDER...

Each FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` as docs/training-data.md describes them. Writes
`OUTPUT/SET.jsonl.gz` (documents of the training and of the validation split, the latter without supervision)
and `OUTPUT/validation.jsonl` (labelled pairs of the validation split). Ids get the name of the set as a prefix. Classes
are kept only if no link exists: elsewhere they are topics, which are broader than the relation of the pairs.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from script import arguments, records


def documents(folder: Path, labelled: bool) -> Iterator[dict[str, Any]]:
    """Documents for training and validation, with the supervision of the training split only."""
    rows = list(records(folder))
    chosen = {row["id"]: row["split"] for row in rows if row["split"] != "test"}
    counts = Counter(row["label"] for row in rows if row["split"] == "train")
    for row in rows:
        if row["id"] not in chosen:
            continue
        training = row["split"] == "train"
        related = [other for other in row["related"] if training and chosen.get(other) == "train"]
        label = row["label"] if training and labelled and counts[row["label"]] > 1 else None
        yield {
            "id": f"{folder.name}/{row['id']}",
            "title": row["title"],
            "split": row["split"],
            "label": f"{folder.name}/{label}" if label else None,
            "related": [f"{folder.name}/{other}" for other in related],
            "sections": row["sections"],
        }


def main() -> None:
    """Write the files."""
    options = arguments(__doc__, "output", "folders...", labelled=["contracts"])  # sets whose labels are positives
    options.output.mkdir(parents=True, exist_ok=True)
    with (options.output / "validation.jsonl").open("w", encoding="utf-8") as validation:
        for folder in options.folders:
            target = options.output / f"{folder.name}.jsonl.gz"
            with gzip.open(target, "wt", encoding="utf-8", compresslevel=5) as train:
                for row in documents(folder, folder.name in options.labelled):
                    train.write(json.dumps(row, ensure_ascii=False) + "\n")
            for pair in records(folder, "pairs"):
                if pair["split"] == "validation":
                    named = {key: f"{folder.name}/{pair[key]}" for key in ("a", "b")}
                    validation.write(json.dumps(named | {"label": pair["label"]}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
