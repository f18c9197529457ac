"""Compare, rank and read documents: what `import colde_cli` offers and what the commands call.

`compare` and `rank` open the model and read files. `open_pair` and `open_search` do only that, for a caller who wants
to say something about the documents before the work begins. Whoever calls often passes `encoder=` and opens it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar

from colde_cli.documents.appearance import settled
from colde_cli.documents.document import Document
from colde_cli.documents.outside import PartKind, kinds_of
from colde_cli.documents.reading import read as read_file
from colde_cli.documents.reading import start_readers
from colde_cli.documents.sandbox import readers
from colde_cli.documents.selection import one_or_more, select, with_unmatched_patterns
from colde_cli.errors import OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions
from colde_cli.stages import stage

# Models and arrays take a tenth of a second to import: only where they are used, while documents are being read.
if TYPE_CHECKING:
    from colde_cli.corpus.finding import Filter, Skipped
    from colde_cli.corpus.index_reader import Index
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.pipeline import StageClock
    from colde_cli.corpus.rank_corpus import Ranking
    from colde_cli.corpus.ray_cluster import RayCluster
    from colde_cli.encoder.cache import Cache
    from colde_cli.encoder.encoding import DocumentEncoder, Encoding
    from colde_cli.encoder.runtime import Progress
    from colde_cli.scoring.profile import Field
    from colde_cli.similarity.boilerplate import Boilerplate
    from colde_cli.similarity.comparison import Comparison

    OpenModel = Callable[[], DocumentEncoder]

Done = TypeVar("Done")
Source = str | Path | Document
"""The path of a file, "-" for standard input, or a document that has been read."""


def read(
    path: str | Path,
    *,
    password: str | None = None,
    pages: tuple[int, int] | None = None,
    skip_sections: str | Sequence[str] = (),
    only_sections: str | Sequence[str] = (),
    stream: BinaryIO | None = None,
) -> Document:
    """Read a PDF, Word, OpenDocument, HTML, LaTeX, Markdown or text file.

    Args:
        path: of the file; "-" reads standard input.
        password: of an encrypted PDF.
        pages: first and last page of a PDF to read, 1-based and inclusive; None for all.
        skip_sections: patterns of sections to leave out: a regular expression searched in the heading, or the name of a
            kind ("references", "abstract", "appendix", "front"), case ignored.
        only_sections: patterns of the sections to keep; empty keeps all. One pattern stands for a list of one.
        stream: read this in place of the file, whose name then only shows its kind and stands in messages.

    Raises:
        DocumentError: the file cannot be read; the class says why.
        OptionError: the pages or sections are not in it.
    """
    if stream is not None:
        document = read_file(path, password=password, pages=pages, stream=stream)
        return select(document, skip_sections, only_sections)
    return ReadOptions(password, pages, skip_sections, only_sections).read(path)


def encode(
    source: Source,
    encoder: DocumentEncoder,
    *,
    password: str | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """Encode a document; a file that the encoder's cache knows is not read again.

    Args:
        source: a path, "-", or what `read` returned.
        encoder: an open model.
        password: of an encrypted PDF.
        progress: called with the number of chunks just encoded, from any thread.

    Raises:
        DocumentError: it cannot be read.
    """
    from colde_cli.corpus.rank_corpus import encode_query

    return encode_query(source, encoder, password=password, progress=progress)


def compare(
    a: Source,
    b: Source,
    *,
    passages: bool = True,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = None,
    skip_sections: str | Sequence[str] = (),
    only_sections: str | Sequence[str] = (),
    pages: tuple[int, int] | None = None,
    password: str | None = None,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two documents.

    Args:
        a: the first document: a path, "-", or what `read` returned.
        b: the second.
        passages: also align the passages. Without, the scores come sooner and `Comparison.passages` is empty.
        ignore: what counts as no difference; text of the documents in `ignore.like` is left out of both.
        field: name or folder of a field profile to score with; see `adapt`.
        skip_sections, only_sections, pages, password: as for `read`, of both documents.
        encoder: an open model, or a function that opens one; the five arguments below are then not used.
        model: name on the model path, or a folder.
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: "auto", "int8", "fp16" or "fp32".
        threads: chunks encoded at the same time on the CPU; one per usable core if None.
        cache: where vectors are kept between runs, such as `Cache.open()`; None keeps none.
        progress: called with the number of chunks or passages just encoded, from any thread.

    Raises:
        DocumentError: a document cannot be read, or nothing of it is left.
        ModelError: there is no such model, or it is not complete.
        DeviceError: the device is not there.
        OptionError: the options do not fit each other or the documents.
    """
    open_model = opener(encoder, model, device, precision, threads, cache)
    options = ReadOptions(password, pages, skip_sections, only_sections)
    pair = open_pair(a, b, open_model, options, ignore, field=field)
    return pair.compare(passages=passages, progress=progress)


