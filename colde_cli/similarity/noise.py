"""What the user does not count as a difference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Noise:
    """What of two texts is not compared; by default nothing that the redline would show.

    Attributes:
        case: capital and small letters are the same.
        whitespace: neither white space anywhere nor what typesetting does to words (hyphens between letters, ligatures,
            kinds of quotes and dashes) counts for `same_content`; the redline never shows them.
        numbers: every number is the same as every other: figures, words ("thirty"), dates, and labels of sections and
            list items; units, currencies and the per cent sign are none.
        like: documents whose text was left out of both (`boilerplate`), as the user named them.
    """

    case: bool = False
    whitespace: bool = False
    numbers: bool = False
    like: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Anything is ignored."""
        return self.case or self.whitespace or self.numbers or bool(self.like)

    @property
    def names(self) -> tuple[str, ...]:
        """What is ignored, in words of the interface, but for documents."""
        return tuple(name for name in ("case", "whitespace", "numbers") if getattr(self, name))


NOTHING = Noise()
"""Nothing is ignored."""
