"""The losses of all systems: functions of vectors and of which rows belong together."""

from __future__ import annotations

from typing import NamedTuple

import torch
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
    """Mean of 1 - cos over positive pairs and of max(0, cos) over all others (CoLDE's ablation −CL).

    A batch holds far more negative than positive pairs; the two means weigh the same, as they do in the
    paper's balanced sets of pairs.

    Unit vectors [R, D] and positives bool [R, R], symmetric, whose diagonal is ignored, to a scalar in [0, 1.5]; a kind
    of pair that the batch lacks adds 0.
    """
    scores = cosines(vectors, vectors)
    attracted = positives & ~itself(vectors)
    repelled = ~positives & ~itself(vectors)
    attraction = ((1 - scores) * attracted).sum() / attracted.sum().clamp(min=1)
    repulsion = (scores.clamp(min=0) * repelled).sum() / repelled.sum().clamp(min=1)
    return (attraction + repulsion) / 2


def supcon(vectors: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """`contrast` of the cosines of unit vectors [R, D]."""
    return contrast(cosines(vectors, vectors), positives, temperature)


def contrast(scores: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """SupCon on scores of pairs: the mean over the anchors that have a positive; 0 if none has.

    L_i = -1/|P(i)| Σ_{j in P(i)} log( exp(s_ij/τ) / Σ_{k != i} exp(s_ik/τ) )

    CoLDE's text says that the denominator sums negatives; its equation sums all k != i, which is followed here. It is
    not scaled by a base temperature. The paper prints the sum over anchors; the mean has the same minimum and a
    learning rate that does not depend on the size of the batch.

    Args:
        scores: s, [R, C], such as the cosines of R vectors. Columns past the first R belong to others than the
            anchors: to a memory bank.
        positives: bool [R, C], symmetric in the first R columns; their diagonal is ignored.
        temperature: τ; 0.5 in the paper.
    """
    own = torch.eye(*scores.shape, dtype=torch.bool, device=scores.device)
    positives = positives & ~own
    scores = scores / temperature
    normaliser = scores.masked_fill(own, torch.finfo(scores.dtype).min).logsumexp(1, keepdim=True)
    counts = positives.sum(1)
    losses = (normaliser - scores).masked_fill(~positives, 0.0).sum(1) / counts.clamp(min=1)
    return losses.sum() / (counts > 0).sum().clamp(min=1)


CHUNK_TEMPERATURE = 0.05
MEAN_TEMPERATURE = 0.07


class ChunkRows(NamedTuple):
    """The centred chunk vectors of B documents of up to C chunks."""

    vectors: Tensor  # [B, C, H]; what lies past a document's chunks is ignored
    shares: Tensor  # [B, C], the share of each chunk in its document, 0 past its chunks; rows sum to 1

    def to(self, device: torch.device) -> ChunkRows:
        """The same on a device."""
        return ChunkRows(self.vectors.to(device), self.shares.to(device))

    def followed_by(self, others: ChunkRows) -> ChunkRows:
        """These documents, then the others."""
        most = max(self.shares.shape[1], others.shares.shape[1])
        parts = [ChunkRows(*(_widened(part, most) for part in rows)) for rows in (self, others)]
        return ChunkRows(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _widened(rows: Tensor, most: int) -> Tensor:
    """Pad the second dimension with zeros."""
    return functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, most - rows.shape[1]))


def soft_maximum_scores(rows: ChunkRows, columns: ChunkRows, sharpness: float) -> Tensor:
    """The chunk scores of documents with others, as `scoring.score` serves them.

    score(a, b) = (t log Σ_i s_i exp(max_j cos(a_i, b_j) / t) + the same from b to a) / 2

    B documents a and M documents b to [B, M], in [-1, 1] but for rounding; `sharpness` is t.
    """
    left, right = (functional.normalize(side.vectors, dim=-1).flatten(0, 1) for side in (rows, columns))
    table = cosines(left, right).view(*rows.shares.shape, *columns.shares.shape)
    lowest = torch.finfo(table.dtype).min
    nearest = table.masked_fill(columns.shares == 0, lowest).amax(3)
    forth = _soft_maximum(nearest, rows.shares[:, :, None], sharpness, 1)
    nearest = table.masked_fill((rows.shares == 0)[:, :, None, None], lowest).amax(1)
    return (forth + _soft_maximum(nearest, columns.shares, sharpness, 2)) / 2


def _soft_maximum(values: Tensor, shares: Tensor, sharpness: float, dimension: int) -> Tensor:
    return sharpness * (values / sharpness + shares.to(values.dtype).log()).logsumexp(dimension)


def mean_scores(rows: ChunkRows, columns: ChunkRows) -> Tensor:
    """The cosines of the mean chunk vectors of documents with those of others, [B, M]; all chunks weigh the same."""
    sums = [(side.vectors * (side.shares > 0)[:, :, None]).sum(1) for side in (rows, columns)]
    return cosines(*(functional.normalize(side, dim=-1) for side in sums))


TEMPERATURE = 0.05


def info_nce(anchors: Tensor, positives: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """-1/N Σ_i log( exp(a_i·p_i/τ) / Σ_j exp(a_i·p_j/τ) ) of unit vectors [N, D], row by row of the same documents."""
    scores = cosines(anchors, positives) / temperature
    return -scores.log_softmax(1).diagonal().mean()


ALPHA = 6.0
"""Scale of the cosine: SMITH's constant."""
_LARGEST_SCALE = 1000.0


class PairLoss(nn.Module):
    """BCE(σ(α cos(s, t) + β), y), the mean over pairs; α = 6 and β = 0 until `start_at` or training changes them.

    What is learnt is a gain g and a shift h of the logits: α = g·α₀ and β = g·β₀ + h. They begin at 1 and 0 whatever α₀
    and β₀ are, so that one learning rate, read by `loop.parameter_groups`, fits cosines of any spread.
    """

    start: Tensor
    learning_rate = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0))
        self.shift = nn.Parameter(torch.tensor(0.0))
        self.register_buffer("start", torch.tensor([ALPHA, 0.0]))

    @property
    def alpha(self) -> Tensor:
        """α, the scale of the cosine."""
        return self.gain * self.start[0]

    @property
    def beta(self) -> Tensor:
        """β, the logit of two documents at a right angle."""
        return self.gain * self.start[1] + self.shift

    @torch.no_grad()
    def start_at(self, scores: Tensor) -> None:
        """Choose α₀ and β₀ so that the logits of these cosines [P] have mean 0 and deviation 1; α₀ is 1,000 at most.

        Cosines of an untrained network lie close together, far from 0. From α = 6 and β = 0 the loss begins near 3, and
        hundreds of steps go by before it is below that of a constant.
        """
        scale = 1 / max(float(scores.std(correction=0)), 1 / _LARGEST_SCALE)
        self.start.copy_(torch.tensor([scale, -scale * float(scores.mean())]))

    def forward(self, left: Tensor, right: Tensor, related: Tensor) -> Tensor:
        """The loss of B pairs of vectors [B, D]; `related` [B] is 1 for those that belong together and 0 for others."""
        cosines = functional.cosine_similarity(left.float(), right.float(), dim=-1)
        return functional.binary_cross_entropy_with_logits(self.alpha * cosines + self.beta, related.float())


def block_means(losses: Tensor, blocks: Tensor) -> Tensor:
    """L_wp: the mean over blocks of the mean over each block's hidden words (SMITH).

    `losses` [N] are the cross-entropies of the hidden words, `blocks` int64 [N] the block of each; 0 without words.
    """
    counts = blocks.bincount()
    return (losses / counts[blocks]).sum() / (counts > 0).sum().clamp(min=1)


def masked_block_loss(predictions: Tensor, blocks: Tensor) -> Tensor:
    """L_sp = -1/B Σ_i log( exp(ŝ_i·h_i) / Σ_j exp(ŝ_i·h_j) ), j over the hidden blocks of the batch (SMITH).

    `predictions` Ŝ [B, H] are the document Transformer's output where a block is hidden, `blocks` h [B, H] the vectors
    that are hidden; 0 if nothing is.
    """
    with torch.autocast(predictions.device.type, enabled=False):
        logits = predictions.float() @ blocks.float().T
        if not len(logits):
            return logits.sum()
        return functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
