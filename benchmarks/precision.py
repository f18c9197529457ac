"""Measure what int8 costs: vectors of the shipped graphs compared with PyTorch in fp32.

    python benchmarks/precision.py DOCUMENT... [--model NAME]

For the chunks of every document: the cosine of its int8 vector with PyTorch's, and the largest difference between
PyTorch and the fp32 ONNX graph; for every document the cosine of the two document vectors, both through the same head.
Needs the `train` extra.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.learning.colde import ChunkEncoder, load_colde
from colde_cli.learning.graphs import write_chunk_encoder

Vectors = NDArray[np.float32]


def torch_vectors(encoder: ChunkEncoder, chunks: tuple[Chunk, ...]) -> Vectors:
    """Chunk vectors [n, H] of PyTorch in fp32, one chunk at a time."""
    with torch.no_grad():
        return np.concatenate([encoder(torch.tensor([chunk.ids])).numpy() for chunk in chunks])


def onnx_vectors(graph: Path, chunks: tuple[Chunk, ...]) -> Vectors:
    """Chunk vectors [n, H] of an unmasked ONNX graph."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    feeds = ({"input_ids": np.asarray([chunk.ids], np.int64)} for chunk in chunks)
    return np.concatenate([session.run(None, feed)[0] for feed in feeds])


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Cosine of each row with its counterpart."""
    norms = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
    return np.asarray((left * right).sum(-1) / norms, np.float32)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--model", default="colde-minilm-l6")
    options = parser.parse_args()
    print(f"{platform.machine()}, one run")
    served = Encoder.load(options.model, device="cpu", precision="int8")
    reference = load_colde(served.folder, attention="eager").encoder
    chunk_cosines, document_cosines, parity = [], [], 0.0
    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "fp32.onnx"
        write_chunk_encoder(reference, graph, masked=False)
        for path in options.documents:
            encoding = served.encode(read(path))
            exact = torch_vectors(reference, encoding.chunks)
            parity = max(parity, float(np.abs(onnx_vectors(graph, encoding.chunks) - exact).max()))
            chunk_cosines.append(cosines(encoding.chunk_vectors, exact))
            document_cosines.append(float(served.head.run([exact]).vectors[0] @ encoding.document_vector))
    chunks = np.concatenate(chunk_cosines)
    print(f"{len(options.documents)} documents, {len(chunks)} chunks, model {options.model}")
    print(f"PyTorch and ONNX in fp32 differ by at most {parity:.1e}")
    print(f"int8 and fp32 chunk vectors: cosine mean {chunks.mean():.4f}, least {chunks.min():.4f}")
    mean, least = np.mean(document_cosines), min(document_cosines)
    print(f"int8 and fp32 document vectors: cosine mean {mean:.4f}, least {least:.4f}")


if __name__ == "__main__":
    main()
