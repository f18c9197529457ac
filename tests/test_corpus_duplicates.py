"""Groups of copies and versions, and parts of longer documents."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli import dupes
from colde_cli.corpus.duplicates import Families, Relation, find_families, strongest_links
from colde_cli.corpus.near_pairs import NearPair

pairs = st.lists(
    st.builds(
        lambda a, b, x, y: NearPair(min(a, b), max(a, b) + 1, x, y),
        st.integers(0, 9),
        st.integers(0, 9),
        st.floats(0.4, 1),
        st.floats(0.4, 1),
    ),
    max_size=30,
    unique_by=lambda pair: (pair.a, pair.b),
)


def prose(count: int, seed: int) -> str:
    letters = random.Random(seed)
    words = ("".join(letters.choices("abcdefghijklmnop", k=5)) for _ in range(count))
    return "\n\n".join(" ".join(next(words) for _ in range(50)) for _ in range(count // 50))


def groups(found: Families) -> list[list[tuple[str, Relation | None, str]]]:
    return [
        [
            (Path(member.path).name, member.closest.relation if member.closest else None, name(member.closest))
            for member in group.members
        ]
        for group in found.groups
    ]


def name(closest: object) -> str:
    return Path(getattr(closest, "path", "")).name


@pytest.fixture
def library(tmp_path: Path) -> Path:
    article, other = prose(1000, 1), prose(1500, 2)
    (tmp_path / "article.txt").write_text(article)
    (tmp_path / "copy.txt").write_text(article)
    (tmp_path / "article.md").write_text(article.replace("\n\n", "\n\n\n"))
    (tmp_path / "version.txt").write_text(f"{article}\n\n{prose(200, 3)}")
    (tmp_path / "volume.txt").write_text(f"{prose(4000, 4)}\n\n{article}\n\n{other}\n\n{prose(3000, 5)}")
    (tmp_path / "other.txt").write_text(other)
    (tmp_path / "stranger.txt").write_text(prose(1000, 6))
    return tmp_path


def test_copies_same_text_versions_and_parts(library: Path) -> None:
    found = dupes(library)
    assert groups(found) == [
        [
            ("version.txt", None, ""), ("article.md", Relation.VERSION, "version.txt"),
            ("article.txt", Relation.SAME_TEXT, "article.md"), ("copy.txt", Relation.IDENTICAL, "article.txt"),
        ]
    ]  # fmt: skip
    assert [(Path(item.part.path).name, Path(item.whole.path).name) for item in found.contained] == [
        ("other.txt", "volume.txt"), ("version.txt", "volume.txt"), ("article.md", "volume.txt"),
    ]  # fmt: skip
    assert (found.searched, found.skipped) == (7, ())
    shares = [item.share for item in found.contained]
    assert shares == [1.0, pytest.approx(1000 / 1200), 1.0]


def test_a_volume_does_not_join_its_articles(tmp_path: Path) -> None:
    articles = [prose(800, seed) for seed in range(12)]
    for number, article in enumerate(articles):
        (tmp_path / f"{number}.txt").write_text(article)
    (tmp_path / "volume.txt").write_text("\n\n".join(articles))
    found = dupes(tmp_path)
    assert found.groups == ()
    assert len(found.contained) == 12
    assert {Path(item.whole.path).name for item in found.contained} == {"volume.txt"}
    assert found.pairs()[0] == (str(tmp_path / "0.txt"), str(tmp_path / "volume.txt"))


def test_copies_of_an_unreadable_file_are_a_group(tmp_path: Path) -> None:
    for place in ("a.pdf", "b.pdf", "c.pdf"):
        (tmp_path / place).write_bytes(b"%PDF-1.7 and nothing else" + (b"!" if place == "c.pdf" else b""))
    (tmp_path / "text.txt").write_text(prose(200, 1))
    found = dupes(tmp_path)
    assert groups(found) == [[("a.pdf", None, ""), ("b.pdf", Relation.IDENTICAL, "a.pdf")]]
    assert [Path(item.path).name for item in found.skipped] == ["a.pdf", "b.pdf", "c.pdf"]
    assert found.groups[0].members[0].words == 0


def test_short_texts_are_compared_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Pay 30 euros in cash at the desk by noon.")
    (tmp_path / "b.txt").write_text("Pay 30 euros in cash\nat the desk by noon!")
    (tmp_path / "c.txt").write_text("Pay 60 euros in cash at the desk by noon.")
    (tmp_path / "long.txt").write_text(f"{prose(500, 1)} Pay 60 euros in cash at the desk by noon.")
    found = dupes(tmp_path)
    assert groups(found) == [[("a.txt", None, ""), ("b.txt", Relation.SAME_TEXT, "a.txt")]]
    assert found.contained == ()


def test_an_order_of_files_does_not_change_what_is_found(library: Path) -> None:
    words = prose(80, 7).split()
    for place in range(0, 80, 10):  # as close to the first as to each other
        edited = [*words[:place], "other", *words[place + 1 :]]
        (library / f"edited{place}.txt").write_text(" ".join(edited))
    files = sorted(library.iterdir())
    found = find_families(files).to_dict()
    assert max(len(group["members"]) for group in found["groups"]) == 8
    for seed in range(5):
        random.Random(seed).shuffle(files)
        assert find_families(files).to_dict() == found


@given(pairs)
def test_a_group_hangs_together_by_its_strongest_links(near: list[NearPair]) -> None:
    kept = {(pair.a, pair.b): pair for pair in strongest_links(near)}

    def reached(start: int, usable: list[NearPair]) -> set[int]:
        seen, waiting = {start}, [start]
        while waiting:
            number = waiting.pop()
            for pair in usable:
                for here, there in ((pair.a, pair.b), (pair.b, pair.a)):
                    if here == number and there not in seen:
                        seen.add(there)
                        waiting.append(there)
        return seen

    for number in {number for pair in near for number in (pair.a, pair.b)}:
        assert reached(number, list(kept.values())) == reached(number, near)
    assert len(kept) == len({n for p in near for n in (p.a, p.b)}) - len({frozenset(reached(p.a, near)) for p in near})
    for pair in near:  # Without the weaker links the two ends of a pair are still together.
        strength = min(pair.share_a, pair.share_b)
        strong = [item for item in kept.values() if min(item.share_a, item.share_b) >= strength]
        assert pair.b in reached(pair.a, strong)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.txt").write_text("some words")
    found = dupes([tmp_path / "pipe", tmp_path / "a.txt"])
    assert [Path(item.path).name for item in found.skipped] == ["pipe"]
