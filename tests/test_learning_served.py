"""What training measures is what an exported model gives: the same document, the same vector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tiny_backbone import write_backbone, write_documents

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import CONFIG, TOKENIZER
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import read_data
from colde_cli.learning.augmentation import whole_views
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.tokens import chunk_documents

if TYPE_CHECKING:
    import torch
    from tiny_networks import CPU

    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.colde import Colde, save_weights
    from colde_cli.learning.colde_training import model_config
    from colde_cli.learning.gradient_cache import TrainedChunks
    from colde_cli.learning.graphs import export_model

pytestmark = pytest.mark.usefixtures("late_imports")


def positioned_model(folder: Path) -> tuple[Colde, str]:
    """A tiny model whose section and chunk embeddings say something, with fewer of the latter than chunks."""
    backbone = load_backbone(str(write_backbone(folder)))
    recipe = Recipe(chunk_position="input", chunk_pool="pooler", sections=3, projection=16, residual="none")
    torch.manual_seed(0)
    model = Colde(replace(model_config(recipe, backbone), max_chunks=4)).eval()
    # As fp16, in which the backbone is stored: the comparison is of positions, not of rounding.
    model.encoder.load_bert({name: weight.half().float() for name, weight in backbone.weights.items()})
    generator = torch.Generator().manual_seed(1)
    for table in (model.encoder.chunk_embedding, model.encoder.bert.embeddings.token_type_embeddings):
        assert table is not None
        table.weight.data = torch.randn(table.weight.shape, generator=generator).half().float()
    return model, backbone.tokenizer


def exported(model: Colde, tokenizer: str, folder: Path) -> Path:
    """The model as a folder with an fp32 graph."""
    folder.mkdir()
    (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
    (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    save_weights(model, folder)
    export_model(folder, precisions=("fp32",))
    return folder


def test_positioned_documents_are_served_as_they_were_trained(tmp_path: Path) -> None:
    model, tokenizer = positioned_model(tmp_path / "backbone")
    folder = exported(model, tokenizer, tmp_path / "model")

    documents = [item.document for item in read_data([write_documents(tmp_path / "data.jsonl")]).documents]
    chosen = documents[:4]
    store = chunk_documents(chosen, tokenizer, model.config.chunk_tokens)
    views = whole_views(store, range(len(chosen)))
    needed = views.needed(positioned=True)
    source = TrainedChunks(model.encoder, store, 4096, CPU, "fp32")
    arrays = (needed.places, views.lengths, views.partners, views.sections, views.chunk_ids)
    places, *others = map(torch.from_numpy, arrays)
    with torch.no_grad():
        trained = model.head(source.vectors(needed)[places], *others).vectors.numpy()

    with Cache(tmp_path / "cache", 10**9) as cache:
        encoder = Encoder.load(folder, device="cpu", precision="fp32", cache=cache)
        served = np.stack([encoding.document_vector for encoding in encoder.encode_many(chosen)])
        cached = np.stack([encoder.encode(document).document_vector for document in chosen])
    assert max(len(encoder.chunk(document)) for document in chosen) > model.config.max_chunks
    assert max(len(document.sections) for document in chosen) > 1
    np.testing.assert_allclose(served, trained, atol=1e-4)
    np.testing.assert_allclose(cached, trained, atol=1e-4)


def test_a_chunk_in_another_place_is_another_entry_of_the_cache(tmp_path: Path) -> None:
    model, tokenizer = positioned_model(tmp_path / "backbone")
    folder = exported(model, tokenizer, tmp_path / "model")
    document = read_data([write_documents(tmp_path / "data.jsonl")]).documents[0].document
    with Cache(tmp_path / "cache", 10**9) as cache:
        encoder = Encoder.load(folder, device="cpu", precision="fp32", cache=cache)
        chunk = encoder.chunk(document)[0]
        moved = [replace(chunk, index=index) for index in range(6)]
        vectors = encoder.encode_chunks(moved)
        assert cache.count() == model.config.max_chunks
        again = encoder.encode_chunks([replace(chunk, section=1, position=3)])
        assert cache.count() == model.config.max_chunks
    assert again.tobytes() == vectors[:1].tobytes()
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert vectors[3].tobytes() == vectors[4].tobytes() == vectors[5].tobytes()
