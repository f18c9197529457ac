"""A labelled set in the shape of docs/training-data.md, made on the fly."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

from tiny_backbone import SUBJECTS, sentences


def write_labelled_set(folder: Path) -> Path:
    """docs.jsonl.gz and pairs.jsonl.gz: 48 documents on four subjects, and pairs of three kinds of two splits."""
    generator = random.Random(0)
    folder.mkdir()
    rows, pairs = [], []
    for split, count in (("train", 6), ("validation", 3), ("test", 3)):
        names = {subject: [f"{split}-{subject}-{number}" for number in range(count)] for subject in SUBJECTS}
        for subject, words in SUBJECTS.items():
            for name in names[subject]:
                # A sentence ends where the next one begins with a capital.
                text = re.sub(r"(^|\. )[a-z]", lambda found: found[0].upper(), sentences(generator, words, 12))
                related = [other for other in names[subject] if other != name]
                rows.append({"id": name, "split": split, "related": related, "text": text})
        if split == "train":
            continue
        for one, other in zip(SUBJECTS, [*list(SUBJECTS)[1:], next(iter(SUBJECTS))], strict=True):
            first, second = names[one][:2]
            pairs.append({"a": first, "b": second, "label": 1, "relation": "cites", "split": split})
            pairs.append({"a": first, "b": names[other][0], "label": 0, "relation": "random", "split": split})
            pairs.append({"a": second, "b": names[other][1], "label": 0, "relation": "hard", "split": split})
    for name, lines in (("docs", rows), ("pairs", pairs)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder
