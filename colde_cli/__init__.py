"""colde: compare long documents by meaning (CoLDE, the Contrastive Long Document Encoder).

    from colde_cli import Model

    model = Model("colde-minilm-l6", device="cpu")
    comparison = model.compare("a.pdf", "b.pdf")
    print(comparison.score, comparison.related)
    for hit in model.rank("a.pdf", "folder"):
        print(hit.rank, hit.score, hit.path)

The functions `compare`, `rank` and so on are those of a model that is kept for the process. docs/python.md shows more.
A name is imported when it is first used, so that `import colde_cli` costs nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # that of `typing`, whose import would take most of the time of this file
if TYPE_CHECKING:
    from typing import Any

    from colde_cli import errors, types
    from colde_cli.errors import ColdeError, DocumentError, ModelError, OptionError, PasswordError
    from colde_cli.model_api import (
        Model,
        adapt,
        clusters,
        comments,
        compare,
        compare_folders,
        dupes,
        encode,
        history,
        index,
        merge,
        open_index,
        rank,
        verify,
    )
    from colde_cli.settings import VERSION as __version__  # noqa: N811
    from colde_cli.similarity.sources import read
    from colde_cli.types import (
        Cache,
        Clusters,
        Comparison,
        Document,
        Encoding,
        Families,
        Filter,
        FolderComparison,
        History,
        IgnoreOptions,
        Index,
        Ranking,
        State,
        Verification,
    )

# ONNX Runtime from 1.29 on sends Microsoft what it runs, and keeps a number of the machine in the user's cache, unless
# this is set before it is imported. Nothing leaves the computer.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__all__ = [
    "Cache",
    "Clusters",
    "ColdeError",
    "Comparison",
    "Document",
    "DocumentError",
    "Encoding",
    "Families",
    "Filter",
    "FolderComparison",
    "History",
    "IgnoreOptions",
    "Index",
    "Model",
    "ModelError",
    "OptionError",
    "PasswordError",
    "Ranking",
    "State",
    "Verification",
    "__version__",
    "adapt",
    "clusters",
    "comments",
    "compare",
    "compare_folders",
    "dupes",
    "encode",
    "errors",
    "history",
    "index",
    "merge",
    "open_index",
    "rank",
    "read",
    "types",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a public name may be of any type
    """Import the module that defines a name when the name is first used (PEP 562)."""
    from importlib import import_module  # takes a moment, in which Ctrl-C would print a traceback

    if name in ("errors", "types"):
        return import_module(f"colde_cli.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value = import_module("colde_cli.settings").VERSION
    else:
        home = "errors" if name.endswith("Error") else "types" if name[0].isupper() and name != "Model" else "model_api"
        value = getattr(import_module(f"colde_cli.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
