"""Measure whether fine-tuning MiniLM helps: AUC of windows of documents before and after contrastive steps.

    python benchmarks/fine_tuning.py runs/shipped/{contracts,court-cases,patents,pmc,wiki}.jsonl.gz \
      --pairs runs/shipped/validation.jsonl --layers 2 --steps 300 --output runs/fine-tuned.json

A document is the mean of the vectors of a few windows of 128 tokens, which two cores can train where whole documents
are out of reach. Before, between and after, the same windows are encoded in fp32 and pairs are scored by the cosine of
their means, raw and less the mean of all documents of the file. A batch is of one file: documents and one partner each,
two random windows of every document; the loss is supervised contrast over windows. Prints AUC by file.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import BertConfig, BertModel

from colde_cli.evaluation.data import TrainingData, read_data, read_pairs
from colde_cli.evaluation.metrics import pair_metrics
from colde_cli.learning.backbone import DEFAULT_BACKBONE, Backbone, load_backbone
from colde_cli.learning.losses import supcon
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import split_by_pairs
from colde_cli.learning.tokens import ChunkStore, chunk_documents

WINDOW = 128
"""Tokens of a window, [CLS] and [SEP] included."""
CLS, SEP = 101, 102
TEMPERATURE = 0.07


def bert(backbone: Backbone, layers: int) -> BertModel:
    """The backbone; only its last layers learn."""
    fields = {key: value for key, value in backbone.fields.items() if key != "model_type"}
    model = BertModel(BertConfig(**fields, attn_implementation="sdpa"), add_pooling_layer=False)
    model.load_state_dict({name: backbone.weights[name] for name in model.state_dict()})
    model.requires_grad_(False)
    model.encoder.layer[-layers:].requires_grad_(True)
    return model.train()


def body(store: ChunkStore, document: int) -> NDArray[np.int64]:
    """All tokens of a document without specials."""
    return np.concatenate([store.tokens(chunk)[1:-1] for chunk in store.chunks_of(document).tolist()]).astype(
        np.int64
    )


def window(tokens: NDArray[np.int64], start: int) -> NDArray[np.int64]:
    """A window [WINDOW], padded with zeros."""
    row = np.zeros(WINDOW, np.int64)
    inner = tokens[start : start + WINDOW - 2]
    row[: len(inner) + 2] = [CLS, *inner, SEP]
    return row


def vectors(model: BertModel, rows: NDArray[np.int64]) -> Tensor:
    """Mean-pooled vectors [n, H] of windows [n, WINDOW]."""
    ids = torch.from_numpy(rows)
    mask = (ids != 0).long()
    states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).float()
    pooled: Tensor = (states * weights).sum(1) / weights.sum(1)
    return pooled


def batches(
    data: TrainingData, positives: Positives, training: Sequence[int], pairs: int, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Documents with one partner each, all of one file, for ever; files take turns."""
    inside = set(training)
    by_file: dict[int, list[int]] = {}
    for number in training:
        if any(int(other) in inside for other in positives.partners(number)):
            by_file.setdefault(data.documents[number].file, []).append(number)
    if not by_file:
        raise SystemExit("No document of the training side has a partner there.")
    while True:
        for numbers in by_file.values():
            chosen: dict[int, None] = {}
            for number in rng.permutation(numbers).tolist():
                partners = [int(other) for other in positives.partners(number) if int(other) in inside]
                chosen |= {number: None, int(rng.choice(partners)): None}
                if len(chosen) >= 2 * pairs:
                    break
            yield list(chosen)


def document_means(
    model: BertModel, store: ChunkStore, documents: Sequence[int], count: int
) -> dict[int, Tensor]:
    """The mean vector [H] of `count` windows of each document, spread evenly."""
    model.eval()
    means = {}
    with torch.inference_mode():
        for document in documents:
            tokens = body(store, document)
            last = max(0, len(tokens) - (WINDOW - 2))
            rows = np.stack([window(tokens, round(start)) for start in np.linspace(0, last, count)])
            means[document] = torch.nn.functional.normalize(vectors(model, rows), dim=1).mean(0)
    model.train()
    return means


