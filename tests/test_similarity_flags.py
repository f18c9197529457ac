"""Flags: each kind is seen, and what only looks like it is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.similarity.clauses import beginning, one_sided_flags
from colde_cli.similarity.contracts import NO_TERMS, ContractTerms, read_terms
from colde_cli.similarity.flags import flags, references
from colde_cli.similarity.quantities import numbers

SHALL = "The Supplier shall deliver the malt within 30 days of 8 January 2024 at EUR 1,400 per lot."


@pytest.mark.parametrize(
    ("before", "after", "kind", "said"),
    [
        ("shall", "may", "obligation", ("shall", "may")),
        ("shall deliver", "shall not deliver", "negation", ("", "not")),
        ("30 days", "45 days", "number", ("30 days", "45 days")),
        ("30 days", "30 weeks", "unit", ("30 days", "30 weeks")),
        ("30 days", "thirty-one days", "number", None),
        ("8 January", "15 January", "date", ("8 January 2024", "15 January 2024")),
        ("January 2024", "January 2025", "date", None),
        ("1,400", "1,600", "amount", ("EUR 1,400", "EUR 1,600")),
        ("EUR", "USD", "amount", None),
        ("EUR 1,400", "5 %", "amount", None),
    ],
)
def test_what_tells_is_flagged(before: str, after: str, kind: str, said: tuple[str, str] | None) -> None:
    found = flags(SHALL, SHALL.replace(before, after))
    assert kind in [flag.kind.value for flag in found]
    if said is not None:
        assert said == (found[0].a, found[0].b)
    back = flags(SHALL.replace(before, after), SHALL)
    assert {flag.kind for flag in back} == {flag.kind for flag in found}


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("It fell by 31 % in a week.", "It fell by 27 % in a week.", "percentage"),
        ("It was read by Ottilie Brandt twice.", "It was read by Friedrich Osei twice.", "name"),
        ("Within three metres of it.", "Within five metres of it.", "number"),
        ("They don't agree to it.", "They agree to it.", "negation"),
        ("You must report it.", "You may report it.", "obligation"),
        ("Changed 2025-10-30T11:20:06 by hand.", "Changed 2026-03-20T13:00:15 by hand.", "date"),
        ("It is sent in sixty (60) days.", "It is sent in sixty (90) days.", "number"),
        ("It stays above -5 °C at night.", "It stays above 5 °C at night.", "number"),
        ("It fell by (−0.10, 0.09) to it.", "It fell by (0.10, 0.09) to it.", "number"),
        ("It is sent in forty-five days.", "It is sent in forty-six days.", "number"),
        ("The engine is a V6 of theirs.", "The engine is a V8 of theirs.", "number"),
        ("It grants an exclusive licence.", "It grants a non-exclusive licence.", "scope"),
        ("The fee is used solely for repairs.", "The fee is used for repairs.", "scope"),
        ("By post and by mail.", "By post or by mail.", "scope"),
        ("The greater of both sums is due.", "The lesser of both sums is due.", "comparison"),
        ("It takes at least ten of them.", "It takes at most ten of them.", "comparison"),
        ("He is obligated to pay the fee.", "He may pay the fee.", "obligation"),
        ("The fee is due at once.", "The fee is due at once, except where the law forbids it.", "exception"),
        ("As stated in Section 4.2 of it.", "As stated in Section 4.4 of it.", "reference"),
        (
            "Section 2703(d), upon a showing of facts.", "Section 2705(d), upon a showing of facts.", "reference",
        ),
        ("Section 4.2 applies to all of it.", "Section 4.4 applies to all of it.", "reference"),
        ("Der Mieter muss die Miete zahlen.", "Der Mieter kann die Miete zahlen.", "obligation"),
        ("Der Mieter haftet für Schäden.", "Der Mieter haftet nicht für Schäden.", "negation"),
        ("Der Käufer darf die Ware prüfen.", "Der Käufer muss die Ware prüfen.", "obligation"),
        ("Er ist verpflichtet, zu zahlen.", "Er ist berechtigt, zu zahlen.", "obligation"),
        ("Es gibt eine Haftung für Mängel.", "Es gibt keinerlei Haftung für Mängel.", "negation"),
        ("Les parties doivent se réunir.", "Les parties peuvent se réunir.", "obligation"),
        ("Le preneur devra prévenir le bailleur.", "Le preneur pourra prévenir le bailleur.", "obligation"),
        ("Il cède le bail avec accord.", "Il cède le bail sans accord.", "negation"),
        ("El cliente deberá avisar al banco.", "El cliente podrá avisar al banco.", "obligation"),
        ("Es ist beschränkt nutzbar.", "Es ist ausschließlich nutzbar.", "scope"),
        ("El plazo es de prórroga.", "El plazo no es de prórroga.", "negation"),
        ("El banco cede sus datos.", "El banco jamás cede sus datos.", "negation"),
        ("Le client doit payer le prix.", "Le client peut payer le prix.", "obligation"),
        ("Le client paie les frais.", "Le client ne paie pas les frais.", "negation"),
        ("Three Pumps run there.", "Five Pumps run there.", "number"),
        ("El cliente debe pagar el precio.", "El cliente puede pagar el precio.", "obligation"),
        ("El cliente responde del daño.", "El cliente nunca responde del daño.", "negation"),
    ],
)  # fmt: skip
def test_other_kinds_are_flagged(a: str, b: str, kind: str) -> None:
    assert [flag.kind.value for flag in flags(a, b)] == [kind]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The pump runs at night.", "The pump works at night."),
        ("See Eq. 4.2 and Table 3 [8].", "See Eq. 5.1 and Table 4 [9]."),
        ("4. Who may sign?", "5. Who may sign?"),
        ("He signs. 9.2 The Buyer pays. (3) He is late.", "He signs. 11.2 The Buyer pays. (4) He is late."),
        ("It is not large.", "It isn't large."),
        ("In two of 31 cases.", "In 2 of 31 cases."),
        ("In thirty-one of forty-five cases.", "In 31 of 45 cases."),
        ("It costs 3-5 of them.", "It costs 3 to 5 of them."),
        ("Of 9 pumps, 4 run.", "4 run of 9 pumps."),
        ("It runs (in May) and costs $5.", "It runs (in  May) and costs $5."),
        (
            "It ends.",
            "It ends. Of the 24 pumps that were tested in May, 3 did not run at all, and nobody knew why.",
        ),
        ("We tested it. However, it ran.", "We tested it. Moreover, it ran."),
        ("It applies to a single property.", "It applies to a single GA4 property."),
        ("To learn more, see here.", "To learn more about COVID-19, see here."),
        ("They are stated in (1) the terms.", "They are stated in (1) the terms or (2) laws."),
        ("You are an employee of it.", "You are an employee of it (see 2.2)."),
        ("The source is available.6 It runs.", "The source is available.7 It runs."),
        ("Other authors (Osei 1996) agree.", "Other authors (Osei 1996; Brandt 2009, 2013c) agree."),
        ("Equations 51 – 55 are used.", "Equations 59 – 63 are used."),
        ("The bounds stand beside it.", "The ±3σ bounds stand beside it."),
        ("6 https://example.org/pump", "7 https://example.org/pump"),
        ("It fell by 4% in a year.", "It fell by four percent in a year."),
        ("It takes ninety (90) days.", "It takes 90 days."),
        ("It takes two hundred and five men.", "It takes 205 men."),
        ("It costs $1,400 a lot.", "It costs $1400 a lot."),
        ("As Definition 1 states, it runs.", "As Definition 2.1 states, it runs."),
        ("L1 = 0 i + 2 × J", "L1 = 3 i + 7 × J"),
        ("He shall pay the fee.", "He must pay the fee."),
        ("Es ist exklusiv nutzbar.", "Es ist ausschließlich nutzbar."),
        ("He is required to pay any fee.", "He shall pay each fee."),
        ("It is paid prior to the visit.", "It is paid before the visit."),
        ("The hall was dark in May and cold.", "The hall was dark all spring and cold."),
    ],
)
def test_what_only_looks_like_it_is_not(a: str, b: str) -> None:
    assert flags(a, b) == flags(b, a) == ()


def said(a: str, b: str, terms: ContractTerms = NO_TERMS) -> list[tuple[str, str, str]]:
    """Kind and words of each flag, which are the same the other way round."""
    found = [(flag.kind.value, flag.a, flag.b) for flag in flags(a, b, terms=terms)]
    assert [(flag.kind.value, flag.b, flag.a) for flag in flags(b, a, terms=terms)] == found
    return found


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("45 days", "unit", "45days"), ("forty-five days", "unit", "45days"), ("(45) days", "unit", "45days"),
        ("7 business days", "unit", "7businessdays"), ("3,5 km", "unit", "3,5km"), ("-3 °C", "unit", "-3°c"),
        ("10 µg/m³", "unit", "10μg/m^3"), ("20 GiB", "unit", "20gib"), ("5.5 km/h", "unit", "5.5km/h"),
        ("24-hour", "unit", "24hour"), ("10 m²", "number", "10"), ("3 pumps", "number", "3"),
        ("EUR 1.5 million", "amount", "€1500000"), ("$5bn", "amount", "$5000000000"),
        ("£ 50", "amount", "£50"), ("ten thousand dollars", "amount", "$10000"),
        ("5k euros", "amount", "€5000"), ("4 per cent", "percentage", "4%"), ("4 %", "percentage", "4%"),
        ("-3 percent", "percentage", "-3%"), ("five percent", "percentage", "5%"), ("half", "number", "50%"),
        ("5:30", "number", "5:30"), ("1,400,000", "number", "1400000"), ("thirty-five", "number", "35"),
        ("−7", "number", "-7"),
    ],
)  # fmt: skip
def test_numbers_have_a_kind_and_a_normal_form(text: str, kind: str, value: str) -> None:
    whole = f"It was about {text} in the mill by the river."
    (mention,) = numbers(whole)
    assert (mention.kind.value, mention.value) == (kind, value)
    assert text.strip("(").startswith(whole[mention.span.start : mention.span.end])


@pytest.mark.parametrize(
    "text",
    [
        "see page 12", "see pp. 12-14", "lines 3 and 4", "RFC 2119", "No. 7", "§ 12", "[3, 4]",
        "Chapter 3 to 5", "(see 4.2)", "Fig. 3", "Appendix 2", "Theorem 4", "Eq. 12", "Vol. 3", "Rule 11",
        "Sections 3, 4 and 5", "1. It runs", "4.2 The pump", "1 It runs", "(3) The pump", "[2] The pump",
        "The pump. 3. It runs", "It\n2) The",
    ],
)  # fmt: skip
def test_labels_are_no_numbers(text: str) -> None:
    assert numbers(text) == ()


def test_a_year_behind_a_full_stop_is_no_item() -> None:
    assert [mention.value for mention in numbers("The pump broke. 24 men came.")] == ["24"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("They run 24 pumps at night.", "They run pumps at night.", [("number", "24", "")]),
        ("The 9 pumps and 3 wells run.", "The 9 pumps run.", [("number", "3", "")]),
        ("It is due in 30 days at night.", "It is due at night.", [("number", "30 days", "")]),
        ("It costs $40 at night.", "It costs at night.", [("amount", "$40", "")]),
        ("It fell by 4 % at night.", "It fell at night.", [("percentage", "4 %", "")]),
        ("It came on 3 May 2024 at last.", "It came at last.", [("date", "3 May 2024", "")]),
        ("They run 1 pumps at night.", "They run pumps at night.", []),
        ("They run 007 pumps at night.", "They run pumps at night.", []),
        ("They run three pumps at night.", "They run pumps at night.", []),
        ("It is 5 km long at night.", "It is 5 miles long at night.", [("unit", "5 km", "5 miles")]),
        ("It is 5 km long at night.", "It is 6 miles long at night.", [("number", "5 km", "6 miles")]),
        ("It is 5 km long at night.", "It is 5 % long at night.", [("percentage", "5 km", "5 %")]),
        ("It is 5 days at night.", "It is 3 May at night.", [("date", "5 days", "3 May")]),
        (
            "It is $5 at 3 % here.", "It is $6 at 4 % here.", [("amount", "$5", "$6"), ("percentage", "3 %", "4 %")],
        ),
        ("As the notice (3.4.3) says.", "As the notice says.", []),
        ("See 3.4.3 of it.", "See it.", []),
        ("See 48 C.F.R. 12.212 of it.", "See 48 C.F.R. § 12.212 of it.", []),
        ("It runs on 3.4.3 of it.", "It runs on 3.4.5 of it.", [("number", "3.4.3", "3.4.5")]),
        (
            "It is due in 30 days, or in 30 days of it.", "It is due in 30 days of it.", [("number", "30 days", "")],
        ),
        ("He may attend the meeting.", "He might attend the meeting.", []),
        ("He may attend the meeting.", "He should attend the meeting.", [("obligation", "may", "should")]),
        ("He shall come back soon.", "He come back soon.", [("obligation", "shall", "")]),
        ("He will come back soon.", "He come back soon.", []),
        ("He should come back soon.", "He come back soon.", []),
        ("It runs at up to 50 of them.", "It runs at 50 of them.", [("comparison", "up to", "")]),
        ("It takes at least $10 a day.", "It takes $10 a day.", [("comparison", "at least", "")]),
        ("It takes at least ten men.", "It takes ten men.", []),
        ("It takes more than 10 men.", "It takes 10 men.", []),
        ("No data is sold by us.", "Data is sold by us.", [("negation", "No", "")]),
        ("The Keiner farm is here and big.", "The farm is here and big.", []),
        ("Any pump runs at night.", "Some pump runs at night.", [("scope", "Any", "Some")]),
        ("Any pump runs at night.", "Pump runs at night.", []),
        ("He met Ada there.", "He met Grace there.", [("name", "Ada", "Grace")]),
        ("He met ada there.", "He met grace there.", []),
        ("He met Ada Byron there.", "He met Ada there.", []),
        ("Ada was there.", "Grace was there.", []),
        ("Ada Byron was there.", "Grace Hopper was there.", [("name", "Ada Byron", "Grace Hopper")]),
        ("He came in March there.", "He came in April there.", []),
        ("The Ada and the Bob met.", "The Bob and the Ada met.", []),
        ("It is the Geo:Asia map.", "It is the Site:Asia map.", []),
        ("He pays at once, except for bags.", "He pays at once.", [("exception", "except for bags", "")]),
        ("Unless it rains, he pays it.", "He pays it.", [("exception", "Unless it rains, he", "")]),
        (
            "He pays it, provided, however, that it is dry.",
            "He pays it.",
            [("exception", "provided, however, that it is dry", "")],
        ),
    ],
)  # fmt: skip
def test_what_a_flag_says(a: str, b: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(a, b) == expected


PARTIES = ContractTerms(frozenset({"Supplier", "Customer"}), rules=True)
phrases = st.lists(
    st.sampled_from(
        "the Supplier|the Customer|shall not pay|may pay|within 30 days|within 60 days|the fee|unless agreed|and"
        "|$5 a day|3 May 2021|no more than 4%|Section 3|in New York|may|is liable.".split("|")
    ),
    max_size=7,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(phrases, phrases)
def test_the_flags_the_other_way_round_are_the_same_turned_over(a: list[str], b: list[str]) -> None:
    said(" ".join(a), " ".join(b), PARTIES)


def test_a_tie_between_alignments_does_not_depend_on_the_order() -> None:
    said("and shall not pay the fee and may pay.", "may pay and and may pay the fee.", PARTIES)


def test_the_weightiest_flag_comes_first() -> None:
    a = "He shall pay $40 or 3 % to Ada Byron in 5 days, see Section 4 of it."
    b = "He may pay $50 or 4 % to Grace Hopper in 6 days, see Section 5 of it."
    kinds = [flag.kind.value for flag in flags(a, b)]
    assert kinds == ["amount", "obligation", "percentage", "number", "reference", "name"]


RULES = read_terms("The Supplier shall deliver it. The Customer must pay. It may end.")
DUTY = "The supplier shall at its own cost remove all of the bags from the gate by noon."
FIRST_WORDS = "The supplier shall at its own cost remove all of the bags"


def test_clauses_that_come_or_go_are_flagged_where_texts_set_rules() -> None:
    assert said(f"It is so. {DUTY}", "It is so.", RULES) == [("clause", FIRST_WORDS, "")]
    assert said("It is so.", f"It is so. {DUTY}", RULES) == [("clause", "", FIRST_WORDS)]
    assert said(f"It is so. {DUTY}", "It is so.") == []
    story = "The well of the town is so deep that all of its water is cold and clear."
    assert said(f"It is so. {story}", "It is so.", RULES) == []
    assert [(flag.kind.value, flag.a, flag.b) for flag in one_sided_flags(DUTY, "", RULES)] == [
        ("clause", FIRST_WORDS, "")
    ]
    assert [flag.b for flag in one_sided_flags("", DUTY, RULES)] == [FIRST_WORDS]
    assert one_sided_flags(DUTY, "", NO_TERMS) == one_sided_flags(story, "", RULES) == ()
    assert (beginning(f"  {DUTY}"), beginning(" "), beginning("a\n b")) == (FIRST_WORDS, "", "a\n b")


@pytest.mark.parametrize(
    ("limit", "weighs"),
    [
        ("limited to $50,000 in each year and to a sum of all the fees in the aggregate", True),
        ("limited to the fees that the buyer paid to him for the goods in question", True),
        ("open to all of them unless the old well of the town has run dry by itself", True),
        ("open to all of them until the old well of the town runs dry on 3 May 2021", True),
        ("the only one of the town that the old well and all of its material supplies", False),
    ],
)
def test_a_limit_that_goes_is_flagged_where_texts_set_rules(limit: str, weighs: bool) -> None:
    before, after = f"The share of the owner is {limit} here.", "The share of the owner is full here."
    shown = " ".join(limit.split()[:12])
    assert said(before, after, RULES) == ([("clause", shown, "")] if weighs else [])
    assert "clause" not in [kind for kind, _, _ in said(before, after)]


def test_duties_of_rules_are_flagged_that_a_story_does_not_bind() -> None:
    a, b = "He should come back soon.", "He come back soon."
    assert said(a, b, RULES) == [("obligation", "should", "")]
    assert said("He can come back soon.", b, RULES) == said("He has to come back soon.", b, RULES) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Section 4.2 applies", "4.2"), ("as Section 4.2 (a) says", "4.2(a)"), ("under § 12.3 of it", "12.3"),
        ("in Schedule B to it", "B"), ("as Rule XIV says", "XIV"), ("Clause 7, and", "7"),
        ("see Annex 2b", "2b"), ("gemäß Artikel 4 und", "4"), ("nach Ziffer 3 und", "3"),
        ("la sección 5 de", "5"), ("al artículo 5 de", "5"),
    ],
)  # fmt: skip
def test_references(text: str, value: str) -> None:
    assert [(mention.kind.value, mention.value) for mention in references(text)] == [("reference", value)]


@pytest.mark.parametrize("text", ["Section 4.2 Fees", "Section 4", "in Schedule By it", "as Annex I’s text"])
def test_headings_are_no_references(text: str) -> None:
    assert references(text) == ()


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("Under Section 30 the tenant pays.", "The tenant pays within 30 days.", [("number", "", "30 days")]),
        ("A cap of 5% (see [500]) holds.", "A cap of 5%, $500 in all, holds.", [("amount", "", "$500")]),
        ("Pay 1.000.000 now.", "Pay now.", [("number", "1.000.000", "")]),
        ("Rent | $500", "Lease | $700", [("amount", "$500", "$700")]),
        ("Prise | $500 | new", "Price | $700 | old", [("amount", "$500", "$700")]),
        (
            "Pay $5 per business day.",
            "Pay $5 per calendar day.",
            [("amount", "$5 per business day", "$5 per calendar day")],
        ),
    ],
)
def test_a_value_is_not_hidden_by_another(a: str, b: str, found: list[tuple[str, str, str]]) -> None:
    assert [(flag.kind.value, flag.a, flag.b) for flag in flags(a, b)] == found


@pytest.mark.parametrize("word", ["million ", "hundred and ", "thirty-five ", "thirty "])
def test_a_row_of_spelled_numbers_is_read_in_one_way(word: str) -> None:
    # It took twice as long with every word: minutes with thirty.
    assert flags(f"pay 5 {word * 400}end", f"pay 6 {word * 400}end")
