"""The functions of the package: those of a model that is kept for the process."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from colde_cli.model_api import Model, dupes, open_index, verify
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.sources import Options, Result, read

_KEPT = Model()
"""The model of these functions."""


def _of_kept(method: Callable[Options, Result]) -> Callable[Options, Result]:
    """A method of the model that is kept, or of the one that `model` and so on name, as in earlier versions."""

    @wraps(method)
    def call(*given: Options.args, **named: Options.kwargs) -> Result:
        names = ("encoder", "model", "device", "precision", "threads", "cache")
        choice: dict[str, Any] = {name: named.pop(name) for name in names if name in named}
        if not choice:
            return method(*given, **named)
        model, encoder = choice.pop("model", DEFAULT_MODEL), choice.pop("encoder", None)
        if encoder is not None:
            model = encoder if hasattr(encoder, "encode_many") else encoder()
        model = model if isinstance(model, Model) else Model(model, **choice)
        bound: Callable[Options, Result] = getattr(model, method.__name__)
        return bound(*given, **named)

    return call


adapt = _of_kept(_KEPT.adapt)
clusters = _of_kept(_KEPT.clusters)
comments = _of_kept(_KEPT.comments)
compare = _of_kept(_KEPT.compare)
compare_folders = _of_kept(_KEPT.compare_folders)
encode = _of_kept(_KEPT.encode)
history = _of_kept(_KEPT.history)
index = _of_kept(_KEPT.index)
merge = _of_kept(_KEPT.merge)
rank = _of_kept(_KEPT.rank)

__all__ = [
    "adapt",
    "clusters",
    "comments",
    "compare",
    "compare_folders",
    "dupes",
    "encode",
    "history",
    "index",
    "merge",
    "open_index",
    "rank",
    "read",
    "verify",
]
