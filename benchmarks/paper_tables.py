"""Make the tables and figures of CoLDE and SMITH again, each row with `colde train` and `colde evaluate`.

    python benchmarks/paper_tables.py TABLE FOLDER... [--most 200] [--rounds N] [--seeds 1] [--only ROW...]
        [--pieces N --tokens N] [--options "--chunk-tokens 128 --set pretrain=wp+sp"]

    end-to-end        CoLDE, Table 2: all systems, trained whole on the first 248 tokens of each document
    heads             CoLDE, Table 2: CoLDE and its ablations, heads on frozen chunk vectors
    figure-6, figure-7, sections   CoLDE: batch size, tokens of a section in training, number of sections; heads
    figure-8, elongation           CoLDE and LA(SER)³: heads under `colde evaluate --robustness`
    smith-5, smith-6, smith-7, smith-4   SMITH: pre-training, layers, combination, and Figure 4, blocks that are read

FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md). Of each at most `--most` documents train,
those that are linked to one another first. With `--pieces` and `--tokens` a document is that many pieces of as many
tokens, spread over it; one piece is its beginning. Each document is shown `--rounds` times on average. The pass with
the best validation AUC counts; "before", "best", "end" are its values, "loss" that of the first, the last but one and
the last tenth of the updates. Frozen heads, and the baselines, stand on the published MiniLM. What was trained lies
under runs/papers; it is not trained again, and a run that was stopped goes on. `--options` are for `colde train`, of
all rows.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from running import children_seconds
from script import arguments, records
from tokenizers import Tokenizer

from colde_cli.evaluation.data import read_data
from colde_cli.learning.backbone import load_backbone
from colde_cli.learning.recipe import DEFAULT_BACKBONE
from colde_cli.learning.sampling import Positives

RUNS = Path("runs/papers")
"""The folder of all that these scripts train and write."""
HEADER = (
    *("set", "system", "updates", "kept", "loss", "before", "best", "end"),
    *("AUC", "AUC, random", "AUC, hard", "F1", "accuracy"),
)
ATTACKED = ("set", "system", "attack", "side", "AUC", "Δ related", "Δ unrelated")
_FIGURES = ("auc", "auc_random", "auc_hard", "f1", "accuracy")
_ALL = "--set patience=0 --quiet"


@dataclass(frozen=True, slots=True)
class Row:
    """A system.

    Attributes:
        name: of the row.
        options: of `colde train` that differ from its defaults.
        shown: how often a pass shows each document.
    """

    name: str
    options: str
    shown: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that are trained and measured alike.

    Attributes:
        rounds: how often each document is shown.
        pieces: of a document, each of so many tokens; 0 for whole documents.
        attack: a protocol of `colde evaluate --robustness`.
        even: validate on related and random pairs alone, 1:1 as SMITH's paper.
    """

    title: str
    rows: tuple[Row, ...]
    rounds: int = 8
    pieces: int = 0
    tokens: int = 248
    attack: str = ""
    even: bool = False


def _pairs(name: str, system: str) -> Row:
    return Row(name, f"--system {system} --batch-size 8 --precision bf16", shown=4)


_WHOLE = "--recipe paper --batch-size 16 --chunk-tokens 64 --precision bf16"
_OURS = (
    "--batch-size 16 --chunk-tokens 64 --no-combine --lr 3e-5 --precision bf16 --set temperature=0.1 "
    "--set head_learning_rate=3e-4 --set chunk_loss=0.4 --set mean_loss=0.4 --set hard_negatives=8 "
    "--set backbone_dropout=0"
)
END_TO_END = (
    *(Row("CoLDE", _WHOLE), Row("CoLDE, our recipe", _OURS)),
    *(Row(f"−{name}", f"{_WHOLE} --ablation no-{name.lower()}") for name in ("Aug", "LSTM", "CL")),
    *(_pairs("S-BERT", "sbert"), _pairs("S-LONG", "slong"), _pairs("MatchBERT", "matchbert")),
    *(_pairs("SMITH", "smith"), _pairs("HAN", "han"), _pairs("SMASH", "smash"), _pairs("DSSM", "dssm")),
    _pairs("ARC-I", "arci"),
)
# The paper trains BERT with 5e-5. Heads from scratch get 1e-4: of 1e-3, 3e-4 and 1e-4 the best by validation AUC for
# CoLDE on 300 patents. All else that the paper states is kept (τ = 0.5, two sections, four heads, projection to 256).
_HEAD = "--freeze-backbone --no-combine --lr 1e-4 --batch-size 32 --set residual=none"
HEADS = (
    *(Row("CoLDE", _HEAD), Row("CoLDE, our recipe", f"{_HEAD} --set residual=mean --set temperature=0.1")),
    *(Row(f"−{name}", f"{_HEAD} --ablation no-{name.lower()}") for name in ("Aug", "LSTM", "CL")),
)
_ATTACKED = tuple(row for row in HEADS if row.name in ("CoLDE", "CoLDE, our recipe", "−LSTM"))
# SMITH as one core trains it in a minute: 64 units, one layer over words and one over blocks, 8 blocks of 32 tokens.
_SMITH = (
    "--system smith --batch-size 32 --lr 2e-3 --set hidden=64 --set intermediate=128 --set attention_hidden=64 "
    "--set sentence_layers=1 --set document_layers=1 --set dropout=0.0 --set max_rows=8"
)


