"""Fonts of signs: check marks and bullets of Word files and of PDFs."""

from __future__ import annotations

from pathlib import Path

import pytest

from colde_cli.documents.reading import read
from colde_cli.documents.symbol_fonts import is_printed_sign, printed_signs, symbols

PAGE = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R/S 6 0 R>>>>>>endobj
4 0 obj<</Length 101>>stream
BT /F 9 Tf 9 9 Td (Verify the words of the log.) Tj /S 9 Tf 150 0 Td (CODES) Tj /F 9 Tf 60 0 Td (1.0) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
6 0 obj<</Type/Font/Subtype/TrueType/BaseFont/NAME/Encoding/WinAnsiEncoding>>endobj
trailer<</Root 1 0 R>>
"""


@pytest.mark.parametrize(
    ("font", "codes", "printed"),
    [
        ("Wingdings-Regular", "ü", "✓"), ("ABCDEF+Wingdings", "\uf0fc ", "✓ "), ("Wingdings-Regular", "\uf0d8§", "••"),
        ("Wingdings2", "P", "✓"), ("Wingdings 2", "\xa3", "☐"), ("ZapfDingbats", "34n8", "✓✔■✘"),
        ("ITCZapfDingbats", "u", "◆"), ("Helvetica", "ü", "ü"), ("Symbol", "a", "a"), ("WingdingsLike", "ü", "ü"),
        ("Wingdings", "✓", "✓"),
    ],
)  # fmt: skip
def test_a_letter_of_a_font_of_signs_is_what_it_shows(font: str, codes: str, printed: str) -> None:
    assert printed_signs(font, codes) == printed
    assert is_printed_sign(font) or printed == codes


def test_the_tables_of_word_files_know_the_same_fonts() -> None:
    assert symbols("Wingdings", "ü") == symbols("wingdings", "\uf0fc") == "✓"
    assert symbols("ZapfDingbats", "4") == "✔"


def test_check_marks_of_a_pdf_are_read_by_their_font(tmp_path: Path) -> None:
    file = tmp_path / "marks.pdf"
    file.write_bytes(PAGE.replace("CODES", "ü ü").replace("NAME", "Wingdings-Regular").encode("latin-1"))
    assert read(file).text.split()[-3:] == ["✓", "✓", "1.0"]
