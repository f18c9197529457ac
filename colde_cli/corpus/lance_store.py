"""An index as a data set of Lance: on a local disk, a share or an object store, for many readers and writers.

A row is a document, a file that cannot be read, a folder that is followed, or the field profile (column `kind`):

    id        of a document: hash of `source` and `path`; Lance lets no two writers insert the same
    source    "" where files were indexed into the data set itself; else the index that was sent to it
    key       hash of the bytes and the suffix of the file
    text, vectors   the records of `corpus.records`, as SQLite keeps them, each with its checksum
    vector    what the first stage compares: the mean of the unit chunk vectors (`Measure` without a field)
    terms     the heaviest words, as numbers of their buckets, for the full-text index

Each change is a version. A reader keeps the one that it opened; of two writers of the same row the last look at the
file counts. A file that is gone stays for a moment as a row of the kind "gone", so that one version holds all changes.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter, Skipped, is_url
from colde_cli.corpus.first_stage import HEAVIEST, Measure, heaviest
from colde_cli.corpus.records import mode_of
from colde_cli.corpus.stores import (
    EXACT,
    SCORED,
    DocumentStore,
    IndexedModel,
    Likely,
    Row,
    damaged,
    decoded,
    shown_path,
)
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.vector_cache import digest
from colde_cli.errors import BadIndexError, MissingExtraError, OptionError, RemoteError
from colde_cli.scoring.config import Scorable
from colde_cli.scoring.lexicon import Terms

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = 1
"""Number of the layout: raise it with every change of a column or record."""
DOCUMENT: Final = "kind = 'document'"

_ABOUT = b"colde"  # name of the description in the schema
_QUERY_WORDS = 64
_PROBES = 25  # partitions that a query reads: 100,000 vectors, so that up to so many documents all are compared
_BLOCK = 256  # documents read together


def lance_module() -> Any:  # noqa: ANN401 - a package without types
    """The package.

    Raises:
        MissingExtraError: it is not installed.
    """
    os.environ.setdefault("LANCE_LOG", "error")  # read at the import: what is wrong is told in a sentence
    try:
        import lance
    except ImportError as error:
        message = "A data set of Lance needs pylance; install it with: pip install 'colde[lance]'"
        raise MissingExtraError(message) from error
    return lance


def storage_options(place: str) -> dict[str, str] | None:
    """How long to wait for an object store; keys and endpoint come from the environment.

    Raises:
        OptionError: the URL names no place in a bucket, or holds a password.
    """
    if not is_url(place):
        return None
    parts = urlsplit(place)
    if parts.password is not None or parts.query or not parts.netloc or not parts.path.strip("/"):
        raise OptionError(
            f"Name a place in a bucket, such as {parts.scheme}://BUCKET/NAME.lance, without keys: they come from the"
            " environment."
        )
    options = {"connect_timeout": "5s", "timeout": "60s", "client_max_retries": "3", "client_retry_timeout": "20"}
    # A server of one's own; the user has written http.
    plain = urlsplit(os.environ.get("AWS_ENDPOINT_URL", "")).scheme == "http"
    return options | ({"allow_http": "true"} if plain else {})


def row_id(source: str, path: bytes, kind: str = "document") -> str:
    """The identity of a row."""
    return f"{kind}:{digest(source.encode(), path).hex()}"


def bytes_literal(value: bytes) -> str:
    """Bytes in a condition of SQL."""
    return f"X'{value.hex()}'"


def term_text(terms: Terms, most: int = HEAVIEST) -> str:
    """The heaviest words for the full-text index."""
    return " ".join(f"w{bucket}" for bucket in heaviest(terms, most).buckets.tolist())


def open_dataset(place: str, version: int | None = None) -> Any:  # noqa: ANN401 - of Lance, which has no types
    """The data set at a place.

    Raises:
        BadIndexError: there is none.
        RemoteError: the place cannot be used.
        MissingExtraError: Lance is not installed.
    """
    lance, options = lance_module(), storage_options(place)
    with lance_trouble(place):
        return lance.dataset(place, version=version, storage_options=options)


class LanceIndex(DocumentStore):
    """An open index in a data set of Lance, at one version."""

    def __init__(self, place: str, dataset: Any) -> None:  # noqa: ANN401
        self.place, self.dataset = place, dataset
        with decoded(place):
            about = json.loads((dataset.schema.metadata or {}).get(_ABOUT, b"{}"))
            if not about:
                raise BadIndexError(f"{place} is a data set of something else; choose another name.")
            if about["format"] != FORMAT:
                raise BadIndexError(f"{place} was made by another version of colde; upgrade colde, or make it again.")
            centre = about["centre"]
            vector = None if centre is None else np.frombuffer(base64.b64decode(centre), np.float32)
            family = bytes.fromhex(about["family"])
            self._model = IndexedModel(0, family, about["name"], about["precision"], vector)
            self._lineage = str(about["lineage"])

    @classmethod
    def open(cls, place: str | Path) -> Self:
        """Open an index to read it, as it is now.

        Raises:
            BadIndexError: there is none, it is damaged, of another version, or out of reach.
            RemoteError: its bucket is out of reach, or refuses the keys.
            MissingExtraError: Lance is not installed.
        """
        return cls(str(place), open_dataset(str(place)))

    def close(self) -> None:
        """See `DocumentStore`."""
        self.dataset = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `DocumentStore`; a version never changes."""
        with lance_trouble(self.place):
            yield

    @property
    def generation(self) -> str:
        """See `DocumentStore`."""
        return f"{self._lineage}-{self.dataset.version}"

    @property
    def model(self) -> IndexedModel:
        """See `DocumentStore`."""
        return self._model

    def _other_model(self, name: str) -> str:
        return f"make another data set with --model {name}"

    @property
    def ocr(self) -> tuple[str, ...]:
        """The modes of OCR in which its documents were read, the most frequent first; see `Index.ocr`."""
        modes = Counter(row["reading"] for row in self.rows(("reading",)))
        return tuple(dict.fromkeys(mode_of(reading) for reading, _ in modes.most_common()))

    def count(self) -> int:
        """See `DocumentStore`."""
        with lance_trouble(self.place):
            return int(self.dataset.count_rows(DOCUMENT))

    def roots(self) -> tuple[str, ...]:
        """See `DocumentStore`."""
        return tuple(sorted(os.fsdecode(row["path"]) for row in self.rows(("path",), "kind = 'root'")))

    def rows(self, columns: Sequence[str], condition: str = DOCUMENT) -> Iterator[Row]:
        """Columns of the rows that fit, with their number in `_rowid`, in the order of the data set."""
        with lance_trouble(self.place):
            scanner = self.dataset.scanner(
                list(columns), filter=condition, with_row_id=True, batch_size=_BLOCK if "vectors" in columns else 8192
            )
            for batch in scanner.to_batches():
                yield from batch.to_pylist()

    def taken(self, numbers: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[Row]:
        """See `DocumentStore`."""
        for start in range(0, len(numbers), _BLOCK):
            block = [int(number) for number in numbers[start : start + _BLOCK]]
            with lance_trouble(self.place):
                rows = self.dataset._take_rows(block, columns=["_rowid", *columns])
            yield from rows.to_pylist()

    def chosen(self, columns: Sequence[str], chosen: Filter = ALL, only: str = "") -> Iterator[Row]:
        """See `DocumentStore`."""
        needed = () if chosen == ALL else ("path", "root", "headings")
        columns = tuple(dict.fromkeys((*columns, *needed)))
        for row in self.rows(columns, " AND ".join((DOCUMENT, *chosen.tests, *filter(None, (only,))))):
            if not needed or chosen.takes(row["path"], row["root"], row["headings"]):
                yield row

    def _alike(self, names: Collection[bytes], size: int) -> Iterable[tuple[int, bytes]]:
        listed = ", ".join(map(bytes_literal, sorted(names)))
        rows = self.rows(("path",), f"{DOCUMENT} AND source = '' AND (path IN ({listed}) OR size = {size})")
        return ((row["_rowid"], row["path"]) for row in rows)

    def bad_files(self) -> tuple[Skipped, ...]:
        """See `DocumentStore`."""
        rows = sorted(self.rows(("path", "reason"), "kind = 'unread'"), key=lambda row: row["path"])
        with decoded(self.place):
            return tuple(Skipped(shown_path(row["path"]), json.loads(row["reason"])) for row in rows)

    def _profile(self, fingerprint: str) -> tuple[int, int, bytes] | None:
        row = self.profile_row()
        return None if row is None or row["title"] != fingerprint else (row["words"], row["text_checksum"], row["text"])

    def profile_row(self) -> Row | None:
        """The field: fingerprint as `title`, what it was learned from as `key`, number of documents as `words`."""
        columns = ("key", "title", "words", "text_checksum", "text")
        return next(self.rows(columns, "kind = 'field'"), None)

    def candidates(
        self, query: Scorable, encoder: DocumentEncoder, top: int, chosen: Filter = ALL, own: Sequence[int] = ()
    ) -> Likely | None:
        """Find the documents that deserve an exact score; None where all do.

        Those whose key vectors are closest, and those that share the heaviest words, as many of each. Arguments are
        those of `side_file.find_candidates`.
        """
        searched = self.count()
        if searched <= EXACT:
            return None
        allowed, wanted = None, max(SCORED, 2 * top)
        if chosen != ALL:
            allowed = np.setdiff1d(self.numbers(chosen), own)
            if len(allowed) <= EXACT:
                return Likely(allowed, len(allowed))
        limit = wanted + len(own)
        numbers = np.setdiff1d(self._closest(query, encoder, limit, chosen), own)
        if allowed is None:
            return Likely(numbers, searched - len(own))
        # What is no condition of SQL counts here: enough of those that fit must be among what was found.
        while np.isin(numbers, allowed).sum() < wanted and limit < searched:
            limit *= 4
            numbers = self._closest(query, encoder, limit, chosen)
        return Likely(np.intersect1d(numbers, allowed), len(allowed))

    def _closest(self, query: Scorable, encoder: DocumentEncoder, limit: int, chosen: Filter) -> NDArray[np.int64]:
        condition = " AND ".join(chosen.tests) or None  # other rows have neither a vector nor words
        nearest = {
            "column": "vector",
            "q": Measure.of(encoder).vectors([query])[0],
            "k": limit,
            "metric": "dot",
            "nprobes": _PROBES,
            "refine_factor": 2,
        }
        searches: list[dict[str, Any]] = [{"columns": ["_distance"], "nearest": nearest}]
        with lance_trouble(self.place):
            # A writer that was killed made no index of words; vectors are compared without one too.
            indexed = any("terms" in index.field_names for index in self.dataset.describe_indices())
            if indexed and query.terms is not None and len(query.terms.buckets):
                words = {"columns": ["terms"], "query": term_text(query.terms, _QUERY_WORDS)}
                searches.append({"columns": ["_score"], "full_text_query": words, "limit": limit})
            scanners = [
                self.dataset.scanner(filter=condition, prefilter=True, with_row_id=True, **search)
                for search in searches
            ]
            found = [scanner.to_table()["_rowid"].to_numpy().astype(np.int64) for scanner in scanners]
        return np.unique(np.concatenate(found))


def about(encoder: DocumentEncoder, lineage: str) -> dict[bytes, bytes]:
    """The description in the schema of a data set: what it is, and which model its vectors are of."""
    centre = None if encoder.centre is None else base64.b64encode(encoder.centre.astype(np.float32).tobytes()).decode()
    info = encoder.info
    described = {
        "format": FORMAT,
        "lineage": lineage,
        "family": encoder.family.hex(),
        "name": info.name,
        "precision": info.precision,
        "centre": centre,
    }
    return {_ABOUT: json.dumps(described).encode()}


def schema_of(size: int, metadata: dict[bytes, bytes] | None = None) -> pa.Schema:
    """The columns of a data set whose key vectors have so many numbers."""
    import pyarrow as pa

    key = {"lance-schema:unenforced-primary-key": "true"}
    fields = [pa.field("id", pa.string(), False, key), pa.field("kind", pa.string()), pa.field("source", pa.string())]
    kinds = {
        pa.binary(): "path root key reading",
        pa.int64(): "size mtime_ns checked_ns text_checksum vectors_checksum",
        pa.int32(): "words chunks pages",
        pa.string(): "reason title warnings headings terms",
        pa.large_binary(): "text vectors",
        pa.list_(pa.float32(), size): "vector",
    }
    fields += [pa.field(name, kind) for kind, names in kinds.items() for name in names.split()]
    return pa.schema(fields, metadata)


@contextmanager
def lance_trouble(place: str) -> Iterator[None]:
    """Turn the errors of Lance and of object stores into a sentence; nothing of their reports, which may name keys.

    Raises:
        BadIndexError: there is no data set, it is damaged, or its disk is full or out of reach.
        RemoteError: the bucket cannot be used.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        message = str(error)
        none = "Dataset at path" in message and "was not found" in message and "NoSuchBucket" not in message
        for sign, words in _REASONS.items() if is_url(place) and not none else ():
            if re.search(sign, message):
                raise RemoteError(f"{place} cannot be used: {words}.") from error
        if "was not found" in message or "_versions" in message:
            raise BadIndexError(
                f"There is no index at {place}; make one with: colde index FOLDER -o {place}"
            ) from error
        if "No space left" in message or "os error 28" in message:
            raise BadIndexError(f"The disk of {place} is full; free some space and run colde index again.") from error
        if "ermission denied" in message or "os error 13" in message:
            raise BadIndexError(f"{place} cannot be read or written; ask its owner for access.") from error
        if is_url(place):
            raise RemoteError(f"{place} cannot be used; check the network, the keys and the place.") from error
        raise damaged(place) from error


_REASONS = {
    "NoSuchBucket": "there is no such bucket",
    "AccessDenied|403 Forbidden|401 Unauthorized|Forbidden": "access is denied",
    "[Nn]ot found|404": "a part of it is gone, or all of its bucket",
    "InvalidAccessKeyId": "the key is not known there",
    "SignatureDoesNotMatch": "the key is not right",
    "CredentialsNotLoaded|[Nn]o credentials|[Cc]redentials? provider|169\\.254": (
        "there are no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    ),
    "error sending request|timed? ?out|[Cc]onnection refused|dns error|retry": (
        "there is no answer; check the network and the endpoint"
    ),
}