def _smith_table(title: str, rows: Mapping[str, str]) -> Table:
    made = tuple(Row(name, f"{_SMITH} {options}", shown=4) for name, options in rows.items())
    return Table(f"SMITH, {title}", made, rounds=20, even=True)


_COMBINATIONS = ("normal", "sum-concat", "mean-concat", "attention")
_DEEPER = "--set sentence_layers=2"  # with one layer over words masked blocks are hardly learnt
_LAYERS = ((1, 1), (2, 1), (4, 1), (1, 2))
TABLES = {
    "end-to-end": Table("CoLDE, Table 2, every system trained end to end on the same texts", END_TO_END, pieces=1),
    "heads": Table("CoLDE, Table 2, heads on frozen chunk vectors", HEADS),
    "figure-6": Table(
        "CoLDE, Figure 6: batch size",
        tuple(Row(f"batch {size}", f"{_HEAD} --batch-size {size}") for size in (16, 32, 64, 128)),
    ),
    "figure-7": Table(
        "CoLDE, Figure 7: tokens of a section in training, in chunks of 512",
        tuple(
            Row(f"{512 * window} tokens", f"{_HEAD} --set window={window} --set window_start=first")
            for window in (2, 4, 8, 16)
        ),
    ),
    "sections": Table(
        "CoLDE: sections in training",
        tuple(Row(f"{count} sections", f"{_HEAD} --set sections={count}") for count in (2, 3, 4, 5)),
    ),
    "figure-8": Table("CoLDE, Figure 8: sections shuffled", _ATTACKED, attack="shuffle"),
    "elongation": Table("LA(SER)³: documents m times over", _ATTACKED, attack="elongation"),
    "smith-5": _smith_table(
        "Table 5: pre-training",
        {
            "NP, BERT's deviation": f"{_DEEPER} --set deviation=0.02",
            "NP": _DEEPER,
            **{name.upper(): f"{_DEEPER} --set pretrain={name} --set pretrain_epochs=3" for name in ("wp", "wp+sp")},
        },
    ),
    "smith-6": _smith_table(
        "Table 6: layers over words (L1) and over blocks (L2)",
        {f"L1 = {w}, L2 = {b}": f"--set sentence_layers={w} --set document_layers={b}" for w, b in _LAYERS},
    ),
    "smith-7": _smith_table("Table 7: combination", {mode.title(): f"--set combine={mode}" for mode in _COMBINATIONS}),
    "smith-4": _smith_table(
        "Figure 4: length that is read",
        {f"{32 * blocks} tokens": f"--set max_rows={blocks}" for blocks in (2, 4, 8, 16, 32)},
    ),
}


@dataclass(frozen=True, slots=True)
class Texts:
    """A set in the files that `colde train` and `colde evaluate` read.

    Attributes:
        name: of the set.
        folder: of the files and the models.
        training: number of training documents.
    """

    name: str
    folder: Path
    training: int


def prepare(source: Path, table: Table, most: int) -> Texts:
    """Write a set with at most so many training documents, each cut as the table has it."""
    told = f"{most} {table.pieces} {table.tokens} {table.even}"
    digests = b"".join((source / f"{name}.jsonl.gz").read_bytes() for name in ("docs", "pairs"))
    key = hashlib.blake2b(digests + told.encode(), digest_size=6).hexdigest()
    folder = RUNS / "texts" / f"{source.name}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [row for row in records(source, "pairs") if row["split"] != "train"]
    judged = {row[side] for row in pairs for side in ("a", "b")}
    chosen, tokenizer = training_ids(source, most), None
    if table.pieces:
        tokenizer = Tokenizer.from_str(load_backbone(DEFAULT_BACKBONE).tokenizer)
        tokenizer.no_truncation()
        tokenizer.no_padding()
    with (folder / "train.jsonl").open("w") as train, (folder / "test.jsonl").open("w") as test:
        for row in records(source):
            if row["id"] not in chosen | judged:
                continue
            training = row["id"] in chosen
            kept = {"id": row["id"], "title": row.get("title", ""), "related": []}
            kept |= _content(row, tokenizer, table)
            test.write(json.dumps(kept) + "\n")
            kept["related"] = [other for other in row["related"] if training and other in chosen]
            train.write(json.dumps(kept | {"split": "train" if training else "validation"}) + "\n")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    held = [
        {key: row[key] for key in ("a", "b", "label")}
        for row in pairs
        if row["split"] == "validation" and not (table.even and row["relation"] == "hard")
    ]
    (folder / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held))
    return Texts(source.name, folder, len(chosen))


