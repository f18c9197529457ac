"""The PAN benchmark: its measures by hand, its files, and a miniature corpus from files to figures."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import pytest

from colde_cli.documents.document import Span
from colde_cli.errors import DataError

BEES = (
    "The hive stood at the edge of the orchard, where the bees found clover from May until late August.\r\n"
    "Each frame was weighted in the evening, and the yield was written down in a green book.\r\n"
)
REWORDED = (
    "The hive stood at the edge of an orchard, where the bees found clover from May until the end of August.\n"
    "Each frame was weighted in the evening, and its yield was written down in a green book."
)
BOATS = "\n\nThe ferry left the harbour at seven, and nobody on deck saw the pilot wave from the tower.\n\n"
BREAD = "   The dough must rest for nine hours before the baker shapes it into a long and narrow loaf.\n\n"


@pytest.fixture
def pan(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("pan")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A copied passage, a reworded one, and a pair without reuse."""
    for name in ("susp", "src", "01-none", "02-copied", "03-reworded"):
        (tmp_path / name).mkdir()
    source = tmp_path / "src" / "source1.txt"
    source.write_bytes((BOATS + BEES).encode())
    for number, (kind, before, passage, name) in enumerate(
        (
            ("01-none", BREAD, "", ""),
            ("02-copied", BREAD, BEES, "plagiarism"),
            ("03-reworded", "Grüße! " + BREAD, REWORDED, "artificial-plagiarism"),
        )
    ):
        (tmp_path / "susp" / f"susp{number}.txt").write_bytes((before + passage).encode())
        feature = (
            f'<feature name="{name}" this_offset="{len(before)}" this_length="{len(passage)}" '
            f'source_reference="source1.txt" source_offset="{len(BOATS)}" source_length="{len(BEES)}"/>'
            if passage
            else '<feature name="about"/><feature name="detected-plagiarism"/>'
        )
        (tmp_path / kind / f"susp{number}-source1.xml").write_text(
            f'<?xml version="1.0" encoding="UTF-8"?><document reference="susp{number}.txt">{feature}</document>'
        )
    (tmp_path / "pairs").write_text("".join(f"susp{number}.txt source1.txt\n" for number in range(3)))
    return tmp_path


def reuse(pan: Any, suspicious: tuple[int, int], source: tuple[int, int], pair: str = "p") -> Any:
    return pan.Reuse(pair, Span(*suspicious), Span(*source))


def test_measures_by_hand(pan: Any) -> None:
    cases = [reuse(pan, (0, 100), (0, 100)), reuse(pan, (200, 300), (500, 600))]
    found = [
        reuse(pan, (0, 50), (0, 50)),
        reuse(pan, (40, 80), (40, 80)),
        reuse(pan, (300, 400), (500, 600)),  # touches the second case on one side only
        reuse(pan, (0, 100), (0, 100), "another pair"),
    ]
    figures = pan.measure(cases, found)
    # 80 of 100 characters of the first case on both sides, nothing of the second.
    assert figures.recall == pytest.approx(0.8 / 2)
    assert figures.precision == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert figures.granularity == 2
    f1 = 2 * 0.4 * 0.5 / 0.9
    assert figures.plagdet == pytest.approx(f1 / math.log2(3))


def test_characters_of_two_detections_count_once(pan: Any) -> None:
    case = reuse(pan, (10, 20), (0, 30))
    found = [reuse(pan, (0, 15), (0, 10)), reuse(pan, (12, 18), (5, 12))]
    # 8 of 10 characters on one side, 12 of 30 on the other.
    assert case.share_in(found) == pytest.approx(20 / 40)
    # Of the first detection 5 of 15, and 10 of 10.
    assert found[0].share_in([case]) == pytest.approx(15 / 25)


def test_nothing_to_find(pan: Any) -> None:
    one = [reuse(pan, (0, 9), (0, 9))]
    for cases, found, value in (([], [], 1), (one, [], 0), ([], one, 0)):
        figures = pan.measure(cases, found)
        assert (figures.precision, figures.recall, figures.granularity) == (value, value, 1)
        assert figures.plagdet == value


def test_files(pan: Any, corpus: Path) -> None:
    none, copied, reworded = pan.read_corpus(corpus)
    assert none.cases == ()
    assert (copied.kind, copied.source.name) == ("02-copied", "source1.txt")
    (case,) = reworded.cases
    text = reworded.suspicious.read_bytes().decode()
    assert text[case.suspicious.start : case.suspicious.end] == REWORDED
    (corpus / "02-copied" / "susp1-source1.xml").write_text(
        '<document><feature name="plagiarism"/></document>'
    )
    with pytest.raises(DataError, match="no truth"):
        pan.read_corpus(corpus)
    (corpus / "src" / "source1.txt").unlink()
    with pytest.raises(DataError, match="is not there"):
        pan.read_corpus(corpus)
    (corpus / "pairs").write_text("susp1.txt\n")
    with pytest.raises(DataError, match="line 1"):
        pan.read_corpus(corpus)


def test_a_miniature_is_found_where_it_stands(
    pan: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = pan.read_corpus(corpus)
    copied = pairs[1]
    one, other = pan.FileText.read(copied.suspicious), pan.FileText.read(copied.source)
    (found,) = pan.detections(copied.name, one, other, None, 8)
    assert (
        copied.suspicious.read_bytes().decode()[found.suspicious.start : found.suspicious.end] == BEES.strip()
    )
    assert copied.source.read_bytes().decode()[found.source.start : found.source.end] == BEES.strip()
    assert pan.detections(copied.name, one, other, None, 40) == []
    monkeypatch.setattr("sys.argv", ["pan.py", str(corpus)])
    monkeypatch.setenv("COLUMNS", "200")
    pan.main()
    shown = capsys.readouterr().out
    lines = {line.split()[1]: line.split()[3::2] for line in shown.splitlines() if line.startswith("│")}
    assert lines["01-none"] == ["1", "0", "0", "1.000", "1.000", "1.000", "1.000"]
    assert lines["all"][:3] == ["3", "2", "2"]
    assert float(lines["all"][-1]) > 0.97
