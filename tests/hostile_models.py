"""Hostile model folders: `python tests/hostile_models.py MODEL FOLDER` writes them, each an altered copy of a model.

Each is what damage or an enemy would make of the shipped model: values of other kinds, files that inflate, graphs that
never end, tokenizers that grow texts, links out of the folder, names that steer a terminal. Unaltered files are hard
links, so that a hundred folders take no more room than a few.
"""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hostile_graphs import graph_cases, tower_cases
from model_changes import (
    CARD,
    CONFIG,
    DOMAINS,
    ENCODER,
    FIELDS,
    LEXICON,
    STEERING,
    TOKENIZER,
    WEIGHTS,
    Alteration,
    Case,
    changed,
    cut,
    foldered,
    gone,
    lacking,
    linked,
    locked,
    piped,
    put,
    valued,
    written,
)


def config_cases() -> Iterator[Case]:
    """Alterations of `config.json` but its calibration."""
    contents: dict[str, bytes | Callable[[], bytes]] = {
        "empty": b"", "text": b"no JSON", "list": b"[]", "null": b"null", "number": b"9" * 100_000,
        "deep": b'{"model_type":' + b"[" * 200_000, "binary": bytes(range(256)) * 100,
        "utf16": '{"model_type": "colde"}'.encode("utf-16"),
        "large": lambda: b'{"model_type": "colde", "x": "' + b"a" * 50_000_000 + b'"}',
        "many_keys": lambda: json.dumps({"model_type": "colde", **{f"k{i}": i for i in range(300_000)}}).encode(),
    }  # fmt: skip
    for name, content in contents.items():
        yield name, written(CONFIG, content)
    yield "missing", gone(CONFIG)
    for key in ("model_type", "backbone", "backbone_name"):
        yield f"lacks_{key}", lacking(key)
    for key, values in {
        "model_type": ("other", ["colde"], None, STEERING),
        "format": ("1", 99, -1, 1.5, 10**400),
        "backbone": ([], {}, {"hidden_size": "384"}, {"hidden_size": 10**9}, {"hidden_size": 512}),
        "backbone_name": (7, STEERING, "\ud800", "a" * 1_000_000),
        "chunk_tokens": (0, 2, -5, 1.5, 10**9, 65_536, True, math.nan),
        "max_chunks": (0, 10**9, 65_536, 1),
        "chunk_position": ("input", "no"),
        "system": ("smith", None),
        "threshold": (math.inf, 3, "high", []),
        "packing": ("blocks", STEERING, None),
        "score_weights": (None, [], {}, 3),
        "unknown": (1, {"a": [1]}),
    }.items():
        for number, value in enumerate(values):
            yield f"{key}_{number}", valued(value, key)
    yield "domains", valued([], "score_weights", "domains")
    yield "rarity", valued(100, "score_weights", "rarity")
    yield "opening", valued(10**6, "score_weights", "opening_words")
    yield "domain_name", valued(STEERING, "score_weights", "domains", 0, "name")
    yield "more_domains", changed(CONFIG, _repeat_domain)


def _repeat_domain(config: Any) -> None:
    domains = config["score_weights"]["domains"]
    domains.extend([domains[0]] * 50_000)


def calibration_cases() -> Iterator[Case]:
    """Alterations of the calibration."""
    curve: dict[str, object] = {"kind": "isotonic", "slope": 1.0, "intercept": 0.0}
    many = [index / 500_000 for index in range(500_000)]
    for name, values in {
        "unknown": {**curve, "kind": "other"},
        "falling": {**curve, "scores": [0.1, 0.2], "probabilities": [0.9, 0.1]},
        "unsorted": {**curve, "scores": [0.2, 0.1], "probabilities": [0.1, 0.9]},
        "over_one": {**curve, "scores": [0.1, 0.2], "probabilities": [0.1, 1.02]},
        "uneven": {**curve, "scores": [0.1, 0.2], "probabilities": [0.1]},
        "empty": {**curve, "scores": [], "probabilities": []},
        "texts": {**curve, "scores": ["a"], "probabilities": ["b"]},
        "nan": {**curve, "scores": [math.nan], "probabilities": [0.5]},
        "many": {**curve, "scores": many, "probabilities": many},
        "steep": {**curve, "kind": "platt", "slope": 1e308, "intercept": -1e308},
        "list": [],
        "bare": {},
    }.items():
        yield name, valued(values, "calibration")