def _content(row: Mapping[str, Any], tokenizer: Tokenizer | None, table: Table) -> dict[str, Any]:
    """The text of a document, or pieces of it."""
    if tokenizer is None:
        return {name: row[name] for name in ("sections", "text") if name in row}
    sections = row.get("sections") or [{"heading": "", "text": row["text"]}]
    text = "\n\n".join(f"{section['heading']}\n{section['text']}".strip() for section in sections)
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return {"text": "\n\n".join(spread_pieces(text, offsets, table.pieces, table.tokens))}


def spread_pieces(text: str, offsets: Sequence[tuple[int, int]], pieces: int, tokens: int) -> list[str]:
    """So many pieces of as many tokens, in the middle of equal parts of a text; one piece is its beginning."""
    if pieces == 1 or len(offsets) <= pieces * tokens:
        starts = [0] if pieces == 1 else list(range(0, len(offsets), tokens))
    else:
        starts = [int((part + 0.5) / pieces * len(offsets) - tokens / 2) for part in range(pieces)]
    ends = [min(start + tokens, len(offsets)) for start in starts]
    return [text[offsets[start][0] : offsets[end - 1][1]] for start, end in zip(starts, ends, strict=True)]


def training_ids(source: Path, most: int) -> set[str]:
    """Training documents from the first on, each followed by those it is linked to: so they hold many links."""
    data = read_data([source / "docs.jsonl.gz"])
    positives = Positives.of(data)
    allowed = {number for number, item in enumerate(data.documents) if item.split == "train"}
    found: dict[int, None] = {}
    for start in sorted(allowed):
        waiting = deque([start])
        while waiting:
            number = waiting.popleft()
            if number in allowed and number not in found:
                found[number] = None
                waiting.extend(positives.partners(number).tolist())
    return {data.documents[number].id for number in list(found)[:most]}


def train(texts: Texts, row: Row, rounds: int, more: str, seed: int) -> Path:
    """Train a system unless it is there; returns its folder."""
    options = [*shlex.split(f"{row.options} {_ALL} {more}"), "--seed", str(seed), "--epochs", str(rounds // row.shown)]
    key = hashlib.blake2b(" ".join(options).encode(), digest_size=4).hexdigest()
    target = texts.folder / f"{''.join(filter(str.isalnum, row.name.replace('−', 'no'))).lower()}-{key}"
    if (target / "config.json").is_file():
        return target
    again = ["--resume"] if (target.with_name(f"{target.name}.training") / "metrics.jsonl").is_file() else []
    data = [texts.folder / "train.jsonl", "--validation", texts.folder / "validation.jsonl"]
    before = children_seconds()
    _colde("train", *data, "-o", target, *options, *again)
    print(f"{texts.name}, {row.name}, seed {seed}: {children_seconds() - before:.0f} s of processor time", flush=True)
    return target


def measure(texts: Texts, model: Path, *more: str) -> dict[str, Any]:
    """What `colde evaluate` says of a model on a set; a report on disk is read."""
    target = texts.folder / f"{'-'.join([model.name, *more]).replace('--', '')}.json"
    if not target.is_file():
        files = ["--docs", texts.folder / "test.jsonl", "--pairs", texts.folder / "pairs.jsonl"]
        _colde("evaluate", model, *files, *more, "--bootstrap", 0, "--quiet", "-o", target)
    field: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))["fields"][0]
    return field


def trained_row(texts: Texts, row: Row, models: Sequence[Path]) -> list[str]:
    """The figures of a system, of a model for each seed."""
    runs = [_journal(model) for model in models]
    figures = [_figures(measure(texts, model)["results"][0]) for model in models]
    losses = np.mean([run["losses"] for run in runs], axis=0).tolist()
    kept, curves = ", ".join(str(run["kept"]) for run in runs), zip(*(run["curve"] for run in runs), strict=True)
    return [
        *(texts.name, row.name, str(len(losses)), kept, settling(losses)),
        *(spread(values) for values in (*curves, *zip(*figures, strict=True))),
    ]


