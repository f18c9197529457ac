"""colde: compare long documents by meaning (CoLDE, the Contrastive Long Document Encoder).

    from colde_cli import compare, rank

    comparison = compare("a.pdf", "b.pdf")
    print(comparison.score, comparison.related)
    for hit in rank("a.pdf", "folder").results:
        print(hit.rank, hit.score, hit.path)

docs/python.md shows more. A name is imported when it is first used, so that `import colde_cli` costs nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # that of `typing`, whose import would take most of the time of this file
if TYPE_CHECKING:
    from typing import Any

    from colde_cli.api import (
        Pair,
        ReadOptions,
        Search,
        compare,
        encode,
        index,
        open_index,
        open_pair,
        open_search,
        rank,
        read,
    )
    from colde_cli.corpus.duplicates import Closest, Containment, Families, Family, Member, Relation
    from colde_cli.corpus.finding import Filter, Skipped, find_files, is_index
    from colde_cli.corpus.folder_pairs import FileChange, FileState, FolderComparison
    from colde_cli.corpus.index_reader import Index, IndexedDocument
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.rank_corpus import HalfRead, Hit, Match, MatchedSection, Ranking, rank_files
    from colde_cli.corpus.subjects import Cluster, ClusterMember, Clusters
    from colde_cli.documents.document import Chunk, Document, Ignored, ReadReport, Section, SectionKind, Span
    from colde_cli.documents.outside import OutsideKind, OutsideText, PartKind, UnreadPart
    from colde_cli.documents.passages import Passage
    from colde_cli.documents.selection import select
    from colde_cli.encoder.cache import Cache
    from colde_cli.encoder.encoder import Encoder
    from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo
    from colde_cli.encoder.loading import open_encoder
    from colde_cli.errors import (
        BadIndexError,
        ClusterError,
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
        PartlyReadError,
        PasswordError,
        RemoteError,
        RequestError,
        UnsupportedFormatError,
    )
    from colde_cli.grouping import Adaptation, adapt, clusters, dupes
    from colde_cli.scoring.lexicon import Terms
    from colde_cli.scoring.profile import FieldInfo, FieldProfile
    from colde_cli.scoring.score import ScorePart
    from colde_cli.similarity.boilerplate import Boilerplate
    from colde_cli.similarity.comparison import ChunkMatch, Comparison, compare_encodings
    from colde_cli.similarity.digest import ComparisonDigest
    from colde_cli.similarity.flags import Flag
    from colde_cli.similarity.history import History, SectionHistory, SectionStep
    from colde_cli.similarity.mentions import FlagKind
    from colde_cli.similarity.outside import OutsideChange, OutsideComparison, Uncompared, ignoring
    from colde_cli.similarity.pairs import Alignment, Extent, PassagePair, State, extents
    from colde_cli.similarity.redline import Edit, IgnoreOptions
    from colde_cli.similarity.section_changes import Outline, SectionChange, SectionState
    from colde_cli.similarity.verification import Allowed, Verification
    from colde_cli.versions import compare_folders, history, verify

__version__ = "0.1.0"

# ONNX Runtime from 1.29 on sends Microsoft what it runs, and keeps a number of the machine in the user's cache, unless
# this is set before it is imported. Nothing leaves the computer.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__all__ = [
    "Adaptation",
    "Alignment",
    "Allowed",
    "BadIndexError",
    "Boilerplate",
    "Cache",
    "Chunk",
    "ChunkMatch",
    "Closest",
    "Cluster",
    "ClusterError",
    "ClusterMember",
    "Clusters",
    "ColdeError",
    "Comparison",
    "ComparisonDigest",
    "Containment",
    "CorruptFileError",
    "DataError",
    "DeviceError",
    "Document",
    "DocumentEncoder",
    "DocumentError",
    "Edit",
    "Encoder",
    "Encoding",
    "Extent",
    "Families",
    "Family",
    "FieldInfo",
    "FieldProfile",
    "FileChange",
    "FileState",
    "Filter",
    "Flag",
    "FlagKind",
    "FolderComparison",
    "HalfRead",
    "History",
    "Hit",
    "IgnoreOptions",
    "Ignored",
    "Index",
    "IndexUpdate",
    "IndexedDocument",
    "LimitError",
    "Match",
    "MatchedSection",
    "Member",
    "MissingExtraError",
    "MissingFileError",
    "ModelError",
    "NoTextError",
    "OptionError",
    "Outline",
    "OutsideChange",
    "OutsideComparison",
    "OutsideKind",
    "OutsideText",
    "Pair",
    "PartKind",
    "PartlyReadError",
    "Passage",
    "PassagePair",
    "PasswordError",
    "Ranking",
    "ReadOptions",
    "ReadReport",
    "Relation",
    "RemoteError",
    "RequestError",
    "RuntimeInfo",
    "ScorePart",
    "Search",
    "Section",
    "SectionChange",
    "SectionHistory",
    "SectionKind",
    "SectionState",
    "SectionStep",
    "Skipped",
    "Span",
    "State",
    "Terms",
    "Uncompared",
    "UnreadPart",
    "UnsupportedFormatError",
    "Verification",
    "__version__",
    "adapt",
    "clusters",
    "compare",
    "compare_encodings",
    "compare_folders",
    "dupes",
    "encode",
    "extents",
    "find_files",
    "history",
    "ignoring",
    "index",
    "is_index",
    "open_encoder",
    "open_index",
    "open_pair",
    "open_search",
    "rank",
    "rank_files",
    "read",
    "select",
    "verify",
]

_MODULES = {
    "api": (
        "compare",
        "index",
        "open_index",
        "encode",
        "open_pair",
        "open_search",
        "Pair",
        "rank",
        "read",
        "ReadOptions",
        "Search",
    ),
    "corpus.subjects": ("Cluster", "ClusterMember", "Clusters"),
    "corpus.finding": ("Filter", "Skipped", "find_files", "is_index"),
    "corpus.duplicates": ("Closest", "Containment", "Families", "Family", "Member", "Relation"),
    "corpus.folder_pairs": ("FileChange", "FileState", "FolderComparison"),
    "corpus.index_reader": ("Index", "IndexedDocument"),
    "corpus.index_update": ("IndexUpdate",),
    "corpus.rank_corpus": (
        "HalfRead",
        "Hit",
        "Match",
        "MatchedSection",
        "Ranking",
        "rank_files",
    ),
    "documents.document": (
        "Chunk",
        "Document",
        "Ignored",
        "ReadReport",
        "Section",
        "SectionKind",
        "Span",
    ),
    "documents.outside": ("OutsideKind", "OutsideText", "PartKind", "UnreadPart"),
    "documents.passages": ("Passage",),
    "documents.selection": ("select",),
    "encoder.cache": ("Cache",),
    "encoder.encoder": ("Encoder",),
    "encoder.encoding": ("DocumentEncoder", "Encoding", "RuntimeInfo"),
    "encoder.loading": ("open_encoder",),
    "errors": (
        "BadIndexError",
        "ClusterError",
        "ColdeError",
        "CorruptFileError",
        "DataError",
        "DeviceError",
        "DocumentError",
        "LimitError",
        "MissingExtraError",
        "MissingFileError",
        "ModelError",
        "NoTextError",
        "OptionError",
        "PartlyReadError",
        "PasswordError",
        "RemoteError",
        "RequestError",
        "UnsupportedFormatError",
    ),
    "grouping": ("adapt", "Adaptation", "clusters", "dupes"),
    "scoring.lexicon": ("Terms",),
    "scoring.profile": ("FieldInfo", "FieldProfile"),
    "scoring.score": ("ScorePart",),
    "similarity.alignment": (
        "Alignment",
        "Extent",
        "extents",
        "PassagePair",
        "State",
    ),
    "similarity.boilerplate": ("Boilerplate",),
    "similarity.comparison": (
        "ChunkMatch",
        "compare_encodings",
        "Comparison",
    ),
    "similarity.digest": ("ComparisonDigest",),
    "similarity.history": ("History", "SectionHistory", "SectionStep"),
    "similarity.flags": ("Flag",),
    "similarity.mentions": ("FlagKind",),
    "similarity.outside": ("OutsideChange", "OutsideComparison", "Uncompared", "ignoring"),
    "similarity.redline": ("Edit", "IgnoreOptions"),
    "similarity.section_changes": (
        "Outline",
        "SectionChange",
        "SectionState",
    ),
    "similarity.verification": ("Allowed", "Verification"),
    "versions": ("compare_folders", "history", "verify"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a public name may be of any type
    """Import the module that defines a public name when the name is first used (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # takes a moment, in which Ctrl-C would print a traceback

    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