def measure(
    means: dict[int, Tensor], data: TrainingData, judged: Sequence[tuple[int, int, bool]]
) -> dict[str, float]:
    """AUC by file and their mean, raw and centred on the documents of each file."""
    files = {number: data.documents[number].file for number in means}
    found: dict[str, float] = {}
    for kind in ("raw", "centred"):
        centre = {
            file: torch.stack([means[number] for number in means if files[number] == file]).mean(0)
            for file in set(files.values())
        }
        used = {number: mean - centre[files[number]] * (kind == "centred") for number, mean in means.items()}
        scores = [float(torch.cosine_similarity(used[a], used[b], dim=0)) for a, b, _ in judged]
        related = np.array([label for _, _, label in judged])
        for file in sorted(set(files.values())):
            own = np.array([files[a] == file for a, _, _ in judged])
            found[f"{kind} {data.files[file].name}"] = pair_metrics(
                related[own], list(np.array(scores)[own])
            ).auc
        found[f"{kind} mean"] = float(
            np.mean([value for key, value in found.items() if key.startswith(kind)])
        )
    return found


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--backbone", default=DEFAULT_BACKBONE)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-pairs", type=int, default=16)
    parser.add_argument("--windows", type=int, default=4, help="windows of a document when it is measured")
    parser.add_argument("--learning-rate", type=float, default=3e-5)
    parser.add_argument("--every", type=int, default=100, help="steps between measurements")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def draw(
    documents: Sequence[int], store: ChunkStore, positives: Positives, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Tensor]:
    """Two random windows of each document, and the relation of the windows."""
    rows = []
    for number in documents:
        tokens = body(store, number)
        last = max(1, len(tokens) - WINDOW + 3)
        rows += [window(tokens, int(rng.integers(0, last))) for _ in range(2)]
    together = torch.from_numpy(positives.mask(documents))
    return np.stack(rows), together.repeat_interleave(2, 0).repeat_interleave(2, 1)


def train(
    model: BertModel, batch: Iterator[tuple[NDArray[np.int64], Tensor]], steps: int, learning_rate: float
) -> Iterator[float]:
    """Steps of AdamW, warmed up and cooled down; yields the loss of each."""
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 20) * max(0.05, 1 - step / steps)
    )
    for _, (rows, together) in zip(range(steps), batch, strict=False):
        loss = supcon(torch.nn.functional.normalize(vectors(model, rows), dim=1), together, TEMPERATURE)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        schedule.step()
        yield loss.item()


def main() -> None:
    """Measure, train, measure again."""
    arguments = options()
    names = ", ".join(path.name for path in arguments.documents)
    print(f"{platform.machine()}, {torch.get_num_threads()} threads; {names}; one run, seed {arguments.seed}")
    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    data = read_data(arguments.documents)
    numbers, pairs = data.numbers(), read_pairs(arguments.pairs, data.numbers())
    positives, backbone = Positives.of(data), load_backbone(arguments.backbone)
    labelled = [(numbers[pair.a], numbers[pair.b], pair.related) for pair in pairs]
    held = sorted({number for a, b, _ in labelled for number in (a, b)})
    store = chunk_documents([item.document for item in data.documents], backbone.tokenizer, 512)
    model = bert(backbone, arguments.layers)
    rows: list[dict[str, object]] = []

    def report(step: int, loss: float) -> None:
        areas = measure(document_means(model, store, held, arguments.windows), data, labelled)
        rows.append({"step": step, "loss": loss, **areas})
        shown = "  ".join(f"{key} {value:.3f}" for key, value in areas.items())
        print(f"step {step}  loss {loss:.3f}  {shown}", flush=True)
        if arguments.output:
            arguments.output.write_text(json.dumps(vars(arguments) | {"rows": rows}, default=str, indent=1))

    report(0, float("nan"))
    training = split_by_pairs(data, pairs).training.tolist()
    documents = batches(data, positives, training, arguments.batch_pairs, rng)
    source = (draw(chosen, store, positives, rng) for chosen in documents)
    losses: list[float] = []
    for loss in train(model, source, arguments.steps, arguments.learning_rate):
        losses.append(loss)
        if len(losses) % arguments.every == 0:
            report(len(losses), float(np.mean(losses[-arguments.every :])))


if __name__ == "__main__":
    main()
