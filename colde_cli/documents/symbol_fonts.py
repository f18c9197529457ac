"""Fonts whose letters are signs: what their codes show. Word files and PDFs name the same fonts."""

from __future__ import annotations

import re

from colde_cli.documents.notation import TICKED, UNTICKED

_PRIVATE = 0xF000  # Word adds it to the codes of these fonts
_CODES = frozenset((*range(0x20, 0x100), *range(_PRIVATE + 0x20, _PRIVATE + 0x100)))
# From 0x20, and from 0xA0: the encoding that Adobe published for the font.
_SYMBOL = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\uf8ff⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
)
# A blank stands for a letter without a counterpart in Unicode. From 0x20, and from 0x80.
_WINGDINGS = (
    " 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭📁📂📄🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌👌👍👎☜☞☝☟🖐☺😐☹💣☠🏳🏱✈☼💧❄🕆✞🕈✠✡☪☯ॐ☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵●🔾■"
    + UNTICKED
    + "🞐❑❒⬧⧫◆❖⬥⌧⮹⌘🏵🏶🙶🙷",
    "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿🙢🙠🙡🙣🙞🙜🙝🙟·• ⭘🞆🞈◉◎🔿▪"
    + UNTICKED
    + "🟂✦★✶✴✹✵⯐⌖⟡⌑⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋🡨🡪🡩🡫🡬🡭🡯🡮🡸🡺🡹🡻🡼🡽🡿🡾⇦⇨⇧⇩⬄⇳⬀⬁⬃⬂🢬🢭✗✓"
    + TICKED
    + "☑",
)
# Of the second font of this name: marks of forms and lists.
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: TICKED, 0x52: "☑", 0x53: TICKED, 0x54: TICKED, 0xA3: UNTICKED}
# The encoding that Adobe published for the font, in rows of Unicode: first and last code, and the first sign.
_DINGBATS = {
    code: chr(sign + code - first)
    for first, last, sign in (
        *((0x21, 0x24, 0x2701), (0x25, 0x25, 0x260E), (0x26, 0x29, 0x2706), (0x2A, 0x2A, 0x261B), (0x2B, 0x2B, 0x261E)),
        *((0x2C, 0x47, 0x270C), (0x48, 0x48, 0x2605), (0x49, 0x6B, 0x2729), (0x6C, 0x6C, 0x25CF), (0x6D, 0x6D, 0x274D)),
        *((0x6E, 0x6E, 0x25A0), (0x6F, 0x72, 0x274F), (0x73, 0x73, 0x25B2), (0x74, 0x74, 0x25BC), (0x75, 0x75, 0x25C6)),
        *((0x76, 0x76, 0x2756), (0x77, 0x77, 0x25D7), (0x78, 0x7E, 0x2758), (0x80, 0x8D, 0x2768), (0xA1, 0xA7, 0x2761)),
        *((0xA8, 0xA8, 0x2663), (0xA9, 0xA9, 0x2666), (0xAA, 0xAA, 0x2665), (0xAB, 0xAB, 0x2660), (0xAC, 0xB5, 0x2460)),
        *((0xB6, 0xD4, 0x2776), (0xD5, 0xD5, 0x2192), (0xD6, 0xD7, 0x2194), (0xD8, 0xEF, 0x2798), (0xF1, 0xFE, 0x27B1)),
    )
    for code in range(first, last + 1)
}
_PRINTED = re.compile(
    r"(?:[A-Z]{6}\+)?(?:(?:ITC)?(?P<dingbats>zapfdingbats)|(?P<wingdings>wingdings) ?-?(?P<number>[23])?)"
    r"(?:\W|regular|mt|$)",
    re.IGNORECASE,
)
_TABLES: dict[str, dict[int, str]] = {
    "symbol": dict(zip((*range(0x20, 0x7F), *range(0xA0, 0xFF)), "".join(_SYMBOL), strict=True)),
    "wingdings": {
        code: sign
        for code, sign in zip((*range(0x20, 0x7F), *range(0x80, 0xFF)), "".join(_WINGDINGS), strict=True)
        if sign != " " or code == 0x20
    },
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": {},
    "webdings": {},
    "zapfdingbats": _DINGBATS,
    "mt extra": {},
}


def is_symbol_font(font: str) -> bool:
    """Whether the letters of a font are none of text."""
    return font.strip().lower() in _TABLES


def symbol(font: str, code: int) -> str:
    """The letter with this code; `[Font F0A3]` for one without a counterpart in Unicode."""
    place = code - _PRIVATE if code >= _PRIVATE else code
    table = _TABLES.get(font.strip().lower())
    if table is None and 0x20 <= code < 0xD800:
        return chr(code)
    found = table.get(place) if table else None
    return found or f"[{font.strip() or 'symbol'} {code:04X}]"


def symbols(font: str, text: str) -> str:
    """A text in a font of symbols as a reader sees it; letters that the font does not have stay as they are."""
    return "".join(symbol(font, ord(sign)) if ord(sign) in _CODES and not sign.isspace() else sign for sign in text)


_LIST_MARKS = dict.fromkeys((0x76, 0xA7, 0xD8), "•")
"""Signs of Wingdings that Word offers as bullets, an arrow and two squares: marks of lists, whatever they show."""


def is_printed_sign(font: str) -> bool:
    """Whether a font of a PDF has check marks and bullets for letters."""
    return _PRINTED.match(font) is not None


def printed_signs(font: str, text: str) -> str:
    """A word of a PDF in a font of check marks and bullets as it is printed, where the file gives only its codes.

    The signs of other fonts PDFium knows by their names.
    """
    found = _PRINTED.match(font)
    if found is None:
        return text
    name = "zapfdingbats" if found["dingbats"] else " ".join(filter(None, ("wingdings", found["number"])))
    table = _TABLES[name] if name != "wingdings" else {**_TABLES[name], **_LIST_MARKS}
    return "".join(table.get(ord(sign) - _PRIVATE * (ord(sign) >= _PRIVATE), sign) for sign in text)
