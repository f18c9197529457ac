"""The files of two folders are paired by place, by name, by bytes and by wording."""

from __future__ import annotations

from pathlib import Path

import pytest

from colde_cli.corpus.folder_pairs import PairedFiles, pair_files
from colde_cli.errors import OptionError

PUMPS = " ".join(f"The pump number {number} lifts water into tower {number * 7} at night." for number in range(30))
BARLEY = " ".join(f"Barley of field {number} is malted by house {number * 3} in spring." for number in range(30))
EDITED = PUMPS.replace("tower 7 ", "tower 8 ")
NOTE = "Nobody needs this note any more, it said."


def paired(
    folder: Path, old: dict[str, str], new: dict[str, str], glob: str | None = None
) -> tuple[PairedFiles, set[tuple[str, str, bool]]]:
    for side, texts in (("old", old), ("new", new)):
        for name, text in texts.items():
            (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / side / name).write_text(text)
    found = pair_files(folder / "old", folder / "new", glob)
    return found, {(pair.a, pair.b, pair.same_bytes) for pair in found.pairs}


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        pytest.param(
            {"a.md": PUMPS, "sub/a.md": BARLEY},
            {"a.md": BARLEY, "sub/a.md": BARLEY},
            {("a.md", "a.md", False), ("sub/a.md", "sub/a.md", True)},
            id="files of one place are a pair whatever they hold",
        ),
        pytest.param(
            {"a.md": PUMPS, "b.md": PUMPS, "b.txt": PUMPS},
            {"a.txt": BARLEY, "b.html": BARLEY},
            # Which of the two b.html was, nobody knows.
            {("a.md", "a.txt", False), ("b.md", "", False), ("b.txt", "", False), ("", "b.html", False)},
            id="a new format keeps the name",
        ),
        pytest.param(
            {"copy.md": "A word.", "pumps.md": PUMPS, "gone.md": NOTE},
            {"sub/moved.md": "A word.", "barley.md": BARLEY, "sub/water.md": EDITED},
            {
                ("copy.md", "sub/moved.md", True),
                ("pumps.md", "sub/water.md", False),
                ("gone.md", "", False),
                ("", "barley.md", False),
            },
            id="renamed files are found by bytes and by wording",
        ),
        pytest.param(
            {"one.md": PUMPS},
            {"far.md": PUMPS.replace("water", "oil and tar"), "near.md": EDITED},
            {("one.md", "near.md", False), ("", "far.md", False)},
            id="the closest of several versions is taken",
        ),
        pytest.param(
            {"one.md": PUMPS, "two.md": PUMPS + " More."},
            {"three.md": BARLEY},
            {("one.md", "", False), ("two.md", "", False), ("", "three.md", False)},
            id="two files of one folder are never a pair",
        ),
    ],
)
def test_files_are_paired(
    tmp_path: Path, old: dict[str, str], new: dict[str, str], pairs: set[tuple[str, str, bool]]
) -> None:
    assert paired(tmp_path, old, new)[1] == pairs


def test_what_cannot_be_read_has_a_reason_and_no_partner(tmp_path: Path) -> None:
    found, pairs = paired(tmp_path, {"empty.md": ""}, {"one.md": PUMPS})
    assert pairs == {("empty.md", "", False), ("", "one.md", False)}
    assert list(found.unread) == [(0, "empty.md")]


def test_a_pattern_chooses_files(tmp_path: Path) -> None:
    texts = {"a.md": PUMPS, "a.txt": PUMPS}
    assert paired(tmp_path, texts, {"a.md": PUMPS}, "*.md")[1] == {("a.md", "a.md", True)}
    with pytest.raises(OptionError, match="no document"):
        paired(tmp_path, {}, {}, "*.pdf")
