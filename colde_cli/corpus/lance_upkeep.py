"""Look after an index in a data set of Lance: its status, a check of every record, and compaction."""

from __future__ import annotations

import zlib
from datetime import timedelta

from colde_cli.corpus.index_writer import IndexCheck, IndexStatus, Root, status_of
from colde_cli.corpus.lance_store import LanceIndex, lance_trouble
from colde_cli.corpus.lance_writer import working
from colde_cli.corpus.records import unpack
from colde_cli.corpus.stores import shown_path
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.errors import BadIndexError, RemoteError

_KEPT_VERSIONS = timedelta(days=1)  # readers may still have them open


def lance_status(place: str, encoder: DocumentEncoder) -> IndexStatus:
    """What a data set holds, and whether the files that it follows have changed.

    Raises:
        BadIndexError, RemoteError: as `LanceIndex.open`.
    """
    with working(place, encoder) as copy, LanceIndex.open(place) as index:
        field, roots = index.profile_row(), index.rows(("path", "title", "source"), "kind = 'root'")
        followed = [Root(shown_path(row["path"]), row["title"]) for row in roots]
        with lance_trouble(place):
            files = [file for part in index.dataset.get_fragments() for file in part.data_files()]
            size = sum(file.file_size_bytes or 0 for file in files)
        followed.sort(key=lambda root: root.path)
        return status_of(index, copy, followed, 0 if field is None else field["words"], size, 0)


def verify_lance(place: str) -> IndexCheck:
    """Read every record of a data set, and check it.

    Raises:
        BadIndexError, RemoteError: it cannot even be opened.
    """
    count, problems = 0, []
    with LanceIndex.open(place) as index:
        columns = ("path", "text", "text_checksum", "vectors", "vectors_checksum", "vector", "words")
        try:
            for row in index.rows(columns):
                for part in ("text", "vectors"):
                    count += 1
                    record = row[part] or b""
                    if zlib.crc32(record) != row[f"{part}_checksum"] or unpack(record) is None:
                        problems.append(f"The {part} of {shown_path(row['path'])} are damaged.")
                if row["vector"] is None:
                    problems.append(f"{shown_path(row['path'])} has no key vector, so that a search may miss it.")
            field = index.profile_row()
            if field is not None and zlib.crc32(field["text"]) != field["text_checksum"]:
                problems.append("The profile of the corpus is damaged.")
        except (BadIndexError, RemoteError) as error:
            problems.append(str(error))
    return IndexCheck(place, count, tuple(problems))


def compact_lance(place: str) -> int:
    """Join small fragments, drop versions older than a day, and return the bytes that were freed.

    Raises:
        BadIndexError, RemoteError: it cannot be opened or written.
    """
    with LanceIndex.open(place) as index, lance_trouble(place):
        index.dataset.delete("kind = 'gone'")
        index.dataset.optimize.compact_files()
        index.dataset.optimize.optimize_indices()
        return int(index.dataset.cleanup_old_versions(_KEPT_VERSIONS).bytes_removed)
