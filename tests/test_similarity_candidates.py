"""Passages worth encoding: by their chunks, by their words, by what stands near them; and none twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from command_line import V1
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Chunk, Span
from colde_cli.documents.passages import Passage
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.similarity.candidates import (
    REPEATED,
    WORDS,
    ChunkCosines,
    FloatArray,
    WordCosines,
    lexical_candidates,
)
from colde_cli.similarity.comparison import Comparison, compare_encodings
from colde_cli.similarity.matching import Matching

AGREEMENT = Path(V1).parent / "supply-agreement.pdf"


def chunks(*ends: int) -> tuple[Chunk, ...]:
    starts = (0, *ends[:-1])
    spans = [Span(start, end) for start, end in zip(starts, ends, strict=True)]
    return tuple(Chunk(n, 0, n, span, ()) for n, span in enumerate(spans))


def passages(*spans: tuple[int, int]) -> list[Passage]:
    return [Passage(n, 0, Span(*span)) for n, span in enumerate(spans)]


def test_a_passage_has_the_highest_score_of_the_chunks_it_stands_in() -> None:
    cosines = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    asked = []

    def among(rows: list[int], columns: list[int]) -> FloatArray:
        asked.append((rows, columns))
        return cosines[np.ix_(rows, columns)]

    scores = ChunkCosines(chunks(100, 200), chunks(50, 90), among)
    inside, across, outside = (10, 100), (90, 110), (200, 220)
    (found,) = scores.of_passages(passages(inside, across, outside), passages((0, 50), (49, 51)))
    assert found.tolist() == np.array([[0.1, 0.2], [0.3, 0.4], [1, 1]], np.float32).tolist()
    (found,) = scores.of_passages(passages((110, 150)), passages((60, 70)))
    assert found.tolist() == np.array([[0.4]], np.float32).tolist()
    assert asked == [([0, 1], [0, 1]), ([1], [1])]
    (found,) = scores.of_passages(passages(outside), passages((0, 50)))
    assert found.tolist() == [[1]]


def test_blocks_of_a_table_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cosines = np.random.default_rng(1).uniform(-1, 1, (20, 30)).astype(np.float32)
    a, b = chunks(*range(10, 210, 10)), chunks(*range(10, 310, 10))
    scores = ChunkCosines(a, b, lambda rows, columns: cosines[np.ix_(rows, columns)])
    spans = [(start, start + 15) for start in range(0, 190, 6)]
    words = [tuple(f"{number % 7} {number % 5} {number % 3}".split()) for number in range(30)]

    def found() -> tuple[list[FloatArray], object]:
        alike = WordCosines.of(words, words, list(range(25)), list(range(4, 30)))
        return list(scores.of_passages(passages(*spans), passages(*spans))), lexical_candidates(words, words, alike)

    (whole,), candidates = found()
    monkeypatch.setattr("colde_cli.similarity.candidates._ROWS", 7)
    monkeypatch.setattr("colde_cli.similarity.candidates._CELLS", 500)  # as if the table were too large to keep
    blocks, again = found()
    assert len(blocks) == -(-len(spans) // 7)
    assert np.array_equal(np.concatenate(blocks), whole)
    assert candidates == again


def test_of_many_equal_passages_few_pairs_are_compared() -> None:
    a, b = [("no", "answer", "was", "given")] * 400, [("no", "reply", "was", "given")] * 300
    found = lexical_candidates(a, b, WordCosines.of(a, b, list(range(400)), list(range(300))))
    assert len(found) <= REPEATED * (400 + 300)
    assert {(i, i) for i in range(300)} <= {(pair.a, pair.b) for pair in found}


ANSWERS = st.lists(
    st.sampled_from(["no answer", "no reply", "none", "not known", "nothing known"]), min_size=1, max_size=30
)


@given(ANSWERS, ANSWERS, st.booleans())
def test_candidates_the_other_way_round_are_the_mirror_image(a: list[str], b: list[str], known: bool) -> None:
    left, right = ([tuple(text.split()) for text in texts] for texts in (a, b))
    of_a, of_b = list(range(len(a))), list(range(0, len(b), 2))
    there = WordCosines.of(left, right, of_a, of_b)
    back = there.turned()
    in_b, in_a = [(i, 0) for i in range(len(a))], [(j, len(a)) for j in range(len(b))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("colde_cli.similarity.candidates.REPEATED", 6)
        patch.setattr("colde_cli.similarity.candidates._AROUND", 1)
        forward = lexical_candidates(left, right, there, (in_b, in_a) if known else None)
        backward = lexical_candidates(right, left, back, (in_a, in_b) if known else None)
    assert {(pair.a, pair.b) for pair in forward} == {(pair.b, pair.a) for pair in backward}


@pytest.mark.parametrize("cells", [1 << 24, 10])  # kept whole, and not
def test_a_passage_with_words_like_those_of_any_other_has_met_one(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.similarity.candidates._CELLS", cells)
    monkeypatch.setattr("colde_cli.similarity.candidates._ROWS", 3)
    chance = np.random.default_rng(3)
    words = [tuple(f"w{number}" for number in chance.integers(0, 400, 6)) for _ in range(60)]
    of = list(range(0, 30, 2)), list(range(1, 28))
    alike = WordCosines.of(words[:30], words[30:], list(range(30)), list(range(28)))
    likely = alike.rows(0, 30)[np.ix_(*of)] >= WORDS
    met = np.arange(len(of[0])) == 4, np.arange(len(of[1])) == 5
    expected = [(likely.any(1) | met[0]).tolist(), (likely.any(0) | met[1]).tolist()]
    alike.meet(of, met)
    assert [side.tolist() for side in met] == expected
    assert all(0 < sum(side) < len(side) for side in expected)


@given(
    st.dictionaries(st.integers(0, 12), st.integers(0, 12), max_size=5),
    st.sets(st.integers(0, 12)),
    st.sets(st.integers(0, 12)),
)
def test_near_are_passages_on_the_same_side_of_an_answering_pair(
    drawn: dict[int, int], free_a: set[int], free_b: set[int]
) -> None:
    matching = Matching([1] * 13)
    for (a, _), b in zip(sorted(drawn.items()), sorted(set(drawn.values())), strict=False):
        matching.add(a, b, 1.0)
    of_a, of_b = sorted(free_a - set(matching.partner)), sorted(free_b - matching.taken)
    found = matching.near(of_a, of_b, 2)
    for row, i in enumerate(of_a):
        for column, j in enumerate(of_b):
            steps = [(i - a, j - b) for a, b in matching.partner.items()]
            near = any((0 < x <= 2 and 0 < y <= 2) or (-2 <= x < 0 and -2 <= y < 0) for x, y in steps)
            assert found[row, column] == near


class Written(Cache):
    """A cache that remembers how much it was told."""

    written = 0

    def put(self, items: Mapping[bytes, bytes]) -> None:
        self.written += len(items)
        super().put(items)


@pytest.fixture(scope="module")
def compared(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Written]:
    """Two unrelated documents, aligned."""
    cache = Written(tmp_path_factory.mktemp("cache"), 10**9)
    return diff(model_folder, cache), cache


def diff(model_folder: Path, cache: Cache) -> Comparison:
    encoder = Encoder.load(model_folder, device="cpu", cache=cache)
    a, b = (encoder.encode(read(path)) for path in (V1, AGREEMENT))
    comparison = compare_encodings(a, b, encoder)
    assert comparison.passages
    return comparison


def test_of_unrelated_documents_few_passages_are_encoded(compared: tuple[Comparison, Written]) -> None:
    comparison, cache = compared
    all_passages = len(comparison.aligned.a) + len(comparison.aligned.b)
    encoded = cache.written - len(comparison.a.chunks) - len(comparison.b.chunks)
    assert encoded < all_passages / 2
    (pair,) = (pair for pair in comparison.passages if pair.a and pair.b)
    assert "it exists to be compared" in pair.a_text
    assert "exists to be compared" in pair.b_text


def test_a_second_diff_encodes_nothing(compared: tuple[Comparison, Written], model_folder: Path) -> None:
    comparison, cache = compared
    before = cache.written
    again = diff(model_folder, cache)
    assert cache.written == before
    assert again.passages == comparison.passages
