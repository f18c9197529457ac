"""A corpus in the order of its likeness to one document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from colde_cli.corpus.collecting import Collector, Reading
from colde_cli.corpus.explaining import matches
from colde_cli.corpus.result import Hit, Ranking
from colde_cli.corpus.store import Card
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.similarity.boilerplate import Boilerplate
from colde_cli.similarity.scoring import document_scores, verdict


def encode_file(
    source: str,
    encoder: DocumentEncoder,
    *,
    password: str | None = None,
    boilerplate: Boilerplate | None = None,
) -> Encoding:
    """Encode a file, or standard input for "-"; what the encoder's cache knows is not read again.

    Args:
        source: to read.
        encoder: of the model.
        password: of an encrypted PDF.
        boilerplate: text to leave out.

    Raises:
        DocumentError: it cannot be read, or nothing of it is left.
    """
    reading = Reading(password, boilerplate)
    if source == "-" or not Path(source).is_file():
        return encoder.encode(reading.read(source))
    path, store = Path(source), reading.store(encoder)
    try:
        key = store.key(path)
    except OSError:  # reading it says what is wrong
        return encoder.encode(reading.read(path))
    known = store.encoding(path, key)
    if known is None:
        known = encoder.encode(reading.read(path))
        store.keep(key, known)
    return known


def rank(
    query: Encoding,
    corpus: Sequence[Path],
    encoder: DocumentEncoder,
    *,
    top: int = 10,
    min_score: float | None = None,
    explain: bool = False,
    password: str | None = None,
    boilerplate: Boilerplate | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ranking:
    """Order documents by their score with the query, then by path.

    Files that cannot be read are skipped and listed. With a cache in `encoder`, what was encoded in an
    earlier run is not even parsed again.

    Args:
        query: the document to compare with; its own file is left out of the corpus.
        corpus: files, e.g. from `corpus.walking.walk`.
        encoder: what encoded the query.
        top: how many to list.
        min_score: list none below.
        explain: say for each hit which sections match.
        password: of encrypted PDFs.
        boilerplate: text to leave out of every file; the query should have been read likewise.
        progress: told of every number of documents done.
    """
    files = [path for path in corpus if not _same_file(path, query.document.path)]
    collector = Collector(encoder, Reading(password, boilerplate))
    cards = collector.cards(files, progress or (lambda number: None))
    hits = _best(query, cards, encoder, top, min_score)
    if explain:
        hits = [replace(hit, matches=matches(query, collector.encoding(Path(hit.path)))) for hit in hits]
    return Ranking(
        query.document.path,
        query.document.title,
        encoder.info,
        tuple(hits),
        searched=len(cards),
        encoded=collector.encoded,
        skipped=tuple(sorted(collector.skipped, key=lambda skipped: skipped.path)),
        like=boilerplate.sources if boilerplate is not None else (),
    )


def _same_file(path: Path, other: str) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _best(
    query: Encoding, cards: Sequence[Card], encoder: DocumentEncoder, top: int, min_score: float | None
) -> list[Hit]:
    if not cards:
        return []
    scores = document_scores([query] * len(cards), cards, encoder)
    ordered = sorted(zip(scores.tolist(), cards, strict=True), key=lambda pair: (-pair[0], pair[1].path))
    listed = [pair for pair in ordered if min_score is None or pair[0] >= min_score][:top]
    hits = []
    for place, (_, card) in enumerate(listed, 1):
        said = verdict(query, card, encoder)
        hits.append(Hit(place, card.path, card.title, said.score, said.probability, parts=said.parts))
    return hits
