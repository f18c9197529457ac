"""Run pairs of documents that differ in one place, and hold `diff` and `verify` against what must happen.

The manifest is a JSON list of `{"format", "case", "a", "b", "expect"}`, its paths relative to it. `expect` is "changed"
(a visible change, status 1), "told" (shown, or named as not compared), "same" (status 0) or "any". All but "same" and
"any" must be refused by `verify`.

    python benchmarks/cases.py ../shared/cases/manifest.json --format docx
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from script import arguments

from colde_cli import Model, verify
from colde_cli.encoder.loading import open_encoder
from colde_cli.errors import ColdeError
from colde_cli.similarity.pairs import State
from colde_cli.views.output import show


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to a pair.

    Attributes:
        status: of `colde diff`; 2 if it failed.
        shown: a change of a passage or outside the text is listed.
        named: the screen names something that was not compared.
        verified: by `colde verify`.
        error: why a document could not be read.
    """

    status: int
    shown: bool = False
    named: bool = False
    verified: bool = False
    error: str = ""

    def is_right(self, expect: str) -> bool:
        """Whether this is what must happen."""
        if expect == "any":
            return self.status < 2
        if expect == "same":
            return self.status == 0
        if self.verified or self.status == 2:
            return False
        return (self.shown and self.status == 1) if expect == "changed" else (self.shown or self.named)


def outcome(a: Path, b: Path, encoder: object) -> Outcome:
    """Compare and verify two files."""
    try:
        comparison = Model(encoder).compare(a, b, scores=False)  # type: ignore[arg-type]
    except ColdeError as error:
        return Outcome(2, error=str(error))
    try:
        verified = verify(a, b).verified
    except ColdeError:
        verified = False
    changed = any(pair.state is not State.SAME for pair in comparison.passages) or comparison.typesetting
    show(comparison, level="all", top=10, to_file=True)  # must not fail
    return Outcome(
        0 if comparison.same else 1,
        shown=bool(changed or comparison.outside.changes or comparison.typesetting or comparison.renumbering),
        named=bool(comparison.outside.uncompared),
        verified=verified,
    )


def main() -> None:
    """Print every wrong pair, then counts by format and expectation."""
    options = arguments(__doc__, "manifest", format=str, case=str)
    folder = options.manifest.parent
    encoder = open_encoder("colde-minilm-l6")
    counts: Counter[tuple[str, str, bool]] = Counter()
    for case in json.loads(options.manifest.read_text("utf-8")):
        if options.format and case["format"] not in options.format.split(","):
            continue
        if options.case and options.case not in case["case"]:
            continue
        found = outcome(folder / case["a"], folder / case["b"], encoder)
        right = found.is_right(case["expect"])
        counts[case["format"], case["expect"], right] += 1
        if not right:
            print(f"{case['a']:50} {case['expect']:8} {found}")
    for form, expect in sorted({key[:2] for key in counts}):
        good, bad = counts[form, expect, True], counts[form, expect, False]
        print(f"{form:6} {expect:8} {good:3} of {good + bad}")


if __name__ == "__main__":
    main()
