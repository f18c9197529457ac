"""A smaller chunk encoder, taught by a larger one: some of its layers, and what the whole says of unlabelled texts.

A student begins as the given layers of its teacher, with the embeddings, which stay (DistilBERT, Sanh et al. 2019). It
learns from chunks of the training documents, without labels: the chunk vectors, and these as they are compared, by
turns within their field (`scoring.whitening`) and as in a field that the model does not know, centred alone; the
products of chunk vectors (relational distillation, Park et al. 2019), the nearest most, which a soft maximum hears; and
the hidden states of the layers between (TinyBERT, Jiao et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from colde_cli.errors import OptionError
from colde_cli.learning.augmentation import Needed
from colde_cli.learning.colde import ChunkEncoder, Colde
from colde_cli.learning.gradient_cache import TrainedChunks, micro_batches
from colde_cli.learning.loop import Learner, Task
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.tokens import ChunkStore
from colde_cli.scoring.whitening import Whitening, covariance_of, isotropic, mean_of_means

_LAYERS = ".encoder.layer."
_BATCHES = 256
"""Batches of an epoch; every epoch draws its own."""
_SORTED = 16
"""Batches that are cut from one draw of chunks, sorted by length: chunks of one length pad one another little."""
_SAMPLE = 640
"""Chunks of a field from whose vectors the teacher's centre and covariance are learned."""
_BANK = 768
"""Earlier chunks of a field that those of a batch are compared with."""
_VALIDATED = 8
"""Chunks of a validation document, spread over it."""
_COSINE, _COMPARED, _PRODUCTS, _STATES, _INNER = 2.0, 2.0, 10.0, 0.5, 0.5
"""Weights of the four losses, and that of an inner layer beside the last."""
_NEAR = 4.0
"""How much more the product of two vectors weighs for each unit that it is above 0."""


def student_of(teacher: Colde, layers: Sequence[int]) -> Colde:
    """The model with these layers of its BERT alone, counted from 0; only they require gradients.

    Raises:
        OptionError: the teacher lacks a layer.
    """
    config = teacher.config
    there = len(teacher.encoder.bert.encoder.layer)
    if any(not 0 <= layer < there for layer in layers) or list(layers) != sorted({*layers}):
        raise OptionError(f"student_layers must rise from 0 at least to {there - 1} at most.")
    student = Colde(replace(config, backbone=config.backbone | {"num_hidden_layers": len(layers)}))
    weights = {name: tensor for name, tensor in teacher.state_dict().items() if _LAYERS not in name}
    for new, old in enumerate(layers):
        layer = teacher.encoder.bert.encoder.layer[old]
        weights |= {f"encoder.bert{_LAYERS}{new}.{name}": tensor for name, tensor in layer.state_dict().items()}
    student.load_state_dict(weights)
    student.requires_grad_(False).encoder.train_only(len(layers))
    return student.eval()


def state_loss(own: Sequence[Tensor], told: Sequence[Tensor], mask: Tensor) -> Tensor:
    """Squared difference of the states [n, L, H] of layers, in units of the teacher's variance, without padding."""
    kept, losses = mask.unsqueeze(-1).float(), []
    for layer, (one, other) in enumerate(zip(own, told, strict=True), 1):
        squares = ((one.float() - other.float()).square() * kept).sum() / (kept.sum() * one.shape[-1])
        losses.append((1.0 if layer == len(own) else _INNER) * squares / other.float().var())
    return torch.stack(losses).sum()


class FieldSpace:
    """The map under which chunk vectors of a field are compared, `scoring.whitening.Whitening`, for PyTorch."""

    def __init__(self, whitening: Whitening, device: torch.device) -> None:
        arrays = (whitening.centre, whitening.directions, whitening.gains - 1)
        self._centre, self._directions, self._gains = (torch.from_numpy(array).to(device) for array in arrays)

    def __call__(self, vectors: Tensor) -> Tensor:
        """Map vectors [n, H]; the result has unit length."""
        centred = vectors - self._centre
        return functional.normalize(centred + (centred @ self._directions.T * self._gains) @ self._directions, dim=-1)


