"""One contestant of `peers.py`, in a process of its own: `python peers_worker.py NAME JSON`.

It prepares itself, prints "ready", then runs once for every line on standard input and prints the seconds of wall time
and of processor time, its children's included. Standard output carries nothing else. `plain BACKBONE TOKENS QUERY.pdf
FILE.pdf...` is a plain script that ranks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Job = Callable[[], object]


def colde_encode(task: dict[str, Any]) -> Job:
    """Text to vectors with colde."""
    from colde_cli.types import open_encoder

    encoder = open_encoder(task["model"], device="cpu", threads=task["threads"])
    return lambda: encoder.encode_passages(task["texts"])


def sentence_transformers(task: dict[str, Any], **settings: object) -> Job:
    """Text to vectors with sentence-transformers as it comes: PyTorch, fp32, batches of 32."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(task["threads"])
    model = SentenceTransformer(task["backbone"], device="cpu", **settings)
    model.max_seq_length = task["tokens"]
    return lambda: model.encode(task["texts"], show_progress_bar=False)


def st_bf16(task: dict[str, Any]) -> Job:
    """The same in bfloat16."""
    import torch

    return sentence_transformers(task, model_kwargs={"torch_dtype": torch.bfloat16})


def _st_onnx(task: dict[str, Any], **settings: object) -> Job:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task["threads"]
    settings |= {"provider": "CPUExecutionProvider", "session_options": options}
    return sentence_transformers(task, backend="onnx", model_kwargs=settings)


def st_onnx(task: dict[str, Any]) -> Job:
    """The same with its ONNX backend, exported by itself."""
    return _st_onnx(task, export=True)


def st_onnx_int8(task: dict[str, Any]) -> Job:
    """The ONNX backend with weights of int8, quantised by sentence-transformers itself."""
    return _st_onnx(task | {"backbone": task["exported"]}, file_name="model_qint8_avx512_vnni.onnx")


def st_openvino_int8(task: dict[str, Any]) -> Job:
    """The OpenVINO backend, weights and activations of int8, quantised by sentence-transformers itself."""
    settings = {"file_name": "openvino_model_qint8_quantized.xml"}
    settings |= {"ov_config": {"INFERENCE_NUM_THREADS": str(task["threads"])}}
    return sentence_transformers(task | {"backbone": task["exported"]}, backend="openvino", model_kwargs=settings)


def fastembed(task: dict[str, Any]) -> Job:
    """Text to vectors with fastembed, of the graph that sentence-transformers exported."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="peers/backbone",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url="https://example.org/none"),
        dim=384,
        model_file="onnx/model.onnx",
    )
    model = TextEmbedding("peers/backbone", specific_model_path=task["exported"], threads=task["threads"])
    return lambda: list(model.embed(task["texts"]))


def colde_read(task: dict[str, Any]) -> Job:
    """Files to documents: text, sections, pages."""
    from colde_cli import read

    return lambda: [read(path) for path in task["files"]]


def pypdf(task: dict[str, Any]) -> Job:
    """Files to text with pypdf."""
    from pypdf import PdfReader

    return lambda: [[page.extract_text() for page in PdfReader(path).pages] for path in task["files"]]


def pdfminer(task: dict[str, Any]) -> Job:
    """Files to text with pdfminer.six."""
    from pdfminer.high_level import extract_text

    return lambda: [extract_text(path) for path in task["files"]]


def pdftotext(task: dict[str, Any]) -> Job:
    """Files to text with Poppler's program, a process for each."""
    return lambda: [
        subprocess.run(["pdftotext", path, "-"], stdout=subprocess.DEVNULL, check=True) for path in task["files"]
    ]


def command(task: dict[str, Any]) -> Job:
    """A command as a user starts it; statuses of differences and of nothing found are no trouble."""

    def run() -> None:
        done = subprocess.run(task["command"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode > 1:
            raise RuntimeError(done.stderr.decode())

    return run


CONTESTANTS: dict[str, Callable[[dict[str, Any]], Job]] = {
    "colde encode": colde_encode,
    "sentence-transformers": sentence_transformers,
    "sentence-transformers bf16": st_bf16,
    "sentence-transformers ONNX": st_onnx,
    "sentence-transformers ONNX int8": st_onnx_int8,
    "sentence-transformers OpenVINO int8": st_openvino_int8,
    "fastembed": fastembed,
    "colde read": colde_read,
    "pypdf": pypdf,
    "pdfminer.six": pdfminer,
    "pdftotext": pdftotext,
    "command": command,
}


def plain_search(backbone: str, tokens: int, paths: Sequence[str]) -> None:
    """What a plain script with sentence-transformers does for `colde rank` and `colde diff`.

    It reads each PDF with pypdf, cuts the text into pieces of as many words as fill a chunk, encodes them all, and
    orders the files by the mean of the best cosines of the first one's pieces.
    """
    import numpy as np
    from pypdf import PdfReader
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(backbone, device="cpu")
    model.max_seq_length = tokens
    size, texts = int(tokens * 0.75), []
    for path in paths:
        words = " ".join(page.extract_text() for page in PdfReader(path).pages).split()
        texts.append([" ".join(words[start : start + size]) for start in range(0, len(words), size)])
    vectors = model.encode([text for each in texts for text in each], normalize_embeddings=True)
    parts = np.split(vectors, np.cumsum([len(each) for each in texts])[:-1])
    scores = [float((parts[0] @ part.T).max(1).mean()) if len(part) else -1.0 for part in parts]
    for place in np.argsort(scores)[::-1]:
        print(f"{scores[place]:.3f} {paths[place]}")


def processor_seconds() -> float:
    """Of this process and of its children, those that still run included where the system shows them."""
    spent = sum(os.times()[:4])
    tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            spent += sum(map(int, fields[11:15])) / tick
    return spent


def main() -> None:
    """Prepare, then run on demand."""
    if sys.argv[1] == "plain":
        plain_search(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    task = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    if hasattr(os, "sched_setaffinity") and task["threads"] == 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    job = CONTESTANTS[sys.argv[1]](task)
    if task["warm"]:
        job()
    print("ready", file=out)
    for _ in sys.stdin:
        wall, spent = time.perf_counter(), processor_seconds()
        job()
        answer = {"wall": time.perf_counter() - wall, "processor": processor_seconds() - spent}
        print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()
