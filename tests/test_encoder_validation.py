"""Models from strangers: whatever is altered in a folder, it works or is refused in a sentence that names the file."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.plain_text import read_text
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import ModelConfig, SystemConfig
from colde_cli.encoder.tokenizer import growth_of
from colde_cli.errors import ColdeError, ModelError
from colde_cli.scoring.score import verdict

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = json.loads((ROOT / "models/colde-minilm-l6/config.json").read_text(encoding="utf-8"))
TOWER = json.loads(SystemConfig("han", "sentences", 50, 100, 100, {"hidden": 50}, vocab_size=9).to_json())
Place = tuple[str | int, ...]


def places(values: Any, place: Place = ()) -> Iterator[Place]:
    """Where a value stands in a configuration: the first two entries of each list, and everything of objects."""
    entries = values if isinstance(values, dict) else range(min(len(values), 2)) if isinstance(values, list) else ()
    for entry in entries:
        yield (*place, entry)
        yield from places(values[entry], (*place, entry))


def changed(values: dict[str, Any], place: Place, value: object) -> dict[str, Any]:
    whole: Any = copy.deepcopy(values)
    inner = whole
    for entry in place[:-1]:
        inner = inner[entry]
    inner[place[-1]] = value
    return whole  # type: ignore[no-any-return]


ODD = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)), st.sampled_from([[], {}, 10**400])
)


@pytest.mark.parametrize(("kind", "written"), [(ModelConfig, SHIPPED), (SystemConfig, TOWER)])
@given(st.data(), ODD)
def test_a_configuration_is_read_or_refused(
    kind: type[ModelConfig | SystemConfig], written: dict[str, Any], data: st.DataObject, value: object
) -> None:
    text = json.dumps(changed(written, data.draw(st.sampled_from(list(places(written)))), value))
    said = ""
    try:
        config = kind.from_json(text, "config.json")
    except ModelError as error:
        said = str(error)
    if said:
        assert said.startswith("config.json")
    elif isinstance(config, ModelConfig):
        assert config.chunk_tokens >= 3
        assert config.hidden_size >= 1
    else:
        assert min(config.row_tokens, config.max_rows, config.dim) >= 1


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("chunk_tokens",), 0, "chunk_tokens must be a whole number from 3 to 65536, not 0"),
        (("chunk_tokens",), 1.5, "chunk_tokens must be a whole number, not 1.5"),
        (("threshold",), float("nan"), "holds NaN, which is not a number"),
        (("calibration", "kind"), "spline", "calibration.kind must be 'platt' or 'isotonic', not 'spline'"),
        (("calibration", "probabilities", 0), 1.02, "calibration.probabilities[0] must be a number from 0 to 1"),
        (("calibration", "probabilities", 0), 0.99, "the probabilities of calibration must not fall"),
        (("calibration", "ceiling"), 1.5, "calibration.ceiling must be a number from 1e-06 to 1"),
        (("calibration", "scores"), [], "calibration needs as many probabilities as scores"),
        (("score_weights", "words"), 0.9, "the weights of score_weights sum to"),
        (("score_weights", "in_field"), [0.5, 0.2, 0, 0, 0, 0, 0], "weights of score_weights.in_field sum to 0.7"),
        (("score_weights", "in_field"), [0.5, 0.5], "score_weights.in_field needs 7 weights, not 2"),
        (("score_weights", "short", "wording"), 0.9, "the weights of short texts sum to 1.35"),
        (("score_weights", "sharpness"), 0, "score_weights.sharpness must be a number from 1e-06"),
        (("backbone",), {}, "backbone lacks hidden_size"),
    ],
)
def test_what_is_wrong_is_named(place: Place, value: object, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        ModelConfig.from_json(json.dumps(changed(SHIPPED, place, value)), "config.json")
    assert said in str(caught.value)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    """A copy of the shipped model; every test puts back what it alters."""
    return Path(shutil.copytree(model_folder, tmp_path_factory.mktemp("altered") / "model"))


@pytest.fixture
def altered(copied: Path) -> Iterator[Callable[[str, bytes], Path]]:
    """Puts other bytes into a file of the copy."""
    before: dict[Path, bytes] = {}

    def alter(name: str, content: bytes) -> Path:
        before[copied / name] = (copied / name).read_bytes()
        (copied / name).write_bytes(content)
        return copied

    yield alter
    for path, content in before.items():
        path.write_bytes(content)


def refused(folder: Path, name: str) -> bool:
    """Whether a comparison with the model is refused, by an error that names the file; a score is a number."""
    document = read_text(b"# One\n\nThe tenant pays rent of 900 euros a month to the landlord.\n", "", "A")
    said = ""
    try:
        encoder = Encoder.load(folder, device="cpu")
        encoding = encoder.encode(document)
        judged = verdict(encoding, encoding, encoder.config, encoder.domain_fields)
    except ColdeError as error:
        said = str(error)
    if said:
        assert name in said
        return True
    assert np.isfinite([judged.score, judged.probability or 0, judged.threshold or 0]).all()
    return False


ARRAYS = {
    "domains.npz": ("centre", "prototypes"),
    "fields.npz": ("centres", "gains"),
    "lexicon.npz": ("frequencies", "documents", "continues"),
}
ALTERATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "text": lambda array: array.astype(str), "deeper": lambda array: np.stack([array, array]),
    "complex": lambda array: array.astype(complex), "not a number": lambda array: np.full(array.shape, np.nan),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("alteration", ALTERATIONS)
@pytest.mark.parametrize(("name", "array"), [(name, array) for name in ARRAYS for array in ARRAYS[name]])
def test_altered_arrays_are_refused(
    copied: Path, altered: Callable[[str, bytes], Path], tmp_path: Path, name: str, array: str, alteration: str
) -> None:
    with np.load(copied / name) as file:
        arrays = {key: file[key] for key in file.files}
    np.savez(tmp_path / name, **{**arrays, array: ALTERATIONS[alteration](arrays[array])})
    assert refused(altered(name, (tmp_path / name).read_bytes()), name)


@pytest.mark.slow
def test_an_archive_that_inflates_is_refused_before_it_does(
    altered: Callable[[str, bytes], Path], tmp_path: Path
) -> None:
    np.savez_compressed(tmp_path / "large.npz", frequencies=np.zeros(1_100_000_000, np.uint8))
    large = (tmp_path / "large.npz").read_bytes()
    assert len(large) < 2_000_000
    with pytest.raises(ModelError, match=r"lexicon\.npz would take 1,100 MB of memory"):
        Encoder.load(altered("lexicon.npz", large), device="cpu").encode(read_text(b"Rent is due.\n", "", "A"))


def test_a_lexicon_of_another_tokenizer_is_named(
    copied: Path, altered: Callable[[str, bytes], Path], tmp_path: Path
) -> None:
    with np.load(copied / "lexicon.npz") as file:
        arrays = {key: file[key] for key in file.files}
    np.savez_compressed(tmp_path / "short.npz", **{**arrays, "continues": arrays["continues"][:50]})
    with pytest.raises(ModelError, match=r"lexicon\.npz does not fit tokenizer\.json"):
        Encoder.load(altered("lexicon.npz", (tmp_path / "short.npz").read_bytes()), device="cpu").encode(
            read_text(b"Rent is due.\n", "", "A")
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tensor", "by_vector", "named"),
    [
        ("head.projection.1.weight", True, "document_head.onnx gives vectors that are not numbers"),
        ("head.center", False, "model.safetensors"),
    ],
)
def test_weights_that_are_no_numbers_are_an_error(
    copied: Path, altered: Callable[[str, bytes], Path], tensor: str, by_vector: bool, named: str
) -> None:
    """Those of the head, where the vector that it makes has a weight."""
    weights = (copied / "model.safetensors").read_bytes()
    length = int.from_bytes(weights[:8], "little")
    head = json.loads(weights[8 : 8 + length])
    start, end = (8 + length + offset for offset in head[tensor]["data_offsets"])
    broken = weights[:start] + b"\x00\x00\xc0\x7f" * ((end - start) // 4) + weights[end:]
    if by_vector:
        config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
        altered("config.json", json.dumps(config | {"score_weights": None}).encode())
    assert refused(altered("model.safetensors", broken), named)


def test_rules_that_grow_texts_are_refused(copied: Path, altered: Callable[[str, bytes], Path]) -> None:
    tokenizer = json.loads((copied / "tokenizer.json").read_text(encoding="utf-8"))
    assert growth_of(tokenizer) == 1
    twice = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    tokenizer["normalizer"] = {"type": "Sequence", "normalizers": [twice] * 40}
    folder = altered("tokenizer.json", json.dumps(tokenizer).encode())
    with pytest.raises(ModelError, match=r"tokenizer\.json makes every text up to 1\.1e\+12 times as long"):
        Encoder.load(folder, device="cpu").chunk(read_text(b"Rent is due.\n", "", "A"))