def tokenizer_cases() -> Iterator[Case]:
    """Alterations of `tokenizer.json`."""

    def put_at(*place: str | int, value: object) -> Alteration:
        return valued(value, *place, name=TOKENIZER)

    def rule(*rules: dict[str, Any]) -> Alteration:
        return put_at("normalizer", value={"type": "Sequence", "normalizers": list(rules)})

    def replaced(pattern: dict[str, str], content: str) -> dict[str, Any]:
        return {"type": "Replace", "pattern": pattern, "content": content}

    def words(more: Mapping[str, int] | Iterable[tuple[str, int]]) -> Alteration:
        return changed(TOKENIZER, lambda values: values["model"]["vocab"].update(more))

    for name, content in (("empty", ""), ("text", "no"), ("list", "[]"), ("null", "null"), ("deep", "[" * 200_000)):
        yield name, written(TOKENIZER, content)
    yield "cut", cut(TOKENIZER, 0.5)
    yield "missing", gone(TOKENIZER)
    yield "large", written(TOKENIZER, lambda: b'{"a": "' + b"b" * 100_000_000 + b'"}')
    yield "doubling", rule(*[replaced({"String": "a"}, "aa")] * 40)
    yield "long_rule", rule(replaced({"String": "a"}, "b" * 10_000_000))
    yield "prepend", rule(*[{"type": "Prepend", "prepend": "x" * 1000}] * 9)
    yield "backtracking", rule(replaced({"Regex": "([a-z ]+)+[0-9]x"}, "a"))
    yield "looking_ahead", rule(replaced({"Regex": "(.*)*(.*)*(.*)*(?=!)$"}, "a"))
    yield "many_rules", rule(*[replaced({"String": "e"}, "e")] * 100_000)
    yield "bad_regex", rule(replaced({"Regex": "((("}, "a"))
    yield "deep_regex", rule(replaced({"Regex": "(" * 100_000 + ")" * 100_000}, "a"))
    yield "repeats", rule(replaced({"Regex": "((a{1,1000}){1,1000}){1,1000}"}, "a"))
    yield "empty_match", rule(replaced({"Regex": "(?=.)"}, "ab"))
    yield "rule_kinds", put_at("normalizer", value=[{"type": 3}, "a", None])
    for name, characters in (("charsmap", "AAAAAAAA"), ("charsmap_size", "/////w==")):
        yield name, put_at("normalizer", value={"type": "Precompiled", "precompiled_charsmap": characters})
    nested: dict[str, Any] = {"type": "Lowercase"}
    for _ in range(100):
        nested = {"type": "Sequence", "normalizers": [nested]}
    yield "nested", put_at("normalizer", value=nested)
    padding = {"strategy": {"Fixed": 10**10}, "direction": "Right", "pad_to_multiple_of": None}
    yield "padding", put_at("padding", value={**padding, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"})
    yield "no_words", put_at("model", "vocab", value={"[UNK]": 100, "[CLS]": 101, "[SEP]": 102})
    yield "ids", words({"rent": 2**31, "##t": 2**31 - 1})
    yield "negative_ids", words({"rent": -1})
    yield "beyond", words({"rent": 30_600, "the": 30_600})
    yield "empty_word", words({"": 5, "##": 6})
    yield "empty_prefix", put_at("model", "continuing_subword_prefix", value="")
    yield "long_words", put_at("model", "max_input_chars_per_word", value=2**63)
    yield "no_unknown", put_at("model", "unk_token", value="nothing")
    yield "no_specials", changed(TOKENIZER, _take_specials)
    yield "empty_added", put_at("added_tokens", 0, "content", value="")
    yield "many_added", changed(TOKENIZER, _add_many)
    specials = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 100_000
    yield "processor", put_at("post_processor", "single", value=specials)
    yield "processor_ids", put_at("post_processor", "special_tokens", "[CLS]", "ids", value=[101] * 1_000_000)
    yield "million_words", words((f"w{i}", 40_000 + i) for i in range(1_000_000))
    unigram = {"type": "Unigram", "unk_id": 9, "vocab": [["a", math.nan], ["b", -1]]}
    yield "unigram", put_at("model", value=unigram)
    yield "bpe", put_at("model", value={"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b", "c d"]})
    split = {"type": "Split", "pattern": {"Regex": "(x+x+)+y|(?=.)"}, "behavior": "Isolated", "invert": False}
    yield "split", put_at("pre_tokenizer", value=split)
    level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
    yield "bytes_rule", put_at("pre_tokenizer", value={"type": "Sequence", "pretokenizers": [level] * 30})


def _take_specials(tokenizer: Any) -> None:
    for word in ("[CLS]", "[SEP]"):
        del tokenizer["model"]["vocab"][word]
    tokenizer["added_tokens"].clear()


def _add_many(tokenizer: Any) -> None:
    added = tokenizer["added_tokens"]
    added.extend([{**added[0], "id": 40_000 + i, "content": f"w{i}"} for i in range(100_000)])


def array_cases() -> Iterator[Case]:
    """Alterations of the lexicon, the domains and the fields."""
    zeros = np.zeros
    for name in (LEXICON, DOMAINS, FIELDS):
        short = name.partition(".")[0]
        yield f"{short}_empty", written(name, b"")
        yield f"{short}_text", written(name, b"no archive")
        yield f"{short}_cut", cut(name, 0.6)
        yield f"{short}_missing", gone(name)
        yield f"{short}_other", written(name, _arrays(other=zeros(3)))
        yield f"{short}_many", written(name, lambda: _archive({f"{index}.npy": b"" for index in range(60_000)}))
    for name, array in ((LEXICON, "frequencies"), (DOMAINS, "centre"), (FIELDS, "gains")):
        short = name.partition(".")[0]
        yield f"{short}_bomb", _bomb(name, array)
    yield "pickle", written(DOMAINS, _pickled())
    stated = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s)}"
    for name, header in {
        "header": stated % "10**9, 10**9",
        "negative": stated % "-5,",
        "large_shape": stated % "8000000000,",
        "deep_header": "(" * 60_000,
        "code_header": "__import__('os').system('touch hit')",
    }.items():
        yield name, written(DOMAINS, _archive({"centre.npy": _npy(header), "prototypes.npy": b""}))
    yield "lying_size", lambda folder: put(folder, LEXICON, _lying())
    yield "lexicon_short", _array(LEXICON, "continues", lambda array: array[:50])
    yield "lexicon_none", _array(LEXICON, "documents", lambda _: np.int64(0))
    yield "lexicon_negative", _array(LEXICON, "documents", lambda _: np.int64(-3))
    yield "lexicon_over", _array(LEXICON, "frequencies", lambda array: np.full_like(array, 65535))
    yield "domains_nan", _array(DOMAINS, "prototypes", lambda array: array * np.nan)
    yield "domains_inf", _array(DOMAINS, "centre", lambda array: array * np.float32(1e38) * np.float32(1e10))
    yield "domains_huge", _array(DOMAINS, "centre", lambda array: np.full_like(array, 3e38))
    yield "domains_strings", _array(DOMAINS, "prototypes", lambda array: array.astype(str))
    yield "domains_more", _array(DOMAINS, "prototypes", lambda array: np.vstack([array, array]))
    yield "fields_huge", _array(FIELDS, "gains", lambda array: np.full_like(array, 3e38))
    yield "fields_flat", _array(FIELDS, "gains", np.ravel)


