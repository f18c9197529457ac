"""Which changes OCR may have made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colde_cli.documents.document import Document, OcrReport, Part, ReadReport, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import PassagePair
from colde_cli.similarity.readings import look_alike
from colde_cli.similarity.triage import ordered_changes, weight

TEXT = "The rent of the house is 580 euros a month, and the tenant pays it on the first day."


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        *(("O", "0", True), ("Il0", "110", True), ("1,000", "1.000", True), ("modern", "modem", True)),
        *(
            ("of the", "ofthe", True), ("µm", "um", True), ("m²", "m2", True), ("Affiliate", "Afliate", True),
            (".", "", True), ("”", "", True), ("für", "fur", True), ("S5", "55", True),
        ),
        *(("∗", "*", True), ("^(+)", "+", True), ("_2.5", "2.5", True)),
        *(("580", "530", False), ("may", "must", False), ("not", "", False), ("3", "4", False), ("12", "21", False)),
    ],
)  # fmt: skip
def test_what_ocr_confuses(a: str, b: str, alike: bool) -> None:
    assert look_alike(a, b) is look_alike(b, a) is alike


def pair(new: str, ocr: OcrReport | None) -> PassagePair:
    a, b = (assemble("", "", [Part("", text)]) for text in (TEXT, TEXT.replace("580", new)))
    b = replace(b, report=ReadReport(ocr=ocr))
    (found,) = align(a, b, None).pairs
    return found


def test_only_what_was_read_by_ocr_is_uncertain() -> None:
    place = TEXT.index("580")
    sure, unsure = OcrReport((1,), 0.9, 0.99), OcrReport((1,), 0.4, 0.99, ((place, place + 3),))
    assert not pair("58O", None).uncertain
    assert pair("58O", sure).uncertain
    assert not pair("530", sure).uncertain
    assert pair("530", unsure).uncertain


def test_an_uncertain_change_comes_after_every_certain_one_and_is_there() -> None:
    uncertain = pair("58O", OcrReport((1,), 0.9, 0.99))
    plain = pair("580 or more", None)
    assert 0 < weight(uncertain) < weight(plain)
    assert [change.pairs for change in ordered_changes([uncertain, plain])] == [(1,), (0,)]


def test_words_left_out_move_the_uncertain_ones() -> None:
    from colde_cli.documents.document import Span
    from colde_cli.documents.selection import remove_spans

    document: Document = assemble("", "", [Part("", f"{TEXT}\n\nAnother day.")])
    place = document.text.index("Another")
    document = replace(document, report=ReadReport(ocr=OcrReport((1,), 0.4, 0.9, ((place, place + 7),))))
    left = remove_spans(document, [Span(0, len(TEXT))])
    assert left.report.ocr is not None
    ((start, end),) = left.report.ocr.doubtful
    assert left.text[start:end] == "Another"
