"""Versions of documents: the part of the front door for copies to verify, folders of versions, and histories.

`api.py` holds the part that compares two documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from colde_cli.api import ReadOptions, Source, open_pair, opener, read_both, with_warnings
from colde_cli.documents.appearance import settled
from colde_cli.documents.document import Document
from colde_cli.documents.reading import start_readers
from colde_cli.documents.sandbox import readers
from colde_cli.documents.selection import one_or_more, section_pattern, with_unmatched_patterns
from colde_cli.errors import DocumentError, OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions

if TYPE_CHECKING:
    from colde_cli.api import OpenModel
    from colde_cli.corpus.folder_pairs import FileChange, FilePair, FolderComparison
    from colde_cli.encoder.cache import Cache
    from colde_cli.encoder.encoding import DocumentEncoder, Encoding
    from colde_cli.encoder.runtime import Progress
    from colde_cli.scoring.profile import Field
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.history import History
    from colde_cli.similarity.verification import Verification

WHOLE = ReadOptions()
"""All of every document is read."""


def verify(
    a: Source,
    b: Source,
    allow: str | Sequence[str] = (),
    *,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    pages: tuple[int, int] | None = None,
    password: str | None = None,
) -> Verification:
    """Find what changed between two documents beside what is allowed; no model takes part.

    Args:
        a: the first document: a path, "-", or what `read` returned.
        b: the second.
        allow: what may change, one pattern or several; see `similarity.verification.verify_documents`.
        ignore: what counts as no difference; text of the documents in `ignore.like` is left out of both.
        pages, password: as for `read`, of both documents.

    Raises:
        DocumentError: a document cannot be read, or not whole.
        OptionError: a pattern is not valid, or the options do not fit the documents.
    """
    from colde_cli.similarity.verification import verify_documents

    first, second, _, _ = read_both(a, b, ReadOptions(password, pages), ignore, lambda: None)
    return verify_documents(first, second, allow, ignore)


def compare_folders(
    a: str | Path,
    b: str | Path,
    *,
    glob: str | None = None,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = None,
    read: ReadOptions = WHOLE,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    each: Callable[[FileChange, Comparison], None] | None = None,
    progress: Progress | None = None,
) -> FolderComparison:
    """Pair the documents of two folders and compare them, one pair at a time; files with the same bytes are not read.

    Args:
        a: the first folder.
        b: the second.
        glob: which files to take, relative to the folder.
        ignore, field: as for `compare`.
        read: which parts of the documents to read.
        encoder, model, device, precision, threads, cache: as for `compare`.
        each: called with every comparison, before it is forgotten.
        progress: called with the number of files just done.

    Raises:
        MissingFileError: a folder does not exist.
        ModelError, DeviceError, OptionError: as for `compare`.
    """
    from colde_cli.corpus.folder_pairs import FolderComparison, pair_files, worst_first

    for pattern in (*one_or_more(read.skip_sections), *one_or_more(read.only_sections)):
        section_pattern(pattern)  # an error before the work, not with every file
    opened = opener(encoder, model, device, precision, threads, cache)()
    folders = Path(a), Path(b)
    found = pair_files(*folders, glob, read.password)
    changes = []
    for pair in found.pairs:
        changes.append(_file_change(pair, folders, found.unread, opened, read, ignore, field, each))
        if progress is not None:
            progress(1)
    return FolderComparison(str(a), str(b), worst_first(changes), found.unlisted, opened.info, ignore)


def _file_change(
    pair: FilePair,
    folders: tuple[Path, Path],
    unread: Mapping[tuple[int, str], str],
    encoder: DocumentEncoder,
    read: ReadOptions,
    ignore: IgnoreOptions,
    field: str | Path | None,
    each: Callable[[FileChange, Comparison], None] | None,
) -> FileChange:
    """Compare a pair of files, if both exist and differ in a byte."""
    from colde_cli.corpus.folder_pairs import FileChange, FileState, compared_files

    if not pair.a or not pair.b:
        reason = unread.get((1, pair.b) if pair.b else (0, pair.a), "")
        alone = FileState.ONLY_A if pair.a else FileState.ONLY_B
        return FileChange(FileState.UNREAD if reason else alone, pair.a, pair.b, reason)
    if pair.same_bytes:
        state = FileState.SAME if pair.a == pair.b else FileState.RENAMED
        return FileChange(state, pair.a, pair.b, same=True)
    try:
        opened = open_pair(folders[0] / pair.a, folders[1] / pair.b, lambda: encoder, read, ignore, field)
        comparison = opened.compare()
    except (DocumentError, OptionError) as error:  # without text, too long, or without such pages
        return FileChange(FileState.UNREAD, pair.a, pair.b, str(error))
    change = compared_files(pair, comparison)
    if each is not None:
        each(change, comparison)
    return change


def history(
    versions: Source | Sequence[Source],
    *,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = None,
    read: ReadOptions = WHOLE,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> History:
    """Compare each of several versions of a document with the next, and follow its sections through all of them.

    Args:
        versions: paths, one "-" at most, or what `read` returned; two at least, the earliest first.
        ignore: what counts as no difference; without templates.
        field: as for `compare`.
        read: which parts of the documents to read.
        encoder, model, device, precision, threads, cache: as for `compare`.
        progress: called with the number of chunks or passages just encoded.

    Raises:
        DocumentError: a version cannot be read.
        ModelError, DeviceError, OptionError: as for `compare`.
    """
    from colde_cli.encoder.loading import open_field
    from colde_cli.similarity.history import history_of

    versions = one_or_more(versions)
    if len(versions) < 2:
        raise OptionError("A history needs two versions at least; name another document.")
    if sum(version == "-" for version in versions) > 1:
        raise OptionError("Only one of the documents can come from standard input.")
    if ignore.like:
        raise OptionError("--ignore-like is for two documents; leave it out.")
    start_readers([version for version in versions if not isinstance(version, Document)])
    with readers(2) as pool:
        waiting = [pool.submit(read.read, version) for version in versions]
        opened = opener(encoder, model, device, precision, threads, cache)()
        documents = with_unmatched_patterns(*(document.result() for document in waiting))
    profile = None if field is None else open_field(field, opened)
    warned = list(with_warnings(documents, opened))
    return history_of(_steps(warned, opened, ignore, profile, progress))


def _steps(
    documents: Sequence[Document],
    encoder: DocumentEncoder,
    ignore: IgnoreOptions,
    field: Field | None,
    progress: Progress | None,
) -> Iterator[Comparison]:
    """The comparison of each document with the next; each is encoded once."""
    from colde_cli.similarity.comparison import compare_encodings
    from colde_cli.similarity.outside import compare_outside

    before: Encoding | None = None
    for document in documents:
        (after,) = encoder.encode_many([document], progress)
        if before is not None:
            compared = compare_encodings(before, after, encoder, ignore, field=field, progress=progress)
            one, two = settled(before.document, document, same_body=compared.same_content)
            yield replace(compared, outside=compare_outside(one, two, ignore))
        before = after
