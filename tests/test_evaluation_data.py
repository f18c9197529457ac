"""Training data: what is read, and what each mistake is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from colde_cli.errors import DataError, MissingFileError
from colde_cli.evaluation.data import read_data, read_evaluation_sets, read_pairs
from colde_cli.learning.sampling import Positives


def write(path: Path, *lines: object) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def test_one_file_is_a_list_of_one(repository: Path, tmp_path: Path) -> None:
    docs = repository / "examples" / "training.jsonl"
    a, b, c = (item.id for item in read_data(docs).documents[:3])
    pairs = tmp_path / "pairs.jsonl"
    write(pairs, {"a": a, "b": b, "label": 1}, {"a": a, "b": c, "label": 0})
    assert read_data(docs) == read_data(str(docs)) == read_data([docs])
    (alone,) = read_evaluation_sets(docs, pairs, (), "test")
    (listed,) = read_evaluation_sets([docs], [pairs], (), "test")
    assert (alone.name, alone.pairs) == (listed.name, listed.pairs)


def test_the_example_is_read(repository: Path) -> None:
    data = read_data([repository / "examples" / "training.jsonl"])
    assert len(data.documents) == data.files[0].count == 32
    first = data.documents[0]
    assert (first.id, first.label) == ("bees-spring", "beekeeping")
    assert [section.heading for section in first.document.sections][:2] == ["The first inspection", "Food and space"]


def test_every_kind_of_content(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("1 Frost\n\nThe pipes burst.\n", encoding="utf-8")
    path = write(
        tmp_path / "data.jsonl",
        {"id": "a", "label": "x", "text": "INTRODUCTION\n\nSome text.\n\nMETHOD\n\nMore of it."},
        {"id": "b", "label": "x", "sections": [{"heading": "H", "text": "t"}, {"text": "u"}], "title": "B"},
        "",
        {"id": "c", "path": "notes.txt", "related": ["a"], "label": None, "unknown": [1]},
        {"id": "d", "text": "Nobody knows me.", "related": None},
    )
    a, b, c, d = read_data([path]).documents
    assert [section.heading for section in a.document.sections] == ["INTRODUCTION", "METHOD"]
    assert (b.document.title, b.document.text) == ("B", "H\n\nt\n\nu")
    assert c.document.text.endswith("The pipes burst.")
    assert (c.related, c.label, d.related) == (("a",), None, ())
    assert c.place.endswith("data.jsonl, line 4")


def test_gzip_and_several_files(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", {"id": "a", "text": "x", "related": ["b"]})
    two = tmp_path / "two.jsonl.gz"
    with gzip.open(two, "wt", encoding="utf-8") as file:
        file.write('{"id": "b", "text": "ä"}\n')
    data = read_data([one, two])
    assert [item.id for item in data.documents] == ["a", "b"]
    assert [(item.name, item.count) for item in data.files] == [("one.jsonl", 1), ("two.jsonl.gz", 1)]
    assert data.documents[1].document.text == "ä"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ({"text": "x"}, "id must be a string"),
        ({"id": 7, "text": "x"}, "id must be a string"),
        ({"id": "good", "text": "x"}, "used before"),
        ({"id": "a"}, "exactly one of text, sections and path"),
        ({"id": "a", "text": "x", "path": "y"}, "exactly one of text, sections and path"),
        ({"id": "a", "text": "  \n"}, "is empty"),
        ({"id": "a", "sections": [{"heading": "", "text": " "}]}, "has no text"),
        ({"id": "a", "text": 3}, "text must be a string"),
        ({"id": "a", "sections": "x"}, "sections must be a list"),
        ({"id": "a", "sections": [{"heading": "x"}]}, "a section must be"),
        ({"id": "a", "text": "x", "label": 3}, "label must be a string"),
        ({"id": "a", "text": "x", "related": "good"}, "related must be a list"),
        ({"id": "a", "text": "x", "related": ["ghost"]}, "'ghost', which is not in the data"),
        ({"id": "a", "text": "x", "label": "lonely"}, "alone in its class 'lonely'"),
        ({"id": "a", "text": "x", "split": "dev"}, "split 'dev'"),
        ({"id": "a", "path": "missing.pdf"}, "missing.pdf"),
        ('{"id": "a", "text": "\\ud800"}', "surrogate"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, line: object, said: str) -> None:
    path = write(tmp_path / "data.jsonl", {"id": "good", "text": "x"}, line)
    with pytest.raises(DataError, match=said) as caught:
        read_data([path])
    assert f"{path}, line 2" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"nothing\.jsonl"):
        read_data([tmp_path / "nothing.jsonl"])
    with pytest.raises(DataError, match="no lines"):
        read_data([write(tmp_path / "empty.jsonl", "")])
    (tmp_path / "latin.jsonl").write_bytes('{"id": "ä"}'.encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        read_data([tmp_path / "latin.jsonl"])
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "text": "x"}\n' * 50)[:-20])
    with pytest.raises(DataError, match=r"cut\.jsonl\.gz"):
        read_data([tmp_path / "cut.jsonl.gz"])


def test_a_link_from_elsewhere_is_company_enough(tmp_path: Path) -> None:
    path = write(
        tmp_path / "data.jsonl", {"id": "a", "text": "x", "label": "one"}, {"id": "b", "text": "y", "related": ["a"]}
    )
    assert Positives.of(read_data([path])).partners(0).tolist() == [1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"a": "x", "b": "ghost", "label": 1}, "'ghost' is not in the data"),
        ({"a": "x", "label": 1}, "b must be the id"), ({"a": "x", "b": "y"}, "0 or 1"),
        ({"a": "x", "b": "y", "label": 2}, "0 or 1"), ({"a": "x", "b": "y", "label": "1"}, "0 or 1"),
        ({"a": "x", "b": "x", "label": 1}, "with itself"), ({"a": "z", "b": "x", "label": 0}, "keep one"),
    ],
)  # fmt: skip
def test_mistakes_in_pairs(tmp_path: Path, line: object, said: str) -> None:
    path = write(tmp_path / "pairs.jsonl", {"a": "x", "b": "z", "label": 1}, line)
    with pytest.raises(DataError, match=said) as caught:
        read_pairs(path, {"x": 0, "y": 1, "z": 2})
    assert "line 2" in str(caught.value)


def test_pairs_that_say_the_same_count_once(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl", {"a": "x", "b": "y", "label": 0}, {"a": "y", "b": "x", "label": False})
    (pair,) = read_pairs(path, {"x": 0, "y": 1})
    assert (pair.a, pair.b, pair.related) == ("x", "y", False)