def _arrays(**values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **values)  # type: ignore[arg-type]
    return file.getvalue()


def _array(name: str, array: str, change: Callable[[Any], Any]) -> Alteration:
    """Changes one array of a file."""

    def alter(folder: Path) -> None:
        with np.errstate(over="ignore", invalid="ignore"), np.load(folder / name) as file:
            values = {key: file[key] for key in file.files}
            put(folder, name, _arrays(**{**values, array: change(values[array])}))

    return alter


def _archive(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def _npy(header: str) -> bytes:
    """The beginning of an array, with any header."""
    return b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header.encode()


def _zeros(name: str, size: int) -> bytes:
    """An archive of one array of zeros, made without having it in memory."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as part,
    ):
        part.write(_npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},)}}"))
        for _ in range(size >> 24):
            part.write(bytes(1 << 24))
    return file.getvalue()


def _lying() -> bytes:
    """An archive that inflates to two gigabytes and says a thousand bytes."""
    honest = bytearray(_zeros("frequencies.npy", 2_000_000_000))
    size = next(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(honest)).infolist())
    place = honest.find(size.to_bytes(4, "little"), honest.rfind(b"PK\x01\x02"))
    honest[place : place + 4] = (1000).to_bytes(4, "little")
    return bytes(honest)


def _pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, centre=np.array([{"a": 1}], dtype=object), prototypes=np.zeros(3))
    return file.getvalue()


def weight_cases() -> Iterator[Case]:
    """Alterations of the weights, which the graphs read too."""
    yield "empty", written(WEIGHTS, b"")
    yield "cut", cut(WEIGHTS, 0.5)
    yield "missing", gone(WEIGHTS)
    yield "random", written(WEIGHTS, np.random.default_rng(0).bytes(1_000_000))
    yield "header_length", written(WEIGHTS, (2**63).to_bytes(8, "little") + b"{}")
    yield "header_deep", written(WEIGHTS, (100_000).to_bytes(8, "little") + b"[" * 100_000)
    yield "shards_outside", _shards("../../etc/passwd")
    yield "shards_list", _shards(["a"])
    yield "outside", linked(WEIGHTS, "/etc/passwd")
    yield "zeros", linked(WEIGHTS, "/dev/zero")


def _shards(name: object) -> Alteration:
    def alter(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        put(folder, f"{WEIGHTS}.index.json", json.dumps({"weight_map": {"a": name}}))

    return alter


def file_cases() -> Iterator[Case]:
    """Links, pipes, folders and files that may not be read, in place of the model's files; hostile cards."""
    for name in (CONFIG, TOKENIZER, ENCODER, LEXICON, CARD):
        short = name.partition(".")[0]
        yield f"pipe_{short}", piped(name)
        yield f"folder_{short}", foldered(name)
        yield f"locked_{short}", locked(name)
        yield f"outside_{short}", linked(name, "/etc/passwd")
        yield f"loop_{short}", linked(name, name)
        yield f"device_{short}", linked(name, "/dev/zero")
    yield "locked_folder", locked("")
    yield "above", lambda folder: (folder / "up").symlink_to("..")
    yield "many_files", _many_files
    cards: dict[str, str | bytes] = {
        "steering": f"---\na: b\n---\n# {STEERING}\n\n{STEERING}\n", "quotes": ">" * 20_000 + "a",
        "lists": "".join(f"{' ' * i}- a\n" for i in range(1_000)), "brackets": "[" * 50_000, "stars": "*a **" * 20_000,
        "cells": "|a" * 20_000 + "\n" + "|-" * 20_000 + "\n", "large": "word " * 2_000_000,
        "links": f"[a](javascript:x) ![b](file:///etc/passwd) <{STEERING}>", "binary": bytes(range(256)) * 1000,
    }  # fmt: skip
    for name, text in cards.items():
        yield f"card_{name}", written(CARD, text)


def _bomb(name: str, array: str) -> Alteration:
    return lambda folder: put(folder, name, _zeros(f"{array}.npy", 3_000_000_000))


def _many_files(folder: Path) -> None:
    (folder / "more").mkdir()
    for index in range(5_000):
        (folder / "more" / str(index)).touch()


def name_cases() -> Iterator[Case]:
    """Folders whose own names are hostile; nothing else is wrong."""
    for name in (
        *("\x1b]0;title\x07", "line\nbreak", "\u202egnitirw", "[red][bold]", "a" * 200, "\udcff\udc9b", "-q"),
        *("$(touch hit)", "\u200b"),
    ):
        yield name, lambda folder: None


KINDS: dict[str, Callable[[], Iterator[Case]]] = {
    **{"config": config_cases, "calibration": calibration_cases, "tokenizer": tokenizer_cases},
    **{"graph": graph_cases, "array": array_cases, "weights": weight_cases, "file": file_cases},
    **{"tower": tower_cases, "name": name_cases},
}


def write_hostile_models(model: Path, folder: Path, wanted: Collection[str] = ()) -> list[Path]:
    """Write the folders of these names, KIND_NAME, or all; as copies of a model that share unaltered files."""
    folders = []
    copied = folder / ".model"  # and never the model's own files: a link shares permissions too
    shutil.copytree(model, copied)
    for kind, make in KINDS.items():
        if wanted and not any(name.startswith(f"{kind}_") for name in wanted):
            continue
        for name, alter in make():
            if wanted and f"{kind}_{name}" not in wanted:
                continue
            target = folder / f"{kind}_{name}"
            shutil.copytree(copied, target, copy_function=_link)
            alter(target)
            folders.append(target)
    return folders


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


if __name__ == "__main__":
    write_hostile_models(Path(sys.argv[1]), Path(sys.argv[2]))
