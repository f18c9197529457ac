"""Read and encode files on a Ray cluster, or on any engine that maps record batches of pyarrow.

Two callables take and give tables of pyarrow. Ray Data maps them here; Daft and Spark (`mapInArrow`, `mapInPandas`)
can map them as well, see docs/corpora.md.

    READ       path      string or binary: of a file that the worker can open
               reason    string: why the file cannot be read; null if it can
               document  large_binary: its text and sections; null if it cannot be read
    ENCODED    path, reason
               title     string
               chunks    int32
               document_vector   list of float32: D numbers, unit length
               encoding  large_binary: everything in `Encoding`, as `corpus.records` keeps it; null if there is none

Ray starts the work of a node that was lost again elsewhere. Results come back to one writer, the process that called,
which takes each file once.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.pipeline import AS_IT_IS, CorpusReader, encode_each, skipping
from colde_cli.corpus.records import open_encoding, pack, pack_encoding, unpack
from colde_cli.documents.document import document_header, document_of
from colde_cli.documents.pdf.scans import way_of_reading
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.errors import ClusterError, MissingExtraError, ModelError
from colde_cli.settings import known_models

if TYPE_CHECKING:
    import pyarrow as pa

LOCAL = "local"
"""The address of a cluster that is started for the call, on this machine alone."""

_WINDOW = 10_000  # files of one run of Ray Data: their paths are in memory
_BATCH = 8  # documents that a worker takes together
# Together one core, so that a node of one core has room for both.
_READ_CORES, _ENCODE_CORES = 0.25, 0.75
_PATIENCE = 5.0  # seconds for a cluster to answer


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster.

    Attributes:
        address: "local", "ray://HOST:PORT", "HOST:PORT", or "auto" on a node of the cluster.
        gpus: share of a GPU that each encoder takes, such as 0.5; 0 encodes on CPUs.
    """

    address: str
    gpus: float = 0.0

    def encode_files(
        self, files: Iterable[Path], encoder: DocumentEncoder, reader: CorpusReader = AS_IT_IS
    ) -> Generator[Encoding | Skipped, None, None]:
        """Read and encode files; yield each once, in the order of completion, with its path as in `files`.

        Args:
            files: the same paths on all nodes, on a shared folder.
            encoder: which model to use; nodes need the same colde and model.
            reader: how files are read; nodes need the same OCR.

        Raises:
            ClusterError: the cluster is not there, is lost, or a node has another model.
            MissingExtraError: Ray is not installed.
        """
        waiting = iter(files)
        window = list(islice(waiting, _WINDOW))
        if not window:
            return
        with _connected(self.address) as ray:
            while window:
                with _ray_trouble(ray):
                    yield from self._encode_window(ray, window, encoder, reader)
                window = list(islice(waiting, _WINDOW))

    def _encode_window(
        self, ray: ModuleType, window: Sequence[Path], encoder: DocumentEncoder, reader: CorpusReader
    ) -> Iterator[Encoding | Skipped]:
        import pyarrow as pa

        paths = pa.table({"path": pa.array([os.fsencode(path) for path in window], pa.binary())})
        encoders = max(1, int(self._encoders(ray)))
        # Cut here: repartitioning takes Ray a whole core, which a single node does not have besides its encoder.
        size = max(1, min(64, len(window) // (4 * encoders)))
        model = (_portable_model(encoder), encoder.info.precision, encoder.identity, self.gpus > 0)
        dataset = (
            ray.data.from_arrow([paths.slice(start, size) for start in range(0, len(window), size)])
            .map_batches(
                read_batch,
                fn_kwargs={"ocr": reader.ocr, "way": way_of_reading(reader.ocr)},
                batch_format="pyarrow",
                batch_size=_BATCH,
                num_cpus=_READ_CORES,
            )
            .map_batches(
                BatchEncoder,
                fn_constructor_args=model,
                batch_format="pyarrow",
                batch_size=_BATCH,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=encoders),
                num_cpus=_ENCODE_CORES,
                num_gpus=self.gpus or None,
            )
        )
        missing = {os.fspath(path) for path in window}
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            for item in encodings_of(batch):
                path = item.path if isinstance(item, Skipped) else item.document.path
                if path in missing:
                    missing.remove(path)
                    yield item
        if missing:
            raise ClusterError(f"The cluster lost {len(missing)} files; run colde index again, which goes on.")

    def _encoders(self, ray: ModuleType) -> float:
        """How many encoders the cluster has room for."""
        resources = ray.cluster_resources()
        if not self.gpus:
            return float(resources.get("CPU", 1))
        if resources.get("GPU", 0) < self.gpus:
            raise ClusterError(f"The cluster at {self.address} has no free GPU; leave out ?gpus=.")
        return float(resources["GPU"]) / self.gpus


def read_batch(batch: pa.Table, ocr: str | None = None, way: str | None = None) -> pa.Table:
    """Read the files of a table with a column `path`; see `READ` above.

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
    items = [read(Path(os.fsdecode(path))) for path in batch["path"].to_pylist()]
    reasons = [item.reason if isinstance(item, Skipped) else None for item in items]
    documents = [None if isinstance(item, Skipped) else pack(document_header(item, item.title), {}) for item in items]
    columns = {"path": batch["path"], "reason": pa.array(reasons, pa.string())}
    return pa.table({**columns, "document": pa.array(documents, pa.large_binary())})


class BatchEncoder:
    """Encodes tables of `read_batch`. It can be pickled; each process loads the model once, when it is first needed."""

    def __init__(self, model: str, precision: str = "auto", identity: bytes | None = None, gpu: bool = False) -> None:
        """Choose the model: its name or folder, and a precision as of `encoder.loading.open_encoder`.

        Results must be equal to those of the encoder with the `identity`; None takes any. `gpu` encodes on the GPU that
        the engine gave this process.
        """
        self._choice = (model, precision, identity, gpu)

    def __reduce__(self) -> tuple[type[BatchEncoder], tuple[str, str, bytes | None, bool]]:
        """Sessions of a model cannot be pickled."""
        return BatchEncoder, self._choice

    @cached_property
    def _encoder(self) -> DocumentEncoder:
        from colde_cli.encoder.loading import open_encoder

        model, precision, identity, gpu = self._choice
        # Engines run one process for each core that they give.
        encoder = open_encoder(model, device="cuda" if gpu else "cpu", precision=precision, threads=1)
        if identity is not None and encoder.identity != identity:
            node = socket.gethostname()
            raise ModelError(f"The model {model} of {node} is another than that of the caller.")
        return encoder

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Encode documents; see `ENCODED` above.

        Raises:
            ModelError: there is no such model, or it is another than that of `identity`.
        """
        import pyarrow as pa

        paths, reasons = batch["path"].to_pylist(), batch["reason"].to_pylist()
        encodings: list[Encoding | None] = [None] * len(paths)
        rows, documents = [], []
        for row, record in enumerate(batch["document"].to_pylist()):
            if record is not None:
                parts = unpack(record)
                assert parts is not None, "it was packed by read_batch"
                name = os.fsdecode(paths[row])
                documents.append(document_of(name, Path(name).name, parts[0]))
                rows.append(row)
        for row, item in zip(rows, encode_each(documents, self._encoder) if rows else (), strict=True):
            if isinstance(item, Skipped):
                reasons[row] = item.reason
            else:
                encodings[row] = item
        columns: dict[str, tuple[Any, Callable[[Encoding], Any]]] = {
            "title": (pa.string(), lambda item: item.document.title),
            "chunks": (pa.int32(), lambda item: len(item.chunks)),
            "document_vector": (pa.list_(pa.float32()), lambda item: item.document_vector.tolist()),
            "encoding": (pa.large_binary(), lambda item: pack_encoding(item, item.document.title)),
        }
        made = {
            name: pa.array([None if item is None else value(item) for item in encodings], kind)
            for name, (kind, value) in columns.items()
        }
        return pa.table({"path": batch["path"], "reason": pa.array(reasons, pa.string()), **made})


def encodings_of(batch: pa.Table) -> Iterator[Encoding | Skipped]:
    """The encodings of a table of `BatchEncoder`.

    Raises:
        ClusterError: one of them is damaged.
    """
    columns = (batch[name].to_pylist() for name in ("path", "reason", "encoding"))
    for name, reason, record in zip(*columns, strict=True):
        path = os.fsdecode(name)
        encoding = None if record is None else open_encoding(record, Path(path))
        if encoding is None and reason is None:
            raise ClusterError(f"What came back of {path} is damaged; run colde index again.")
        yield Skipped(path, reason) if encoding is None else encoding


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
        import ray
        import ray.data
    except ImportError as error:
        message = "Clusters need Ray; install it with: pip install 'colde[cluster]'"
        raise MissingExtraError(message) from error
    _check_answer(address)
    joined = not ray.is_initialized()
    if joined:
        try:
            options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
            if address == LOCAL:
                options["include_dashboard"] = False
            ray.init(None if address == LOCAL else address, **options)
        except Exception as error:  # Ray raises many kinds, ConnectionError among them
            raise _no_cluster(address) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
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
    return ClusterError(f"There is no Ray cluster at {address}; check the address, or encode here without --cluster.")


@contextmanager
def _ray_trouble(ray: ModuleType) -> Iterator[None]:
    """Turn the errors of Ray into one sentence; what came back before is in the index."""
    try:
        yield
    except (ray.exceptions.RayError, ConnectionError) as error:
        cause = getattr(error, "cause", None)
        reason = str(cause if isinstance(cause, ModelError) else error).strip().splitlines()
        last = reason[-1][:200] if reason else type(error).__name__
        raise ClusterError(f"The cluster ended the work ({last}); run colde index again, which goes on.") from error
