"""Rebuild the example PDFs: `pip install 'typst>=0.15,<0.16' && python examples/source/build.py`.

The compiler's own fonts are used and the dates are fixed, so that the same sources give the same pages.
"""

from __future__ import annotations

from pathlib import Path

import typst

SOURCE = Path(__file__).resolve().parent
DOCUMENTS = ("field-study-v1", "field-study-v2", "supply-agreement")


def main() -> None:
    """Compile every document beside this folder."""
    for name in DOCUMENTS:
        pdf = typst.compile(SOURCE / f"{name}.typ", ignore_system_fonts=True)
        (SOURCE.parent / f"{name}.pdf").write_bytes(pdf)


if __name__ == "__main__":
    main()
