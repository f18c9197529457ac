"""The configuration of towers: what is written is read, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colde_cli.encoder.layout import ModelFolder, SystemConfig, SystemFolder, open_system_folder
from colde_cli.encoder.loading import open_encoder, open_model
from colde_cli.encoder.packing import packing
from colde_cli.errors import ModelError
from colde_cli.scoring.config import Calibration

CONFIG = SystemConfig(
    "han",
    "sentences",
    50,
    100,
    100,
    {"hidden": 50},
    vocab_size=9,
    threshold=0.4,
    calibration=Calibration("isotonic", scores=(0.1, 0.9), probabilities=(0.0, 1.0)),
)


def folder(path: Path, **changes: object) -> Path:
    values = {**json.loads(CONFIG.to_json()), **changes}
    path.mkdir()
    (path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    return path


def test_what_is_written_is_read() -> None:
    assert SystemConfig.from_json(CONFIG.to_json(), "here") == CONFIG
    assert json.loads(CONFIG.to_json())["model_type"] == "han"


def test_chunks_are_of_coldes_size_unless_a_row_reads_less() -> None:
    assert CONFIG.chunk_tokens == 512
    assert SystemConfig("matchbert", "flat", 256, 1, 384, vocab_size=9).chunk_tokens == 256
    assert SystemConfig("slong", "flat", 4096, 1, 384, vocab_size=9).chunk_tokens == 512


def test_a_folder_says_of_which_kind_it_is(tmp_path: Path, model_folder: Path) -> None:
    assert isinstance(open_model(folder(tmp_path / "han")), SystemFolder)
    assert isinstance(open_model(model_folder), ModelFolder)
    with pytest.raises(ModelError, match="of kind 'colde', not one of another system"):
        open_system_folder(model_folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dim": 0}, "dim must be a whole number"), ({"row_tokens": "many"}, "row_tokens must be"),
        ({"max_rows": True}, "max_rows must be"), ({"network": None}, "network must be an object"),
        ({"backbone": 3}, "backbone must be"), ({"format": 99}, "later colde"),
        ({"system": "smith"}, "of kind 'han'"),
        ({"packing": "crates"}, "'crates', which this version does not know"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        open_encoder(folder(tmp_path / "model", **changes), device="cpu")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    with pytest.raises(ModelError, match="of kind 'bert'"):
        open_encoder(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match="not valid JSON"):
        open_encoder(tmp_path)
    with pytest.raises(ModelError, match="incomplete"):
        SystemConfig.from_json('{"model_type": "han", "system": "han"}', "here")


def test_an_unknown_packing_is_refused() -> None:
    with pytest.raises(ModelError, match="upgrade colde"):
        packing("crates", "here")
