"""The types of results and options, to annotate with and to look up: `help(colde_cli.types.PassagePair)`.

Importing this file imports models and arrays, so no other file of the package does; `colde_cli` imports it when a type
is first asked for.
"""

from __future__ import annotations

from colde_cli.corpus.duplicates import Closest, Containment, Families, Family, Member, Relation
from colde_cli.corpus.finding import Filter, HalfRead, Skipped, find_files, is_index, unlisted, walk
from colde_cli.corpus.folder_pairs import FileChange, FileState, FolderComparison
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_update import IndexUpdate
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.pipeline import Adaptation, CorpusReader, StageClock
from colde_cli.corpus.rank_corpus import Hit, Match, MatchedSection, Ranking, rank_files, rank_index
from colde_cli.corpus.ray_cluster import RayCluster
from colde_cli.corpus.reused_passages import PassagePlace, ReusedPassage
from colde_cli.corpus.stores import DocumentStore, IndexedDocument
from colde_cli.corpus.subjects import Cluster, ClusterMember, Clusters
from colde_cli.documents.document import Chunk, Document, Ignored, ReadReport, Section, SectionKind, Span
from colde_cli.documents.outside import OutsideKind, OutsideText, PartKind, UnreadPart
from colde_cli.documents.passages import Passage
from colde_cli.documents.remarks import Reply, ReviewRemark
from colde_cli.documents.sandbox import readers_that_end
from colde_cli.documents.selection import select
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import Field, FieldInfo, FieldProfile
from colde_cli.scoring.score import ScorePart
from colde_cli.similarity.answers import AnsweredRemark, Answers, Basis, RemarkVerdict
from colde_cli.similarity.boilerplate import Boilerplate
from colde_cli.similarity.comparison import ChunkMatch, Comparison, compare_encodings
from colde_cli.similarity.digest import ComparisonDigest
from colde_cli.similarity.history import History, SectionHistory, SectionStep
from colde_cli.similarity.mentions import Flag, FlagKind
from colde_cli.similarity.merging import Merge, MergeConflict, ReviewerEdit
from colde_cli.similarity.outside_changes import OutsideChange, OutsideComparison, Uncompared, ignoring
from colde_cli.similarity.pairs import Alignment, Extent, PassagePair, State, extents
from colde_cli.similarity.redline import Edit, IgnoreOptions
from colde_cli.similarity.section_changes import Outline, SectionChange, SectionState
from colde_cli.similarity.verification import Allowed, Verification
