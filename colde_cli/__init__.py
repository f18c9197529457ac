"""colde: compare long documents by meaning (CoLDE, the Contrastive Long Document Encoder).

    from colde_cli import compare, open_encoder, read

    encoder = open_encoder()
    a, b = encoder.encode_many([read("a.pdf"), read("b.pdf")])
    print(compare(a, b, encoder).score)

Names are looked up when they are first used, so that `import colde_cli` costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colde_cli.corpus.collecting import Skipped
    from colde_cli.corpus.ranking import Hit, Match, Ranking, rank
    from colde_cli.documents.document import Chunk, Document, ReadReport, Section, SectionKind, Span
    from colde_cli.documents.passages import Passage
    from colde_cli.documents.reading import read
    from colde_cli.documents.selection import select
    from colde_cli.encoder.encoder import Encoder
    from colde_cli.encoder.loading import open_encoder
    from colde_cli.encoder.protocol import Encoding
    from colde_cli.errors import (
        ColdeError,
        CorruptFileError,
        DataError,
        DeviceError,
        DocumentError,
        LimitError,
        MissingExtraError,
        MissingFileError,
        ModelError,
        NoTextError,
        OptionError,
        PasswordError,
        UnsupportedFormatError,
    )
    from colde_cli.similarity.alignment import Alignment, PassagePair, State
    from colde_cli.similarity.boilerplate import Boilerplate
    from colde_cli.similarity.comparison import ChunkMatch, Comparison, compare
    from colde_cli.similarity.flags import Flag
    from colde_cli.similarity.section_changes import SectionChange
    from colde_cli.similarity.words import IgnoreOptions

__version__ = "0.1.0"

# ONNX Runtime from 1.29 on sends Microsoft what it runs, and keeps a number of the machine in the user's cache, unless
# this is set before it is imported. Nothing leaves the computer.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__all__ = [
    "Alignment",
    "Boilerplate",
    "Chunk",
    "ChunkMatch",
    "ColdeError",
    "Comparison",
    "CorruptFileError",
    "DataError",
    "DeviceError",
    "Document",
    "DocumentError",
    "Encoder",
    "Encoding",
    "Flag",
    "Hit",
    "IgnoreOptions",
    "LimitError",
    "Match",
    "MissingExtraError",
    "MissingFileError",
    "ModelError",
    "NoTextError",
    "OptionError",
    "Passage",
    "PassagePair",
    "PasswordError",
    "Ranking",
    "ReadReport",
    "Section",
    "SectionChange",
    "SectionKind",
    "Skipped",
    "Span",
    "State",
    "UnsupportedFormatError",
    "__version__",
    "compare",
    "open_encoder",
    "rank",
    "read",
    "select",
]

_HOMES = {
    "corpus.ranking": ("Hit", "Match", "Ranking", "rank"),
    "corpus.collecting": ("Skipped",),
    "documents.document": ("Chunk", "Document", "ReadReport", "Section", "SectionKind", "Span"),
    "documents.reading": ("read",),
    "documents.selection": ("select",),
    "encoder.encoder": ("Encoder",),
    "encoder.protocol": ("Encoding",),
    "encoder.loading": ("open_encoder",),
    "documents.passages": ("Passage",),
    "similarity.boilerplate": ("Boilerplate",),
    "similarity.words": ("IgnoreOptions",),
    "similarity.alignment": ("Alignment", "PassagePair", "State"),
    "similarity.flags": ("Flag",),
    "similarity.section_changes": ("SectionChange",),
    "similarity.comparison": ("ChunkMatch", "Comparison", "compare"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Import the module that holds a public name when the name is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
