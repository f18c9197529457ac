"""Letters of the fonts Symbol and Wingdings as Unicode: what a reader sees, not the letter that the font stands on."""

from __future__ import annotations

from colde_cli.documents.notation import TICKED, UNTICKED

_FIRST, _LAST = 0x20, 0xFF
_PRIVATE = 0xF000  # Word adds it to the codes of these fonts
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
_TABLES: dict[str, dict[int, str]] = {
    "symbol": dict(zip((*range(0x20, 0x7F), *range(0xA0, 0xFF)), "".join(_SYMBOL), strict=True)),
    "wingdings": {
        code: sign
        for code, sign in zip((*range(0x20, 0x7F), *range(0x80, 0xFF)), "".join(_WINGDINGS), strict=True)
        if sign != " " or code == _FIRST
    },
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": {},
    "webdings": {},
    "zapfdingbats": {},
    "mt extra": {},
}
_BOXES = {
    **dict.fromkeys("☑☒✓✔✕✖✗✘☓🗷🗹🗸🗶⌧🗵●◉⦿", TICKED),
    **dict.fromkeys("☐□▢◻⬜○◯❑❒", UNTICKED),
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
    return "".join(
        symbol(font, ord(sign)) if _is_code(ord(sign)) and not sign.isspace() else sign for sign in text
    )


def _is_code(code: int) -> bool:
    return _FIRST <= code <= _LAST or _PRIVATE + _FIRST <= code <= _PRIVATE + _LAST


def box(sign: str) -> str:
    """The box of a form that a letter shows, ticked or not; "" for any other letter."""
    return _BOXES.get(sign, "")
