"""Flags: each kind is seen, and what only looks like it is not."""

from __future__ import annotations

import pytest

from colde_cli.similarity.flags import flags

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
        ("Der Mieter muss die Miete zahlen.", "Der Mieter kann die Miete zahlen.", "obligation"),
        ("Der Mieter haftet für Schäden.", "Der Mieter haftet nicht für Schäden.", "negation"),
        ("Le client doit payer le prix.", "Le client peut payer le prix.", "obligation"),
        ("Le client paie les frais.", "Le client ne paie pas les frais.", "negation"),
        ("Three Pumps run there.", "Five Pumps run there.", "number"),
        ("El cliente debe pagar el precio.", "El cliente puede pagar el precio.", "obligation"),
        ("El cliente responde del daño.", "El cliente nunca responde del daño.", "negation"),
    ],
)
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
        (
            "It fell by 4% in a year.",
            "It fell by four percent in a year.",
        ),
        ("It takes ninety (90) days.", "It takes 90 days."),
        ("It takes two hundred and five men.", "It takes 205 men."),
        ("It costs $1,400 a lot.", "It costs $1400 a lot."),
        ("As Definition 1 states, it runs.", "As Definition 2.1 states, it runs."),
        ("L1 = 0 i + 2 × J", "L1 = 3 i + 7 × J"),
        ("He shall pay the fee.", "He must pay the fee."),
        ("He is required to pay any fee.", "He shall pay each fee."),
        ("It is paid prior to the visit.", "It is paid before the visit."),
    ],
)
def test_what_only_looks_like_it_is_not(a: str, b: str) -> None:
    assert flags(a, b) == flags(b, a) == ()
