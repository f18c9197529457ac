"""Documents to encodings with another system: what CoLDE's encoder promises, it promises too."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from colde_cli.documents.document import Document, Part, assemble, document_text
from colde_cli.encoder.layout import open_system_folder
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.packing import packing
from colde_cli.encoder.system_encoder import SystemEncoder
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import ModelError, NoTextError, OptionError
from colde_cli.similarity.comparison import compare_encodings

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="needs colde[train]")


def document(*lengths: int, word: str = "hive") -> Document:
    parts = [Part(f"{place} the", f"{word} of the bow. " * count) for place, count in enumerate(lengths, 1)]
    return assemble("d.txt", "d", parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_system import tiny_backbone, write_system

    made = tmp_path_factory.mktemp("tower")
    return write_system(made / "tiny", tiny_backbone(made / "backbone"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> SystemEncoder:
    opened = open_encoder(folder, device="cpu")
    assert isinstance(opened, SystemEncoder)
    return opened


def test_a_tower_opens_as_any_model_does(encoder: SystemEncoder) -> None:
    assert (encoder.info.name, encoder.info.precision, encoder.info.device) == ("tiny", "fp32", "cpu")


def test_vectors_are_those_of_the_network_on_each_text_alone(encoder: SystemEncoder, folder: Path) -> None:
    import torch

    from colde_cli.systems.base import load_system

    text = document(3, 40)
    encoding = encoder.encode(text)
    network = load_system(open_system_folder(folder))
    tokenizer = open_tokenizer(folder / "tokenizer.json")

    def vector(part: str) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(
                network(torch.from_numpy(packing("flat", "")(part, tokenizer, encoder.config).ids[None]), None)[
                    0
                ].numpy()
            )

    np.testing.assert_allclose(encoding.document_vector, vector(document_text(text)), atol=1e-4)
    for section, found in zip(text.sections, encoding.section_vectors, strict=True):
        np.testing.assert_allclose(found, vector(text.section_text(section)), atol=1e-4)
    assert len(encoding.chunks) > 2
    for chunk, found in zip(encoding.chunks, encoding.chunk_vectors, strict=True):
        np.testing.assert_allclose(found, vector(text.text[chunk.span.start : chunk.span.end]), atol=1e-4)
    assert encoding.centred_unit_vectors is encoding.chunk_vectors
    np.testing.assert_allclose(np.linalg.norm(encoding.chunk_vectors, axis=1), 1, atol=1e-5)


def test_a_vector_does_not_depend_on_company(encoder: SystemEncoder) -> None:
    one, other = document(2), document(9, 30, word="keel")
    alone = encoder.encode(one)
    for encoding in encoder.encode_many([other, one, other])[1:2]:
        assert encoding.document_vector.tobytes() == alone.document_vector.tobytes()


def test_attention_is_uniform_and_scores_are_cosines(encoder: SystemEncoder) -> None:
    a, b = encoder.encode_many([document(2, 30), document(40, word="keel")])
    result = compare_encodings(a, b, encoder)
    assert np.unique(result.attention[0]).tolist() == pytest.approx([1 / len(b.chunks)])
    np.testing.assert_allclose(result.attention[1].sum(1), 1, atol=1e-6)
    assert result.attention[1].shape == (len(b.chunks), len(a.chunks)) == result.chunk_scores.shape[::-1]
    assert result.score == pytest.approx(float(a.document_vector @ b.document_vector), abs=1e-6)
    assert compare_encodings(a, a, encoder).score == pytest.approx(1)


def test_without_parts_the_vector_of_the_document_is_all_there_is(encoder: SystemEncoder, folder: Path) -> None:
    whole = open_encoder(folder, device="cpu", parts=False)
    documents = [document(3, 40), document(9, 30, word="keel")]
    told: list[int] = []
    for found, full in zip(whole.encode_many(documents, told.append), encoder.encode_many(documents), strict=True):
        assert found.document_vector.tobytes() == full.document_vector.tobytes()
        assert (len(found.chunks), len(found.chunk_vectors), len(found.section_vectors)) == (0, 0, 0)
    assert sum(told) == len(documents)
    assert whole.identity != encoder.identity
    with pytest.raises(NoTextError):
        whole.encode(assemble("empty.txt", "empty", []))


def test_what_the_cache_knows_is_not_computed_again(folder: Path, tmp_path: Path) -> None:
    with Cache(tmp_path, 10**7) as cache:
        first = SystemEncoder.load(folder, device="cpu", cache=cache)
        done = first.encode(document(3, 40))
        kept = cache.count()
        assert kept
        second = SystemEncoder.load(folder, device="cpu", cache=cache)
        second._runner.cancel()
        second._runner = None  # type: ignore[assignment] # would fail if it were asked
        again = second.encode(document(3, 40))
        assert cache.count() == kept
    assert again.chunk_vectors.tobytes() == done.chunk_vectors.tobytes()
    assert again.section_vectors.tobytes() == done.section_vectors.tobytes()


def test_an_identity_is_that_of_graph_tokenizer_and_sizes_and_not_of_what_was_fitted(
    folder: Path, tmp_path: Path
) -> None:
    known = SystemEncoder.load(folder, device="cpu").identity
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    config = copy / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"threshold": null', '"threshold": 0.5'), encoding="utf-8")
    assert SystemEncoder.load(copy, device="cpu").identity == known
    config.write_text(text.replace('"row_tokens": 48', '"row_tokens": 40'), encoding="utf-8")
    assert SystemEncoder.load(copy, device="cpu").identity != known


def test_nothing_to_read_is_an_error_and_no_vector_of_chance(encoder: SystemEncoder) -> None:
    with pytest.raises(NoTextError):
        encoder.encode(assemble("empty.txt", "empty", []))
    assert not encoder.encode_texts([""]).any()
    assert encoder.encode_texts([]).shape == (0, 32)


def test_what_is_not_there_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="one graph, in fp32"):
        open_encoder(folder, precision="int8")
    with pytest.raises(OptionError, match="no precision 'int9'"):
        open_encoder(folder, precision="int9")
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / "onnx" / "tower.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"tower\.onnx is damaged"):
        open_encoder(copy, device="cpu").encode(document(1))
    (copy / "onnx" / "tower.onnx").unlink()
    with pytest.raises(ModelError, match=r"lacks onnx/tower\.onnx"):
        open_encoder(copy, device="cpu")


def test_passages_are_encoded_as_sections_of_a_document_are(encoder: SystemEncoder) -> None:
    texts = ["hive of the bow. " * 3, "keel of the bow. " * 40]
    whole = encoder.encode(assemble("", "", [Part("", text) for text in texts]))
    rows = [next(row for row, chunk in enumerate(whole.chunks) if chunk.section == n) for n in range(2)]
    vectors = encoder.encode_passages([texts[0], "", texts[1]])
    np.testing.assert_array_equal(vectors[[0, 2]], whole.centred_unit_vectors[rows])
    assert not vectors[1].any()
