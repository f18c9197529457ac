"""What a result says, as blocks that the terminal, Markdown, plain text and HTML draw each in its own way.

A new kind of result is one function here with a line in `_PAGES`; a new format is one file that draws blocks, with a
line in `views.output`. Texts are those of the documents: a format makes them safe.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from colde_cli.similarity.section_changes import SectionState
from colde_cli.views import blocks, sentences, wording
from colde_cli.views.changes import TITLE, difference, same_sentence
from colde_cli.views.comparison_page import comparison_page, verification_page

if TYPE_CHECKING:
    from colde_cli.corpus.duplicates import Containment, Families, Member
    from colde_cli.corpus.folder_pairs import FileChange, FolderComparison
    from colde_cli.corpus.rank_corpus import Hit, Ranking
    from colde_cli.corpus.reused_passages import PassagePlace
    from colde_cli.corpus.subjects import ClusterMember, Clusters
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.digest import ComparisonDigest
    from colde_cli.similarity.history import History, SectionHistory, SectionStep


def page(result: object, **options: object) -> blocks.Page:
    """The page of a result of any kind in `_PAGES`."""
    return _PAGES[type(result).__name__](result, **options)


# Copies, versions and parts

_RELATIONS = {
    "identical": "identical to",
    "same-text": "same text as",
    "near-duplicate": "near-duplicate of",
    "version": "version of",
}


def _families(found: Families, links: Mapping[blocks.Pair, str] | None = None) -> blocks.Page:
    """Families; a pair without one of the `links` to reports shows the command that makes its report."""
    links = links or {}
    skipped = f", {len(found.skipped):,} skipped" if found.skipped else ""
    facts = (
        f"{wording.plural(found.searched, 'document')} compared{skipped} · versions share at least "
        f"{found.min_share:.0%} of the words of each, a part has at least {found.min_contained:.0%} of its "
        "words in the whole"
    )
    groups = [
        blocks.Listing(
            "family",
            [_member(member, links) for member in group.members],
            ("File", "Words", "Relation", "Of"),
            number,
            wording.shorten(group.members[0].title, 90),
        )
        for number, group in enumerate(found.groups, 1)
    ]
    shown: list[blocks.Block] = [blocks.HeadingBlock("Copies and versions", quiet=True), *groups] if groups else []
    if found.contained:
        parts = [_part(item, links) for item in found.contained]
        shown.append(blocks.HeadingBlock("Documents that are part of longer ones"))
        shown.append(blocks.Listing("parts", parts, ("File", "Words", "Share", "Stands in")))
    shown += _reused(found)
    return blocks.Page(
        "Copies, versions and parts",
        _families_answer(found),
        shown,
        "bold" if found else _NOTHING,
        facts=(facts, *_left_out(found)),
        colophon=" · ".join((facts, *_left_out(found))),
        **_unread(found),
    )


def _left_out(found: Families) -> list[str]:
    """Sentences on what was not looked at, or is not listed."""
    said = []
    if found.crowded:
        documents = f"{wording.plural(found.crowded, 'document')} {'shares' if found.crowded == 1 else 'share'}"
        said.append(f"{documents} much with over 32 others, and only the next 32 were compared: parts may be missing.")
    if found.passages is not None and len(found.passages) < found.passages_found:
        said.append(f"{len(found.passages):,} of {found.passages_found:,} passages are listed; --top lists more.")
    return said


def _reused(found: Families) -> Iterator[blocks.Block]:
    """Passages that stand in several documents, each with its places."""
    if not found.passages:
        return
    yield blocks.HeadingBlock("Passages used again")
    rows = []
    for number, passage in enumerate(found.passages, 1):
        size = f"{wording.plural(passage.words, 'word')} in {wording.plural(passage.documents, 'document')}"
        text = wording.shorten(passage.text, 400)
        lines = [size, f"“{text}”", *(_place(place) for place in passage.places)]
        if (more := passage.documents - len({place.path for place in passage.places})) > 0:
            lines.append(f"and {wording.plural(more, 'document')} more")
        rows.append((str(number), lines))
    yield blocks.TermsBlock(("Passage", "Places"), rows)


def _place(place: PassagePlace) -> str:
    said = [wording.plain(place.path), wording.shorten(place.section, 80), wording.page_range(place.pages)]
    return ", ".join([*filter(None, said), wording.plural(place.words, "word")])


def _families_answer(found: Families) -> str:
    members = sum(len(group.members) for group in found.groups)
    parts = len({item.part.path for item in found.contained})
    of = f"of copies and versions, of {wording.plural(members, 'document')}"
    groups = f"{wording.plural(len(found.groups), 'group')} {of}"
    contained = f"{wording.plural(parts, 'document')} {'stands' if parts == 1 else 'stand'} in a longer one"
    told = [groups] * bool(found.groups) + [contained] * bool(parts)
    if found.passages:
        told.append(f"{wording.plural(found.passages_found, 'passage')} used again")
    return f"{' · '.join(told)}." if told else "No document is a copy, a version or a part of another."


def _member(member: Member, links: Mapping[blocks.Pair, str]) -> blocks.ListedDocument:
    close = member.closest
    if close is None:
        return blocks.ListedDocument(member.path, member.title, member.words)
    relation = close.relation.value
    shares = () if relation in ("identical", "same-text") else (close.share, close.share_back)
    link, command = _report(close.path, member.path, links) if shares else ("", "")
    return blocks.ListedDocument(
        member.path,
        member.title,
        member.words,
        kind=relation,
        relation=_RELATIONS[relation],
        other=close.path,
        shares=shares,
        link=link,
        command=command,
    )


def _report(a: str, b: str, links: Mapping[blocks.Pair, str]) -> blocks.Pair:
    """The address of the report on a pair, or else the command that makes it."""
    # A name that begins with a hyphen is no option after two of them.
    command = shlex.join(["colde", "diff", "-o", "diff.html", "--", a, b])
    return (links[a, b], "") if (a, b) in links else ("", command)


def _part(item: Containment, links: Mapping[blocks.Pair, str]) -> blocks.ListedDocument:
    whole, part = item.whole, item.part
    link, command = _report(part.path, whole.path, links)
    return blocks.ListedDocument(
        part.path,
        part.title,
        part.words,
        kind="contained",
        relation="part of it",
        other=whole.path,
        shares=(item.share, item.share_back),
        whole=blocks.ListedDocument(whole.path, whole.title, whole.words),
        link=link,
        command=command,
    )


def _unread(found: Families | Clusters | Ranking) -> dict[str, Any]:
    """What could not be read, or only in part."""
    return {
        "skipped": [(item.path, item.reason) for item in found.skipped],
        "half_read": found.half_read,
    }


# Subjects


def _clusters(found: Clusters, top: int | None = None) -> blocks.Page:
    """Clusters; the terminal shows `top` documents of each."""
    skipped = f", {len(found.skipped):,} skipped" if found.skipped else ""
    within = "" if found.field is None else f" within {wording.field_name(found.field)}"
    facts = (
        f"{wording.plural(found.searched, 'document')} compared{skipped} · neighbours score at least "
        f"{found.min_score:.2f}{within} · {wording.model_line(found)}"
    )
    members = sum(len(cluster.members) for cluster in found.clusters)
    alone = f" · {wording.plural(len(found.alone), 'document')} alone" if found.alone else ""
    clusters = [
        blocks.Listing(
            "cluster",
            list(map(_cluster_member, cluster.members)),
            ("Score", "Document", "File"),
            number,
            ", ".join(map(wording.plain, cluster.words)) or wording.shorten(cluster.members[0].title, 60),
            tags=cluster.words,
            about=f"Mean score of neighbours {cluster.cohesion:.2f}. Scores below are with the most central document, "
            "which stands first.",
            most=top,
        )
        for number, cluster in enumerate(found.clusters, 1)
    ]
    others = blocks.Listing("alone", list(map(_cluster_member, found.alone)), ("Document", "File"), most=top)
    return blocks.Page(
        "Subjects",
        f"{wording.plural(len(found.clusters), 'cluster')} of {wording.plural(members, 'document')}{alone}."
        if found
        else "No two documents are close enough to make a cluster.",
        [*clusters, *([others] if found.alone else [])],
        "bold" if found else _NOTHING,
        facts=(facts,),
        colophon=facts,
        **_unread(found),
    )


def _cluster_member(member: ClusterMember) -> blocks.ListedDocument:
    return blocks.ListedDocument(member.path, member.title, score=member.score)


# Documents most similar to one


def _ranking(ranking: Ranking, *, verbose: bool = False) -> blocks.Page:
    """A ranking; `verbose` shows the parts of the scores in figures."""
    searched = f"{wording.plural(ranking.searched, 'document')} searched"
    unencoded = [f"{ranking.unencoded:,} not encoded"] if ranking.unencoded else []
    skipped = [f"{len(ranking.skipped):,} skipped"] if ranking.skipped else []
    model, like = wording.model_line(ranking), wording.file_names(ranking.like)
    likely = ["Closer than"] if ranking.field is not None else []
    if not likely or (ranking.results and ranking.results[0].probability is not None):
        likely.insert(0, "Probability")
    hits = [_hit(hit, ranking, verbose) for hit in ranking.results]
    columns = ("", "Score", wording.first_capital(", ".join(likely).lower()), "Document", "File")
    field = f" of {wording.field_name(ranking.field)}" if ranking.field else ""
    nothing = "No document is similar enough." if ranking.searched else "There was no document to compare with."
    return blocks.Page(
        f"{ranking.query_title}: similar documents",
        "" if hits else nothing,
        [blocks.Listing("hits", hits, columns)] if hits else [],
        _NOTHING,
        about=(ranking.query_title, ranking.query_path),
        facts=(" · ".join([searched, f"{ranking.encoded:,} newly encoded", *skipped, *unencoded, model]),),
        cautions=(f"Ignored: text that also appears in {like}",) if like else (),
        remarks=(f"A hit is closer to the query than this share of pairs{field}.",) if field else (),
        colophon=" · ".join([model, searched, *unencoded]),
        **_unread(ranking),
    )


def _hit(hit: Hit, ranking: Ranking, verbose: bool) -> blocks.ListedDocument:
    likely = [] if hit.probability is None else [("Probability", wording.percent(hit.probability))]
    likely += [] if hit.percentile is None else [("Closer than", wording.share_of_pairs(hit.percentile))]
    return blocks.ListedDocument(
        hit.path,
        hit.title,
        rank=hit.rank,
        score=hit.score,
        facts=likely,
        state="" if ranking.field is None else wording.closer_than(hit.percentile, ranking.field),
        closest=wording.closest_parts(hit.parts, hit.score),
        note=f"score from {wording.score_parts(hit.parts)}" if verbose and len(hit.parts) > 1 else "",
        matches=hit.matches,
    )


# Versions of one document


def _history(history: History) -> blocks.Page:
    steps = [f"{number} → {number + 1}" for number in range(1, len(history.versions))]
    changed = [section for section in history.sections if section.changed]
    rows = [
        [(_section_name(history, section), ""), *((words, _look(words)) for words in map(_step_words, section.steps))]
        for section in changed
    ]
    sections: list[blocks.Block] = [
        blocks.HeadingBlock("Sections", quiet=True),
        blocks.TableBlock(("Section", *steps), rows),
    ]
    ignored = wording.ignored_names(history.ignore)
    kept = len(history.sections) - len(changed)
    count = len(history.versions)
    terms = blocks.TermsBlock(
        ("Step", "Weightiest change"), list(zip(steps, map(_step_lines, history.steps), strict=True))
    )
    return blocks.Page(
        "History of a document",
        f"The texts of all {count} versions are the same."
        if history.same
        else f"{count} versions: {len(changed):,} of {wording.plural(len(history.sections), 'section')} changed.",
        [blocks.HeadingBlock("Steps", quiet=True), terms, *(sections if rows else [])],
        facts=list(_version_lines(history)),
        cautions=(f"Ignored: {' · '.join(ignored)}",) if ignored else (),
        remarks=(f"{wording.plural(kept, 'section')} did not change in any step.",) if kept else (),
    )


def _version_lines(history: History) -> Iterator[str]:
    """Number, title, file and size of each version, and what was left out of it."""
    files = wording.names_apart([document.path for document in history.versions])
    versions = zip(history.versions, history.words, files, strict=True)
    for number, (document, words, file) in enumerate(versions, 1):
        pages = document.report.pages
        facts = [file] if document.path else []
        facts += [wording.plural(pages, "page")] if pages else []
        missing = wording.left_out(document)
        aside = f"; left out: {missing}" if missing else ""
        facts += [wording.plural(words, "word")]
        yield f"{number}: {wording.shorten(document.title, 100)} ({', '.join(facts)}){aside}"


def _step_lines(step: ComparisonDigest) -> list[str]:
    """What a step changed, and its weightiest change with its place."""
    if step.same_content:
        return [same_sentence(step.a, step.b, step.outside)]
    words, where = sentences.weightiest_change(step)
    counts = ", ".join(sentences.changed_passages(step.summary)) or "no passage differs"
    outside = difference(step.outside)
    beside = [f"{TITLE}, {outside}."] if outside else []
    return [f"{wording.first_capital(counts)}.", f"{words} ({where})" if where else words, *beside]


def _section_name(history: History, section: SectionHistory) -> str:
    """The heading of a section in the last version that has it."""
    versions = zip(history.versions, section.places, strict=True)
    last = [document.sections[index] for document, index in versions if index is not None][-1]
    return wording.shorten(wording.heading(last), 60)


def _step_words(step: SectionStep | None) -> str:
    """What became of a section: `same`, `renamed, edited 12 words, 1 flagged`; a dash where it is not there."""
    if step is None:
        return "–"
    words = [] if step.state is SectionState.MATCHED else [step.state.value]
    words += ["moved"] if step.moved else []
    if step.state not in (SectionState.ADDED, SectionState.DROPPED):
        words += [f"edited {wording.plural(step.words, 'word')}"] if step.words else []
        words += ["text moved"] if not step.same and not step.words else []
    words += [f"{step.flagged} flagged"] if step.flagged else []
    return ", ".join(words) or "same"


def _look(words: str) -> str:
    return "none" if words == "–" else words if words in ("same", "added", "dropped") else "changed"


# Two folders

_FILE_STATES = {**wording.STATE_WORDS, "unread": "not read", "renamed": "renamed"}


def _folders(
    found: FolderComparison,
    pairs: Mapping[blocks.Pair, blocks.PairOfFiles] | None = None,
    links: Mapping[blocks.Pair, str] | None = None,
) -> blocks.Page:
    """Two folders, with what changed between pairs of files and links to reports, by the paths of the files.

    Files that are the same for certain are only counted.
    """
    pairs, links = pairs or {}, links or {}
    counts = [f"{count:,} {_FILE_STATES[state]}" for state, count in reversed(found.counts.items()) if count]
    ignored = wording.ignored_names(found.ignore)
    listed = [change for change in found.files if change.state.value != "same" or change.half_read]
    entries = [
        blocks.ListedDocument(
            " → ".join(dict.fromkeys(wording.plain(path) for path in (change.a, change.b) if path)),
            kind=change.state.value,
            state=_state_words(change),
            change=(wording.plain(change.reason), "") if change.reason else sentences.weightiest_change(change.digest),
            pair=pairs.get((change.a, change.b)),
            link=links.get((change.a, change.b), ""),
        )
        for change in listed
    ]
    return blocks.Page(
        "Two folders compared",
        f"{wording.plural(len(found.files), 'document')}: {', '.join(counts)}.",
        [blocks.Listing("files", entries, ("State", "File", "Weightiest change", "Place"))],
        facts=[
            f"A: {wording.plain(found.a)}",
            f"B: {wording.plain(found.b)}",
            *([f"Ignored: {', '.join(ignored)}"] if ignored else []),
        ],
        same=[change.a for change in found.files if change.state.value == "same" and not change.half_read],
        unlisted=[(item.path, item.reason) for item in found.unlisted],
    )


def _state_words(change: FileChange) -> str:
    """`edited, 23 changes`; `renamed`; `same, not read whole`."""
    counted = [wording.plural(change.changes, "change")] if change.changes else []
    part = ["not read whole"] if change.half_read else []
    return ", ".join([_FILE_STATES[change.state], *counted, *part])


def pair_of_files(comparison: Comparison, digest: ComparisonDigest | None, top: int) -> blocks.PairOfFiles:
    """The verdict on a pair of files and its weightiest changes, with the documents of the digest, without text."""
    changes, more = comparison.changes, len(comparison.changes) - top
    a, b = (digest.a, digest.b) if digest else (comparison.a.document, comparison.b.document)
    return blocks.PairOfFiles(
        sentences.verdict_sentence(comparison),
        sentences.verdict(comparison),
        [*sentences.both_documents(comparison), *sentences.reservations(comparison)],
        [blocks.ChangeBlock(a, b, comparison.passages[change.pairs[0]], len(change.pairs)) for change in changes[:top]],
        wording.plural(more, "more change") if more > 0 else "",
    )


_NOTHING = "bold yellow"
"""How an answer looks that names nothing."""
_PAGES: Mapping[str, Callable[..., blocks.Page]] = {
    "Answers": lambda answers: import_module("colde_cli.views.review_page").answers_page(answers),  # few need it
    "Clusters": _clusters,
    "Comparison": comparison_page,
    "Families": _families,
    "FolderComparison": _folders,
    "History": _history,
    "Merge": lambda merge: import_module("colde_cli.views.review_page").merge_page(merge),
    "Ranking": _ranking,
    "Verification": verification_page,
}
