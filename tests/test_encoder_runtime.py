"""Sessions and the chunks run on them: what is wrong with a graph is said, and scheduling changes no byte."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from command_line import check_trouble, run_process
from hypothesis import given
from hypothesis import strategies as st
from model_changes import linked_model
from old_driver import build_old_driver

from colde_cli.documents.document import Chunk, Span
from colde_cli.encoder import encoder as encoder_module
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import ENCODER_GRAPHS, HEAD_GRAPH
from colde_cli.encoder.runtime import (
    _BATCH_TOKENS,
    ChunkRunner,
    Cuda,
    decide,
    encoder_contract,
    open_session,
    probe_cuda,
    sums_overflow,
)
from colde_cli.encoder.runtime import _batches as token_batches
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import ColdeError, DeviceError, ModelError, OptionError


def chunk(seed: int, tokens: int) -> Chunk:
    ids = np.random.default_rng(seed).integers(1000, 30_000, tokens)
    return Chunk(seed, 0, seed, Span(0, 1), (101, *ids.tolist(), 102))


CHUNKS = [chunk(seed, tokens) for seed, tokens in enumerate((40, 3, 200, 3, 90, 500, 1, 17))]


def as_bytes(vectors: np.ndarray | list[np.ndarray]) -> list[bytes]:
    return [vector.tobytes() for vector in vectors]


@pytest.fixture(scope="module")
def alone(model_folder: Path) -> list[bytes]:
    """Each chunk encoded by itself."""
    encoder = Encoder.load(model_folder, device="cpu", threads=1)
    return [encoder.encode_chunks([item])[0].tobytes() for item in CHUNKS]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_no_byte(model_folder: Path, alone: list[bytes], threads: int) -> None:
    encoder = Encoder.load(model_folder, device="cpu", threads=threads)
    assert as_bytes(encoder.encode_chunks(CHUNKS)) == alone


@pytest.mark.slow
def test_one_encoder_serves_many_threads(model_folder: Path, alone: list[bytes], tmp_path: Path) -> None:
    with Cache(tmp_path, 10**9) as cache, ThreadPoolExecutor(4) as pool:
        encoder = Encoder.load(model_folder, device="cpu", cache=cache)
        answers = [pool.submit(encoder.encode_chunks, CHUNKS) for _ in range(4)]
        assert all(as_bytes(answer.result()) == alone for answer in answers)
        assert cache.count() == len(CHUNKS)


@pytest.mark.slow
def test_padding_a_masked_graph_changes_little(model_folder: Path) -> None:
    """How a graphics card is fed, run on the CPU: fp16 weights, padded batches, the same vectors to rounding."""
    graph = model_folder / ENCODER_GRAPHS["fp16"]
    opened = open_session(graph, encoder_contract(384))
    exact = np.stack(ChunkRunner(opened, 384, 2, batched=False).run(CHUNKS))
    padded = np.stack(ChunkRunner(opened, 384, 2, batched=True).run(CHUNKS))
    cosines = (exact * padded).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(padded, axis=1)
    assert cosines.min() > 0.9999


def test_a_run_that_is_stopped_keeps_what_it_did(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "_BLOCK", 2)

    def stop(_: int) -> None:
        done.append(1)
        if len(done) > 5:
            raise KeyboardInterrupt

    done: list[int] = []
    with Cache(tmp_path, 10**9) as cache:
        encoder = Encoder.load(model_folder, device="cpu", cache=cache, threads=1)
        with pytest.raises(KeyboardInterrupt):
            encoder.encode_chunks(CHUNKS, stop)
        assert cache.count() == 4, "two blocks of two; the sixth chunk was in the third"


@pytest.mark.slow
def test_a_graph_that_was_stopped_runs_again_when_nothing_waits(model_folder: Path, alone: list[bytes]) -> None:
    graph = open_session(model_folder / ENCODER_GRAPHS["int8"], encoder_contract(384))
    runner = ChunkRunner(graph, 384, 2, batched=False)
    graph.stop()  # nothing is under way
    assert as_bytes(runner.run(CHUNKS)) == alone
    done: list[int] = []

    def stop(count: int) -> None:
        done.append(count)
        graph.stop()

    with graph.job():  # of another thread
        with pytest.raises(ModelError):
            runner.run(CHUNKS * 10, stop)
        assert len(done) <= 2, "calls that wait are stopped too"
        with pytest.raises(ModelError, match="was stopped"):
            runner.run(CHUNKS)
    assert as_bytes(runner.run(CHUNKS)) == alone


@pytest.mark.parametrize(
    ("flags", "overflows"),
    [("avx2 avx512bw", True), ("avx512_vnni", False), ("avx2 avx_vnni", False), ("amx_int8 avx512_vnni", False)],
)
def test_sums_overflow_without_vnni(tmp_path: Path, flags: str, overflows: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n", encoding="utf-8")
    assert sums_overflow(tmp_path / "cpuinfo") is overflows
    assert sums_overflow(tmp_path / "absent")


@pytest.mark.skipif(sums_overflow(Path("/proc/cpuinfo")), reason="a processor without VNNI gives other vectors")
def test_how_weights_are_read_changes_no_byte_where_sums_do_not_overflow(
    model_folder: Path, alone: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colde_cli.encoder.runtime.sums_overflow", lambda _: True)
    encoder = Encoder.load(model_folder, device="cpu", threads=1)
    assert [encoder.encode_chunks([item])[0].tobytes() for item in CHUNKS] == alone


def test_token_ids_that_the_graph_does_not_know_are_a_model_error(model_folder: Path) -> None:
    encoder = Encoder.load(model_folder, device="cpu")
    with pytest.raises(ModelError, match=r"may not fit together \(indices element out of data bounds"):
        encoder.encode_chunks([Chunk(0, 0, 0, Span(0, 1), (101, 99_999, 102))])


def test_graphs_in_each_others_place_are_told_apart(model_folder: Path, tmp_path: Path) -> None:
    folder = linked_model(model_folder, tmp_path / "model")
    one, other = folder / ENCODER_GRAPHS["int8"], folder / HEAD_GRAPH
    (folder / "aside").symlink_to(one.resolve())
    one.unlink()
    one.symlink_to(other.resolve())
    with pytest.raises(ModelError, match="asks for chunk_vectors, lengths, partners"):
        Encoder.load(folder, device="cpu").encode_chunks(CHUNKS)
    other.unlink()
    (folder / "aside").rename(other)
    with pytest.raises(ModelError, match="asks for input_ids"):
        Encoder.load(folder, device="cpu").head.vector(np.ones((1, 384), np.float32))


def test_a_configuration_of_another_size_is_refused(model_folder: Path, tmp_path: Path) -> None:
    folder = linked_model(model_folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["backbone"]["hidden_size"] = 768
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"of size 384, but config\.json says 768"):
        Encoder.load(folder, device="cpu").encode_chunks(CHUNKS)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.9])
def test_the_native_library_keeps_quiet_about_a_damaged_graph(model_folder: Path, tmp_path: Path, share: float) -> None:
    """A graph cut off at `share` of its length; only a fresh process shows what native code prints."""
    content = (model_folder / HEAD_GRAPH).read_bytes()
    damaged = tmp_path / "document_head.onnx"
    damaged.write_bytes(content[: int(share * len(content))])
    script = (
        "import sys; from pathlib import Path\n"
        "from colde_cli.encoder.runtime import head_contract, open_session\n"
        "from colde_cli.errors import ModelError\n"
        "try: open_session(Path(sys.argv[1]), head_contract(384))\n"
        "except ModelError as error: print(error)"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(damaged)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith(str(damaged))
    assert "damaged" in done.stdout or "gives no" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in kilobytes")
def test_attention_of_long_documents_holds_the_weights_of_one_head_at_a_time(model_folder: Path) -> None:
    """Those of all four heads took over 100 bytes for each pair of chunks."""
    script = (
        "import sys, resource; from pathlib import Path; import numpy as np\n"
        "from colde_cli.encoder.document_head import Head\n"
        "from colde_cli.encoder.layout import open_folder\n"
        "head = Head(open_folder(Path(sys.argv[1])))\n"
        "def peak(chunks):\n"
        "    head.vector(np.ones((chunks, 384), np.float32))\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "small = peak(300)\n"
        "print((peak(1800) - small) / 1800**2)"
    )
    command = [sys.executable, "-c", script, str(model_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 35


@given(st.lists(st.integers(3, 512), max_size=300))
def test_token_batches_hold_everything_once_within_the_budget(lengths: list[int]) -> None:
    chunks = [Chunk(0, 0, 0, Span(0, 1), (0,) * length) for length in lengths]
    order = sorted(range(len(chunks)), key=lambda index: -lengths[index])
    groups = token_batches(order, chunks)
    assert [index for group in groups for index in group] == order
    assert all(len(group) * max(lengths[index] for index in group) <= _BATCH_TOKENS for group in groups)


NONE = Cuda(problem="there is no NVIDIA driver")
ONE, TWO = Cuda(devices=1), Cuda(devices=2)
SHIPPED = ("int8", "fp16")


@pytest.mark.parametrize(
    ("device", "precision", "graphs", "cuda", "expected"),
    [
        ("auto", "auto", SHIPPED, NONE, ("cpu", "int8")), ("auto", "auto", SHIPPED, ONE, ("cuda:0", "fp16")),
        ("auto", "int8", SHIPPED, ONE, ("cpu", "int8")), ("auto", "auto", ("int8",), ONE, ("cpu", "int8")),
        ("auto", "fp32", (*SHIPPED, "fp32"), ONE, ("cuda:0", "fp32")),
        ("cpu", "auto", SHIPPED, TWO, ("cpu", "int8")), ("cpu", "auto", ("fp16",), NONE, ("cpu", "fp16")),
        ("cpu", "fp16", SHIPPED, NONE, ("cpu", "fp16")), ("cuda", "auto", SHIPPED, TWO, ("cuda:0", "fp16")),
        ("cuda:1", "auto", SHIPPED, TWO, ("cuda:1", "fp16")),
    ],
)  # fmt: skip
def test_plan(device: str, precision: str, graphs: tuple[str, ...], cuda: Cuda, expected: tuple[str, str]) -> None:
    plan = decide(device, precision, graphs, cuda, "model")
    assert (plan.device, plan.precision) == expected
    assert plan.reason.endswith((".", "model"))


@pytest.mark.parametrize(
    ("device", "precision", "cuda", "error", "message"),
    [
        ("cuda", "auto", NONE, DeviceError, "no NVIDIA driver"),
        ("cuda:3", "auto", TWO, DeviceError, "cuda:1"), ("cuda", "int8", ONE, OptionError, "precision fp16"),
        ("gpu", "auto", ONE, OptionError, "auto, cpu, cuda"),
        ("cpu", "half", NONE, OptionError, "no precision"), ("cpu", "fp32", NONE, ModelError, "colde export"),
    ],
)  # fmt: skip
def test_refusals(device: str, precision: str, cuda: Cuda, error: type[ColdeError], message: str) -> None:
    with pytest.raises(error, match=message):
        decide(device, precision, SHIPPED, cuda, "model")


def test_probe_says_what_is_missing_or_nothing() -> None:
    cuda = probe_cuda()
    assert cuda.usable == (not cuda.problem)


def test_a_card_that_stands_idle_is_told_with_the_reason() -> None:
    broken = Cuda(devices=1, problem="its driver is too old")
    assert decide("auto", "auto", SHIPPED, broken, "model").warning.endswith("not used: its driver is too old.")
    assert not decide("auto", "int8", SHIPPED, broken, "model").warning
    assert not decide("cpu", "auto", SHIPPED, broken, "model").warning
    assert not decide("auto", "auto", SHIPPED, NONE, "model").warning


def test_a_driver_that_is_too_old_leaves_standard_output_to_the_data(tmp_path: Path) -> None:
    old = {"LD_LIBRARY_PATH": build_old_driver(tmp_path)}
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# Pumps\n\nThe pump {name} lifts water into the tower.\n")
    ranked = run_process("rank", tmp_path / "a.md", tmp_path / "b.md", "--format", "json", env=old)
    assert json.loads(ranked.out)["model"]["device"] == "cpu"
    assert ranked.err.count("too old: it serves CUDA 11.4") == 1
    refused = run_process("rank", tmp_path / "a.md", tmp_path / "b.md", "--device", "cuda", env=old)
    check_trouble(refused)
    assert "too old" in refused.err
