"""The losses of all systems: functions of vectors and of which rows belong together."""

from __future__ import annotations

from typing import Literal, NamedTuple

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
    """Mean loss of the anchors that have a positive, among unit vectors [R, D]; 0 if none has.

    The paper prints the sum. The mean has the same minimum and a learning rate that does not depend on the
    size of the batch.
    """
    return contrast(cosines(vectors, vectors), positives, temperature, variant)


def supcon_of_scores(
    scores: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon"
) -> tuple[Tensor, Tensor]:
    """The loss of every anchor that has a positive.

    L_i = -1/|P(i)| Σ_{j in P(i)} log( exp(s_ij/τ) / Σ_{k != i} exp(s_ik/τ) )

    CoLDE's text says that the denominator sums negatives; its equation sums all k != i, which is followed here.
    "sincere" (SINCERE, Feeney & Hughes 2023) keeps only j itself and the negatives in it, so that positives do not
    push one another away. Neither is scaled by a base temperature.

    Args:
        scores: s, [R, C], such as the cosines of R vectors. Columns past the first R belong to others than the
            anchors: to a memory bank.
        positives: bool [R, C], symmetric in the first R columns; their diagonal is ignored.
        temperature: τ; 0.5 in the paper.
        variant: of the denominator.

    Returns:
        Losses [R] (0 where an anchor has no positive) and the mask bool [R] of anchors that have one.
    """
    own = torch.eye(*scores.shape, dtype=torch.bool, device=scores.device)
    positives = positives & ~own
    scores = scores / temperature
    lowest = torch.finfo(scores.dtype).min
    if variant == "sincere":
        negatives = scores.masked_fill(positives | own, lowest).logsumexp(1, keepdim=True)
        normaliser = torch.logaddexp(scores, negatives)
    else:
        normaliser = scores.masked_fill(own, lowest).logsumexp(1, keepdim=True)
    counts = positives.sum(1)
    losses = (normaliser - scores).masked_fill(~positives, 0.0).sum(1) / counts.clamp(min=1)
    return losses, counts > 0


CHUNK_TEMPERATURE = 0.05
MEAN_TEMPERATURE = 0.07


class ChunkRows(NamedTuple):
    """The centred chunk vectors of B documents of up to C chunks.

    Attributes:
        vectors: [B, C, H]; what lies past a document's chunks is ignored.
        shares: [B, C], the share of each chunk in its document, 0 past its chunks; rows sum to 1.
    """

    vectors: Tensor
    shares: Tensor

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

    Args:
        rows: B documents a.
        columns: M documents b.
        sharpness: t.

    Returns:
        [B, M], in [-1, 1] but for rounding.
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
    return cosines(*(_unit_means(side) for side in (rows, columns)))


def _unit_means(rows: ChunkRows) -> Tensor:
    return functional.normalize((rows.vectors * (rows.shares > 0)[:, :, None]).sum(1), dim=-1)


def contrast(scores: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon") -> Tensor:
    """SupCon on scores of pairs: the mean over anchors with a positive; 0 if none has.

    Args:
        scores: [R, C], of R anchors with themselves and with C - R others.
        positives: bool [R, C]; the diagonal is ignored.
        temperature: τ.
        variant: of the denominator.
    """
    losses, valid = supcon_of_scores(scores, positives, temperature, variant)
    return losses.sum() / valid.sum().clamp(min=1)


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


def elongation_loss(
    vectors: Tensor, tiled: Tensor, positives: Tensor, temperature: float = ELONGATION_TEMPERATURE
) -> Tensor:
    """L_len: InfoNCE between sections and their repetitions (LA(SER)³).

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


ALPHA = 6.0
"""Scale of the cosine: SMITH's constant."""
_LARGEST_SCALE = 1000.0


class PairLoss(nn.Module):
    """BCE(σ(α cos(s, t) + β), y), the mean over pairs; α = 6 and β = 0 unless `start_at` or training changes them.

    What is learnt is a gain g and a shift h of the logits: α = g·α₀ and β = g·β₀ + h. They begin at 1 and 0 whatever α₀
    and β₀ are, so that one learning rate fits cosines of any spread.

    Attributes:
        learning_rate: of gain and shift; read by `loop.parameter_groups`.
    """

    start: Tensor

    def __init__(self, learnt: bool = True, learning_rate: float = 0.01) -> None:
        """Learn gain and shift, or keep α = 6 and β = 0, as SMITH and MatchBERT do."""
        super().__init__()
        self.learning_rate = learning_rate
        self.gain = nn.Parameter(torch.tensor(1.0), requires_grad=learnt)
        self.shift = nn.Parameter(torch.tensor(0.0), requires_grad=learnt)
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
        """Compute the loss of B pairs.

        Args:
            left: [B, D], vectors of the first documents.
            right: [B, D], of the second.
            related: [B], 1 for pairs that belong together and 0 for others.

        Returns:
            A scalar.
        """
        cosines = functional.cosine_similarity(left.float(), right.float(), dim=-1)
        return functional.binary_cross_entropy_with_logits(self.alpha * cosines + self.beta, related.float())


def block_means(losses: Tensor, blocks: Tensor) -> Tensor:
    """L_wp: the mean over blocks of the mean over each block's hidden words (SMITH).

    Args:
        losses: [N], cross-entropy of every hidden word.
        blocks: int64 [N], the block of each word; blocks without a hidden word do not count.

    Returns:
        A scalar, 0 if there is no word.
    """
    counts = blocks.bincount()
    return (losses / counts[blocks]).sum() / (counts > 0).sum().clamp(min=1)


def masked_block_loss(predictions: Tensor, blocks: Tensor) -> Tensor:
    """L_sp = -1/B Σ_i log( exp(ŝ_i·h_i) / Σ_j exp(ŝ_i·h_j) ), j over the hidden blocks of the batch (SMITH).

    Args:
        predictions: Ŝ [B, H], the document Transformer's output where a block is hidden.
        blocks: h [B, H], the vectors that are hidden, in the same order.

    Returns:
        A scalar, at least 0; 0 if nothing is hidden.
    """
    with torch.autocast(predictions.device.type, enabled=False):
        logits = predictions.float() @ blocks.float().T
        if not len(logits):
            return logits.sum()
        return functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
