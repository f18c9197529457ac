"""How numbers and dates are written: regular expressions, to be compiled without flags that change them.

All ignore case on their own, but for "May" and labels, whose capitals say what they are.
"""

from __future__ import annotations

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
NUMERAL = r"\d+(?:[.,:]\d+)*"
SPELLED = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half twice third "
    "quarter one"
).split()
DATE = (
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTHS}\b\.?(?:,?\s+\d{{4}}\b)?"
    rf"|\b{MONTHS}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?|\b{MONTHS},?\s+\d{{4}}\b"
    r"|(?<!\d)\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?(?!\d)|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
)

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SCALE = "hundred|thousand|million|billion|trillion"
_WORD = rf"(?:(?:{_TENS})[\s-](?:one|two|three|four|five|six|seven|eight|nine)|{'|'.join(SPELLED)})\b"
IN_WORDS = _WORD
"""A number below a hundred, or a round one, in words: "forty-five", "sixty", "hundred"."""

# "two hundred and five", but two numbers in "one and three".
_MORE = rf"(?:[\s-](?:{_SCALE})\b(?:\s(?:and\s)?{_WORD})?)*"
_FIGURE = rf"{NUMERAL}(?:[\u00a0\u2009\u202f]\d{{3}})*(?:(?:st|nd|rd|th)\b)?"
# "may 10" is a modal and a number.
_NO_MODAL = r"(?!(?-i:may)\b)"
NUMBER = rf"(?i:{_NO_MODAL}(?:{DATE})|(?:\b{_WORD}|{_FIGURE}){_MORE})"
"""Any number or date, as one: "3.2", "1,400", "31st", "thirty-five", "two hundred and five", "1.4 million",
"8 January 2024"."""

_NUMBERED = (
    "section article clause chapter part title volume book schedule exhibit appendix annex attachment table figure"
).split()
_CALLED = "|".join(rf"(?i:(?<=\b{word}\s))" for word in _NUMBERED)
LABEL = r"(?<![^\W\d_])\((?:\d+(?:\.\d+)*|[A-Za-z]|(?i:[ivxlc]+))\)"
"""The label of a list item or of a part of a section: "(a)", "(iv)", "(2)", but not the argument of "f(x)"."""

NAMED_LABEL = rf"(?:{_CALLED})(?:[IVXLC]+|[A-Z])(?![\w'’])"
"""A letter or a Roman number after what it labels: "IV" in "Article IV", "B" in "Schedule B"."""
