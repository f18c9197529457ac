"""`Model`: everything that colde does with documents, for Python and for the commands.

Annotations name types by `colde_cli`, which imports them when somebody asks: models and arrays take a tenth of a second
to import, while documents could already be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Unpack

import colde_cli
from colde_cli.documents.document import Document
from colde_cli.documents.reading import start_readers
from colde_cli.documents.sandbox import readers
from colde_cli.documents.selection import one_or_more, section_pattern, with_unmatched_patterns
from colde_cli.documents.stages import stage
from colde_cli.errors import OptionError, called
from colde_cli.settings import DEFAULT_MODEL, profile_folder
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions
from colde_cli.similarity.sources import (
    Comparing,
    OnRead,
    Pages,
    Patterns,
    Places,
    Progress,
    Reading,
    Source,
    check_templates,
    checked,
    read,
    read_both,
    read_templates,
    tell,
    wrong_argument,
)


@checked
def verify(
    a: Source,
    b: Source,
    allow: Patterns = (),
    *,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    pages: Pages | None = None,
    password: str | None = None,
    ocr: str | None = None,
) -> colde_cli.Verification:
    """Find what changed between two documents beside what is allowed; no model takes part.

    Args:
        a, b, ignore, pages, password, ocr: as for `Model.compare`.
        allow: what may change, one pattern or several; see `similarity.verification.verify_documents`.

    Raises:
        PartlyReadError: a document cannot be read whole.
    """
    from colde_cli.similarity.verification import verify_documents

    first, second, _, _ = read_both(a, b, ignore, pages=pages, password=password, ocr=ocr)
    return verify_documents(first, second, allow, ignore)


@checked
def dupes(
    corpus: Places,
    *,
    min_share: float = 0.4,
    min_contained: float = 0.8,
    passages: int = 0,
    glob: str | None = None,
    password: str | None = None,
    ocr: str | None = None,
    progress: Progress | None = None,
) -> colde_cli.Families:
    """Find copies, near-duplicates and versions of one document among many, and documents that stand in others.

    Only texts are read; no model is needed. Files that cannot be read are listed in `Families.skipped`.

    Args:
        corpus, glob, password, ocr, progress: as for `Model.rank`.
        min_share, min_contained: of words of each of two versions, and of a part, that stand in the other; in (0, 1].
        passages: maximum number of passages to list that documents of several groups hold; 0 for none.
    """
    from colde_cli.corpus.duplicates import find_families
    from colde_cli.corpus.finding import Filter
    from colde_cli.corpus.pipeline import CorpusReader

    for name, share in (("min_share", min_share), ("min_contained", min_contained)):
        if not 0 < share <= 1:
            raise wrong_argument(name, share, "a share above 0 and up to 1, such as 0.4")
    with _opened(corpus, glob, "compare in") as (documents, unlisted):
        how: Any = {"min_share": min_share, "min_contained": min_contained, "passages": passages, "progress": progress}
        families = find_families(documents, chosen=Filter(glob), reader=CorpusReader(password, ocr=ocr), **how)
    return replace(families, skipped=(*unlisted, *families.skipped))


@checked
def open_index(place: str | Path) -> colde_cli.Index | colde_cli.types.LanceIndex:
    """Open an index, by its folder or its URL, to read it; close it, or use it in a `with`.

    Raises:
        BadIndexError, RemoteError, MissingExtraError: it is no index, damaged, of another version, or out of reach.
    """
    from colde_cli.corpus.finding import is_lance
    from colde_cli.corpus.index_reader import Index
    from colde_cli.corpus.lance_store import LanceIndex

    return (LanceIndex if is_lance(place) else Index).open(place)


class Model:
    """A model and what it does with documents. It is loaded when it is first needed; threads may share it.

    Methods raise a `DocumentError` for what cannot be read (files of a corpus are listed in the result), a `ModelError`
    or `DeviceError` as `encoder` does, an `OptionError` for a wrong argument, a `BadIndexError` for an index.

    Attributes:
        name: on the model path, or a folder.
        warm: modules that `compare` imports while documents are read.
    """

    def __init__(
        self,
        name: str | Path | colde_cli.types.DocumentEncoder = DEFAULT_MODEL,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int | None = None,
        cache: colde_cli.Cache | None = None,
    ) -> None:
        """Choose a model.

        Args:
            name: on the model path, or a folder, or an open encoder, which the other arguments leave as it is.
            device: "auto", "cpu", "cuda" or "cuda:N".
            precision: "auto", "int8", "fp16" or "fp32".
            threads: chunks encoded at the same time on the CPU; one per usable core if None.
            cache: where vectors are kept between runs, such as `Cache.open()`; None keeps none.
        """
        self._encoder: colde_cli.types.DocumentEncoder | None = None
        if isinstance(name, str | Path):
            self.name = name
        elif hasattr(name, "encode_many"):
            self._encoder, self.name = name, name.folder.path
            device, precision, cache = name.info.device, name.info.precision, name.cache
        else:
            raise wrong_argument("model", name, "the name or the folder of a model")
        for option, value in (("device", device), ("precision", precision)):
            if not isinstance(value, str):
                raise wrong_argument(option, value, "a text such as auto")
        if not isinstance(threads, int | None):
            raise wrong_argument("threads", threads, "a whole number, or None")
        self.device, self.precision, self.threads, self.cache = device, precision, threads, cache
        self.warm: tuple[str, ...] = ()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Model({str(self.name)[-120:]!r}, device={self.device!r}, precision={self.precision!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Model, **self._options()), (self.name,)

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("device", "precision", "threads", "cache")}

    @property
    def encoder(self) -> colde_cli.types.DocumentEncoder:
        """The model, loaded.

        Raises:
            ModelError: there is no such model, or it is not complete.
            DeviceError: the device is not there.
            OptionError: there is no such device or precision.
        """
        return self._load()

    def _load(self, *, ahead: bool = True) -> colde_cli.types.DocumentEncoder:
        """The model; `ahead` opens all of it, which pays unless a cache or an index may know all documents."""
        with self._lock:
            if self._encoder is None:
                from colde_cli.encoder.loading import open_encoder

                self._encoder = open_encoder(self.name, ahead=ahead, **self._options())
            return self._encoder

    def _load_meanwhile(self) -> colde_cli.types.DocumentEncoder:
        """Load the model, and what is needed next: free of charge while the readers are at work."""
        encoder = self._load()
        for module in ("colde_cli.similarity.comparison", *self.warm):
            import_module(module)
        return encoder

    @checked
    def encode(
        self, source: Source, *, password: str | None = None, ocr: str | None = None, progress: Progress | None = None
    ) -> colde_cli.Encoding:
        """Encode a document; a file that the cache knows is not read again. `progress` counts chunks."""
        from colde_cli.corpus.pipeline import CorpusReader
        from colde_cli.corpus.rank_corpus import encode_query

        return encode_query(source, self.encoder, CorpusReader(password, ocr=ocr), progress=progress)

    @checked
    def compare(
        self,
        a: Source | colde_cli.Encoding,
        b: Source | colde_cli.Encoding,
        *,
        passages: bool = True,
        scores: bool = True,
        ignore: IgnoreOptions = NOTHING_IGNORED,
        field: str | Path | None = None,
        labels: tuple[str, str] | None = None,
        on_read: OnRead | None = None,
        progress: Progress | None = None,
        **reading: Unpack[Reading],
    ) -> colde_cli.Comparison:
        """Compare two documents.

        Args:
            a: the first document: a path, "-", or what `read` returned; or, with `b`, what `encode` returned.
            b: the second.
            passages: also align the passages. Without, the scores come sooner and `Comparison.passages` is empty.
            scores: False leaves the scores of two versions of one text, and most of the encoding, until they are read.
            ignore: what counts as no difference; text of the documents in `ignore.like` is left out of both.
            field: name or folder of a field profile to score with; see `adapt`.
            labels: names to show in place of the paths.
            on_read: called with the documents of `ignore.like`, then with both documents, before they are compared.
            progress: called with the number of chunks or passages just encoded, from any thread.
            reading: `password`, `pages`, `skip_sections`, `only_sections` and `ocr` as for `read`, of both documents.
        """
        from colde_cli.documents.language import with_language_warning
        from colde_cli.encoder.encoding import unencoded

        if isinstance(a, str | Path | Document) and isinstance(b, str | Path | Document):
            first, second, templates, encoder = read_both(a, b, ignore, self._load_meanwhile, **reading)
            documents = [with_language_warning(document, encoder.chunk) for document in (first, second)]
            if labels is not None:
                documents = [replace(it, path=label) for it, label in zip(documents, labels, strict=True)]
            tell(on_read, *templates, *documents)
            one, two = (
                encoder.encode_later(documents, progress)
                if first.sections and second.sections
                else map(unencoded, documents)
            )
        elif isinstance(a, str | Path | Document) or isinstance(b, str | Path | Document):
            raise OptionError("One of the two is encoded and the other is not; give two of a kind.")
        else:
            one, two, encoder = a, b, self.encoder
        from colde_cli.similarity.comparison import compare_encodings

        profile = _field(field, encoder)
        options: dict[str, Any] = {"passages": passages, "scores": scores, "progress": progress}
        return compare_encodings(one, two, encoder, ignore, field=profile, **options)

    verify = staticmethod(verify)

    @checked
    def comments(
        self,
        a: Source,
        b: Source,
        review: str | Path,
        *,
        on_read: OnRead | None = None,
        progress: Progress | None = None,
        **options: Unpack[Comparing],
    ) -> colde_cli.types.Answers:
        """Find where each remark of a review belongs in two versions, and whether that changed.

        Args:
            a, b: the version that was reviewed, and the next one.
            review: the path of a Word, PDF or OpenDocument file with comments, or of any text that lists remarks.
            on_read, progress, options: as for `compare`.

        Raises:
            OptionError: the review has no remarks.
        """
        from colde_cli.documents.remarks import line_words, read_review
        from colde_cli.similarity.answers import answer

        read_first = read_review(review, password=options.get("password"), ocr=options.get("ocr"))
        comparison = self.compare(a, b, scores=False, on_read=on_read, progress=progress, **options)
        return answer(comparison, read_first, self.encoder, line_words, progress)

    @checked
    def merge(
        self,
        base: Source,
        reviewers: Sequence[Source],
        *,
        names: Sequence[str] = (),
        on_read: OnRead | None = None,
        progress: Progress | None = None,
        **reading: Unpack[Reading],
    ) -> colde_cli.types.Merge:
        """Merge what several reviewers made of one document, with the conflicts between their edits.

        Args:
            base: the document that all of them had.
            reviewers: the documents of at least two of them.
            names: of the reviewers; those that Word files state, or of the files, if empty.
            on_read, progress, reading: as for `compare`.
        """
        from colde_cli.similarity.merging import check_names, merge_reviews, reviewer_names

        check_names(reviewers, names)
        first = read(base, **reading)
        found = [
            self.compare(first, one, scores=False, on_read=on_read, progress=progress, password=reading.get("password"))
            for one in (read(reviewer, **reading) for reviewer in reviewers)
        ]
        return merge_reviews(reviewer_names([one.b.document for one in found], names), found)

    @checked
    def rank(
        self,
        query: Source | colde_cli.Encoding,
        corpus: Places,
        *,
        top: int = 10,
        min_score: float | None = None,
        explain: bool = False,
        glob: str | None = None,
        chosen: colde_cli.Filter | None = None,
        ignore: IgnoreOptions = NOTHING_IGNORED,
        field: str | Path | None = "corpus",
        budget: float | None = None,
        password: str | None = None,
        ocr: str | None = None,
        within: Sequence[Path] = (),
        on_read: OnRead | None = None,
        progress: Progress | None = None,
        clock: colde_cli.types.StageClock | None = None,
    ) -> colde_cli.Ranking:
        """List the `top` documents of a corpus with the best scores with one document, from `min_score` on.

        Args:
            query: a path, "-", or what `read` or `encode` returned; its own file is left out of the corpus.
            corpus: folders (searched through), files, and patterns such as "papers/**/*.pdf"; or an index of `index`,
                or its URL. What cannot be read is skipped and listed in `Ranking.skipped`.
            explain: find for each hit the sections that match.
            glob, chosen: which files to take, relative to the folder, and which documents by time, size and section.
            ignore: text of the documents in `ignore.like` is left out of all.
            field: "corpus" scores with the statistics of the corpus, if it has 15 documents or more; a name or folder
                is that of a field profile; None scores as `compare` does.
            budget: seconds for documents that the cache does not know: those whose words are closest to the query's are
                encoded first, and `Ranking.unencoded` says how many were left; None encodes all.
            password: of encrypted PDFs.
            ocr: which pages are read by OCR, as for `read`; an index keeps what was read when it was made.
            within: folders, links resolved, in one of which a file must lie; empty follows links anywhere.
            on_read: called with the documents of `ignore.like` and the query, before the search.
            progress: called with the number of files just done, from any thread.
            clock: says meanwhile how far reading and encoding files are.
        """
        from colde_cli.corpus.finding import ALL
        from colde_cli.corpus.pipeline import CorpusReader
        from colde_cli.corpus.rank_corpus import encode_query, rank_files, rank_index

        check_templates(ignore)
        narrowed = replace(chosen or ALL, glob=glob or (chosen or ALL).glob)
        with stage("opening the model"):
            encoder = self._load(ahead=False)
        with _opened(corpus, narrowed.glob, "search in", ignore, within) as (documents, unlisted):
            if not isinstance(documents, tuple):
                documents.check_model(encoder)
            options: Any = {"chosen": narrowed, "top": top, "min_score": min_score, "explain": explain}
            options |= {"field": field if field in (None, "corpus") else _field(field, encoder), "progress": progress}
            templates, boilerplate = read_templates(ignore, password, ocr)
            reader = CorpusReader(password, boilerplate, ocr)
            query = encode_query(query, encoder, reader, progress=None if clock is None else clock.look)
            tell(on_read, *templates, query.document)
            if not isinstance(documents, tuple):
                return rank_index(query, documents, encoder, **options)
            options |= {"reader": reader, "budget": budget, "clock": clock}
            ranking = rank_files(query, documents, encoder, **options)
        return replace(ranking, skipped=(*unlisted, *ranking.skipped))

    @checked
    def index(
        self,
        folder: str | Path,
        corpus: Places = (),
        *,
        forget: Places = (),
        glob: str | None = None,
        drop_missing: bool = False,
        reread: bool = False,
        ocr: str | None = None,
        cluster: colde_cli.types.RayCluster | None = None,
        password: str | None = None,
        progress: Progress | None = None,
        clock: colde_cli.types.StageClock | None = None,
    ) -> colde_cli.types.IndexUpdate:
        """Make an index of a corpus, or bring one up to date: only new and changed files are read and encoded.

        An index holds the text of its documents in the clear, also that of PDFs that `password` opens; without it they
        are left out. An index of another model is encoded anew, from the text that it keeps.

        Args:
            folder: of the index, such as "papers.colde"; one that ends in ".lance", or a URL, for a shared one.
            corpus, forget: folders and files to follow from now on, or no longer.
            glob: which files of these folders to take, as for `rank`.
            drop_missing: drop the files of a folder that is suddenly empty or lacks most; else that is an error.
            reread: read all files again, also those that have not changed, as today's readers may find another text.
            ocr: as for `rank`; None is the mode in which the index was read. Another one reads all files again.
            password: of encrypted PDFs; with several lines, each is tried. A cluster gets none.
            cluster: does the work, into a shared index, such as `RayCluster("ray://HOST:PORT")`; None does it here.
            progress, clock: as for `rank`.

        Raises:
            BadIndexError: also where a folder that the index follows is gone, empty, or lacks most of its files.
            ClusterError: the cluster is not there or was lost.
            MissingExtraError: the index was read by OCR, and `colde[ocr]` is not installed.
        """
        from colde_cli.corpus.finding import matching
        from colde_cli.corpus.index_update import update_index
        from colde_cli.corpus.ray_cluster import update_on_cluster

        files = [file for place in one_or_more(corpus) for file in matching(place)]
        options: dict[str, Any] = {"glob": glob, "drop_missing": drop_missing, "reread": reread, "ocr": ocr}
        options["progress"] = progress
        encoder, dropped = self._load(ahead=False), [Path(place) for place in one_or_more(forget)]
        if cluster is not None:
            return update_on_cluster(str(folder), files, encoder, cluster, forget=dropped, **options)
        return update_index(folder, files, encoder, forget=dropped, password=password, clock=clock, **options)

    dupes = staticmethod(dupes)

    @checked
    def clusters(
        self,
        corpus: Places,
        *,
        min_score: float | None = None,
        resolution: float = 1.0,
        glob: str | None = None,
        field: str | Path | None = "corpus",
        password: str | None = None,
        ocr: str | None = None,
        progress: Progress | None = None,
    ) -> colde_cli.Clusters:
        """Group the documents of a corpus by subject; files that cannot be read are listed in `Clusters.skipped`.

        Args:
            corpus, glob, field, password, ocr, progress: as for `rank`.
            min_score: score from which two documents are neighbours; None takes that of the closest tenth of random
                pairs of the field, and without a field the model's threshold.
            resolution: above 1 makes more and smaller clusters.
        """
        from colde_cli.corpus.finding import Filter
        from colde_cli.corpus.pipeline import CorpusReader
        from colde_cli.corpus.subjects import find_clusters

        if resolution <= 0:
            raise wrong_argument("resolution", resolution, "a number above 0, such as 1")
        encoder = self._load(ahead=False)
        profile: Any = field if field in (None, "corpus") else _field(field, encoder)
        with _opened(corpus, glob, "group in") as (documents, unlisted):
            options: Any = {"min_score": min_score, "resolution": resolution, "field": profile, "progress": progress}
            reader = CorpusReader(password, ocr=ocr)
            groups = find_clusters(documents, encoder, chosen=Filter(glob), reader=reader, **options)
        return replace(groups, skipped=(*unlisted, *groups.skipped))

    @checked
    def adapt(
        self,
        documents: Places,
        name_or_folder: str | Path,
        *,
        glob: str | None = None,
        password: str | None = None,
        ocr: str | None = None,
        progress: Progress | None = None,
    ) -> colde_cli.types.Adaptation:
        """Learn the profile of a field from documents without labels, and save it.

        Args:
            documents, glob, password, ocr, progress: as for `rank`.
            name_or_folder: a name, by which `compare` and `rank` find the profile, or the path of a folder for it.
        """
        from colde_cli.corpus.finding import find_files
        from colde_cli.corpus.pipeline import Adaptation, CorpusReader, adapt_files
        from colde_cli.corpus.records import check_profile_folder, save_profile

        folder = profile_folder(name_or_folder)
        check_profile_folder(folder)
        files, unlisted = find_files(documents, glob, "learn from")
        profile, skipped = adapt_files(
            files, folder.name, self.encoder, CorpusReader(password, ocr=ocr), progress=progress
        )
        save_profile(profile, folder)
        return Adaptation(profile, folder, (*unlisted, *skipped))

    @checked
    def compare_folders(
        self,
        a: str | Path,
        b: str | Path,
        *,
        glob: str | None = None,
        each: Callable[[colde_cli.types.FileChange, colde_cli.Comparison], None] | None = None,
        progress: Progress | None = None,
        **options: Unpack[Comparing],
    ) -> colde_cli.FolderComparison:
        """Pair the documents of two folders and compare them; files with the same bytes are not read.

        Args:
            a, b, glob: the folders, and which of their files to take.
            each: called with every comparison, before it is forgotten.
            progress, options: as for `rank` and for `compare`.
        """
        from colde_cli.corpus.folder_pairs import FolderComparison, compared_pairs, pair_files, worst_first
        from colde_cli.corpus.pipeline import CorpusReader

        for patterns in (options.get("skip_sections", ()), options.get("only_sections", ())):
            for pattern in one_or_more(patterns):
                section_pattern(pattern)  # an error before the work, not with every file
        encoder, folders = self.encoder, (Path(a), Path(b))
        paired = pair_files(*folders, glob, CorpusReader(options.get("password"), ocr=options.get("ocr")))
        compare = partial(self.compare, **options)
        changes = compared_pairs(paired, folders, compare, each, progress)
        ignore = options.get("ignore", NOTHING_IGNORED)
        return FolderComparison(str(a), str(b), worst_first(changes), paired.unlisted, encoder.info, ignore)

    @checked
    def history(
        self,
        versions: Source | Sequence[Source],
        *,
        ignore: IgnoreOptions = NOTHING_IGNORED,
        field: str | Path | None = None,
        progress: Progress | None = None,
        **reading: Unpack[Reading],
    ) -> colde_cli.History:
        """Compare each of several versions with the next, and follow the sections of the document through all of them.

        The earliest comes first. The options are those of `compare`; `ignore` is without templates.
        """
        from colde_cli.documents.language import with_language_warning
        from colde_cli.similarity.history import history_of, steps_of

        sources = one_or_more(versions)
        if len(sources) < 2:
            raise OptionError("A history needs two versions at least; name another document.")
        if sum(source == "-" for source in sources) > 1:
            raise OptionError("Only one of the documents can come from standard input.")
        if ignore.like:
            raise OptionError(f"{called('ignore.like')} is for two documents; leave it out.")
        start_readers([source for source in sources if not isinstance(source, Document)])
        with readers(2) as pool:
            waiting = [pool.submit(read, source, **reading) for source in sources]
            encoder = self.encoder
            documents = with_unmatched_patterns(*(document.result() for document in waiting))
        profile = _field(field, encoder)
        told = [with_language_warning(document, encoder.chunk) for document in documents]
        return history_of(steps_of(told, encoder, ignore, profile, progress))


def _field(name_or_folder: str | Path | None, encoder: colde_cli.types.DocumentEncoder) -> colde_cli.types.Field | None:
    if name_or_folder is None:
        return None
    from colde_cli.encoder.loading import open_field

    return open_field(name_or_folder, encoder)


@contextmanager
def _opened(
    corpus: Places, glob: str | None, purpose: str, ignore: IgnoreOptions = NOTHING_IGNORED, within: Sequence[Path] = ()
) -> Iterator[tuple[Any, tuple[colde_cli.types.Skipped, ...]]]:
    """The files of a corpus, with the folders that cannot be listed; or the index that it is, open."""
    from colde_cli.corpus.finding import find_files, is_index

    places = one_or_more(corpus)
    index = next((place for place in places if is_index(place)), None)
    if index is None:
        yield find_files(places, glob, purpose, within)
        return
    if len(places) > 1:
        raise OptionError(f"{index} is an index and is searched alone; name nothing else beside it.")
    if ignore.like:
        raise OptionError(f"{index} is an index of whole documents; leave out {called('ignore.like')}.")
    with open_index(index) as opened:
        yield opened, ()


KEPT = Model()  # whose methods are functions of the package
adapt, clusters, comments, compare = KEPT.adapt, KEPT.clusters, KEPT.comments, KEPT.compare
compare_folders, encode, history, index = KEPT.compare_folders, KEPT.encode, KEPT.history, KEPT.index
merge, rank = KEPT.merge, KEPT.rank
