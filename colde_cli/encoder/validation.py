"""Check `config.json` before anything uses it: a model may come from a stranger.

The kinds of values are those of the dataclasses that hold them (`ModelConfig`, `SystemConfig`, `ScoreWeights`). What
a kind alone does not say stands in two tables below: ranges of numbers, and what several values must be together.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from colde_cli.errors import ModelError
from colde_cli.scoring.config import PARTS, Calibration, ScoreWeights

_RANGES: dict[str, tuple[float, float]] = {
    "chunk_tokens": (3, 65_536),
    "max_chunks": (1, 65_536),
    "sections": (1, 1_024),
    "attention_heads": (0, 1_024),
    "lstm_hidden": (0, 65_536),
    "projection": (1, 65_536),
    "residual_share": (0, 1),
    "dropout": (0, 1),
    "threshold": (-2, 2),
    "row_tokens": (1, 1_000_000),
    "max_rows": (1, 1_000_000),
    "dim": (1, 65_536),
    "vocab_size": (1, 10_000_000),
    "hidden_size": (1, 65_536),
    "sharpness": (1e-6, 1e6),
    "saturation": (1e-9, 1e6),
    "rarity": (0, 100),
    "opening_words": (1, 1_000_000),
    "in_field": (0, 1),
    "probabilities": (0, 1),
    "ceiling": (1e-6, 1),
    **dict.fromkeys(PARTS, (0, 1)),
}
_SUM_ROUNDING = 1e-6


def parsed(text: str, source: str) -> dict[str, Any]:
    """Parse `config.json`; {} if it is JSON but no object.

    Raises:
        ModelError: not JSON, or it holds a number that is none.
    """

    def refuse(name: str) -> float:
        raise ModelError(f"{source} holds {name}, which is not a number.")

    try:
        values = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ModelError(f"{source} is not valid JSON ({error.msg}, line {error.lineno}).") from error
    except RecursionError as error:
        raise ModelError(f"{source} is nested too deeply for a configuration.") from error
    except ValueError as error:  # a number of thousands of digits
        raise ModelError(f"{source} is not valid JSON ({error}).") from error
    return values if isinstance(values, dict) else {}


def check_values(values: dict[str, Any], kind: type, source: str, place: str = "") -> None:
    """Check the values of an object against the dataclass that will hold them; unknown names are left alone.

    Raises:
        ModelError: a value is of another kind, or out of range.
    """
    hints = get_type_hints(kind)
    for item in fields(kind):
        if item.name in values:
            _check_value(values[item.name], hints[item.name], source, f"{place}{item.name}")


def _check_value(value: object, hint: Any, source: str, place: str) -> None:  # noqa: ANN401 - of a type hint
    accepted = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value is None and NoneType in accepted:
        return
    hint = next(item for item in accepted if item is not NoneType)
    if is_dataclass(hint):
        _object(value, source, place)
        assert isinstance(value, dict)
        assert isinstance(hint, type)
        check_values(value, hint, source, f"{place}.")
    elif get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ModelError(f"{source}: {place} must be a list, not {_shown(value)}.")
        for number, entry in enumerate(value):
            _check_value(entry, get_args(hint)[0], source, f"{place}[{number}]")
    elif get_origin(hint) is Literal:
        if value not in get_args(hint):
            choices = " or ".join(repr(choice) for choice in get_args(hint))
            raise ModelError(f"{source}: {place} must be {choices}, not {_shown(value)}.")
    elif hint in (int, float):
        _check_number(value, hint, source, place)
    elif hint is str and not isinstance(value, str):
        raise ModelError(f"{source}: {place} must be a text, not {_shown(value)}.")
    elif get_origin(hint) is dict:
        _object(value, source, place)


def _object(value: object, source: str, place: str) -> None:
    if not isinstance(value, dict):
        raise ModelError(f"{source}: {place} must be an object, not {_shown(value)}.")


def _check_number(value: object, kind: type, source: str, place: str) -> None:
    low, high = _RANGES.get(place.rpartition(".")[2].partition("[")[0], (-math.inf, math.inf))
    number = "a whole number" if kind is int else "a number"
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise ModelError(f"{source}: {place} must be {number}, not {_shown(value)}.")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        finite = False
    if not finite or not low <= value <= high:
        span = f" from {low:g} to {high:g}" if math.isfinite(low) else " that is finite"
        raise ModelError(f"{source}: {place} must be {number}{span}, not {_shown(value)}.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def check_backbone(backbone: object, source: str) -> None:
    """Check that the configuration of a backbone states the size of its vectors.

    Raises:
        ModelError: it does not.
    """
    _object(backbone, source, "backbone")
    assert isinstance(backbone, dict)
    if "hidden_size" not in backbone:
        raise ModelError(f"{source}: backbone lacks hidden_size.")
    _check_number(backbone["hidden_size"], int, source, "backbone.hidden_size")


def check_scoring(calibration: Calibration | None, score_weights: ScoreWeights | None, source: str) -> None:
    """Check what values of a score must be together: curves that never fall, weights that sum to 1.

    Raises:
        ModelError: they are not.
    """
    kinds = score_weights.kinds if score_weights is not None else ()
    curves = [("calibration", calibration)]
    curves += [(f"score_weights.domains.{kind.name}.calibration", kind.calibration) for kind in kinds]
    for place, curve in curves:
        if curve is None or curve.kind != "isotonic":
            continue
        if not curve.scores or len(curve.scores) != len(curve.probabilities):
            raise ModelError(f"{source}: {place} needs as many probabilities as scores, and one at least.")
        for name in ("scores", "probabilities"):
            if any(after < before for before, after in pairwise(getattr(curve, name))):
                raise ModelError(f"{source}: the {name} of {place} must not fall.")
    if score_weights is None:
        return
    named = [("score_weights", score_weights), *((kind.name, kind) for kind in kinds)]
    rows = [(place, tuple(getattr(row, part) for part in PARTS)) for place, row in named]
    for place, weights in [*rows, ("score_weights.in_field", score_weights.in_field)]:
        if len(weights) != len(PARTS):
            raise ModelError(f"{source}: {place} needs {len(PARTS)} weights, not {len(weights)}.")
        if abs(sum(weights) - 1) > _SUM_ROUNDING:
            raise ModelError(f"{source}: the weights of {place} sum to {sum(weights):g}, not 1.")
