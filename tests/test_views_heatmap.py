"""Colours of scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.views.heatmap import FAINT, contrast, ramp, score_style


@given(st.floats(min_value=FAINT, max_value=1.0))
def test_text_is_readable_on_every_colour(score: float) -> None:
    style = score_style(score)
    assert style.color is not None
    assert style.color.triplet is not None
    assert style.bgcolor is not None
    assert style.bgcolor.triplet is not None
    assert contrast(style.color.triplet, style.bgcolor.triplet) >= 4.5


@given(st.floats(min_value=-1.0, max_value=FAINT, exclude_max=True))
def test_low_scores_have_the_background_of_the_terminal(score: float) -> None:
    assert score_style(score).bgcolor is None


def test_the_ramp_grows_lighter() -> None:
    greys = [sum(ramp(step / 20).normalized) for step in range(21)]
    assert greys[0] < greys[10] < greys[20]
    assert ramp(-1) == ramp(0)
    assert ramp(2) == ramp(1)


def test_contrast_is_that_of_the_standard() -> None:
    black, white = ramp(0)._replace(red=0, green=0, blue=0), ramp(0)._replace(red=255, green=255, blue=255)
    assert contrast(black, white) == pytest.approx(21.0)
    assert contrast(white, white) == pytest.approx(1.0)
