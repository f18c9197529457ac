"""An index from a cluster equals one from here; a node that is lost costs nothing but time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import EXAMPLES, V1, V2, run

from colde_cli import open_index
from colde_cli.corpus import ray_cluster
from colde_cli.corpus.index_update import IndexUpdate, update_index
from colde_cli.corpus.lance_store import LanceIndex, open_dataset
from colde_cli.corpus.lance_upkeep import verify_lance
from colde_cli.corpus.ray_cluster import (
    BatchEncoder,
    RayCluster,
    list_batch,
    look_batch,
    read_batch,
    update_on_cluster,
    write_fragment,
)
from colde_cli.encoder.encoder import Encoder
from colde_cli.errors import BadIndexError, ClusterError, ModelError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("lance")


@pytest.fixture(scope="module")
def encoder(model_folder: Path) -> Encoder:
    return Encoder.load(model_folder, device="cpu", threads=1)


def texts(folder: Path, count: int, repeated: int = 8) -> Path:
    """Short files, each another text, one damaged and one empty."""
    (folder / "deep").mkdir(parents=True)
    for number in range(count):
        path = folder / (f"deep/{number}.txt" if number % 2 else f"{number}.txt")
        path.write_text(f"Lease number {number}. The tenant of house {number} pays {number * 7} crowns. " * repeated)
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "empty.txt").write_text("")
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


class InThisProcess(RayCluster):
    """The same functions, mapped one after the other without an engine."""

    looked = 0

    def results(
        self, target: Any, roots: Any, encoder: Any, reread: bool, ocr: str
    ) -> Generator[dict[str, Any], None, None]:
        items = [
            {"folder": folder, "deep": deep, "root": root, "glob": glob or ""}
            for root, glob in roots.items()
            for folder, deep in ray_cluster._shared_out(root)
        ]
        listed = list_batch(pa.Table.from_pylist(items))
        looked = look_batch(listed, target.place, open_dataset(target.place).version, reread)
        InThisProcess.looked = looked.num_rows
        encode = BatchEncoder(target.place, "colde-minilm-l6", "auto", encoder.identity)
        written = write_fragment(encode(read_batch(looked, ocr)), target.place)
        yield from map(json.loads, written["result"].to_pylist())


def counts(update: IndexUpdate) -> tuple[int, ...]:
    return update.documents, update.added, update.changed, update.removed, len(update.failed)


def held(place: str | Path) -> dict[str, Any]:
    """Path, text and vectors of all documents."""
    with open_index(place) as index, index.reading():
        names = {item.number: item.path for item in index.documents()}
        rows = index.taken(list(names), ("vectors",))
        kept = {names[row["_rowid"]]: (index.document(row["_rowid"]), row["vectors"]) for row in rows}
        return kept | {item.path: item.reason for item in index.bad_files()}


def test_what_workers_write_equals_an_index_from_here(tmp_path: Path, encoder: Encoder) -> None:
    corpus, place = texts(tmp_path / "corpus", 6), str(tmp_path / "a.lance")
    (corpus / "copy.txt").write_text((corpus / "2.txt").read_text())
    assert counts(update_on_cluster(place, [corpus], encoder, InThisProcess(""))) == (7, 7, 0, 0, 2)
    assert counts(update_on_cluster(place, [], encoder, InThisProcess(""))) == (7, 0, 0, 0, 0)
    assert InThisProcess.looked == 0  # what failed did not change either; the copy was hashed alone
    (corpus / "0.txt").write_text("The tenant of house zero moved away in spring, and the pump was sold. " * 5)
    (corpus / "2.txt").unlink()
    assert counts(update_on_cluster(place, [], encoder, InThisProcess(""))) == (6, 0, 1, 1, 0)
    update_index(tmp_path / "here.colde", [corpus], encoder)
    assert held(place) == held(tmp_path / "here.colde")
    assert verify_lance(place).problems == ()
    # It goes on from here too.
    assert update_index(place, [], encoder).encoded == 0


def test_a_folder_is_taken_once_however_many_links_lead_to_it(tmp_path: Path, encoder: Encoder) -> None:
    """As it is from here."""
    corpus, outside, place = texts(tmp_path / "corpus", 4), texts(tmp_path / "outside", 2), str(tmp_path / "a.lance")
    for name, folder in {"again": corpus / "deep", "one": outside, "two": outside, "top": corpus}.items():
        (corpus / name).symlink_to(folder)
    update = update_on_cluster(place, [corpus], encoder, InThisProcess(""))
    update_index(tmp_path / "here.colde", [corpus], encoder)
    assert (update.documents, held(place)) == (6, held(tmp_path / "here.colde"))


def test_two_callers_at_once_leave_no_document_twice(tmp_path: Path, encoder: Encoder) -> None:
    corpus, place = texts(tmp_path / "corpus", 4), str(tmp_path / "a.lance")

    class Overtaken(InThisProcess):
        """Another caller does the same while this one works."""

        def results(self, *given: Any) -> Generator[dict[str, Any], None, None]:
            for result in super().results(*given):
                update_on_cluster(place, [corpus], encoder, InThisProcess(""))
                yield result

    assert counts(update_on_cluster(place, [corpus], encoder, Overtaken("")))[0] == 4
    update_index(tmp_path / "here.colde", [corpus], encoder)
    assert held(place) == held(tmp_path / "here.colde")
    with LanceIndex.open(place) as index:
        assert len(index.bad_files()) == 2


def test_a_folder_that_is_suddenly_empty_is_told(tmp_path: Path, encoder: Encoder) -> None:
    corpus, place = texts(tmp_path / "corpus", 2), str(tmp_path / "a.lance")
    update_on_cluster(place, [corpus], encoder, InThisProcess(""))
    for path in corpus.rglob("*.*"):
        path.unlink()
    with pytest.raises(BadIndexError, match=r"lacks 4 of the 4 files .* --drop-missing"):
        update_on_cluster(place, [], encoder, InThisProcess(""))
    assert update_on_cluster(place, [], encoder, InThisProcess(""), drop_missing=True).removed == 4


def test_a_folder_that_cannot_be_listed_is_named(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is from here; what the index knows of it stays."""
    corpus, place = texts(tmp_path / "corpus", 4), str(tmp_path / "a.lance")
    update_on_cluster(place, [corpus], encoder, InThisProcess(""))
    before, list_folder = held(place), os.scandir

    def scandir(folder: Any) -> Any:  # of root too, whom permissions do not stop
        if folder in (str(corpus / "deep"), os.fsencode(corpus / "deep")):
            raise PermissionError(13, "Permission denied", str(folder))
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    for folders in (1, 256):  # shared out, or found by a worker below a folder
        monkeypatch.setattr(ray_cluster, "_FOLDERS", folders)
        update = update_on_cluster(place, [], encoder, InThisProcess(""))
        assert [(Path(item.path).name, item.reason) for item in update.unlisted] == [("deep", "Permission denied")]
        assert update.removed == update.changed == 0
        assert held(place) == before
    here = update_index(place, [corpus], encoder)
    assert here.unlisted == update.unlisted


