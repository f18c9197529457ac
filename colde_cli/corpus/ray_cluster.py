"""Bring a shared index up to date on a Ray cluster, or on any engine that maps tables of pyarrow.

Workers list folders, look at files, read, cut, encode and round them, and write fragments of the data set themselves,
as one stream. The caller sees names of fragments, counts and failures only, and makes a version of them twice a minute.
The work of a node that is lost starts again elsewhere; a caller that is lost costs what is in no version yet.

    list_batch      folder, deep, root, glob  ->  path, root, and `unlisted`: why a folder cannot be listed
    look_batch      these  ->  files that are new or changed, with size, mtime_ns, checked_ns, key, reason, and `old`:
                    whether the data set has a row of this path; folders that cannot be listed have `kind` "unlisted"
    read_batch      adds `document`: its text and sections as large_binary; null where it cannot be read
    BatchEncoder    gives the columns of `lance_store.schema_of`, and `old`
    write_fragment  gives one row, `result`: JSON of what was written
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from colde_cli.corpus.finding import LANCE, Skipped, file_identity, fits, is_lance, unlisted, walk
from colde_cli.corpus.index_update import STAGES, IndexUpdate, LookedAt, content_row, ocr_of
from colde_cli.corpus.lance_store import LanceIndex, open_dataset, row_id, storage_options
from colde_cli.corpus.lance_writer import Target
from colde_cli.corpus.pipeline import CorpusReader, StageClock, encode_each, skipping
from colde_cli.corpus.records import pack, reading_digest, unpack, vector_record
from colde_cli.corpus.stores import Row, shown_path
from colde_cli.documents.document import document_header, document_of
from colde_cli.documents.pdf.scans import way_of_reading
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.errors import (
    BadIndexError,
    ClusterError,
    MissingExtraError,
    MissingFileError,
    ModelError,
    OptionError,
    called,
)
from colde_cli.settings import known_models

if TYPE_CHECKING:
    import pyarrow as pa

LOCAL = "local"
"""The address of a cluster that is started for the call, on this machine alone."""

_COMMIT_SECONDS = 30.0
_BATCH = 8  # documents that a worker takes together
_FRAGMENT = 512  # documents of a fragment
_FOLDERS = 256  # folders to share out; below them each worker lists by itself
_RACY_NS = 2_000_000_000  # as in `index_writer`
# Together one core, so that a node of one core has room for both.
_READ_CORES, _ENCODE_CORES = 0.25, 0.75
_PATIENCE = 5.0  # seconds for a cluster to answer
_TOKEN = (".ray", "auth_token")  # where Ray keeps a person's token, below the home folder
_UNLISTED = "unlisted"  # the kind of a row that stands for a folder, and is written nowhere


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster.

    Attributes:
        address: "local", "ray://HOST:PORT", "HOST:PORT", or "auto" on a node of the cluster.
        gpus: share of a GPU that each encoder takes, such as 0.5; 0 encodes on CPUs.
    """

    address: str
    gpus: float = 0.0

    def results(
        self, target: Target, roots: dict[bytes, str | None], encoder: DocumentEncoder, reread: bool, ocr: str
    ) -> Generator[dict[str, Any], None, None]:
        """Have the files below some folders read, encoded and written; yield what `write_fragment` says.

        Args:
            target: a data set that is there, and that all nodes reach.
            roots: folders and files, the same paths on all nodes, each with its pattern.
            encoder: which model to use; nodes need the same colde and model.
            reread: also files that have not changed.
            ocr: which pages are read by OCR, as for `read`; nodes need the same OCR.

        Raises:
            ClusterError: the cluster is not there, is lost, or a node has another model.
            MissingExtraError: Ray is not installed.
        """
        items = [
            {"folder": folder, "deep": deep, "root": root, "glob": glob or ""}
            for root, glob in roots.items()
            for folder, deep in _shared_out(root)
        ]
        model = (target.place, _portable_model(encoder), encoder.info.precision, encoder.identity, self.gpus > 0)
        known = (target.place, open_dataset(target.place).version, reread)
        with _connected(self.address) as ray, _ray_trouble(ray):
            encoders = max(1, int(self._encoders(ray)))
            node = ray.get_runtime_context().get_node_id()
            here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            reading, gpus = (ocr, way_of_reading(ocr)), self.gpus or None
            made = ray.remote(_Stream).options(num_cpus=0, scheduling_strategy=here)
            stream = made.remote(items, known, reading, model, encoders, gpus, _FRAGMENT)
            while results := ray.get(stream.results.remote()):
                yield from map(json.loads, results)

    def _encoders(self, ray: ModuleType) -> float:
        """How many encoders the cluster has room for."""
        resources = ray.cluster_resources()
        if not self.gpus:
            return float(resources.get("CPU", 1))
        if resources.get("GPU", 0) < self.gpus:
            raise ClusterError(f"The cluster at {self.address} has no free GPU; leave out ?gpus=.")
        return float(resources["GPU"]) / self.gpus