def _journal(model: Path) -> dict[str, Any]:
    """Losses, the step that was kept, and validation AUC before training, at its best and at the end."""
    lines = (model.with_name(f"{model.name}.training") / "metrics.jsonl").read_text().splitlines()
    events = list(map(json.loads, lines))
    validations = [event for event in events if event["event"] == "validation"]
    best = max(validations, key=lambda event: event["field_auc"])
    return {
        "losses": [event["loss"] for event in events if event["event"] == "step"],
        "kept": best["step"],
        "curve": [event["field_auc"] for event in (validations[0], best, validations[-1])],
    }


def _figures(result: Mapping[str, Any]) -> list[float]:
    """Figures that the pairs do not allow are not a number."""
    return [result["figures"].get(name, {"value": float("nan")})["value"] for name in _FIGURES]


def attacked_rows(texts: Texts, row: Row, models: Sequence[Path], protocol: str) -> list[list[str]]:
    """AUC and moves of scores under each attack, the mean of the models."""
    reports = [next(iter(measure(texts, model, "--robustness", protocol)["robustness"].values())) for model in models]
    rows = []
    for same in zip(*(part["pairs"] for report in reports for part in report["protocols"]), strict=True):
        values = [[one["figures"][name] or 0 for one in same] for name in ("auc", "moved_related", "moved_unrelated")]
        rows.append([texts.name, row.name, same[0]["attack"], same[0]["side"], *map(spread, values)])
    return rows


def baseline_rows(texts: Texts, model: Path) -> list[list[str]]:
    """The figures of the baselines, those of vectors with the chunks of a model."""
    results = measure(texts, model, "--baseline", "all")["results"][1:]
    unknown = ["–"] * 6
    return [[texts.name, one["system"], *unknown, *(f"{value:.3f}" for value in _figures(one))] for one in results]


def _colde(*given: object) -> None:
    subprocess.run([sys.executable, "-m", "colde_cli", *map(str, given)], check=True)


def spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation of the sample (n − 1); the value alone where there is one."""
    array = np.asarray(values, np.float64)
    if not len(array):
        return "–"
    # Plus zero, so that nothing that rounds to zero has a sign.
    mean = f"{round(float(array.mean()), 3) + 0.0:.3f}"
    return mean if len(array) == 1 else f"{mean} ± {array.std(ddof=1):.3f}"


def settling(losses: Sequence[float]) -> str:
    """How a loss went: its mean in the first tenth of the updates, in the last but one, and in the last."""
    tenth = max(1, len(losses) // 10)
    stages = losses[:tenth], losses[-2 * tenth : -tenth] or losses[-tenth:], losses[-tenth:]
    return " → ".join(f"{np.mean(stage):.3f}" for stage in stages)


def write_table(path: Path, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: str = "") -> None:
    """Write a table as `path` (Markdown, the first column to the left; printed) and beside it as a CSV file.

    Raises:
        ValueError: a row has another length than the header.
    """
    if any(len(row) != len(header) for row in rows):
        raise ValueError("every row needs as many cells as the header")
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text = f"### {title}\n\n{table}{notes}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(text)
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main() -> None:
    """Train what is missing, and write the table."""
    options = arguments(
        __doc__, "table", "folders...",
        most=200, rounds=0, seeds=1, only=[""], pieces=-1, tokens=0, options="",
    )  # fmt: skip
    name = str(options.table)
    table = TABLES[name]
    pieces, tokens = options.pieces if options.pieces >= 0 else table.pieces, options.tokens or table.tokens
    table = Table(table.title, table.rows, options.rounds or table.rounds, pieces, tokens, table.attack, table.even)
    rows, notes = [], []
    for folder in options.folders:
        texts = prepare(folder, table, options.most)
        notes.append(f"- {texts.name}: {texts.training} training documents.\n")
        for row in table.rows:
            if options.only != [""] and row.name not in options.only:
                continue
            models = [train(texts, row, table.rounds, options.options, seed) for seed in range(options.seeds)]
            if table.attack:
                rows += attacked_rows(texts, row, models, table.attack)
            else:
                rows.append(trained_row(texts, row, models))
        if name in ("end-to-end", "heads"):
            untrained = Row("MiniLM", "--freeze-backbone --no-combine")
            rows += baseline_rows(texts, train(texts, untrained, 1, options.options, 0))
    write_table(RUNS / f"{name}.md", table.title, ATTACKED if table.attack else HEADER, rows, f"\n{''.join(notes)}")


if __name__ == "__main__":
    main()