def test_a_folder_that_is_gone_before_a_worker_lists_it_is_named(tmp_path: Path) -> None:
    gone = os.fsencode(tmp_path / "gone")
    listed = list_batch(pa.Table.from_pylist([{"folder": gone, "deep": True, "root": gone, "glob": ""}]))
    assert listed.to_pylist() == [
        {"path": gone, "root": gone, "unlisted": f"There is no file or folder {os.fsdecode(gone)}."}
    ]


def test_record_batches_of_spark_are_mapped(encoder: Encoder, tmp_path: Path) -> None:
    """What Spark's mapInArrow and mapInPandas give, and take."""
    pytest.importorskip("pandas")
    place = str(tmp_path / "a.lance")
    corpus = texts(tmp_path / "corpus", 2, repeated=60)
    paths = [str(corpus / "0.txt"), str(corpus / "deep/1.txt")]
    update_index(place, [Path(paths[0])], encoder)
    frame = pa.table({"path": paths}).to_pandas()
    rows = BatchEncoder(place, "colde-minilm-l6")(read_batch(pa.Table.from_pandas(frame))).to_pandas()
    with LanceIndex.open(place) as index:
        known = next(index.rows(("vectors", "vector")))
    assert rows["vectors"][0] == known["vectors"]
    assert np.array_equal(rows["vector"][0], np.array(known["vector"], np.float32))
    assert rows["chunks"][1] > 1


def test_a_node_with_another_model_is_told(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is another than that of the caller"):
        BatchEncoder(str(tmp_path), str(model_folder), identity=b"another")(read_batch(pa.table({"path": [V1]})))


def test_what_a_node_refuses_is_told_in_its_words() -> None:
    """Ray puts advice of its own below."""
    ray = pytest.importorskip("ray")
    said = "ray::map()\ncolde_cli.errors.ModelError: The model x of one is another than that of the caller.\nTo retry"
    with (
        pytest.raises(ClusterError, match=r"ended the work \(The model x .* of the caller\); run"),
        ray_cluster._ray_trouble(ray),
    ):
        raise ray.exceptions.RayError(said)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    index = tmp_path / "a.lance"
    assert run(capsys, "index", V1, "-o", index).status == 0
    for address in ("ray://127.0.0.1:9", "127.0.0.1:9", "ray://no.such.host.invalid:10001", "ray://x:y"):
        got = run(capsys, "index", V2, "-o", index, "--cluster", address)
        assert got.status == 2
        assert got.err.startswith("Error: There is no Ray cluster at")
    assert run(capsys, "index", index, "--verify").status == 0
    assert run(capsys, "index", V2, "-o", index, "--cluster", "local?gpus=all").status == 2
    refused = run(capsys, "index", V2, "-o", tmp_path / "a.colde", "--cluster", "local")
    assert "writes a shared index, whose name ends in .lance" in refused.err


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of a head without cores and two nodes of one core."""
    utilities = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
    cluster = utilities.Cluster(initialize_head=True, head_node_args=head)
    cluster.for_clients = f"ray://127.0.0.1:{port}"
    cluster.workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
    yield cluster
    cluster.shutdown()


# Ray leaves files and processes to the end of the interpreter.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_lost_or_twice_when_a_node_is_killed(
    nodes: Any, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "_FRAGMENT", 8)
    corpus, place = texts(tmp_path / "corpus", 40), str(tmp_path / "a.lance")
    killed: list[None] = []

    def kill(_: int) -> None:
        if not killed:
            killed.append(nodes.remove_node(nodes.workers[0], allow_graceful=False))

    assert counts(update_on_cluster(place, [corpus], encoder, RayCluster(nodes.address), progress=kill)) == (
        40, 40, 0, 0, 2,
    )  # fmt: skip
    assert killed
    update_index(tmp_path / "here.colde", [corpus], encoder)
    assert held(place) == held(tmp_path / "here.colde")
    assert verify_lance(place).records == 80


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_caller_that_is_no_node_works_through_the_client_of_ray(nodes: Any, encoder: Encoder, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    corpus, place = texts(tmp_path / "corpus", 9), str(tmp_path / "a.lance")
    command = [sys.executable, "-m", "colde_cli", "index", corpus, "-o", place, "--cluster", nodes.for_clients]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, check=False)
    assert "9 documents, 9 added" in done.stderr
    update_index(tmp_path / "here.colde", [corpus], encoder)
    assert held(place) == held(tmp_path / "here.colde")