class _Stream:
    """The work on a cluster, started and watched by a process beside that of the caller.

    Ray Data looks after its tasks all the time, which takes more of a processor than anything the caller does.
    """

    def __init__(
        self,
        items: list[dict[str, Any]],
        known: tuple[str, int, bool],
        reading: tuple[str, str],
        model: tuple[Any, ...],
        encoders: int,
        gpus: float | None,
        fragment: int,
    ) -> None:
        """Take the folders to list, arguments of the functions that are mapped, and how many encoders there may be."""
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        light: dict[str, Any] = {"batch_format": "pyarrow", "num_cpus": _READ_CORES}
        dataset = (
            ray.data.from_items(items, override_num_blocks=min(len(items), 4 * encoders))
            .map_batches(list_batch, batch_size=4, **light)
            .map_batches(look_batch, batch_size=64, fn_args=known, **light)
            .map_batches(read_batch, batch_size=_BATCH, fn_args=reading, **light)
            .map_batches(
                BatchEncoder,
                fn_constructor_args=model,
                batch_format="pyarrow",
                batch_size=_BATCH,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=encoders),
                num_cpus=_ENCODE_CORES,
                num_gpus=gpus,
            )
            .map_batches(write_fragment, batch_size=fragment, fn_args=known[:1], **light)
        )
        self._batches = iter(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))

    def results(self) -> list[str]:
        """What `write_fragment` said since the last call, at least once; nothing at the end."""
        while (batch := next(self._batches, None)) is not None:
            if batch.num_rows:
                return list(batch["result"].to_pylist())
        return []


