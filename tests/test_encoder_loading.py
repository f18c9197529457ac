"""Models of strangers, through the real command line: each is used or refused, by one line that names the file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from command_line import check_trouble, run, run_process
from hostile_models import write_hostile_models
from permissions import permissions_count

# About one of each way to be hostile; `python benchmarks/hostile.py` runs all of them, under limits.
REFUSED = """
config_empty config_deep config_large config_model_type_1 config_backbone_3 config_chunk_tokens_7 config_packing_2
calibration_falling calibration_nan
tokenizer_empty tokenizer_doubling tokenizer_backtracking tokenizer_charsmap tokenizer_charsmap_size tokenizer_ids
tokenizer_beyond tokenizer_no_specials tokenizer_bytes_rule tokenizer_many_rules
graph_other_output
graph_shape_flat graph_shape_scalar graph_shape_rows graph_doubles graph_nan
graph_huge_values graph_cycle graph_external_above graph_external_absolute graph_external_length
array_lexicon_cut array_pickle array_large_shape array_lexicon_short array_domains_huge
config_missing tokenizer_missing
weights_cut weights_shards_outside file_pipe_config file_locked_lexicon file_loop_tokenizer
tower_shape_none tower_packing_0 tower_row_tokens_3
""".split()
HEAD_REFUSED = "graph_document_cut graph_document_missing graph_exchanged graph_head_rows graph_head_nan".split()
OPENED = """
config_unknown_0 calibration_steep graph_good graph_chunk_missing graph_head_attention file_above tower_good
""".split()
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def documents(tmp_path: Path) -> tuple[Path, Path]:
    a, b = tmp_path / "a.md", tmp_path / "b.md"
    a.write_text("# Rent\n\nThe tenant pays 900 euros a month.\n\n# Term\n\nThe lease ends in May.\n")
    b.write_text("# Method\n\nWe sampled nine lakes.\n\n# Result\n\nMost fish live near the shore.\n")
    return a, b


@pytest.mark.slow
def test_hostile_models_are_refused_and_named(
    tmp_path: Path, model_folder: Path, documents: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    by_vector = shutil.copytree(model_folder, tmp_path / "by vector")
    config = json.loads((by_vector / "config.json").read_text(encoding="utf-8"))
    # A head is opened where its vector has a weight: without weights of parts it has all.
    (by_vector / "config.json").write_text(json.dumps(config | {"score_weights": None}), encoding="utf-8")
    (by_vector / "SHA256SUMS").unlink()
    folders = write_hostile_models(model_folder, tmp_path, REFUSED)
    folders += write_hostile_models(by_vector, by_vector / "hostile", HEAD_REFUSED)
    assert len(folders) == len(REFUSED) + len(HEAD_REFUSED)
    for folder in folders:
        with permissions_count():
            result = run(capsys, "diff", *documents, "--model", folder, "--no-cache", "--format", "json")
        check_trouble(result)
        assert folder.name in result.err
        assert "colde failed" not in result.err
        assert not STEERING.search(result.err)


@pytest.mark.slow
def test_a_graph_that_fills_the_memory_is_stopped(
    tmp_path: Path, model_folder: Path, documents: tuple[Path, Path]
) -> None:
    (folder,) = write_hostile_models(model_folder, tmp_path, ["graph_growing"])
    result = run_process("diff", *documents, "--model", folder, "--no-cache", "--format", "json")
    check_trouble(result)
    assert re.search(r"chunk_encoder_quantized\.onnx takes (more than \d{3} MB|too)", result.err)


@pytest.mark.slow
def test_odd_models_that_fit_are_used(
    tmp_path: Path, model_folder: Path, documents: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in write_hostile_models(model_folder, tmp_path, OPENED):
        assert run(capsys, "diff", *documents, "--model", folder, "--no-cache", "--format", "json").status == 1


@pytest.mark.slow
def test_hostile_cards_are_shown_or_left_out(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warned = {"card_steering": False, "card_large": True, "outside_README": True, "device_README": False}
    folders = write_hostile_models(model_folder, tmp_path, [f"file_{name}" for name in warned])
    assert len(folders) == len(warned)
    for folder in folders:
        result = run(capsys, "models", folder)
        assert result.status == 0
        assert not STEERING.search(result.out + result.err)
        assert "root:" not in result.out
        assert ("Warning" in result.err) == warned[folder.name.removeprefix("file_")]
