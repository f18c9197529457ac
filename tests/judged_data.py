"""Small files of documents and judged pairs with splits, relations and links."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

from tiny_backbone import SUBJECTS, sentences

SPLITS = ("train", "validation", "test")


def write_judged(folder: Path, per_split: int = 3, seed: int = 0) -> tuple[Path, Path]:
    """Documents of four subjects in three splits, linked within both, and all pairs of each split: docs and pairs."""
    generator = random.Random(seed)
    documents: list[dict[str, object]] = []
    for subject, words in SUBJECTS.items():
        for split in SPLITS:
            names = [f"{subject}-{split}-{number}" for number in range(per_split)]
            for name in names:
                links = [other for other in names if other != name]
                text = sentences(generator, words, 4)
                documents.append({"id": name, "split": split, "related": links, "text": text})
    pairs = []
    for one, other in combinations(documents, 2):
        if one["split"] == other["split"]:
            related = str(other["id"]) in str(one["related"])
            relation = "same" if related else generator.choice(["random", "hard"])
            pair = {"a": one["id"], "b": other["id"], "label": int(related), "relation": relation}
            pairs.append(pair | {"split": one["split"]})
    folder.mkdir(parents=True, exist_ok=True)
    docs, judged = folder / "docs.jsonl", folder / "pairs.jsonl"
    docs.write_text("".join(json.dumps(line) + "\n" for line in documents), encoding="utf-8")
    judged.write_text("".join(json.dumps(line) + "\n" for line in pairs), encoding="utf-8")
    return docs, judged
