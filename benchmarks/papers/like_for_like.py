"""Train every system of CoLDE's Table 2 end to end on the same texts, and measure all.

    python benchmarks/papers/like_for_like.py FOLDER... [--most 200] [--tokens 248] [--rounds 8] [--only NAME...]

Every document is cut to its first tokens, so that each system reads the same text; CoLDE reads it in chunks of 64, of
which it has four with the default of 248 tokens. A batch has 16 documents, or 8 pairs; every document is shown
`--rounds` times on average (a pass of the pair systems shows it about four times). So all rows learn from as many
tokens, by default in 100 to 211 updates. The pass with the best validation AUC counts. "before", "best", "end": its
values; "loss": of the first, the last but one and the last tenth of the updates. Models lie under
runs/papers/like-for-like; one that is there is not trained again, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from paper_data import RUNS, linked_first, run_key
from reporting import settling, write_table
from tokenizers import Tokenizer

from colde_cli.evaluation.data import json_lines, read_data
from colde_cli.learning.backbone import load_backbone
from colde_cli.learning.recipe import DEFAULT_BACKBONE
from colde_cli.learning.sampling import Positives

FOLDER = RUNS / "like-for-like"
CHUNK = 64
_PAPER = f"--recipe paper --batch-size 16 --chunk-tokens {CHUNK}"
_OURS = (
    f"--batch-size 16 --chunk-tokens {CHUNK} --no-combine --lr 3e-5 "
    "--set temperature=0.1 --set head_learning_rate=3e-4 --set chunk_loss=0.4 --set mean_loss=0.4 "
    "--set hard_negatives=8 --set backbone_dropout=0"
)
_PAIRS = "--batch-size 8"
_ALL = "--set patience=0 --precision bf16 --quiet"
_FROZEN = f"--freeze-backbone --no-combine --chunk-tokens {CHUNK}"
"""MiniLM as published: what the baselines of vectors stand on."""
HEADER = (
    *("set", "system", "updates", "kept", "loss", "before", "best", "end"),
    *("AUC", "AUC, random", "AUC, hard", "F1", "accuracy"),
)
_FIGURES = ("auc", "auc_random", "auc_hard", "f1", "accuracy")


@dataclass(frozen=True, slots=True)
class Row:
    """A system, and the options of `colde train` that differ from its defaults.

    Attributes:
        name: row of the tables.
        options: of `colde train`.
        shown: how often a pass shows each document.
    """

    name: str
    options: str
    shown: int = 1

    @property
    def folder(self) -> str:
        """The name as that of a folder."""
        return self.name.lower().replace("−", "no-").replace(", ", "-").replace(" ", "-")


def _pairs(name: str, system: str, options: str = "") -> Row:
    return Row(name, f"--system {system} {_PAIRS} {options}", shown=4)


ROWS = (
    Row("CoLDE", _PAPER),
    Row("CoLDE, our recipe", _OURS),
    Row("−Aug", f"{_PAPER} --ablation no-aug"),
    Row("−LSTM", f"{_PAPER} --ablation no-lstm"),
    Row("−CL", f"{_PAPER} --ablation no-cl"),
    _pairs("S-BERT", "sbert"),
    _pairs("S-LONG", "slong"),
    _pairs("MatchBERT", "matchbert"),
    _pairs("SMITH", "smith"),
    _pairs("HAN", "han"),
    _pairs("SMASH", "smash"),
    _pairs("DSSM", "dssm"),
    _pairs("ARC-I", "arci"),
)


@dataclass(frozen=True, slots=True)
class Texts:
    """A set whose documents are cut, in the files that `colde train` and `colde evaluate` read.

    Attributes:
        name: of the set.
        folder: of the files and the models.
        training: number of training documents.
        tokens: they have together.
    """

    name: str
    folder: Path
    training: int
    tokens: int


def cut(source: Path, most: int, tokens: int, rounds: int) -> Texts:
    """Write a set with at most so many training documents, each cut to its first tokens, to be shown so often."""
    folder = FOLDER / f"{source.name}-{run_key(source, f'{most} {tokens} {rounds}'.encode())}"
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [row for _, row in json_lines(source / "pairs.jsonl.gz") if row["split"] != "train"]
    judged = {row[side] for row in pairs for side in ("a", "b")}
    chosen, counted = _training_ids(source, most), 0
    tokenizer = _tokenizer(tokens)
    with (folder / "train.jsonl").open("w") as train, (folder / "test.jsonl").open("w") as test:
        for _, row in json_lines(source / "docs.jsonl.gz"):
            if row["id"] not in chosen | judged:
                continue
            text, length = _first(row["sections"], tokenizer)
            training = row["id"] in chosen
            counted += length * training
            related = [other for other in row["related"] if training and other in chosen]
            kept = {"id": row["id"], "title": row["title"], "related": related, "text": text}
            train.write(json.dumps(kept | {"split": "train" if training else "validation"}) + "\n")
            test.write(json.dumps(kept | {"related": []}) + "\n")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    held = [{key: row[key] for key in ("a", "b", "label")} for row in pairs if row["split"] == "validation"]
    (folder / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held))
    return Texts(source.name, folder, len(chosen), counted)


def _training_ids(source: Path, most: int) -> set[str]:
    data = read_data([source / "docs.jsonl.gz"])
    training = [number for number, item in enumerate(data.documents) if item.split == "train"]
    kept = linked_first(np.array(training, np.int64), Positives.of(data))[:most]
    return {data.documents[number].id for number in kept.tolist()}


def _tokenizer(tokens: int) -> Tokenizer:
    tokenizer = Tokenizer.from_str(load_backbone(DEFAULT_BACKBONE).tokenizer)
    tokenizer.enable_truncation(tokens)
    tokenizer.no_padding()
    return tokenizer


def _first(sections: Sequence[Mapping[str, str]], tokenizer: Tokenizer) -> tuple[str, int]:
    """The beginning of a text, and its length in tokens."""
    text = "\n\n".join(f"{section['heading']}\n{section['text']}".strip() for section in sections)
    found = tokenizer.encode(text, add_special_tokens=False)
    return text[: found.offsets[-1][1]], len(found.ids)


def train(texts: Texts, row: Row, rounds: int) -> Path:
    """Train a system unless it is there; returns its folder."""
    target = texts.folder / row.folder
    if (target / "config.json").is_file():
        return target
    options = [*row.options.split(), *_ALL.split(), "--epochs", rounds // row.shown]
    again = ["--resume"] if (target.with_name(f"{target.name}.training") / "metrics.jsonl").is_file() else []
    data = [texts.folder / "train.jsonl", "--validation", texts.folder / "validation.jsonl"]
    before = _processor()
    _colde("train", *data, "-o", target, *options, *again)
    print(f"{texts.name}, {row.name}: {_processor() - before:.0f} s of processor time", flush=True)
    return target


def measure(texts: Texts, model: Path, *more: str) -> list[dict[str, Any]]:
    """Results of `colde evaluate` on the cut texts, one for each system; a report on disk is read."""
    target = texts.folder / f"{model.name}.json"
    if not target.is_file():
        files = ["--docs", texts.folder / "test.jsonl", "--pairs", texts.folder / "pairs.jsonl"]
        _colde("evaluate", model, *files, *more, "--bootstrap", 500, "--quiet", "-o", target)
    report = json.loads(target.read_text(encoding="utf-8"))
    results: list[dict[str, Any]] = report["fields"][0]["results"]
    return results


def table_row(texts: Texts, row: Row, model: Path) -> list[str]:
    """The figures of a trained system."""
    events = [
        json.loads(line)
        for line in (model.with_name(f"{model.name}.training") / "metrics.jsonl").read_text().splitlines()
    ]
    validations = [event for event in events if event["event"] == "validation"]
    best = max(validations, key=lambda event: event["field_auc"])
    losses = [event["loss"] for event in events if event["event"] == "step"]
    curve = [f"{event['field_auc']:.3f}" for event in (validations[0], best, validations[-1])]
    (result,) = measure(texts, model)
    return [
        texts.name,
        row.name,
        str(len(losses)),
        str(best["step"]),
        settling(losses),
        *curve,
        *_cells(result),
    ]


def _cells(result: Mapping[str, Any]) -> list[str]:
    return [f"{result['figures'][name]['value']:.3f}" for name in _FIGURES]


def baseline_rows(texts: Texts, model: Path) -> list[list[str]]:
    """The figures of the baselines, those of vectors with MiniLM as published."""
    results = measure(texts, model, "--baseline", "all")
    unknown = ["–"] * 6
    return [[texts.name, result["system"], *unknown, *_cells(result)] for result in results[1:]]


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _colde(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "colde_cli", *map(str, arguments)], check=True)


def main() -> None:
    """Train what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=200, help="training documents of a set, at most")
    parser.add_argument("--tokens", type=int, default=248, help="of a document")
    parser.add_argument("--rounds", type=int, default=8, help="how often each document is shown")
    parser.add_argument("--only", nargs="*", default=[row.name for row in ROWS], help="rows of the table")
    options = parser.parse_args()
    table, notes = [], []
    for folder in options.folders:
        texts = cut(folder, options.most, options.tokens, options.rounds)
        notes.append(f"{texts.name}: {texts.training} training documents with {texts.tokens:,} tokens.")
        rows = [row for row in ROWS if row.name in options.only]
        table += [table_row(texts, row, train(texts, row, options.rounds)) for row in rows]
        table += baseline_rows(texts, train(texts, Row("MiniLM", _FROZEN), 1))
    title = "CoLDE, Table 2, every system trained end to end on the same texts"
    listed = "\n".join(f"- {note}" for note in notes)
    write_table(RUNS / "table2-end-to-end.md", title, HEADER, table, f"\n{listed}\n")


if __name__ == "__main__":
    main()
