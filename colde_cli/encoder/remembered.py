"""Vectors through the cache: what it knows is not computed again, and what is computed it knows afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.cache import Cache

FloatArray = NDArray[np.float32]
Item = TypeVar("Item")


def remembered(
    keys: Sequence[bytes],
    items: Sequence[Item],
    cache: Cache | None,
    compute: Callable[[list[Item]], Sequence[FloatArray]],
    progress: Callable[[int], None] | None,
    block_size: int,
) -> dict[bytes, FloatArray]:
    """The vector of every key; of items that share a key, one is computed.

    Args:
        keys: by which the cache knows the items.
        items: as many.
        cache: None remembers nothing.
        compute: vectors of items, in their order; it reports what it has done itself.
        progress: told of the number of items that need not be computed.
        block_size: items computed before the cache is told of them: a run that is stopped loses no more.
    """
    known = cache.get(list(dict.fromkeys(keys))) if cache is not None else {}
    vectors = {key: np.frombuffer(value, np.float32) for key, value in known.items()}
    missing = {key: item for key, item in zip(keys, items, strict=True) if key not in vectors}
    if progress is not None and len(keys) > len(missing):
        progress(len(keys) - len(missing))
    waiting = list(missing.items())
    for start in range(0, len(waiting), block_size):
        block = dict(waiting[start : start + block_size])
        found = dict(zip(block, compute(list(block.values())), strict=True))
        if cache is not None:
            cache.put({key: vector.tobytes() for key, vector in found.items()})
        vectors.update(found)
    return vectors
