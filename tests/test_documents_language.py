"""The language of a document that is not English is named; English with foreign names in it stays English.

That the model does not know it is said in a warning.
"""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Part, assemble
from colde_cli.documents.language import foreign_language, with_language_warning
from colde_cli.encoder.encoder import Encoder

GERMAN = """Der Vermieter vermietet dem Mieter die Wohnung im zweiten Obergeschoss. Der Mieter ist verpflichtet, die
Miete monatlich im Voraus zu zahlen. Die Kaution wird auf einem getrennten Konto angelegt. Der Mieter darf die Wohnung
nur mit Zustimmung des Vermieters untervermieten."""
FRENCH = """Le bailleur donne en location au preneur un appartement situé au deuxième étage. Le preneur s'engage à
payer le loyer chaque mois. Le preneur ne peut pas sous-louer l'appartement sans l'accord du bailleur."""
SPANISH = """El arrendador cede al arrendatario el uso de la vivienda situada en el segundo piso. El arrendatario deberá
pagar la renta por adelantado. El arrendatario no podrá subarrendar la vivienda sin el consentimiento del arrendador."""
CHINESE = "出租人将位于二楼的住宅出租给承租人使用。承租人应当在每月五日以前预付租金。" * 5
NAMES = """The Deutsche Bank AG and the Bundesanstalt für Finanzdienstleistungsaufsicht are parties to the agreement.
Der Spiegel and Die Zeit reported on it in May. The Landgericht Frankfurt am Main decided that the clause is void."""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "German"), (FRENCH, "French"), (SPANISH, "Spanish"), (CHINESE, "Chinese"), (NAMES, None),
        ("Revenue 2021 2022 2023 North 4,102 4,331 4,900 " * 20, None), ("Ja.", None), ("", None),
    ],
)  # fmt: skip
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert foreign_language(text) == language


def test_a_language_that_the_model_does_not_know_is_said(encoder: Encoder) -> None:
    for text, language in ((GERMAN, "German"), (FRENCH, "French")):
        document = with_language_warning(assemble("a", "a", [Part("", text)]), encoder.chunk)
        assert f"seems to be {language}, which" in document.report.warnings[0]
    english = assemble("a", "a", [Part("", NAMES)])
    assert with_language_warning(english, encoder.chunk) is english
