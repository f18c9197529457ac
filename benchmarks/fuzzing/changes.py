"""How inputs are altered where bytes alone would mostly break what encloses them: archives, XML, JSON, tables."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

Mutate = Callable[[bytes, int], bytes]
"""libFuzzer's own alteration of bytes, up to a size."""
Mutator = Callable[[bytes, int, random.Random, Mutate], bytes]


def packed(parts: dict[str, bytes]) -> bytes:
    """An archive of these parts, not compressed, so that the fuzzer sees what is in it."""
    written = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        warnings.simplefilter("ignore")  # of parts that have one name
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """The parts of an archive; {} if it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # whatever is wrong with it
        return {}


_NUMBERS = ("-1", "0", "1", "9", "99999999999999999999", "1e9", "NaN", "", "x", "1.5", "٣", "true", "none")


def _tree(part: bytes, draw: random.Random) -> bytes:
    """XML with elements doubled, dropped, moved, renamed, put into each other, or with other values and text."""
    root = ElementTree.fromstring(part)
    for _ in range(draw.choice((1, 2, 5))):
        parents = [one for one in root.iter() if len(one)]
        if not parents:
            break
        parent, other = draw.choice(parents), draw.choice(list(root.iter()))
        at = draw.randrange(len(parent))
        child = parent[at]
        match draw.randrange(8):
            case 0:
                del parent[at]
            case 1:
                other.insert(draw.randrange(len(other) + 1), copy.deepcopy(child))
            case 2:
                parent[at:at] = [copy.deepcopy(child) for _ in range(draw.choice((2, 40)))]
            case 3:
                child.tag = other.tag
            case 4:
                del parent[at]
                parent[at:at] = list(child)
            case 5:
                other.text = draw.choice(("x", " ", None, "1. ", "\u202e\u200d", "a" * 999, child.text))
                child.tail = draw.choice((None, "tail", child.text))
            case _:
                values = list(child.attrib) or list(other.attrib)
                if values:
                    child.set(draw.choice(values), draw.choice((*_NUMBERS, *other.attrib.values())))
    return ElementTree.tostring(root)


def mutate_archive(data: bytes, most: int, draw: random.Random, mutate: Mutate) -> bytes:
    """Alter one part of an archive, rarely the archive itself."""
    parts = unpacked(data)
    if not parts or draw.random() < 0.03:
        return mutate(data, most)
    name = draw.choice([*parts, max(parts, key=lambda one: len(parts[one]))])
    if name.endswith(".npz"):
        parts[name] = mutate_archive(parts[name], most, draw, mutate)
    elif name.endswith(".json"):
        parts[name] = mutate_json(parts[name], most, draw, mutate)
    elif name.endswith(".npy") or draw.random() < 0.1:
        parts[name] = mutate(parts[name], max(1, min(most // 2, 2 * len(parts[name]) + 64)))
    else:
        try:
            parts[name] = _tree(parts[name], draw)
        except (ElementTree.ParseError, ValueError, LookupError):  # damaged, or an encoding that nobody knows
            parts[name] = mutate(parts[name], max(1, min(most // 2, 2 * len(parts[name]) + 64)))
    return packed(parts)[:most]


def mutate_lines(data: bytes, most: int, draw: random.Random, mutate: Mutate) -> bytes:
    """Alter one line of JSON, or exchange, double or drop lines."""
    lines = data.splitlines()
    if not lines or draw.random() < 0.05:
        return mutate(data, most)
    at = draw.randrange(len(lines))
    match draw.randrange(8):
        case 0:
            lines.insert(draw.randrange(len(lines) + 1), lines[at])
        case 1:
            del lines[at]
        case _:
            for _ in range(draw.choice((1, 1, 3, 12))):
                lines[at] = mutate_json(lines[at], most, draw, mutate)
    return b"\n".join(lines)[:most]


_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 1e308, -1e308, 1e-308, 0.5, 10**30, -(2**63), "", "x", " ", "\ud800", "\0", "1",
    "\u202e", "é" * 40, [], [0], [[]], {}, {"": {}}, [1, "a"], float("inf"), float("nan"), "../x", "/", "a" * 300,
)  # fmt: skip


def mutate_json(data: bytes, most: int, draw: random.Random, mutate: Mutate) -> bytes:
    """Alter one value of a JSON text: another one, one from elsewhere in it, dropped, doubled, or its bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):  # not JSON any more
        return mutate(data, most)
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        entries = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, inner in entries:
            places.append((one, key))
            waiting.append(inner)
    if not places or draw.random() < 0.05:
        return mutate(data, most)
    holder, key = draw.choice(places)
    old = holder[key]
    match draw.randrange(7):
        case 0:
            del holder[key]
        case 1:
            other, name = draw.choice(places)
            if name in other if isinstance(other, dict) else name < len(other):
                holder[key] = json.loads(json.dumps(other[name]))
        case 2 if isinstance(old, str):
            holder[key] = mutate(old.encode("utf-8", "replace"), len(old) + 64).decode("utf-8", "replace")
        case 3 if isinstance(old, int | float) and not isinstance(old, bool):
            near = int(draw.gauss(old, 9)) if abs(old) < 1e9 else 0
            holder[key] = draw.choice((old + 1, old - 1, -old, old * 1000, old / 7, near))
        case 4 if isinstance(old, list) and old:
            holder[key] = draw.choice((old * 3, old[::-1], old[:-1], [*old, draw.choice(_ODD_VALUES)]))
        case 5 if isinstance(holder, dict):
            holder[draw.choice([*holder, "x"])] = draw.choice(_ODD_VALUES)
        case _:
            holder[key] = draw.choice(_ODD_VALUES)
    return json.dumps(value).encode("utf-8", "replace")[:most]


def mutate_candidates(data: bytes, most: int, draw: random.Random, mutate: Mutate) -> bytes:
    """Alter the header, with the checksum that fits, or the bytes."""
    if draw.random() < 0.2 or len(data) < 16:
        return mutate(data, most)
    (length,) = struct.unpack_from("<I", data, 8)
    text = mutate_json(data[16 : 16 + length], 4000, draw, mutate)
    return (data[:8] + struct.pack("<II", len(text), zlib.crc32(text)) + text + data[16 + len(text) :])[:most]
