"""Results as GitHub Flavored Markdown, for pull requests and issues; long parts are folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from colde_cli.similarity.outside import MOST_LISTED
from colde_cli.similarity.pairs import State, extents
from colde_cli.similarity.redline import Operation
from colde_cli.views.escaping import markdown
from colde_cli.views.outside import TITLE, not_listed, outside_rows, uncompared
from colde_cli.views.redline import TYPESETTING, pieces, place_pieces
from colde_cli.views.summary import one_text, told_outside, verdict_sentence
from colde_cli.views.terminal import by_part, change_titles
from colde_cli.views.wording import (
    MAX_FLAGS,
    STATE_WORDS,
    VERDICTS,
    apart_from,
    closer_than,
    closest_parts,
    excerpt,
    field_name,
    first_capital,
    first_of,
    flag_words,
    heading,
    ignored_line,
    left_out,
    names_apart,
    nothing_found,
    page_range,
    pair_state,
    percent,
    place,
    places,
    plural,
    reasons,
    score_parts,
    section_state,
    share_of_pairs,
    shared_words,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Hit, MatchedSection, Ranking
    from colde_cli.documents.document import Document
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import ChunkMatch, Comparison
    from colde_cli.similarity.outside import OutsideComparison
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.section_changes import SectionChange
    from colde_cli.similarity.triage import WeightedChange
    from colde_cli.similarity.typesetting import TypesettingPlace
    from colde_cli.views.redline import Piece

_MAX_CLOSEST = 10
_MAX_SECTIONS = 50
"""Maximum number of sections of each document in the table: GitHub takes 65,536 characters in a comment."""
_HEADING, _EXCERPT, _EDIT = 60, 300, 600  # characters shown at most
_STRONG = 90
"""Scores in hundredths are bold from here."""


def comparison_markdown(comparison: Comparison, level: str, top: int, *, verbose: bool = False) -> str:
    """A comparison as Markdown; text of documents is escaped.

    Args:
        comparison: to show.
        level: as in `views.terminal.comparison_table`.
        top: passages or chunks of each kind to list.
        verbose: show the parts of the score in figures.
    """
    return "\n\n".join(_blocks(comparison, level, top, verbose)) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table of cells in Markdown; the columns numbered in `right` are aligned to the right."""
    aligned = set(right)
    rule = ["--:" if place in aligned else "---" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def folded(summary: str, *blocks: str) -> str:
    """Blocks that are hidden until the summary is clicked."""
    return "\n\n".join((f"<details>\n<summary>{summary}</summary>", *blocks, "</details>"))


def _blocks(comparison: Comparison, level: str, top: int, verbose: bool) -> Iterator[str]:
    yield f"**{markdown(verdict_sentence(comparison))}**"
    if verbose or not one_text(comparison):
        yield _verdict(comparison)
        if why := reasons(comparison):
            yield why
    yield _documents(comparison)
    for name, encoding in (("A", comparison.a), ("B", comparison.b)):
        if missing := left_out(encoding.document):
            yield f"Left out of {name}: {markdown(missing)}"
        for sentence in encoding.document.report.warnings:
            yield f"{name}: {markdown(sentence)}"
    if ignored := ignored_line(comparison):
        yield f"Ignored: {markdown(ignored)}"
    for sentence in uncompared(comparison.outside, comparison.a.document, comparison.b.document):
        yield markdown(sentence)
    if level in ("passage", "all"):
        yield from _passages(comparison, top)
        if one_text(comparison):
            yield from typesetting_blocks(comparison.typesetting, top)
        outside = comparison.outside if level == "passage" else told_outside(comparison)
        yield from outside_blocks(outside, top)
    if level == "section" or (level == "all" and not one_text(comparison)):
        yield _scores(comparison)
    if level == "chunk":
        yield from _chunks(comparison, top)
    yield _footer(comparison, verbose)


def _verdict(comparison: Comparison) -> str:
    facts = [f"**{VERDICTS[comparison.related]}**", f"score **{comparison.score:.3f}**"]
    if comparison.probability is not None:
        facts.append(f"probability of a relation {percent(comparison.probability)}")
    if comparison.field is not None:
        facts.append(markdown(closer_than(comparison.percentile, comparison.field)))
    if comparison.threshold is not None:
        facts.append(f"threshold {comparison.threshold:.2f}")
    return " · ".join(facts)


def _documents(comparison: Comparison) -> str:
    rows = []
    documents = (comparison.a.document, comparison.b.document)
    files = names_apart([document.path for document in documents])
    for name, document, file in zip("AB", documents, files, strict=True):
        pages, path = document.report.pages, markdown(file)
        words = len(document.text.split())
        counts = (f"{pages:,}" if pages else "", f"{len(document.sections):,}", f"{words:,}")
        rows.append((f"**{name}**", markdown(shorten(document.title, 160)), path, *counts))
    return table(("", "Title", "File", "Pages", "Sections", "Words"), rows, (3, 4, 5))


def _footer(comparison: Comparison, verbose: bool) -> str:
    model = comparison.model
    facts = [f"colde · {markdown(model.name)} · {model.precision} · {model.device}"]
    facts += [f"score from {score_parts(comparison.parts)}"] if verbose and len(comparison.parts) > 1 else []
    return f"<sub>{' · '.join(facts)}</sub>"


def _passages(comparison: Comparison, top: int) -> Iterator[str]:
    pairs, summary = comparison.passages, comparison.summary
    listed = by_part(comparison)
    flagged = [pair for pair in pairs if pair.flags]
    counts = [f"{summary[state]:,}" for state in State]
    emphasised = f"**{len(flagged):,}**" if flagged else "0"
    head = [first_capital(STATE_WORDS[state]) for state in State]
    if not comparison.same_content:
        yield shared_words(comparison, extents(pairs))
    yield table((*head, "Flagged"), [(*counts, emphasised)], range(len(head) + 1))
    names = change_titles(comparison)
    yield from _listed(comparison, names[0], listed.flagged, top)
    yield from _listed(comparison, names[1], listed.others, top)
    for name, only in (("A", listed.only_a), ("B", listed.only_b)):
        if only:
            document = comparison.a.document if name == "A" else comparison.b.document
            rows = [_alone(document, pairs[change.pairs[0]]) for change in only[:top]]
            line = f"Only in {name}: {_counted(len(rows), len(only), 'passage')}"
            yield folded(line, table(("Page", "Section", "Text"), rows))
    yield from _sections(comparison)


def _counted(shown: int, count: int, noun: str) -> str:
    return plural(count, noun) if shown == count else f"{shown:,} of {plural(count, noun)}"


def _listed(comparison: Comparison, title: str, changes: Sequence[WeightedChange], top: int) -> Iterator[str]:
    if not changes:
        return
    yield f"### {title}" + ("" if len(changes) <= top else f" ({top} of {len(changes)})")
    for change in changes[:top]:
        a, b = comparison.a.document, comparison.b.document
        yield pair_block(a, b, comparison.passages[change.pairs[0]], len(change.pairs))


def pair_block(a: Document, b: Document, pair: PassagePair, passages: int = 1) -> str:
    """A change: its flags and its place; below, its redline. Arguments as for `views.terminal.pair_lines`."""
    return f"{_head(a, b, pair, passages)}\n\n> {_redline(pair)}"


def _head(a: Document, b: Document, pair: PassagePair, passages: int) -> str:
    if not pair.a or not pair.b:
        pages, name, _ = _alone(a if pair.a else b, pair)
        clause = "**clause**" if pair.flags else ""
        return " · ".join(part for part in (clause, STATE_WORDS[pair.state], pages, name) if part)
    facts = [f"**{kind}** {markdown(change)}" for kind, change in flag_words(pair.flags, MAX_FLAGS)]
    where = first_of(passages) + places(a, b, pair, _HEADING, ", ", markdown)
    throughout = [f"**in {passages} passages**"] if passages > 1 else []
    return " · ".join([*facts, pair_state(pair), *throughout, where])


def outside_blocks(outside: OutsideComparison, top: int) -> Iterator[str]:
    """What differs outside the text: kind and place of each difference; below, its redline or its text."""
    if not outside.changes:
        return
    shown = min(top, MOST_LISTED)
    yield f"### {TITLE}" + ("" if outside.changes <= shown else f" ({shown} of {outside.changes:,})")
    for row in outside_rows(outside, shown):
        state = "" if row.remark or row.state is State.EDITED else STATE_WORDS[row.state]
        facts = (f"**{row.kind}**", state, row.remark, markdown(row.place))
        line = " · ".join(fact for fact in facts if fact)
        yield line if row.pair is None or row.remark else f"{line}\n\n> {_redline(row.pair)}"
    if rest := not_listed(outside, shown):
        yield rest


def typesetting_blocks(places: Sequence[TypesettingPlace], top: int) -> Iterator[str]:
    """The places where only blanks, hyphens, quotation marks and the like differ."""
    if places:
        yield f"### {TYPESETTING}" + ("" if len(places) <= top else f" ({top} of {len(places):,})")
    for spot in places[:top]:
        yield f"> {_tagged(place_pieces(spot))}"


def _redline(pair: PassagePair) -> str:
    if pair.state in (State.ONLY_A, State.ONLY_B):
        tag = "del" if pair.state is State.ONLY_A else "ins"
        return f"<{tag}>{markdown(shorten(pair.a_text or pair.b_text, _EDIT))}</{tag}>"
    return _tagged(pieces(pair, longest=_EDIT))


def _tagged(shown: Sequence[Piece]) -> str:
    # Tags work next to any character, `~~` and `**` do not.
    tags = {
        Operation.KEPT: ("", ""),
        Operation.DELETED: ("<del>", "</del>"),
        Operation.INSERTED: ("<ins>", "</ins>"),
    }
    line = ""
    for piece in shown:
        before, after = tags[piece.kind]
        line += f"{' ' if piece.gap else ''}{before}{markdown(piece.text)}{after}"
    return line


def _alone(document: Document, pair: PassagePair) -> tuple[str, str, str]:
    pages, name = place(document, pair.a or pair.b, _HEADING)
    return pages, markdown(name), markdown(shorten(pair.a_text or pair.b_text, _EXCERPT))


def _sections(comparison: Comparison) -> Iterator[str]:
    """What became of the sections of a text; of two different texts those that are closest."""
    if not one_text(comparison):
        yield from _closest_sections(comparison)
        return
    changes = [change for change in comparison.section_changes if section_state(change)]
    if changes:
        yield "### Section changes"
        yield table(("", "A", "B"), (_section(comparison, change) for change in changes))


def _closest_sections(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a.document, comparison.b.document
    found = comparison.closest_sections(_MAX_CLOSEST)
    if found:
        yield "### Closest sections"
        yield table(
            ("Score", "A", "B"), ((f"{score:.2f}", _name(a, i), _name(b, j)) for score, i, j in found)
        )


def _section(comparison: Comparison, change: SectionChange) -> tuple[str, str, str]:
    a, b = (
        " + ".join(_name(encoding.document, index) for index in of)
        for encoding, of in ((comparison.a, change.a), (comparison.b, change.b))
    )
    return section_state(change), a, b


def _name(document: Document, index: int) -> str:
    return markdown(shorten(heading(document.sections[index]), _HEADING))


def _scores(comparison: Comparison) -> str:
    a, b = comparison.a.document, comparison.b.document
    size = f"{len(a.sections)} × {len(b.sections)}"
    shown = comparison.outline(_MAX_SECTIONS)
    if shown.scores.size > _MAX_SECTIONS**2:
        return f"The table of section scores ({size}) is too large for a comment; `--format json` has it."
    head = ("A \\ B", *(str(number) for number, _ in enumerate(shown.b, 1)))
    rows = [
        (f"{number} {_name(a, index)}", *map(_hundredths, scores))
        for number, (index, scores) in enumerate(zip(shown.a, shown.scores, strict=True), 1)
    ]
    names = " · ".join(f"**{number}** {_name(b, index)}" for number, index in enumerate(shown.b, 1))
    folds = shown.scores.size < comparison.section_scores.size
    aside = ", the best below both headings" if folds else ""
    return folded(
        f"Section scores ({size}), in hundredths{aside}",
        table(head, rows, range(1, len(head))),
        f"Sections of B: {names}",
    )


def _hundredths(score: float) -> str:
    hundredths = max(0, round(float(score) * 100))
    return f"**{hundredths}**" if hundredths >= _STRONG else str(hundredths)


def _chunks(comparison: Comparison, top: int) -> Iterator[str]:
    matches = comparison.matches_of_a()
    changed = sorted((match for match in matches if not match.same), key=lambda match: -match.score)
    same = len(matches) - len(changed)
    yield "### Chunks of A, each with the most similar chunk of B"
    if same:
        counted = f"{same} of {plural(len(matches), 'chunk')} of A {'is' if same == 1 else 'are'}"
        yield f"{counted} also in B, word for word{apart_from(comparison.ignore)}."
    if changed:
        yield table(("Score", "A", "B"), (_match(comparison, match) for match in changed[:top]), (0,))
    for name, alone in zip("AB", comparison.without_counterpart(), strict=True):
        encoding = comparison.a if name == "A" else comparison.b
        lowest = sorted(alone, key=lambda match: match.score)[:top]
        if lowest:
            rows = ((f"{match.score:.2f}", _chunk(encoding, match.chunk)) for match in lowest)
            line = f"Only in {name}: {_counted(len(lowest), len(alone), 'chunk')} without a counterpart"
            yield folded(line, table(("Best score", name), rows, (0,)))


def _match(comparison: Comparison, match: ChunkMatch) -> tuple[str, str, str]:
    return f"{match.score:.2f}", _chunk(comparison.a, match.chunk), _chunk(comparison.b, match.partner)


def _chunk(encoding: Encoding, index: int) -> str:
    chunk = encoding.chunks[index]
    name = _name(encoding.document, chunk.section)
    words = markdown(shorten(excerpt(encoding.document, chunk), _EXCERPT // 2))
    return "<br>".join(part for part in (f"{page_range(chunk.pages)} {name}".strip(), words) if part)


def ranking_markdown(ranking: Ranking) -> str:
    """A ranking as Markdown; text of documents and file names is escaped."""
    return "\n\n".join(_ranking_blocks(ranking)) + "\n"


def _ranking_blocks(ranking: Ranking) -> Iterator[str]:
    yield f"Documents most similar to **{markdown(shorten(ranking.query_title, 160))}**"
    if ranking.results:
        likely = "Probability" if ranking.field is None else "Closer than"
        if ranking.results[0].probability is not None and ranking.field is not None:
            likely = "Probability, closer than"
        yield table(("", "Score", likely, "Document", "File"), map(_hit, ranking.results), (0, 1, 2))
    else:
        yield nothing_found(ranking)
    for hit in ranking.results:
        if hit.matches:
            rows = [
                (f"{match.score:.2f}", _place(match.query), _place(match.hit), markdown(match.hit.text))
                for match in hit.matches
            ]
            matches = table(("Score", "Query", "Document", "Text"), rows, (0,))
            closest = closest_parts(hit.parts, hit.score)
            yield folded(f"Matches of no. {hit.rank}", *([f"{closest}."] if closest else []), matches)
    if ranking.skipped:
        files = [(markdown(skipped.path), markdown(skipped.reason)) for skipped in ranking.skipped]
        yield folded(f"{plural(len(files), 'file')} skipped", table(("File", "Reason"), files))
    if ranking.half_read:
        read = [
            (markdown(item.path), "<br>".join(map(markdown, item.warnings))) for item in ranking.half_read
        ]
        yield folded(f"{plural(len(read), 'document')} not read whole", table(("File", "Warnings"), read))
    if ranking.field is not None:
        yield f"A hit is closer to the query than this share of pairs of {markdown(field_name(ranking.field))}."
    model = ranking.model
    searched = f"{plural(ranking.searched, 'document')} searched"
    searched += f" · {ranking.unencoded:,} not encoded" if ranking.unencoded else ""
    yield f"<sub>colde · {markdown(model.name)} · {model.precision} · {model.device} · {searched}</sub>"


def _hit(hit: Hit) -> tuple[str, ...]:
    likely = [] if hit.probability is None else [percent(hit.probability)]
    likely += [] if hit.percentile is None else [share_of_pairs(hit.percentile)]
    return (
        str(hit.rank),
        f"{hit.score:.2f}",
        ", ".join(likely),
        markdown(shorten(hit.title, 160)),
        markdown(hit.path),
    )


def _place(place: MatchedSection) -> str:
    return f"{page_range(place.pages)} {markdown(place.section) or '(front matter)'}".strip()