def rank(
    query: Source,
    corpus: str | Path | Sequence[str | Path],
    *,
    top: int = 10,
    min_score: float | None = None,
    explain: bool = False,
    glob: str | None = None,
    chosen: Filter | None = None,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = "corpus",
    budget: float | None = None,
    password: str | None = None,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Order the documents of a corpus by their score with one document.

    Files of the corpus that cannot be read are skipped and listed in `Ranking.skipped`.

    Args:
        query: a path, "-", or what `read` returned; its own file is left out of the corpus.
        corpus: folders (searched through), files, and patterns such as "papers/**/*.pdf"; or an index of `index`,
            or the URL of a published one.
        top: how many documents to list.
        min_score: list none below.
        explain: find for each hit the sections that match.
        glob: which files of folders to take, relative to the folder.
        chosen: which documents to take, by time, size and section.
        ignore: text of the documents in `ignore.like` is left out of all.
        field: "corpus" scores with the statistics of the corpus, if it has 15 documents or more; a name or folder is
            that of a field profile; None scores as `compare` does.
        budget: seconds for documents that the cache does not know: those whose words are closest to the query's are
            encoded first, and `Ranking.unencoded` says how many were left; None encodes all.
        password: of encrypted PDFs.
        encoder, model, device, precision, threads: as for `compare`.
        cache: where encodings are kept: with one, files of an earlier run are not even read again.
        progress: called with the number of files just done, from any thread.

    Raises:
        DocumentError: the query cannot be read, or a folder or file of the corpus does not exist.
        ModelError, DeviceError: as for `compare`.
        BadIndexError: the index is damaged, or of another model or version.
        OptionError: there is no document in the corpus, or an option is not valid.
    """
    open_model = opener(encoder, model, device, precision, threads, cache)
    search = open_search(
        query, corpus, open_model, glob=glob, chosen=chosen, ignore=ignore, field=field, password=password
    )
    return search.rank(top=top, min_score=min_score, explain=explain, budget=budget, progress=progress)


def index(
    folder: str | Path,
    corpus: str | Path | Sequence[str | Path] = (),
    *,
    forget: str | Path | Sequence[str | Path] = (),
    glob: str | None = None,
    drop_missing: bool = False,
    reread: bool = False,
    cluster: RayCluster | None = None,
    encoder: DocumentEncoder | OpenModel | None = None,
    model: str | Path = DEFAULT_MODEL,
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    clock: StageClock | None = None,
) -> IndexUpdate:
    """Make an index of a corpus, or bring one up to date: only new and changed files are read and encoded.

    An index holds the text of its documents in the clear, so that it takes no password: encrypted files are left out.

    Args:
        folder: of the index, such as "papers.colde".
        corpus: folders and files to follow from now on, beside those that the index follows already.
        forget: folders and files to follow no longer.
        glob: which files of these folders to take, as for `rank`.
        drop_missing: drop the files of a folder that is suddenly empty, or lacks most of its files; without it they
            are kept, and that is an error.
        reread: read all files again, also those that have not changed, as today's readers may find another text.
        cluster: reads and encodes the files, such as `RayCluster("ray://HOST:PORT")`; None does so here.
        encoder, model, device, precision, threads: as for `compare`. An index of another model is encoded anew, from
            the text that it keeps.
        cache: where chunk vectors of earlier runs are.
        progress: called with the number of files just done.
        clock: says meanwhile how far reading and encoding are.

    Raises:
        BadIndexError: the index is damaged, of another version, in use, or cannot be written; or a folder that it
            follows is gone, empty, or lacks most of its files.
        ClusterError: the cluster is not there or was lost.
        DocumentError: a folder or file of the corpus does not exist.
        ModelError, DeviceError: as for `compare`.
        OptionError: the folder holds something else.
    """
    from colde_cli.corpus.finding import matching
    from colde_cli.corpus.index_update import update_index

    files = [file for place in one_or_more(corpus) for file in matching(place)]
    opened = opener(encoder, model, device, precision, threads, cache)()
    gone = [Path(place) for place in one_or_more(forget)]
    return update_index(
        Path(folder),
        files,
        opened,
        forget=gone,
        glob=glob,
        drop_missing=drop_missing,
        reread=reread,
        cluster=cluster,
        progress=progress,
        clock=clock,
    )


def open_index(folder: str | Path) -> Index:
    """Open an index to read it; close it, or use it in a `with` statement.

    Args:
        folder: of the index, or the URL of a published one.

    Raises:
        BadIndexError: it is no index, damaged, of another version, or out of reach.
        RemoteError: a published index cannot be reached, or is damaged.
    """
    from colde_cli.corpus.index_reader import Index
    from colde_cli.corpus.publishing import local_places

    return Index.open(local_places([folder])[0])


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which parts of documents to read; see `read`."""

    password: str | None = None
    pages: tuple[int, int] | None = None
    skip_sections: str | Sequence[str] = ()
    only_sections: str | Sequence[str] = ()

    def read(self, source: Source) -> Document:
        """Read a document, or take the sections of one that has been read.

        Raises:
            DocumentError: it cannot be read.
            OptionError: the pages or sections are not in it.
        """
        if isinstance(source, Document):
            if self.pages is not None:
                raise OptionError("Pages are chosen when a file is read; pass pages to read().")
            document = source
        else:
            document = read_file(source, password=self.password, pages=self.pages)
        return select(document, self.skip_sections, self.only_sections)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents and the model to compare them with.

    Attributes:
        templates: the documents of `ignore.like`, whose text was left out of `a` and `b`.
    """

    a: Document
    b: Document
    encoder: DocumentEncoder
    ignore: IgnoreOptions = NOTHING_IGNORED
    templates: tuple[Document, ...] = ()
    field: Field | None = None

    def compare(
        self, *, passages: bool = True, scores: bool = True, progress: Progress | None = None
    ) -> Comparison:
        """Encode and compare the two.

        Args:
            passages, progress: as for `compare`.
            scores: False leaves the scores of two versions of one text, and most of the encoding, until they are read.
        """
        from colde_cli.similarity.comparison import compare_encodings

        a, b = self.encoder.encode_later([self.a, self.b], progress)
        return compare_encodings(
            a,
            b,
            self.encoder,
            self.ignore,
            passages=passages,
            scores=scores,
            field=self.field,
            progress=progress,
        )


def open_pair(
    a: Source,
    b: Source,
    open_model: OpenModel,
    options: ReadOptions = ReadOptions(),
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = None,
) -> Pair:
    """Read two documents at the same time while the model loads.

    Args:
        a: the first document.
        b: the second.
        open_model: opens the encoder.
        options: which parts of them to read.
        ignore: what counts as no difference; text of `ignore.like` is left out.
        field: name or folder of a field profile.

    Raises:
        ColdeError: as for `compare`.
    """

    def opened() -> DocumentEncoder:
        encoder = open_model()
        # Needed next, and free of charge while the readers are at work.
        import colde_cli.similarity.comparison  # noqa: F401

        return encoder

    first, second, templates, encoder = read_both(a, b, options, ignore, opened)
    first, second = with_warnings((first, second), encoder)
    return Pair(first, second, encoder, ignore, templates, _field(field, encoder))


def read_both(
    a: Source, b: Source, options: ReadOptions, ignore: IgnoreOptions, meanwhile: Callable[[], Done]
) -> tuple[Document, Document, tuple[Document, ...], Done]:
    """Read two documents at the same time and do something `meanwhile`; arguments as for `open_pair`.

    Returns:
        The documents, the templates whose text was left out of both, and what `meanwhile` returned.
    """
    if a == b == "-":
        raise OptionError("Only one of the two documents can come from standard input.")
    _check(ignore)
    start_readers([source for source in (a, b) if not isinstance(source, Document)])
    with readers(2) as pool:
        waiting = [pool.submit(options.read, source) for source in (a, b)]
        with stage("opening the model"):
            done = meanwhile()
        templates, boilerplate = _boilerplate(ignore, options.password)
        with stage("reading"):
            first, second = (document.result() for document in waiting)
    if boilerplate is not None:
        first, second = boilerplate.without_both(first, second)
    first, second = with_unmatched_patterns(first, second)
    with stage("reading"):
        drawn = first.text == second.text and PartKind.APPEARANCE not in kinds_of(ignore.kinds)
        first, second = settled(first, second, same_body=drawn, password=options.password)
    return first, second, templates, done


def with_warnings(documents: Sequence[Document], encoder: DocumentEncoder) -> Iterator[Document]:
    """Add to each document what a reader of its comparison should know about its language."""
    from colde_cli.documents.language import with_language_warning

    return (with_language_warning(document, encoder.chunk) for document in documents)


@dataclass(frozen=True, slots=True)
class Search:
    """A query and the files to search for documents like it.

    Attributes:
        files: each once, in the order in which they were found.
        unlisted: folders that cannot be listed.
        templates: the documents of `ignore.like`, whose text is left out of all.
        field: "corpus" for that of the files; None for none.
        index: to search in, instead of files.
        chosen: which of the documents to take; None takes all.
    """

    query: Encoding
    files: tuple[Path, ...]
    encoder: DocumentEncoder
    unlisted: tuple[Skipped, ...] = ()
    password: str | None = None
    templates: tuple[Document, ...] = ()
    boilerplate: Boilerplate | None = None
    field: Field | Literal["corpus"] | None = "corpus"
    index: Path | None = None
    chosen: Filter | None = None

    def rank(
        self,
        *,
        top: int = 10,
        min_score: float | None = None,
        explain: bool = False,
        budget: float | None = None,
        progress: Progress | None = None,
        clock: StageClock | None = None,
        check: Callable[[], object] | None = None,
    ) -> Ranking:
        """Score all documents; arguments as for `rank`.

        Args:
            top, min_score, explain, budget, progress: as for `rank`.
            clock: says how far reading and encoding files are.
            check: called while documents are encoded, from any thread, if there is no clock; what it raises ends the
                work.
        """
        from colde_cli.corpus.pipeline import StageClock
        from colde_cli.corpus.rank_corpus import rank_files, rank_index

        if self.index is not None:
            with open_index(self.index) as opened:
                return rank_index(
                    self.query,
                    opened,
                    self.encoder,
                    chosen=self.chosen,
                    top=top,
                    min_score=min_score,
                    explain=explain,
                    field=self.field,
                    progress=progress,
                )
        return rank_files(
            self.query,
            self.files,
            self.encoder,
            top=top,
            min_score=min_score,
            explain=explain,
            password=self.password,
            boilerplate=self.boilerplate,
            field=self.field,
            budget=budget,
            chosen=self.chosen,
            progress=progress,
            clock=clock or (None if check is None else StageClock(check)),
        )


def open_search(
    query: Source,
    corpus: str | Path | Sequence[str | Path],
    open_model: OpenModel,
    *,
    glob: str | None = None,
    chosen: Filter | None = None,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    field: str | Path | None = "corpus",
    password: str | None = None,
) -> Search:
    """Find the files of a corpus, or open its index, and encode the query; arguments as for `rank`.

    Raises:
        ColdeError: as for `rank`.
    """
    from colde_cli.corpus.finding import ALL, find_files
    from colde_cli.corpus.publishing import local_places
    from colde_cli.corpus.rank_corpus import encode_query

    _check(ignore)
    narrowed = replace(chosen or ALL, glob=glob or (chosen or ALL).glob)
    with stage("opening the model"):
        encoder = open_model()
    corpus = local_places(corpus)
    index = index_of(corpus, ignore)
    if index is not None:
        with open_index(index) as opened:
            opened.check_model(encoder)
    files, unlisted = ((), ()) if index else find_files(corpus, narrowed.glob)
    profile: Field | Literal["corpus"] | None = "corpus" if field == "corpus" else _field(field, encoder)
    templates, boilerplate = _boilerplate(ignore, password)
    encoding = encode_query(query, encoder, password=password, boilerplate=boilerplate)
    return Search(
        encoding, files, encoder, unlisted, password, templates, boilerplate, profile, index, narrowed
    )


def index_of(
    corpus: str | Path | Sequence[str | Path], ignore: IgnoreOptions = NOTHING_IGNORED
) -> Path | None:
    """The index that a corpus is; None for folders and files."""
    from colde_cli.corpus.finding import is_index

    places = [Path(place) for place in one_or_more(corpus)]
    found = [place for place in places if is_index(place)]
    if not found:
        return None
    if len(places) > 1:
        raise OptionError(f"{found[0]} is an index and is searched alone; name nothing else beside it.")
    if ignore.like:
        raise OptionError(f"{found[0]} is an index of whole documents; leave out --ignore-like.")
    return found[0]


def _field(name_or_folder: str | Path | None, encoder: DocumentEncoder) -> Field | None:
    if name_or_folder is None:
        return None
    from colde_cli.encoder.loading import open_field

    return open_field(name_or_folder, encoder)


def _check(ignore: IgnoreOptions) -> None:
    """Standard input can be read once only, and a template is needed more often."""
    if "-" in ignore.like:
        raise OptionError("--ignore-like cannot read from standard input; name a file.")


def _boilerplate(
    ignore: IgnoreOptions, password: str | None
) -> tuple[tuple[Document, ...], Boilerplate | None]:
    """The documents whose text is to be left out, read, and their text; None where there are none."""
    if not ignore.like:
        return (), None
    from colde_cli.similarity.boilerplate import Boilerplate

    templates = tuple(read_file(path, password=password) for path in ignore.like)
    return templates, Boilerplate(templates, ignore)


def opener(
    encoder: DocumentEncoder | OpenModel | None,
    model: str | Path,
    device: str,
    precision: str,
    threads: int | None,
    cache: Cache | None,
) -> OpenModel:
    """What opens the model: nothing is loaded before it is called."""
    if encoder is None:
        return partial(_open, model, device, precision, threads, cache)
    return encoder if callable(encoder) else lambda: encoder


def _open(
    model: str | Path, device: str, precision: str, threads: int | None, cache: Cache | None
) -> DocumentEncoder:
    from colde_cli.encoder.loading import open_encoder

    return open_encoder(model, device=device, precision=precision, threads=threads, cache=cache)
