"""The memory bank recalls what was shown lately, and as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import torch

    from colde_cli.learning.colde_training import ChunkMemory
    from colde_cli.learning.losses import ChunkRows

pytestmark = pytest.mark.usefixtures("late_imports")

FILES = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def rows(count: int, chunks: int, seed: int) -> ChunkRows:
    generator = torch.Generator().manual_seed(seed)
    return ChunkRows(torch.randn(count, chunks, 4, generator=generator), torch.full((count, chunks), 1 / chunks))


@given(
    st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=6),
    st.sets(st.integers(0, 7), min_size=1, max_size=4),
    st.integers(1, 4),
)
@settings(deadline=None)
def test_only_recent_documents_of_the_files_at_hand_are_recalled(
    shown: list[set[int]], batch: set[int], batches: int
) -> None:
    memory = ChunkMemory(FILES, 3, 4, batches)
    for step, documents in enumerate(shown):
        memory.keep(np.array(sorted(documents)), rows(len(documents), 2, step), step)
    wanted = set().union(*shown[-batches:]) - batch
    wanted = {number for number in wanted if FILES[number] in FILES[list(batch)]}
    assert memory.recall(np.array(sorted(batch)), len(shown)).tolist() == sorted(wanted)


def test_a_document_has_the_vectors_of_its_last_turn() -> None:
    memory = ChunkMemory(FILES, 3, 4, 10)
    first, second = rows(2, 3, 0), rows(2, 2, 1)
    memory.keep(np.array([1, 5]), first, 0)
    memory.keep(np.array([5, 2]), second, 1)
    found = memory.rows(np.array([1, 5]))
    assert torch.equal(found.vectors[0], first.vectors[0].half().float())
    assert torch.equal(found.vectors[1, :2], second.vectors[0].half().float())
    assert not found.vectors[1, 2].any()
    assert found.shares[1].tolist() == [0.5, 0.5, 0]


def test_it_keeps_copies() -> None:
    memory = ChunkMemory(FILES, 2, 4, 10)
    given_rows = rows(1, 2, 0)
    memory.keep(np.array([3]), ChunkRows(given_rows.vectors.requires_grad_(), given_rows.shares), 0)
    before = memory.rows(np.array([3])).vectors
    with torch.no_grad():
        given_rows.vectors.zero_()
    assert torch.equal(memory.rows(np.array([3])).vectors, before)
    assert not memory.vectors.requires_grad
