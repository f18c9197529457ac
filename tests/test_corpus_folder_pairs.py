"""The files of two folders are paired by place, by name, by bytes and by wording."""

from __future__ import annotations

from pathlib import Path

import pytest

from colde_cli.corpus.folder_pairs import FilePair, pair_files
from colde_cli.errors import OptionError

PUMPS = " ".join(
    f"The pump number {number} lifts water into tower {number * 7} at night." for number in range(30)
)
BARLEY = " ".join(
    f"Barley of field {number} is malted by house {number * 3} in spring." for number in range(30)
)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("old/sub", "new/sub"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "old", tmp_path / "new"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / name.replace("__", "/").replace("_", ".")).write_text(text)


def pairs(folders: tuple[Path, Path], glob: str | None = None) -> set[tuple[str, str, bool]]:
    found = pair_files(*folders, glob)
    assert all(isinstance(pair, FilePair) for pair in found.pairs)
    return {(pair.a, pair.b, pair.same_bytes) for pair in found.pairs}


def test_files_of_one_place_are_a_pair_whatever_they_hold(folders: tuple[Path, Path]) -> None:
    write(folders[0], a_md=PUMPS, sub__a_md=BARLEY)
    write(folders[1], a_md=BARLEY, sub__a_md=BARLEY)
    assert pairs(folders) == {("a.md", "a.md", False), ("sub/a.md", "sub/a.md", True)}


def test_a_new_format_keeps_the_name(folders: tuple[Path, Path]) -> None:
    write(folders[0], a_md=PUMPS, b_md=PUMPS, b_txt=PUMPS)
    write(folders[1], a_txt=BARLEY, b_html=BARLEY)
    found = pairs(folders)
    assert ("a.md", "a.txt", False) in found
    assert ("", "b.html", False) in found  # which of the two it was, nobody knows


def test_renamed_files_are_found_by_bytes_and_by_wording(folders: tuple[Path, Path]) -> None:
    write(folders[0], copy_md="A word.", pumps_md=PUMPS, gone_md="Nobody needs this note any more, it said.")
    write(
        folders[1],
        sub__moved_md="A word.",
        barley_md=BARLEY,
        sub__water_md=PUMPS.replace("tower 7", "tower 8"),
    )
    assert pairs(folders) == {
        ("copy.md", "sub/moved.md", True),
        ("pumps.md", "sub/water.md", False),
        ("gone.md", "", False),
        ("", "barley.md", False),
    }


def test_the_closest_of_several_versions_is_taken(folders: tuple[Path, Path]) -> None:
    write(folders[0], one_md=PUMPS)
    write(
        folders[1],
        far_md=PUMPS.replace("water", "oil and tar"),
        near_md=PUMPS.replace("tower 7 ", "tower 8 "),
    )
    assert ("one.md", "near.md", False) in pairs(folders)


def test_two_files_of_one_folder_are_never_a_pair(folders: tuple[Path, Path]) -> None:
    write(folders[0], one_md=PUMPS, two_md=PUMPS + " More.")
    write(folders[1], three_md=BARLEY)
    assert pairs(folders) == {("one.md", "", False), ("two.md", "", False), ("", "three.md", False)}


def test_what_cannot_be_read_has_a_reason_and_no_partner(folders: tuple[Path, Path]) -> None:
    write(folders[0], empty_md="")
    write(folders[1], one_md=PUMPS)
    found = pair_files(*folders)
    assert {(pair.a, pair.b) for pair in found.pairs} == {("empty.md", ""), ("", "one.md")}
    assert list(found.unread) == [(0, "empty.md")]


def test_a_pattern_chooses_files(folders: tuple[Path, Path]) -> None:
    write(folders[0], a_md=PUMPS, a_txt=PUMPS)
    write(folders[1], a_md=PUMPS)
    assert pairs(folders, "*.md") == {("a.md", "a.md", True)}
    with pytest.raises(OptionError, match="no document"):
        pairs(folders, "*.pdf")
