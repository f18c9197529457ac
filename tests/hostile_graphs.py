"""Hostile graphs, in models of both shapes; `hostile_models.py` writes the folders."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from model_changes import (
    CONFIG,
    DOMAINS,
    ENCODER,
    FIELDS,
    HEAD,
    HIDDEN,
    LEXICON,
    STEERING,
    TOWER,
    WEIGHTS,
    Alteration,
    Case,
    cut,
    gone,
    piped,
    put,
    written,
)
from onnx import TensorProto, helper, numpy_helper

_ENDLESS = 2**62


def graph_of(
    nodes: list[onnx.NodeProto], inputs: dict[str, list[Any]], outputs: dict[str, list[Any]], **values: np.ndarray
) -> onnx.ModelProto:
    """A graph of opset 17; `values` are its constants, inputs are int64 but vectors."""
    info, kinds = helper.make_tensor_value_info, {"chunk_vectors": TensorProto.FLOAT}
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, kinds.get(name, TensorProto.INT64), shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def encoder_of(*nodes: onnx.NodeProto, shape: tuple[Any, ...] = ("N", HIDDEN), **values: np.ndarray) -> bytes:
    """A chunk encoder whose nodes make `chunk_vectors` of `input_ids`."""
    made = graph_of(list(nodes), {"input_ids": ["N", "L"]}, {"chunk_vectors": list(shape)}, **values)
    return bytes(made.SerializeToString())


def loop(step: list[onnx.NodeProto]) -> onnx.NodeProto:
    """A loop of 2^62 steps over `state`; each ends with `next`."""
    info, number, yes_or_no = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.BOOL
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), *step],
        "body",
        [info("i", TensorProto.INT64, []), info("go", yes_or_no, []), info("state", number, None)],
        [info("go_on", yes_or_no, []), info("next", number, None)],
    )
    return helper.make_node("Loop", ["steps", "yes", "start"], ["chunk_vectors"], body=body)


def graph_cases() -> Iterator[Case]:
    """Alterations of the graphs, and of where they take their weights from."""
    node = helper.make_node
    start = np.zeros((1, HIDDEN), np.float32)
    steps, yes = np.array(_ENDLESS, np.int64), np.array(True)
    filled = helper.make_tensor("v", TensorProto.FLOAT, [1], [1.0])
    for name in (ENCODER, HEAD):
        short = name.split("_")[0]
        yield f"{short}_empty", written(name, b"")
        yield f"{short}_random", written(name, np.random.default_rng(0).bytes(100_000))
        yield f"{short}_cut", cut(name, 0.7)
        yield f"{short}_text", written(name, "no graph")
        yield f"{short}_missing", gone(name)
    yield "exchanged", lambda folder: put(folder, HEAD, (folder / ENCODER).read_bytes())

    def encoder(*nodes: onnx.NodeProto, **values: np.ndarray) -> Alteration:
        """An encoder of these nodes and constants, `start` among them."""
        constants: dict[str, Any] = {"start": start, **values}
        return written(ENCODER, encoder_of(*nodes, **constants))

    def other(nodes: onnx.NodeProto, inputs: str, **outputs: list[Any]) -> Alteration:
        """An encoder of other inputs and outputs."""
        shape = ["N", "L"] if inputs == "input_ids" else ["N"]
        return written(ENCODER, graph_of([nodes], {inputs: shape}, outputs, start=start).SerializeToString())

    plain = node("Identity", ["start"], ["chunk_vectors"])
    yield "good", encoder(plain)
    yield "other_output", other(node("Identity", ["start"], ["no"]), "input_ids", no=[1, HIDDEN])
    yield "other_input", other(plain, STEERING, chunk_vectors=[1, HIDDEN])
    for name, shape in {
        "narrow": (1, 3),
        "flat": (HIDDEN,),
        "cube": (1, 1, HIDDEN),
        "rows": (9, HIDDEN),
        "none": (0, HIDDEN),
        "scalar": (),
    }.items():
        filler = np.zeros(shape, np.float32)
        yield (f"shape_{name}", written(ENCODER, encoder_of(plain, shape=tuple("ABC"[: len(shape)]), start=filler)))
    yield "doubles", other(node("Cast", ["start"], ["chunk_vectors"], to=TensorProto.DOUBLE), "input_ids")
    yield "nan", encoder(plain, start=start * np.nan)
    yield "huge_values", encoder(plain, start=start + np.float32(3e38))
    for name, step in (
        ("endless", node("Identity", ["state"], ["next"])),
        ("growing", node("Concat", ["state", "state"], ["next"], axis=0)),
    ):
        yield name, encoder(loop([step]), steps=steps, yes=yes)
    total = (node("ReduceSum", ["big"], ["sum"], keepdims=0), node("Add", ["start", "sum"], ["chunk_vectors"]))
    for name, shape in (("thirty_gigabytes", (8, 10**9)), ("exabytes", (2**31, 2**31))):
        big = node("ConstantOfShape", ["size"], ["big"], value=filled)
        yield name, encoder(big, *total, size=np.array(shape, np.int64))
    shape_of_input = node("Shape", ["input_ids"], ["shape"])
    yield (
        "expanded",
        encoder(
            shape_of_input,
            node("Mul", ["shape", "size"], ["wide"]),
            node("ConstantOfShape", ["wide"], ["big"], value=filled),
            *total,
            size=np.array([20_000, 10_000], np.int64),
        ),
    )
    yield (
        "long_work",
        encoder(
            *[node("MatMul", [f"m{i}" if i else "square", "square"], [f"m{i + 1}"]) for i in range(2_000)],
            shape_of_input,
            node("ReduceSum", ["m2000"], ["sum"], keepdims=0),
            node("Cast", ["shape"], ["floats"], to=TensorProto.FLOAT),
            node("ReduceSum", ["floats"], ["one"], keepdims=0),
            node("Mul", ["one", "sum"], ["both"]),
            node("Add", ["start", "both"], ["chunk_vectors"]),
            square=np.eye(1024, dtype=np.float32),
        ),
    )
    circle = (node("Add", ["start", "b"], ["a"]), node("Identity", ["a"], ["b"]))
    yield "cycle", encoder(*circle, node("Identity", ["a"], ["chunk_vectors"]))
    yield "own_operator", encoder(node("Shell", ["start"], ["chunk_vectors"], domain="os"))

    def chained(folder: Path) -> None:
        chain = [node("Identity", [f"n{i}" if i else "start"], [f"n{i + 1}"]) for i in range(100_000)]
        encoder(*chain, node("Identity", ["n100000"], ["chunk_vectors"]))(folder)

    yield "many_nodes", chained
    yield "later_opset", written(ENCODER, _versioned(encoder_of(plain, start=start)))
    for name, place in {
        **{"above": "../secret.bin", "absolute": "/etc/passwd", "device": "/dev/zero", "own": ENCODER},
        "missing": "no.bin",
    }.items():
        yield f"external_{name}", _external(place, 0, HIDDEN * 4)
    yield "external_offset", _external(WEIGHTS, 2**62, HIDDEN * 4)
    yield "external_length", _external(WEIGHTS, 0, 2**62)
    yield "external_negative", _external(WEIGHTS, -8, HIDDEN * 4)
    yield "external_link", _external_link
    for name, shapes in {
        "attention": ([1, 4], [1, 9, 9], [1, 1, HIDDEN]),
        "directions": ([1, 4], [1, 1, 1], [1, 1, 3]),
        "rows": ([7, 4], [7, 1, 1], [7, 1, HIDDEN]),
        "flat": ([4], [1], [HIDDEN]),
        "none": ([0, 4], [0, 0, 0], [0, 0, HIDDEN]),
    }.items():
        yield f"head_{name}", written(HEAD, _head(*(np.ones(shape, np.float32) / 2 for shape in shapes)))
    for name, numbers in (("head_nan", (np.nan, 1, 1)), ("head_long", (1e30, np.nan, 1e30))):
        full = zip(((1, 4), (1, 1, 1), (1, 1, HIDDEN)), numbers, strict=True)
        yield name, written(HEAD, _head(*(np.full(shape, number, np.float32) for shape, number in full)))


def _versioned(graph: bytes) -> bytes:
    model = onnx.load_from_string(graph)
    model.ir_version = 2**31 - 1
    model.opset_import[0].version = 2**40
    return bytes(model.SerializeToString())


def _head(vectors: np.ndarray, attention: np.ndarray, directions: np.ndarray) -> bytes:
    """A document head that always gives the same."""
    names = ("vectors", "attention", "directions")
    nodes = [helper.make_node("Identity", [f"{name}_"], [name]) for name in names]
    values = {f"{name}_": value for name, value in zip(names, (vectors, attention, directions), strict=True)}
    outputs = {name: ["X", "Y", "Z"][: values[f"{name}_"].ndim] for name in names}
    return bytes(graph_of(nodes, {"chunk_vectors": ["S", "C", HIDDEN]}, outputs, **values).SerializeToString())


def _external(place: str, offset: int, length: int) -> Alteration:
    """A chunk encoder whose weights lie elsewhere."""
    model = onnx.load_from_string(
        encoder_of(helper.make_node("Identity", ["start"], ["chunk_vectors"]), start=np.zeros((1, HIDDEN), np.float32))
    )
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": place, "offset": str(offset), "length": str(length)}.items():
        tensor.external_data.add(key=key, value=value)

    def alter(folder: Path) -> None:
        put(folder.parent, "secret.bin", b"\0" * 10_000) if place.startswith("..") else None
        put(folder, ENCODER, model.SerializeToString())

    return alter


def _external_link(folder: Path) -> None:
    """The weights are a link out of the folder."""
    _external("weights.bin", 0, HIDDEN * 4)(folder)
    (folder / "weights.bin").symlink_to("/etc/passwd")


def tower_cases() -> Iterator[Case]:
    """Folders of towers: another shape of configuration, and one graph."""
    node = helper.make_node
    vector = np.ones((1, 8), np.float32) / math.sqrt(8)
    good = {
        **{"model_type": "han", "system": "han", "packing": "sentences", "row_tokens": 50, "max_rows": 100},
        **{"dim": 8, "network": {}, "vocab_size": 30_522, "threshold": 0.5},
    }

    def tower(graph: list[onnx.NodeProto], config: dict[str, Any] | None = None, **values: np.ndarray) -> Alteration:
        content = graph_of(graph, {"rows": [1, "R", "L"]}, {"vectors": ["A", "B"]}, **values).SerializeToString()

        def alter(folder: Path) -> None:
            for name in (ENCODER, HEAD, WEIGHTS, LEXICON, DOMAINS, FIELDS):
                (folder / name).unlink()
            put(folder, TOWER, content)
            put(folder, CONFIG, json.dumps({**good, **(config or {})}))

        return alter

    plain = [node("Identity", ["v"], ["vectors"])]
    yield "good", tower(plain, v=vector)
    for name, array in {
        "narrow": vector[:, :3],
        "rows": np.vstack([vector, vector]),
        "none": vector[:0],
        "nan": vector * np.nan,
        "huge": vector * np.float32(1e38),
    }.items():
        yield f"shape_{name}", tower(plain, v=array)
    for key, values in {
        "packing": ("other", None, STEERING, ["blocks"]),
        "row_tokens": (0, -1, 10**6, 10**12, 2),
        "max_rows": (0, 10**6, 10**12),
        "dim": (0, 10**9, 9),
        "system": ("other", 3),
        "network": ([], {"kernel": -1, "window": 10**12}),
        "vocab_size": (-1, 10**12, 3),
        "backbone": ([], {"a": 1}),
    }.items():
        for number, value in enumerate(values):
            yield (
                f"{key}_{number}",
                tower(plain, {key: value, **({"model_type": value} if key == "system" else {})}, v=vector),
            )
    yield "trigrams", tower(plain, {"packing": "trigrams"}, v=vector)
    yield "wide_blocks", tower(plain, {"packing": "blocks", "row_tokens": 10**6, "max_rows": 10**6}, v=vector)
    yield "wide_sentences", tower(plain, {"row_tokens": 10**6, "max_rows": 10**6}, v=vector)

    def pipe(folder: Path) -> None:
        tower(plain, v=vector)(folder)
        piped(TOWER)(folder)

    yield "pipe", pipe
