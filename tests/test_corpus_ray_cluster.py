"""Encoding on a cluster equals encoding here; a node that is lost costs nothing but time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import EXAMPLES, V1, V2, run

from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.ray_cluster import BatchEncoder, RayCluster, encodings_of, read_batch
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.errors import ModelError
from colde_cli.settings import INDEX_FILE

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def encoder(model_folder: Path) -> Encoder:
    return Encoder.load(model_folder, device="cpu", threads=1)


def texts(folder: Path, count: int) -> list[Path]:
    """Short files, each another text."""
    paths = [folder / f"{number}.txt" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"Lease number {number}. The tenant of house {number} pays {number * 7} crowns. " * 30)
    return paths


def same(a: Encoding, b: Encoding) -> bool:
    return (
        a.document == b.document
        and a.chunks == b.chunks
        and np.array_equal(a.chunk_vectors, b.chunk_vectors)
        and np.array_equal(a.document_vector, b.document_vector)
        and np.array_equal(a.section_vectors, b.section_vectors)
    )


@pytest.mark.slow
def test_batches_are_mapped_without_ray(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "signs.txt").write_text("\u200b")
    paths = [V1, str(tmp_path / "empty.txt"), V2, str(tmp_path / "signs.txt"), str(tmp_path / "none.pdf")]
    read = read_batch(pa.table({"path": paths}))
    encoded = BatchEncoder("colde-minilm-l6", identity=encoder.identity)(read)
    assert encoded.schema.names == ["path", "reason", "title", "chunks", "document_vector", "encoding"]
    assert encoded["chunks"].to_pylist()[0] > 1
    items = list(encodings_of(encoded))
    assert [isinstance(item, Skipped) for item in items] == [False, True, False, True, True]
    for number in (0, 2):
        item = items[number]
        assert isinstance(item, Encoding)
        assert same(item, encoder.encode(item.document))
        vector = np.array(encoded["document_vector"][number].as_py(), np.float32)
        assert np.array_equal(vector, item.document_vector)


@pytest.mark.slow
def test_record_batches_of_spark_are_mapped(encoder: Encoder) -> None:
    """What Spark's mapInArrow and mapInPandas give, and take."""
    pytest.importorskip("pandas")
    frame = pa.table({"path": [V1]}).to_pandas()
    encode = BatchEncoder("colde-minilm-l6")
    encoded = encode(read_batch(pa.Table.from_pandas(frame))).to_pandas()
    (item,) = encodings_of(pa.Table.from_pandas(encoded))
    assert isinstance(item, Encoding)
    assert np.array_equal(item.document_vector, encoder.encode(item.document).document_vector)


def test_daft_maps_the_same_functions(encoder: Encoder) -> None:
    daft = pytest.importorskip("daft")
    encode = BatchEncoder("colde-minilm-l6")

    @daft.func.batch(return_dtype=daft.DataType.binary())  # type: ignore[untyped-decorator]
    def encoding(paths: Any) -> Any:
        return encode(read_batch(pa.table({"path": paths.to_arrow()})))["encoding"].cast(pa.binary()).to_pylist()

    frame = daft.from_pydict({"path": [V1, V2]})
    found = frame.with_column("encoding", encoding(frame["path"])).to_arrow()
    items = encodings_of(found.append_column("reason", pa.nulls(2, pa.string())))
    assert [same(item, encoder.encode(item.document)) for item in items if isinstance(item, Encoding)] == [True] * 2


def test_a_node_with_another_model_is_told(model_folder: Path) -> None:
    with pytest.raises(ModelError, match="is another than that of the caller"):
        BatchEncoder(str(model_folder), identity=b"another")(read_batch(pa.table({"path": [V1]})))


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    index = tmp_path / "a.colde"
    assert run(capsys, "index", V1, "-o", index).status == 0
    for address in ("ray://127.0.0.1:9", "127.0.0.1:9", "ray://no.such.host.invalid:10001", "ray://x:y"):
        got = run(capsys, "index", V2, "-o", index, "--cluster", address)
        assert got.status == 2
        assert got.err.startswith("Error: There is no Ray cluster at")
    assert run(capsys, "index", index, "--verify").status == 0
    assert run(capsys, "index", V1, "-o", tmp_path / "new.colde", "--cluster", "127.0.0.1:9").status == 2
    assert not (tmp_path / "new.colde").exists()
    assert run(capsys, "index", V2, "-o", index, "--cluster", "local?gpus=all").status == 2


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of a head without cores and two nodes of one core; the last test kills a node of it."""
    utilities = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("PYTHONPATH", str(EXAMPLES.parent))
        cluster = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        cluster.workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
        yield cluster
        cluster.shutdown()


# Ray leaves files and processes to the end of the interpreter.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_index_from_a_cluster_equals_one_from_here(
    nodes: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    texts(folder, 6)
    (folder / "copy.txt").write_text((folder / "1.txt").read_text())
    here, there = tmp_path / "here.colde", tmp_path / "there.colde"
    assert run(capsys, "index", folder, "-o", here).status == 0
    assert run(capsys, "index", folder, "-o", there, "--cluster", nodes.address).status == 0
    assert records(here) == records(there)


def records(index: Path) -> list[Any]:
    query = "SELECT d.path, c.record, v.record FROM documents d JOIN contents c ON c.number = d.content"
    with closing(sqlite3.connect(index / INDEX_FILE)) as connection:
        rows = connection.execute(f"{query} JOIN vectors v ON v.content = c.number ORDER BY d.path").fetchall()
        assert len(rows) == 7
        return rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_lost_or_twice_when_a_node_is_killed(nodes: Any, encoder: Encoder, tmp_path: Path) -> None:
    paths = texts(tmp_path, 40)
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    found: dict[str, Encoding | Skipped] = {}
    with closing(RayCluster(nodes.address).encode_files([*paths, tmp_path / "bad.pdf"], encoder)) as items:
        for item in items:
            name = item.path if isinstance(item, Skipped) else item.document.path
            assert name not in found
            if not found:
                nodes.remove_node(nodes.workers[0], allow_graceful=False)
            found[name] = item
    assert sorted(found) == sorted(map(os.fspath, [*paths, tmp_path / "bad.pdf"]))
    assert isinstance(found[str(tmp_path / "bad.pdf")], Skipped)
    for path in paths[::10]:
        item = found[str(path)]
        assert isinstance(item, Encoding)
        assert same(item, encoder.encode(item.document))
