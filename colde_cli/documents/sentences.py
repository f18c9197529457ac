"""Find the beginnings of sentences, where a chunk or a passage may be cut.

Rules are enough: a missed boundary makes a cut slightly less even, but never loses a character.
"""

from __future__ import annotations

import re

# Short forms after which a full stop rarely ends a sentence, in papers, patents and legal prose.
_ABBREVIATIONS = re.compile(
    r"al|approx|art|arts|assn|ca|cf|ch|chap|cl|co|corp|dept|dr|ed|eds|e\.g|eq|eqs|esp|est|etc|ex|fig|figs"
    r"|i\.e|inc|jr|ltd|mr|mrs|ms|no|nos|op|p|para|paras|pat|pp|prof|reg|rev|ref|refs|sec|secs|sect|st|ser"
    r"|u\.s|u\.k|v|viz|vol|vols|vs"
)
_END = re.compile(r"""([.!?…]["'”’)\]]*)\s+(?=["'“‘(\[]?[^\W_])|\n\s*\n\s*""")
_LAST_WORD = re.compile(r"([^\s(\[“\"']+)$")


def sentence_starts(text: str) -> list[int]:
    """Find the offsets at which sentences begin, ascending; the first is 0 for any text.

    A full stop ends a sentence if the next word does not start in lower case and the word before is neither an
    abbreviation nor a single initial. A blank line ends a sentence without a full stop.
    """
    ends = (match for match in _END.finditer(text) if match.group(1) is None or _ends_sentence(text, match))
    starts = [0, *(match.end() for match in ends)]
    return starts if starts[-1] < len(text) or len(starts) == 1 else starts[:-1]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 4].lstrip("\"'“‘([")[:1] if match.end() < len(text) else ""
    if following.islower():
        return False
    if not match.group(1).startswith("."):
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())
    token = word.group(1).casefold() if word else ""
    is_initial = len(token) == 1 and token.isalpha()
    return not (is_initial or _ABBREVIATIONS.fullmatch(token))
