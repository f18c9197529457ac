"""Writes the JSON schemas of the views from `schemas.txt`: `python docs/schemas.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUTLINE = Path(__file__).with_name("schemas.txt")
FOLDER = Path(__file__).resolve().parent.parent / "colde_cli" / "views" / "schemas"
_MORE = "Fields may be added within version {}; readers ignore those they do not know."
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"(.*?)(?: ({_NUMBER})?\.\.({_NUMBER})?| ({_NUMBER}))?")

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the outline, and those further in below it."""

    text: str
    below: list[_Line] = field(default_factory=list)


def schemas() -> dict[str, Schema]:
    """Every schema of the outline by its name, such as `colde.diff/1`."""
    root = _Line("")
    above = [root]
    for text in OUTLINE.read_text(encoding="utf-8").splitlines():
        if text.strip() and not text.startswith("#"):
            depth = (len(text) - len(text.lstrip())) // 2
            line = _Line(text.strip())
            above[depth].below.append(line)
            above[depth + 1 :] = [line]
    return dict(_Outline(root.below).schemas())


class _Outline:
    """What the outline defines for all schemas, and the definitions that the schema at hand refers to."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._words = {name: words for name, *words in _starting("words", lines)}
        self._groups = {line.text[6:]: line.below for line in lines if line.text.startswith("group ")}
        self._known: dict[str, _Line] = {}
        self._used: dict[str, Schema] = {}

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        for schema in self._lines:
            if schema.text.startswith("schema "):
                name, title = schema.text.removeprefix("schema ").split(": ", 1)
                yield name, self._schema(name, title, schema.below)

    def _schema(self, name: str, title: str, lines: Sequence[_Line]) -> Schema:
        self._known, self._used = {}, {}
        for line in (*self._lines, *lines):
            if line.text.startswith("define "):
                self._known[line.text.removeprefix("define ").split(":")[0]] = line
        *_, body = lines
        said = [
            line.text.replace("…", _MORE.format(name[-1]))
            for line in lines
            if ": " not in line.text[:40] and line is not body
        ]
        _, content = self._key(body)
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": name,
            "title": title,
            **({"description": said[0]} if said else {}),
            **content,
            **({"$defs": self._used} if self._used else {}),
        }

    def _key(self, line: _Line) -> tuple[str, Schema]:
        """The names before a colon, and the schema after it."""
        names, _, rest = line.text.partition(": ")
        kind, _, description = rest.partition(" — ")
        content = self._type(kind, line.below)
        return names, {**content, **({"description": description} if description else {})}

    def _type(self, kind: str, below: Sequence[_Line]) -> Schema:
        if kind.startswith(("null or ", '"')) or " or " in kind:
            return self._choice(kind, below)
        if kind.startswith("@"):
            return self._reference(kind[1:])
        if kind.startswith("one of "):
            words = kind.removeprefix("one of ").split()
            return {"enum": [None if word == "null" else word for word in self._named(words)]}
        if kind.startswith("["):
            return self._array(kind, below)
        if kind.partition("|")[0] in ("object", "closed"):
            return self._object(kind, below)
        name, least, most, _ = _split(kind)
        return {"type": _types(name), **_bounds("minimum", least), **_bounds("maximum", most)}

    def _choice(self, kind: str, below: Sequence[_Line]) -> Schema:
        if kind.startswith("null or "):
            return {"anyOf": [{"type": "null"}, self._type(kind.removeprefix("null or "), below)]}
        if kind.startswith('"'):
            return {"const": kind.strip('"')}
        return {"oneOf": [self._type(one, ()) for one in kind.split(" or ")]}

    def _named(self, words: Sequence[str]) -> Sequence[str]:
        return self._words.get(words[0], words)

    def _reference(self, name: str) -> Schema:
        if name not in self._used:
            self._used[name] = {}  # it may refer to itself
            self._used[name] = self._key(self._known[name])[1]
        return {"$ref": f"#/$defs/{name}"}

    def _array(self, kind: str, below: Sequence[_Line]) -> Schema:
        inner, _, after = kind[1:].rpartition("]")
        name, least, most, exactly = _split(inner)
        # `[integer 0..]` bounds the items, `[integer 0.. 2]` and `[@member 2..]` their number.
        if exactly is None and name in ("integer", "number") and (least or most):
            name, least, most = inner, None, None
        said = [line.text[2:] for line in below if line.text.startswith("— ")]
        item = self._type(name, [line for line in below if not line.text.startswith("— ")])
        return {
            "type": _types(f"array{after}"),
            "items": {**item, **({"description": said[0]} if said else {})},
            **_bounds("minItems", exactly or least),
            **_bounds("maxItems", exactly or most),
        }

    def _object(self, kind: str, below: Sequence[_Line]) -> Schema:
        content: Schema = {"type": _types(kind.replace("closed", "object"))}
        required: list[str] = []
        keys: Schema = {}
        for line in self._keys(below):
            if line.text.startswith("required "):
                required += line.text.split()[1:]
                continue
            names, schema = self._key(line)
            if names.startswith("*"):
                content["additionalProperties"] = schema
                if words := names.split()[1:]:
                    content["propertyNames"] = {"enum": self._named(words)}
                continue
            keys |= {name.rstrip("?"): schema for name in names.split()}
            required += [] if names.endswith("?") else names.split()
        content |= {"required": required} if required else {}
        content |= {"properties": keys} if keys else {}
        return {**content, **({"additionalProperties": False} if kind.startswith("closed") else {})}

    def _keys(self, lines: Sequence[_Line]) -> Iterator[_Line]:
        """The keys of an object, with those of its groups."""
        for line in lines:
            if line.text.startswith("+"):
                yield from self._keys(self._groups[line.text[1:]])
            else:
                yield line


def _starting(word: str, lines: Sequence[_Line]) -> Iterator[list[str]]:
    return (line.text.split()[1:] for line in lines if line.text.startswith(f"{word} "))


def _split(kind: str) -> tuple[str, str | None, str | None, str | None]:
    """A type, its least and its greatest, or its exact number."""
    match = _RANGE.fullmatch(kind)
    assert match is not None  # the pattern takes any text
    return match[1], match[2], match[3], match[4]


def _types(kind: str) -> str | list[str]:
    return kind.split("|") if "|" in kind else kind


def _bounds(name: str, bound: str | None) -> Schema:
    return {} if bound is None else {name: float(bound) if "." in bound else int(bound)}


def written(schema: Schema) -> str:
    """A schema as the text of its file: a line for each property and each definition."""
    parts = []
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            rows = (f"  {_plain(key)}: {_plain(item)}" for key, item in value.items())
            shown = "{\n" + ",\n".join(rows) + "\n }"
        else:
            shown = _plain(value)
        parts.append(f" {_plain(name)}: {shown}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    for name, schema in schemas().items():
        (FOLDER / f"{name.replace('/', '.')}.json").write_text(written(schema), encoding="utf-8")
