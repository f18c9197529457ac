"""The losses: each a pure function of vectors and of what belongs together."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """Dot products of unit vectors, [R, D] and [K, D] to [R, K], at least in fp32 whatever autocast says.

    A temperature of 0.05 multiplies an error by 20: bf16's 0.004 would become 0.08 in an exponent.
    """
    with torch.autocast(left.device.type, enabled=False):
        wide = torch.promote_types(torch.promote_types(left.dtype, right.dtype), torch.float32)
        return left.to(wide) @ right.to(wide).T


def itself(rows: Tensor) -> Tensor:
    """Bool [R, R], True where a row meets itself."""
    return torch.eye(len(rows), dtype=torch.bool, device=rows.device)


def cosine_loss(vectors: Tensor, positives: Tensor) -> Tensor:
    """−CL: the mean of 1 - cos over positive pairs and of max(0, cos) over all others.

    A batch holds far more negative than positive pairs; the two means weigh the same, as they do in the
    paper's balanced sets of pairs.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.

    Returns:
        A scalar in [0, 1.5]; a kind of pair that the batch lacks adds 0.
    """
    scores = cosines(vectors, vectors)
    attracted = positives & ~itself(vectors)
    repelled = ~positives & ~itself(vectors)
    attraction = ((1 - scores) * attracted).sum() / attracted.sum().clamp(min=1)
    repulsion = (scores.clamp(min=0) * repelled).sum() / repelled.sum().clamp(min=1)
    return (attraction + repulsion) / 2


Variant = Literal["supcon", "sincere"]


def supcon(vectors: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon") -> Tensor:
    """Mean of `supcon_per_anchor` over the anchors that have a positive; 0 if none has.

    The paper prints the sum. The mean has the same minimum and a learning rate that does not depend on the
    size of the batch.
    """
    losses, valid = supcon_per_anchor(vectors, positives, temperature, variant)
    return losses.sum() / valid.sum().clamp(min=1)


def supcon_per_anchor(
    vectors: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon"
) -> tuple[Tensor, Tensor]:
    """The loss of every anchor that has a positive.

    L_i = -1/|P(i)| Σ_{j in P(i)} log( exp(z_i·z_j/τ) / Σ_{k != i} exp(z_i·z_k/τ) )

    CoLDE's text says that the denominator sums negatives; its equation sums all k != i, which is followed here.
    "sincere" (Feeney & Hughes 2023, eq. 6) keeps only j itself and the negatives in it, so that positives do not
    push one another away. Neither is scaled by a base temperature.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.
        temperature: τ; 0.5 in the paper.
        variant: which denominator.

    Returns:
        Losses [R] (0 where an anchor has no positive) and the mask bool [R] of anchors that have one.
    """
    own = itself(vectors)
    positives = positives & ~own
    scores = cosines(vectors, vectors) / temperature
    lowest = torch.finfo(scores.dtype).min
    if variant == "sincere":
        negatives = scores.masked_fill(positives | own, lowest).logsumexp(1, keepdim=True)
        normaliser = torch.logaddexp(scores, negatives)
    else:
        normaliser = scores.masked_fill(own, lowest).logsumexp(1, keepdim=True)
    counts = positives.sum(1)
    losses = (normaliser - scores).masked_fill(~positives, 0.0).sum(1) / counts.clamp(min=1)
    return losses, counts > 0


TEMPERATURE = 0.05


def info_nce(anchors: Tensor, positives: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """-1/N Σ_i log( exp(a_i·p_i/τ) / Σ_j exp(a_i·p_j/τ) ).

    Args:
        anchors: a [N, D], unit length.
        positives: p [N, D], unit length, row by row of the same documents.
        temperature: τ.

    Returns:
        A scalar, at least 0.
    """
    scores = cosines(anchors, positives) / temperature
    return -scores.log_softmax(1).diagonal().mean()


ELONGATION_TEMPERATURE = 0.05


def draw_times(chunks: int, maximum: int, rng: np.random.Generator) -> int:
    """How often a section is repeated: m ~ U{1..⌊maximum / chunks⌋}, or 1 if it is longer than that already.

    Args:
        chunks: of the section, at least 1.
        maximum: chunks that the repetition may have, K_max.
        rng: where the number comes from.
    """
    return int(rng.integers(1, max(1, maximum // chunks), endpoint=True))


def tile(rows: Tensor, times: int) -> Tensor:
    """f(S, m): rows [n, ...], in order, m times over -> [times * n, ...].

    For the chunk vectors of a section [n, H], and for their chunk numbers q [n], which copies keep.
    """
    return rows.repeat(times, *[1] * (rows.dim() - 1))


def elongation_loss(
    vectors: Tensor, tiled: Tensor, positives: Tensor, temperature: float = ELONGATION_TEMPERATURE
) -> Tensor:
    """L_len: InfoNCE between sections and their repetitions.

    -1/R Σ_i log( exp(z_i·z̃_i/τ) / Σ_{j = i or unrelated} exp(z_i·z̃_j/τ) )

    Documents with the same label are dropped from the denominator: SupCon draws them together, and this
    loss must not push them apart.

    Args:
        vectors: z [R, D], unit length.
        tiled: z̃ [R, D], unit length, row by row of the same sections.
        positives: bool [R, R], True for rows of one document or of related ones; the diagonal is ignored.
        temperature: τ_len.

    Returns:
        A scalar, at least 0.
    """
    scores = cosines(vectors, tiled) / temperature
    scores = scores.masked_fill(positives & ~itself(vectors), torch.finfo(scores.dtype).min)
    return -scores.log_softmax(1).diagonal().mean()


IntArray = NDArray[np.int64]
Pair = tuple[IntArray, IntArray]
"""Word pieces of anchor and positive, without specials."""
Repeat = Literal["random", "twice"]


def elongate(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> IntArray:
    """f(S, m): word pieces [n], cut to the capacity, in order, m times over: [m * n].

    Args:
        pieces: at least one, without specials: those are added once, after this.
        capacity: L_max - n_special; never exceeded.
        rng: where m comes from.
        repeat: m ~ U{1..⌊capacity / n⌋}, or always 2 where that fits (the paper's weaker variant).
    """
    kept = pieces[:capacity]
    bound = capacity // len(kept)
    times = min(2, bound) if repeat == "twice" else draw_times(len(kept), capacity, rng)
    return np.tile(kept, times)


def self_reference(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor S, positive f(S, m)."""
    return pieces[:capacity], elongate(pieces, capacity, rng, repeat)


def simcse(pieces: IntArray, capacity: int) -> Pair:
    """Anchor S, positive S, which another dropout mask makes another vector (Gao et al. 2021, §3)."""
    return pieces[:capacity], pieces[:capacity]


def intra_reference(
    sentence: IntArray, rest: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor f(a, m) for the sentence a, positive the beginning of the rest of the document.

    Args:
        sentence: word pieces of a, at least one.
        rest: of the document without a; where nothing is left, the sentence is its own positive.
        capacity: L_max - n_special.
        rng: where m comes from.
        repeat: how m is drawn.
    """
    positive = rest if len(rest) else sentence
    return elongate(sentence, capacity, rng, repeat), positive[:capacity]


def two_spans(length: int, starts: IntArray, capacity: int, rng: np.random.Generator) -> tuple[slice, slice]:
    """Two runs of text that begin with two different sentences drawn at random, and do not overlap.

    Args:
        length: word pieces of the document, at least 1.
        starts: int64 [s], where its sentences begin; a document of one sentence is cut in its middle.
        capacity: L_max - n_special.
        rng: where the choice comes from.

    Returns:
        Anchor and positive, either of which may come first in the document; both are the whole of a document
        of one word piece.
    """
    if length < 2:
        return slice(0, length), slice(0, length)
    places = starts if len(starts) > 1 else np.array([0, length // 2])
    first, second = np.sort(rng.choice(places, 2, replace=False)).tolist()
    spans = slice(first, min(second, first + capacity)), slice(second, min(length, second + capacity))
    return spans if rng.random() < 0.5 else (spans[1], spans[0])


ALPHA = 6.0
"""Scale of the cosine at the start: SMITH's constant."""


class PairLoss(nn.Module):
    """L = BCE(sigmoid(α cos(s, t) + β), y), mean over pairs; α = 6 and β = 0 at the start."""

    def __init__(self, learnt: bool = True) -> None:
        """With α and β learnt, or kept as SMITH and MatchBERT keep them."""
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(ALPHA), requires_grad=learnt)
        self.beta = nn.Parameter(torch.tensor(0.0), requires_grad=learnt)

    def forward(self, left: Tensor, right: Tensor, related: Tensor) -> Tensor:
        """The loss of B pairs.

        Args:
            left: [B, D], vectors of the first documents.
            right: [B, D], of the second.
            related: [B], 1 for pairs that belong together and 0 for others.

        Returns:
            A scalar.
        """
        cosines = functional.cosine_similarity(left.float(), right.float(), dim=-1)
        return functional.binary_cross_entropy_with_logits(self.alpha * cosines + self.beta, related.float())