class StudentLearner(Learner):
    """How a student learns from a batch of chunks of one field."""

    network: Colde

    def __init__(
        self,
        network: Colde,
        teacher: ChunkEncoder,
        source: TrainedChunks,
        task: Task[ChunkStore],
        recipe: Recipe,
        device: torch.device,
    ) -> None:
        """Teach `network` what `teacher` says; `source` gives its own vectors, for validation."""
        self.network, self.source, self.task, self.recipe, self.device = network, source, task, recipe, device
        numeric = torch.bfloat16 if recipe.precision == "bf16" else torch.float32
        self._teacher = teacher.to(device, numeric).eval().requires_grad_(False)
        count, taught = len(recipe.student_layers), len(teacher.bert.encoder.layer)
        self._taught = [round(taught * (layer + 1) / count) for layer in range(count)]
        documents = np.repeat(np.arange(len(task.files)), np.diff(task.texts.documents))
        files = np.where(np.isin(documents, task.split.training), task.files[documents], -1)
        self._chunks = [np.flatnonzero(files == file) for file in range(int(task.files.max()) + 1)]
        known = {file: self._whitening(file) for file, chunks in enumerate(self._chunks) if len(chunks)}
        self._spaces = {file: FieldSpace(whitening, device) for file, whitening in known.items()}
        hidden = network.config.hidden_size
        centre = np.stack([whitening.centre for whitening in known.values()]).mean(axis=0, dtype=np.float64)
        self._unknown = FieldSpace(Whitening.learn(centre.astype(np.float32), isotropic(hidden)), device)
        self._bank = torch.zeros(len(self._chunks), 2, _BANK, hidden, device=device)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, as numbers of chunks; a field's share is the root of its number of chunks."""
        generator = np.random.default_rng([self.recipe.seed, 7, epoch])
        roots = np.sqrt([len(chunks) for chunks in self._chunks])
        size = self.recipe.batch_size
        drawn: list[NDArray[np.int64]] = []
        while len(drawn) < 4 * _BATCHES:
            chunks = self._chunks[generator.choice(len(roots), p=roots / roots.sum())]
            chosen = generator.choice(chunks, min(len(chunks), _SORTED * size), replace=False)
            order = chosen[np.argsort(self.task.texts.lengths_of(chosen), kind="stable")]
            drawn += [order[start : start + size] for start in range(0, len(order), size)]
        return [drawn[place] for place in generator.permutation(len(drawn))[:_BATCHES]]

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch of chunks to the weights, and return its loss."""
        field = int(self.task.files[np.searchsorted(self.task.texts.documents, batch[0], side="right") - 1])
        narrow = self.recipe.precision == "bf16"
        with torch.no_grad():
            told, taught, mask = self._run(self._teacher, batch)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=narrow):
            own, states, _ = self._run(self.network.encoder, batch)
        layers = [taught[layer] for layer in self._taught]
        loss = self._vector_loss(own, told, field, step % 2) + _STATES * state_loss(states[1:], layers, mask)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    def _run(self, encoder: ChunkEncoder, chunks: NDArray[np.int64]) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
        """Chunk vectors [n, H] of unit length, the states of all layers, and which tokens are none of padding."""
        tokens = [self.task.texts.tokens(int(chunk)) for chunk in chunks]
        longest = max(map(len, tokens))
        (batch,) = micro_batches(encoder, tokens, len(tokens) * longest)
        inputs = {name: tensor[batch.rows.argsort()] for name, tensor in batch.inputs.items()}
        output = encoder.bert(**inputs, output_hidden_states=True)
        mask = inputs.get("attention_mask")
        vectors = encoder.pooled(output.last_hidden_state, mask).float()
        whole = torch.ones_like(inputs["input_ids"]) if mask is None else mask
        return functional.normalize(vectors, dim=-1), output.hidden_states, whole

    def _vector_loss(self, own: Tensor, told: Tensor, field: int, known: int) -> Tensor:
        """What the chunk vectors differ in: themselves, as they are compared, and their products."""
        space = self._spaces[field] if known else self._unknown
        compared, wanted = space(own), space(told)
        bank = self._bank[field, known].clone()  # the graph of the loss holds it
        held = torch.cat([wanted, bank])
        products = wanted @ held.T
        nearness = 1 + _NEAR * products.clamp_min(0)
        squares = (compared @ held.T - products).square() * nearness / nearness.mean()
        own_squares = (compared @ compared.T - wanted @ wanted.T).square()
        cosines = _COSINE * (1 - (own * told).sum(1)).mean() + _COMPARED * (1 - (compared * wanted).sum(1)).mean()
        self._bank[field, known] = held[:_BANK]
        return cosines + _PRODUCTS * (squares.mean() + own_squares.mean())

    def _whitening(self, field: int) -> Whitening:
        """Learn the centre and the covariance of a field's chunk vectors, as the teacher has them."""
        generator = np.random.default_rng([self.recipe.seed, 8, field])
        chunks = self._chunks[field]
        sample = np.sort(generator.choice(chunks, min(len(chunks), _SAMPLE), replace=False))
        with torch.no_grad():
            parts = [self._run(self._teacher, part)[0] for part in np.array_split(sample, -(-len(sample) // 32))]
        rows = list(torch.cat(parts).cpu().numpy()[:, None])
        centre = mean_of_means(rows)
        return Whitening.learn(centre, covariance_of(rows, centre))

    @torch.no_grad()
    def scores(self) -> NDArray[np.float64]:
        """Return the cosine of the whitened means of every validation pair, from some chunks of each document."""
        self.network.eval()
        documents, pairs = np.unique(self.task.split.pairs, return_inverse=True)
        means = []
        for number in documents.tolist():
            chunks = self.task.texts.chunks_of(number)
            spread = chunks[np.unique(np.linspace(0, len(chunks) - 1, _VALIDATED).round().astype(np.int64))]
            zeros = np.zeros_like(spread)
            vectors = functional.normalize(self.source.vectors(Needed(spread, zeros, zeros, zeros[:, None])), dim=-1)
            space = self._spaces.get(int(self.task.files[number]), self._unknown)
            means.append(functional.normalize(space(vectors).mean(0), dim=0).cpu())
        table = torch.stack(means).double()
        left, right = pairs.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())

    def state(self) -> dict[str, Tensor]:
        """Return the weights of the layers."""
        return {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}

    def memory(self) -> dict[str, Tensor]:
        """Return the vectors of earlier batches."""
        return {"bank": self._bank}
