"""Take a corpus without a query: group its documents, `dupes` and `clusters`, or learn its field, `adapt`.

They stand beside `api.rank`, and take a corpus as it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from colde_cli.api import index_of, open_index, opener
from colde_cli.errors import OptionError
from colde_cli.settings import DEFAULT_MODEL, profile_folder

# Models and arrays take a tenth of a second to import: only where they are used.
if TYPE_CHECKING:
    from colde_cli.api import OpenModel
    from colde_cli.corpus.duplicates import Families
    from colde_cli.corpus.finding import Skipped
    from colde_cli.corpus.index_reader import Index
    from colde_cli.corpus.subjects import Clusters
    from colde_cli.encoder.cache import Cache
    from colde_cli.encoder.encoding import DocumentEncoder
    from colde_cli.encoder.runtime import Progress
    from colde_cli.scoring.profile import Field, FieldProfile


def dupes(
    corpus: str | Path | Sequence[str | Path],
    *,
    min_share: float = 0.4,
    min_contained: float = 0.8,
    glob: str | None = None,
    password: str | None = None,
    progress: Progress | None = None,
) -> Families:
    """Find copies, near-duplicates and versions of one document among many, and documents that stand in others.

    Only texts are read; no model is needed. Files that cannot be read are listed in `Families.skipped`.

    Args:
        corpus: as for `rank`.
        min_share: of the words of each of two versions that stand in the other, in (0, 1].
        min_contained: of the words of a part that stand in the longer document, in (0, 1].
        glob, password: as for `rank`.
        progress: called with the number of files just done.

    Raises:
        DocumentError: a folder or file of the corpus does not exist.
        OptionError: there is no document in the corpus, or an option is not valid.
        BadIndexError: the corpus is an index that is damaged, or of another model or version.
    """
    from colde_cli.corpus.duplicates import find_families
    from colde_cli.corpus.finding import Filter

    for name, share in (("min_share", min_share), ("min_contained", min_contained)):
        if not 0 < share <= 1:
            raise OptionError(f"{name} is {share:g}; give a share above 0 and up to 1, such as 0.4.")
    with _opened(corpus, glob, "compare in") as (documents, unlisted):
        found = find_families(
            documents,
            chosen=Filter(glob),
            min_share=min_share,
            min_contained=min_contained,
            password=password,
            progress=progress,
        )
    return replace(found, skipped=(*unlisted, *found.skipped))


def clusters(
    corpus: str | Path | Sequence[str | Path],
    *,
    min_score: float | None = None,
    resolution: float = 1.0,
    glob: str | None = None,
    field: str | Path | None = "corpus",
    password: str | None = None,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Clusters:
    """Group the documents of a corpus by subject; files that cannot be read are listed in `Clusters.skipped`.

    Args:
        corpus: as for `rank`.
        min_score: score from which two documents are neighbours; None takes that of the closest tenth of random pairs
            of the field, and without a field the model's threshold.
        resolution: above 1 makes more and smaller clusters.
        glob, field, password, cache: as for `rank`.
        encoder, model, device, precision, threads: as for `compare`.
        progress: called with the number of files just done.

    Raises:
        DocumentError: a folder or file of the corpus does not exist.
        ModelError, DeviceError: as for `compare`.
        OptionError: there is no document in the corpus, or an option is not valid.
        BadIndexError: the corpus is an index that is damaged, or of another model or version.
    """
    from colde_cli.corpus.finding import Filter
    from colde_cli.corpus.subjects import find_clusters
    from colde_cli.encoder.loading import open_field

    if resolution <= 0:
        raise OptionError(f"resolution is {resolution:g}; give a number above 0, such as 1.")
    opened = opener(encoder, model, device, precision, threads, cache)()
    chosen: Field | Literal["corpus"] | None = None
    if field is not None:
        chosen = "corpus" if field == "corpus" else open_field(field, opened)
    with _opened(corpus, glob, "group in") as (documents, unlisted):
        found = find_clusters(
            documents,
            opened,
            chosen=Filter(glob),
            min_score=min_score,
            resolution=resolution,
            password=password,
            field=chosen,
            progress=progress,
        )
    return replace(found, skipped=(*unlisted, *found.skipped))


@contextmanager
def _opened(
    corpus: str | Path | Sequence[str | Path], glob: str | None, purpose: str
) -> Iterator[tuple[Sequence[Path] | Index, tuple[Skipped, ...]]]:
    """The files of a corpus, with the folders that cannot be listed; or the index that it is, open."""
    from colde_cli.corpus.finding import find_files
    from colde_cli.corpus.publishing import local_places

    places = local_places(corpus)
    index = index_of(places)
    if index is None:
        yield find_files(places, glob, purpose)
    else:
        with open_index(index) as opened:
            yield opened, ()


def adapt(
    documents: str | Path | Sequence[str | Path],
    name_or_folder: str | Path,
    *,
    glob: str | None = None,
    password: str | None = None,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Adaptation:
    """Learn the profile of a field from documents without labels, and save it.

    Args:
        documents: as the corpus of `rank`.
        name_or_folder: a name, by which `compare` and `rank` find the profile, or the path of a folder for it.
        glob, password, cache: as for `rank`.
        encoder, model, device, precision, threads: as for `compare`.
        progress: called with the number of files just done.

    Raises:
        DocumentError: none of the documents can be read, or a folder or file does not exist.
        ModelError, DeviceError: as for `compare`.
        OptionError: there is no document, the model can have no profiles, or the profile cannot be written.
    """
    from colde_cli.corpus.finding import find_files
    from colde_cli.corpus.pipeline import adapt_files
    from colde_cli.corpus.records import check_profile_folder, save_profile

    folder = profile_folder(name_or_folder)
    check_profile_folder(folder)
    files, unlisted = find_files(documents, glob, "learn from")
    opened = opener(encoder, model, device, precision, threads, cache)()
    profile, skipped = adapt_files(files, folder.name, opened, password=password, progress=progress)
    save_profile(profile, folder)
    return Adaptation(profile, folder, (*unlisted, *skipped))


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A field profile that was learned.

    Attributes:
        folder: where it is saved.
        skipped: folders that cannot be listed, and files that cannot be read.
    """

    profile: FieldProfile
    folder: Path
    skipped: tuple[Skipped, ...]
