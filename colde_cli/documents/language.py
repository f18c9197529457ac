"""Name the language of a text that is not English, by its function words or its script; warn of an unknown one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from colde_cli.documents.document import Chunk, Document, Part, assemble

_FUNCTION_WORDS = {
    "English": "the of and to in is that for with as by on are be this from or it was which an at not have has shall",
    "German": "der die das und ist nicht den von zu mit dem des ein eine für auf im sich als auch es wird bei oder nach"
    " sind dass werden durch aus zum zur nur noch wenn",
    "French": "le la les et est des du une que dans pour pas qui sur au par avec ne ce sont aux ou cette ses leur être"
    " il elle nous vous a été",
    "Spanish": "el la los las y que del se un una por con no para su al es lo como más o pero sus este ha cuando será"
    " esta entre sin sobre",
    "Italian": "il la di che e è per un una del della non con sono le dei nel si da al gli come più anche alla ma delle"
    " lo sua dal",
    "Portuguese": "o a os as e que do da em um uma para com não por dos das no na se ao mais como foi ou pela pelo são"
    " sua é",
    "Dutch": "de het een en van is dat op te in voor met niet zijn aan er ook als door bij of uit naar wordt om dan nog"
    " over deze worden",
    "Swedish": "och att det som en på är av för den med till inte om ett har de kan från vid eller ska var sig så",
    "Polish": "i w na z do że się nie jest o od za po przez oraz dla jak lub ma przy tym są który która",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_SCRIPTS = {
    "Japanese": re.compile("[\u3040-\u30ff]"),
    "Korean": re.compile("[\uac00-\ud7af]"),
    "Chinese": re.compile("[\u4e00-\u9fff]"),
    "Russian (or another language in Cyrillic)": re.compile("[\u0400-\u04ff]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Hindi (or another language in Devanagari)": re.compile("[\u0900-\u097f]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"),
}
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000  # number of characters looked at, from the beginning and again from the middle
_MIN_LETTERS = 100
_SCRIPT_SHARE, _KANA_SHARE = 0.3, 0.05
"""Share of letters in a script; Japanese has mostly Chinese letters."""
_WORD_SHARE = 0.12  # minimum share of function words by which a language is recognised
_LEAD = 1.5  # a language is named if it has this many times as many function words as English
_CUT = 4000  # number of characters cut into tokens
_TOKENS_A_WORD = 1.7
"""Tokens for a word from which a model does not know a language. 320 English documents have 1.31 (median) to 1.86,
paragraphs in other languages 1.97 or more; a model that knows a language needs about as many as English."""


def foreign_language(text: str) -> str | None:
    """Name the language of a text, if it is not English; None if it is, or if nothing tells.

    The shares were chosen on eight sets of English documents and on paragraphs in eight languages (benchmarks/results).
    """
    middle = max(0, len(text) // 2)
    sample = text[:_SAMPLE] + " " + text[middle : middle + _SAMPLE] if len(text) > _SAMPLE else text
    words = [word.casefold() for word in _WORD.findall(sample)]
    letters = sum(map(len, words))
    if letters < _MIN_LETTERS:
        return None
    for language, script in _SCRIPTS.items() if not sample.isascii() else ():
        least = _KANA_SHARE if language == "Japanese" else _SCRIPT_SHARE
        if len(script.findall(sample)) > least * letters:
            return language
    counts = Counter(words)
    hits = {language: sum(counts[word] for word in known) for language, known in _WORDS.items()}
    best = max(hits, key=lambda language: hits[language])
    clear = hits[best] >= _WORD_SHARE * len(words) and hits[best] >= _LEAD * hits["English"]
    return best if clear and best != "English" else None


def with_language_warning(document: Document, chunk: Callable[[Document], Sequence[Chunk]]) -> Document:
    """Add a warning if a document is not in English and `chunk`, of the model, cuts its words into many pieces."""
    language = foreign_language(document.text)
    if language is None:
        return document
    text = document.text[:_CUT]
    tokens = sum(len(piece.ids) - 2 for piece in chunk(assemble("", "", [Part("", text)])))
    if tokens < _TOKENS_A_WORD * len(text.split()):
        return document
    sentence = (
        f"Its language seems to be {language}, which the model does not know: scores and matches by meaning say little."
        " Words are compared as in any language."
    )
    report = replace(document.report, warnings=(*document.report.warnings, sentence))
    return replace(document, report=report)
