"""Colours of scores: a ramp that grows evenly to the eye, and text that stays readable on it."""

from __future__ import annotations

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.style import Style

# Viridis (van der Walt and Smith 2015, CC0) from end to end: even steps of lightness, safe for colour-blind eyes.
_RAMP = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725".split()
_STOPS = [ColorTriplet(*bytes.fromhex(stop)) for stop in _RAMP]
_INK, _PAPER = ColorTriplet(0, 0, 0), ColorTriplet(255, 255, 255)

FAINT = 0.2
"""Scores below this get no colour, so that they recede on dark and on light terminals alike."""


def score_style(score: float) -> Style:
    """Background for a score in [-1, 1], with the text colour that reads best on it."""
    if score < FAINT:
        return Style(dim=True)
    back = ramp((score - FAINT) / (1.0 - FAINT))
    front = max(_INK, _PAPER, key=lambda text: contrast(text, back))
    return Style(color=Color.from_triplet(front), bgcolor=Color.from_triplet(back))


def ramp(position: float) -> ColorTriplet:
    """The colour at a position in [0, 1], dark violet to yellow."""
    place = min(1.0, max(0.0, position)) * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    share = place - low
    first, second = _STOPS[low], _STOPS[low + 1]
    mixed = [round(x + (y - x) * share) for x, y in zip(first, second, strict=True)]
    return ColorTriplet(*mixed)


def contrast(a: ColorTriplet, b: ColorTriplet) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: ColorTriplet) -> float:
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
