"""Communities of neighbours, and the words that name them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli import Model, OptionError, clusters
from colde_cli.corpus import subjects
from colde_cli.corpus.subjects import communities, own_words, telling_words
from colde_cli.encoder.encoder import Encoder

weights = st.dictionaries(st.tuples(st.integers(0, 8), st.integers(9, 17)), st.floats(-1, 1), max_size=30)


def clique(numbers: range, weight: float) -> dict[tuple[int, int], float]:
    return dict.fromkeys(combinations(numbers, 2), weight)


def test_two_dense_groups_with_a_bridge_stay_two() -> None:
    links = clique(range(5), 0.8) | clique(range(5, 11), 0.8) | {(4, 5): 0.8}
    assert communities(12, links) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]  # 11 is alone


@given(weights)
@settings(max_examples=40)
def test_communities_are_disjoint_hang_together_and_leave_out_only_the_unlinked(
    links: dict[tuple[int, int], float],
) -> None:
    found = communities(18, links)
    members = [number for group in found for number in group]
    assert len(members) == len(set(members))
    for group in found:
        assert len(group) > 1
        reached, waiting = {group[0]}, [group[0]]
        while waiting:
            number = waiting.pop()
            near = {a if b == number else b for a, b in links if number in (a, b)} & set(group)
            waiting += near - reached
            reached |= near
        assert reached == set(group)
    assert communities(18, dict(reversed(links.items()))) == found


def test_a_higher_resolution_makes_more_clusters() -> None:
    links: dict[tuple[int, int], float] = {}
    for start in range(0, 24, 4):
        links |= clique(range(start, start + 4), 0.9)
    links |= {(start + 3, start + 4): 0.9 for start in range(0, 20, 4)}
    assert len(communities(24, links, 0.1)) < len(communities(24, links, 1.0)) <= len(communities(24, links, 3.0))


def test_telling_words_are_common_inside_and_rare_outside() -> None:
    pumps = Counter({"water": 8, "pump": 8, "pumps": 7, "the": 8, "odd": 1})
    taxes = Counter({"levy": 6, "water": 1, "the": 8})
    first, second = telling_words([pumps, taxes], [8, 8])
    assert first[:2] == ("pump", "water")
    assert "pumps" not in first
    assert "odd" not in first
    assert second[0] == "levy"


def test_words_of_boilerplate_do_not_count() -> None:
    notice = "this article is distributed under the terms of a licence that permits unrestricted use".split()
    texts = [[*f"pump number{seed} lifts {thing} water".split() * 9, *notice] for seed, thing in enumerate("abcdef")]
    found = own_words(texts)
    assert all({"pump", "lifts", "water"} <= words for words in found)
    assert not {"article", "distributed", "licence"} & set().union(*found)
    version = [*notice, "water"]
    assert own_words([version] * 3) == [{word for word in version if len(word) > 3}] * 3  # all would be lost
    assert own_words([["short"], []]) == [{"short"}, set()]


def test_clusters_of_an_index_need_few_cards_in_memory(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same clusters as from files, whose cards are all in memory, up to what an index rounds."""
    for number, word in enumerate(["pump", "well", "tower", "levy", "tax", "council"] * 3):
        subject = "water in the valley" if number % 6 < 3 else "money of the town"
        (tmp_path / f"{number}.txt").write_text(f"The {word} number {number} is about {subject}. " * 6)
    index = tmp_path / "a.colde"
    Model(encoder).index(index, tmp_path)
    monkeypatch.setattr(subjects, "_CARDS", 2)
    found = [Model(encoder).clusters(place, min_score=0.3) for place in (index, tmp_path)]
    members = [{frozenset(item.path for item in cluster.members) for cluster in one.clusters} for one in found]
    assert members[0] == members[1]
    assert found[0].clusters
    assert found[0].searched == 18


def test_no_resolution_below_zero(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word")
    with pytest.raises(OptionError, match="resolution"):
        clusters(tmp_path, resolution=0)