def update_on_cluster(
    place: str,
    places: Sequence[Path],
    encoder: DocumentEncoder,
    cluster: RayCluster,
    *,
    forget: Sequence[Path] = (),
    glob: str | None = None,
    drop_missing: bool = False,
    reread: bool = False,
    ocr: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> IndexUpdate:
    """Bring a shared index up to date with folders and files on a cluster; with all that it follows if none is named.

    Arguments are those of `index_update.update_index`. A file that was renamed or copied is encoded again.

    Raises:
        BadIndexError, RemoteError, MissingFileError: as `update_index`.
        ClusterError: the cluster is not there or was lost; what was in a version before stays.
        MissingExtraError: Ray or Lance is not installed.
    """
    if forget or not (is_lance(place) or place.endswith(LANCE)):
        wrong = "forgets no folders; leave out" if forget else "writes a shared index, whose name ends in .lance, with"
        raise OptionError(f"A cluster {wrong} {called('forget' if forget else 'cluster')}.")
    target, clock = Target(place, encoder), StageClock()
    if not places:
        LanceIndex.open(place)  # raises the reason
    for root in places:
        if not root.exists():
            raise MissingFileError(f"There is no file or folder {root}.")
    roots = target.follow({os.fsencode(os.path.abspath(root)): glob for root in places})  # noqa: PTH100
    for path in roots:
        if not os.path.lexists(path):
            raise BadIndexError(f"{shown_path(path)} is gone or out of reach, and {place} follows it; bring it back.")
    known = LanceIndex.open(place)
    mode = ocr_of(known, ocr)
    reread = reread or any(before != mode for before in known.ocr)
    counts = dict.fromkeys(("added", "changed"), 0)
    named: dict[str, list[Skipped]] = {"failed": [], _UNLISTED: []}
    waiting: list[dict[str, Any]] = []
    committed = time.monotonic()
    with clock.stage("index: encode"), closing(cluster.results(target, roots, encoder, reread, mode)) as results:
        for result in results:
            waiting.append(result)
            for name in counts:
                counts[name] += result[name]
            for name, those in named.items():
                those += [Skipped(shown_path(os.fsencode(path)), reason) for path, reason in result[name]]
            if progress is not None:
                progress(result["added"] + result["changed"] + len(result["failed"]))
            if time.monotonic() - committed > _COMMIT_SECONDS:
                _commit(target, waiting)
                waiting, committed = [], time.monotonic()
    _commit(target, waiting)
    removed = target.drop_gone(roots, drop_missing)
    target.drop_twice()
    with clock.stage("index: candidates"):
        documents = target.finish()
    return IndexUpdate(
        place,
        documents,
        **counts,
        renamed=0,
        removed=removed,
        encoded=sum(counts.values()),
        failed=tuple(sorted(named["failed"], key=lambda item: item.path)),
        unlisted=tuple(sorted(named[_UNLISTED], key=lambda item: item.path)),
        seconds={name: clock.seconds(f"index: {name}") for name in STAGES},
        times=clock.times,
    )


def _commit(target: Target, results: Sequence[dict[str, Any]]) -> None:
    fragments = [fragment for result in results for fragment in result["fragments"]]
    target.append(fragments, [name for result in results for name in result["old"]])


def _shared_out(root: bytes) -> Iterator[tuple[bytes, bool]]:
    """The folders below one that workers list: with all below them, or, not `deep`, without; each once.

    Below the deep ones, a link of one worker to a folder of another is followed by both.
    """
    waiting, count, seen = [root], 0, {file_identity(root)}
    while waiting and count + len(waiting) < _FOLDERS and os.path.isdir(waiting[0]):  # noqa: PTH112 - of bytes
        folder = waiting.pop(0)
        with suppress(OSError), os.scandir(folder) as entries:  # the worker that lists it says why it cannot be
            for path in sorted(item.path for item in entries if item.is_dir() and not item.name.startswith(b".")):
                identity = file_identity(path)
                if identity is None or identity not in seen:
                    seen.add(identity)
                    waiting.append(path)
        yield folder, False
        count += 1
    yield from ((folder, True) for folder in waiting)


def list_batch(batch: pa.Table) -> pa.Table:
    """List the files of folders, and name the folders that cannot be listed."""
    import pyarrow as pa

    listed: list[Row] = []
    for item in batch.to_pylist():
        folder, root = Path(os.fsdecode(item["folder"])), Path(os.fsdecode(item["root"]))
        errors: list[OSError] = []
        try:
            files = walk([folder], _suffixed(item["glob"]), errors.append, deep=item["deep"])
        except MissingFileError as error:  # gone since it was shared out
            files = []
            listed.append({"path": item["folder"], "root": item["root"], _UNLISTED: str(error)})
        listed += [
            {"path": os.fsencode(path), "root": item["root"]}
            for path in files
            if not item["glob"] or path == root or fits(str(path.relative_to(root)), item["glob"])
        ]
        listed += [
            {"path": os.fsencode(one.path), "root": item["root"], _UNLISTED: one.reason} for one in unlisted(errors)
        ]
    schema = pa.schema({"path": pa.binary(), "root": pa.binary(), _UNLISTED: pa.string()})
    return pa.Table.from_pylist(listed, schema)


def _suffixed(glob: str) -> str | None:
    """The pattern that finds at least what one finds: `walk` takes pictures only where they are named."""
    return f"*{Path(glob).suffix}" if Path(glob).suffix else None


@lru_cache(2)
def _known_at(place: str, version: int) -> LanceIndex:
    return LanceIndex(place, open_dataset(place, version))


def look_batch(batch: pa.Table, place: str, version: int, reread: bool = False) -> pa.Table:
    """Look at files, and leave out those that the data set knows as they are."""
    import pyarrow as pa

    index = _known_at(place, version)
    ids = [row_id("", path) for path in batch["path"].to_pylist()]
    listed = ", ".join(f"'{name}'" for name in ids)
    names = ("id", "kind", "key", "size", "mtime_ns", "checked_ns")
    known = {row["id"]: row for row in index.rows(names, f"id IN ({listed}) AND kind <> 'gone'")} if ids else {}
    looked: list[Row] = []
    for name, (path, root, reason) in zip(ids, map(dict.values, batch.to_pylist()), strict=True):
        row, file = known.get(name), LookedAt(path, 0, reason=reason)
        if reason is not None:
            looked.append({**asdict(file), "root": root, "old": False, "kind": _UNLISTED})
            continue
        if row is not None and not reread and row["mtime_ns"] + _RACY_NS < row["checked_ns"]:
            file.size, file.mtime_ns = row["size"], row["mtime_ns"]
            if not file.is_changed:
                continue
        file.hashed()
        same = row is not None and row["key"] == file.key and (row["kind"] == "document" or file.key is not None)
        if (same and not reread) or (file.key is None and file.reason is None):
            continue
        looked.append({**asdict(file), "root": root, "old": row is not None})
    kept = [index.dataset.schema.field(name) for name in (*names[1:], "path", "root", "reason")]
    return pa.Table.from_pylist(looked, pa.schema([*kept, pa.field("old", pa.bool_())]))


def read_batch(batch: pa.Table, ocr: str | None = None, way: str | None = None) -> pa.Table:
    """Read the files of a table with a column `path`, and perhaps those of `look_batch`.

    Args:
        batch: of files.
        ocr: which pages to read by OCR, as for `read`.
        way: what `way_of_reading` says of this mode where the work was given out; None for anything.

    Raises:
        ModelError: this node has another OCR, or none.
    """
    import pyarrow as pa

    if way not in (None, way_of_reading(ocr)):
        raise ModelError(f"{socket.gethostname()} has another OCR than the caller; install the same colde[ocr] there.")
    read = skipping(CorpusReader(ocr=ocr).read)
    paths = [os.fsdecode(path) for path in batch["path"].to_pylist()]
    reasons = batch["reason"].to_pylist() if "reason" in batch.schema.names else [None] * len(paths)
    documents: list[bytes | None] = []
    for number, path in enumerate(paths):
        item = read(Path(path)) if reasons[number] is None else None
        if isinstance(item, Skipped):
            reasons[number], item = item.reason, None
        documents.append(None if item is None else pack(document_header(item, item.title), {}))
    columns = {name: batch[name] for name in batch.schema.names if name != "reason"}
    columns |= {"reason": pa.array(reasons, pa.string()), "document": pa.array(documents, pa.large_binary())}
    columns["reading"] = pa.array([reading_digest(ocr or "never")] * len(paths), pa.binary())
    return pa.table(columns)


class BatchEncoder:
    """Encodes tables of `read_batch`. It can be pickled; each process loads the model once, when it is first needed."""

    def __init__(
        self, place: str, model: str, precision: str = "auto", identity: bytes | None = None, gpu: bool = False
    ) -> None:
        """Choose the data set and the model: its name or folder, and a precision as of `encoder.loading.open_encoder`.

        Results must be equal to those of the encoder with the `identity`; None takes any. `gpu` encodes on the GPU that
        the engine gave this process.
        """
        self._choice = (place, model, precision, identity, gpu)

    def __reduce__(self) -> tuple[type[BatchEncoder], tuple[str, str, str, bytes | None, bool]]:
        """Sessions of a model cannot be pickled."""
        return BatchEncoder, self._choice

    @cached_property
    def _encoder(self) -> DocumentEncoder:
        from colde_cli.encoder.loading import open_encoder

        _, model, precision, identity, gpu = self._choice
        # Engines run one process for each core that they give.
        encoder = open_encoder(model, device="cuda" if gpu else "cpu", precision=precision, threads=1)
        if identity is not None and encoder.identity != identity:
            node = socket.gethostname()
            raise ModelError(f"The model {model} of {node} is another than that of the caller.")
        return encoder

    @cached_property
    def _target(self) -> Target:
        return Target(self._choice[0], self._encoder)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Encode documents.

        Raises:
            ModelError: there is no such model, or it is another than that of `identity`.
        """
        import pyarrow as pa

        rows = [{"old": False, "checked_ns": time.time_ns(), **row} for row in batch.to_pylist()]
        for row in rows:
            row["path"] = os.fsencode(row["path"])
        waiting = [row for row in rows if row["document"] is not None]
        documents = []
        for row in waiting:
            parts, name = unpack(row["document"]), os.fsdecode(row["path"])
            assert parts is not None, "it was packed by read_batch"
            documents.append(document_of(name, Path(name).name, parts[0]))
        for row, item in zip(waiting, encode_each(documents, self._encoder) if waiting else (), strict=True):
            row.update({"reason": item.reason} if isinstance(item, Skipped) else self._kept(item, row["reading"]))
        for row in rows:
            looked = "size" in row and row["kind"] != _UNLISTED
            if looked and LookedAt(row["path"], 0, row["size"], row["mtime_ns"]).is_changed:
                reason = f"{os.fsdecode(row['path'])} changed while it was read; the next run reads it again."
                row |= {"reason": reason, "vectors": None, "text": None, "mtime_ns": -1}
            row["reason"] = None if row["reason"] is None else json.dumps(row["reason"])
        made = [self._target.row({"vectors": None, **row}) for row in rows]
        schema = open_dataset(self._choice[0]).schema
        return pa.Table.from_pylist(made, schema.append(pa.field("old", pa.bool_())))

    def _kept(self, encoding: Encoding, reading: bytes) -> Row:
        """What a data set keeps of a document and its encoding."""
        content, record = content_row(encoding.document, reading), vector_record(encoding, self._encoder.centre)
        checksums = {"text_checksum": content.pop("checksum"), "vectors_checksum": zlib.crc32(record)}
        text = content.pop("record")
        return {**content, **checksums, "text": text, "vectors": record, "chunks": len(encoding.chunks)}


def write_fragment(batch: pa.Table, place: str) -> pa.Table:
    """Write rows to a fragment that is in no version yet."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from lance.fragment import write_fragments

    rows, fragments = batch.select(["path", "id", "old", "kind", "reason"]).to_pylist(), []
    table = batch.filter(pc.field("kind") != _UNLISTED).drop_columns(["old"])
    if table.num_rows:
        table = table.cast(open_dataset(place).schema)
        fragments = write_fragments(table, place, schema=table.schema, storage_options=storage_options(place))
    documents = [row for row in rows if row["kind"] == "document"]
    bad = [(row["kind"], [os.fsdecode(row["path"]), json.loads(row["reason"])]) for row in rows if row["reason"]]
    result = {
        "fragments": [json.dumps(item.to_json()) for item in fragments],
        "old": [row["id"] for row in rows if row["old"]],
        "added": sum(not row["old"] for row in documents),
        "changed": sum(row["old"] for row in documents),
        "failed": [named for kind, named in bad if kind != _UNLISTED],
        _UNLISTED: [named for kind, named in bad if kind == _UNLISTED],
    }
    return pa.table({"result": pa.array([json.dumps(result)], pa.string())})


def _portable_model(encoder: DocumentEncoder) -> str:
    """How other nodes find the model: by name where it has one, as they may keep it elsewhere."""
    folder = encoder.folder.path
    return next((name for name, path in known_models().items() if path == folder), str(folder.resolve()))


@contextmanager
def _connected(address: str) -> Iterator[ModuleType]:
    """Ray, connected to a cluster; the connection ends with the context."""
    # Before the import, which reads them: nothing is sent to Ray's makers, and notes on its inner life are not shown.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import pyarrow  # noqa: F401 - Ray Data needs it
        import ray.util.scheduling_strategies
    except ImportError as error:
        message = "Clusters need Ray; install it with: pip install 'colde[cluster]'"
        raise MissingExtraError(message) from error
    _check_answer(address)
    named = any(map(os.environ.get, ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")))
    if address.startswith("ray://") and (named or Path.home().joinpath(*_TOKEN).exists()):
        # Ray's client does not send a token by itself; a cluster that asks for none takes it too.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    joined = not ray.is_initialized()
    if joined:
        try:
            options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
            if address == LOCAL:
                options["include_dashboard"] = False
            ray.init(None if address == LOCAL else address, **options)
        except Exception as error:  # Ray raises many kinds, ConnectionError among them
            raise _no_cluster(address) from error
    try:
        yield ray
    finally:
        if joined:
            ray.shutdown()


def _check_answer(address: str) -> None:
    """Check that somebody answers: Ray itself waits for minutes."""
    if address in (LOCAL, "auto"):
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        port = parts.port or 10001
        with closing(socket.create_connection((parts.hostname or "", port), _PATIENCE)):
            pass
    except (OSError, ValueError) as error:
        raise _no_cluster(address) from error


def _no_cluster(address: str) -> ClusterError:
    return ClusterError(
        f"There is no Ray cluster at {address}, or it refuses the token; check the address and RAY_AUTH_TOKEN,"
        " or encode here without --cluster."
    )


@contextmanager
def _ray_trouble(ray: ModuleType) -> Iterator[None]:
    """Turn the errors of Ray into one sentence; what came back before is in the index."""
    try:
        yield
    except (ray.exceptions.RayError, ConnectionError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        told = [said for _, sign, said in (line.partition("ModelError: ") for line in lines) if sign]
        last = (told or lines)[-1][:200].rstrip(".")
        raise ClusterError(f"The cluster ended the work ({last}); run colde index again, which goes on.") from error
