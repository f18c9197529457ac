"""What the HTML pages share: colours of both themes, type, and what only screen readers see."""

from __future__ import annotations

from pathlib import Path


def base_style() -> str:
    """The style under that of every page."""
    return Path(__file__).with_name("base.css").read_text(encoding="utf-8")
