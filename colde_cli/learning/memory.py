"""A memory bank: the chunk vectors that documents had when they were last shown, as further contrast.

A batch on a CPU holds a dozen documents, and most of them are soon told apart. Vectors of earlier batches cost no pass
through BERT (Wu et al. 2018, §3.2). They are stale by a few updates, and get no gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from colde_cli.learning.losses import ChunkRows


class ChunkMemory:
    """Keeps the chunk vectors of N documents, fp16."""

    def __init__(self, files: NDArray[np.int64], most: int, hidden: int, batches: int) -> None:
        """Keep up to `most` vectors a document, and recall those of the last `batches` batches.

        Args:
            files: int64 [N], the file of each document.
            most: the most chunks of a document that are shown.
            hidden: size of a chunk vector.
            batches: how old a vector may be.
        """
        self._files, self._batches = files, batches
        self.vectors = torch.zeros(len(files), most, hidden, dtype=torch.float16)
        self.shares = torch.zeros(len(files), most)
        self.shown = torch.full((len(files),), -1)
        """The step at which each document was last shown, -1 for never."""

    def recall(self, batch: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        """Return the other documents that were shown lately and come from the files of this batch, ascending."""
        shown = self.shown.numpy()
        recent = (shown >= 0) & (shown >= step - self._batches)
        recent &= np.isin(self._files, self._files[batch])
        recent[batch] = False
        return np.flatnonzero(recent)

    def rows(self, documents: NDArray[np.int64]) -> ChunkRows:
        """Return the vectors of documents, not centred."""
        chosen = torch.from_numpy(documents)
        return ChunkRows(self.vectors[chosen].float(), self.shares[chosen])

    def keep(self, batch: NDArray[np.int64], rows: ChunkRows, step: int) -> None:
        """Take the vectors of a batch, not centred, in the place of those that its documents had."""
        documents, most = torch.from_numpy(batch), rows.shares.shape[1]
        for table, values in ((self.vectors, rows.vectors), (self.shares, rows.shares)):
            table[documents] = 0
            table[documents, :most] = values.detach().to("cpu", table.dtype)
        self.shown[documents] = step

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold; not copies."""
        return {"memory.vectors": self.vectors, "memory.shares": self.shares, "memory.shown": self.shown}
