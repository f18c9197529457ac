"""Where a backbone comes from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from colde_cli.encoder.layout import CONFIG, TOKENIZER, WEIGHTS, ModelConfig
from colde_cli.errors import ModelError

if TYPE_CHECKING:
    import torch

    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.colde import Colde, save_weights

pytestmark = pytest.mark.usefixtures("late_imports")


def test_weights_under_a_prefix(backbone_folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    nested = {f"bert.{name}": tensor for name, tensor in load_file(backbone_folder / WEIGHTS).items()}
    save_file({**nested, "cls.bias": torch.zeros(3)}, tmp_path / WEIGHTS)
    for name in (CONFIG, TOKENIZER):
        (tmp_path / name).write_bytes((backbone_folder / name).read_bytes())
    assert load_backbone(str(tmp_path)).weights.keys() == load_backbone(str(backbone_folder)).weights.keys()


def test_the_backbone_of_a_colde_model(backbone_folder: Path, tmp_path: Path) -> None:
    pretrained = load_backbone(str(backbone_folder))
    model = Colde(ModelConfig(pretrained.fields, "original", lstm_hidden=8))
    model.encoder.load_bert(pretrained.weights)
    (tmp_path / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
    (tmp_path / TOKENIZER).write_text(pretrained.tokenizer, encoding="utf-8")
    save_weights(model, tmp_path)
    backbone = load_backbone(str(tmp_path))
    assert backbone.name == "original"
    key = "encoder.layer.1.output.dense.weight"
    assert torch.allclose(backbone.weights[key], pretrained.weights[key], atol=1e-3)
    assert not any("lstm" in name for name in backbone.weights)


def test_what_is_no_bert_is_refused(backbone_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"lacks config\.json"):
        load_backbone(str(tmp_path))
    (tmp_path / CONFIG).write_text(json.dumps({"model_type": "roberta"}), encoding="utf-8")
    with pytest.raises(ModelError, match="kind 'roberta'"):
        load_backbone(str(tmp_path))
    (tmp_path / CONFIG).write_bytes((backbone_folder / CONFIG).read_bytes())
    with pytest.raises(ModelError, match=r"lacks model\.safetensors"):
        load_backbone(str(tmp_path))
    (tmp_path / WEIGHTS).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged"):
        load_backbone(str(tmp_path))
    (tmp_path / WEIGHTS).write_bytes((backbone_folder / WEIGHTS).read_bytes())
    with pytest.raises(ModelError, match=r"lacks tokenizer\.json"):
        load_backbone(str(tmp_path))


def test_names_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing listens at port 9: refused at once, and not tried again for half a minute.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"waits for {seconds} s to try again"))
    with pytest.raises(ModelError, match="name its folder with --backbone"):
        load_backbone("nobody/has-this-model")
    with pytest.raises(ModelError, match="neither as a folder"):
        load_backbone("not/a/name")
