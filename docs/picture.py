"""Draw docs/images/diff.png, the picture of the README: `python docs/picture.py [WIDTH] [FILE]`.

The text is what `colde diff` prints for the two versions in examples/; rich makes an SVG of it, a headless
Chromium a PNG of that. `python docs/picture.py report` draws docs/images/report.png, the HTML report of the two.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def diff_text(width: int) -> str:
    """What the command prints on a terminal of this width, colours included."""
    arguments = [sys.executable, "-m", "colde_cli", "diff", "examples/field-study-v1.pdf"]
    arguments += ["examples/field-study-v2.pdf", "--exit-zero", "-n", "3"]
    colours = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color", "COLUMNS": str(width)}
    env = {**os.environ, **colours}
    return subprocess.run(arguments, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout


def svg(text: str, width: int) -> str:
    """A terminal window with the text."""
    console = Console(file=StringIO(), record=True, width=width, force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text))
    return console.export_svg(title="colde diff examples/field-study-v1.pdf examples/field-study-v2.pdf", theme=MONOKAI)


def screenshot(drawing: str, target: Path) -> None:
    """Render an SVG to a PNG of its own size."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    if size is None:
        sys.exit("rich has changed its SVG: there is no viewBox.")
    width, height = (round(float(number)) for number in size.groups())
    # The fonts that rich links to lie on the web; the picture must not depend on them.
    drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.DOTALL)
    drawing = drawing.replace("Fira Code", "DejaVu Sans Mono")
    page = f"<!doctype html><meta charset='utf-8'><body style='margin:0'><div style='width:{width}px'>{drawing}</div>"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(page, encoding="utf-8")
        photograph(source.as_uri(), target, width, height)


def photograph(address: str, target: Path, width: int, height: int) -> None:
    """What a headless Chromium shows of a page."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("docs/picture.py needs Chromium: install it, e.g. with apt-get install chromium.")
    with sync_playwright() as engine:
        launched = engine.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = launched.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        # The report brings partners to one height in its first frames.
        page.wait_for_timeout(500)
        page.screenshot(path=target)
        launched.close()


def report(target: Path) -> None:
    """The HTML report of the two versions, at a passage that was flagged."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        arguments = [sys.executable, "-m", "colde_cli", "diff", "examples/field-study-v1.pdf"]
        arguments += ["examples/field-study-v2.pdf", "--exit-zero", "-o", str(page)]
        subprocess.run(arguments, cwd=ROOT, check=True)
        found = re.search(r'data-k="amount unit"><a href="(#p\d+)"', page.read_text(encoding="utf-8"))
        photograph(page.as_uri() + (found[1] if found else "#text"), target, 1190, 530)


def main() -> None:
    """Draw a picture."""
    if sys.argv[1:] == ["report"]:
        return report(ROOT / "docs" / "images" / "report.png")
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 110
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "images" / "diff.png"
    target.parent.mkdir(exist_ok=True)
    return screenshot(svg(diff_text(width), width), target.resolve())


if __name__ == "__main__":
    main()
