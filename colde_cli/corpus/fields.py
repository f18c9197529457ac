"""Field profiles of corpora: learned from cards, kept in the cache or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from colde_cli.corpus.collecting import Collector, CorpusReader, Skipped
from colde_cli.corpus.store import Store
from colde_cli.encoder.checksums import CHECKSUMS, record_checksums
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import learn_field, model_statistics
from colde_cli.errors import DocumentError, OptionError
from colde_cli.files import atomic_folder
from colde_cli.scoring.profile import HEADER, MIN_DOCUMENTS, STATISTICS, Field, FieldProfile
from colde_cli.scoring.score import Scorable
from colde_cli.settings import CORPUS


def corpus_field(
    documents: Sequence[tuple[bytes, Scorable]], encoder: DocumentEncoder, store: Store
) -> Field | None:
    """The field that a corpus is; None in a corpus of fewer than `MIN_DOCUMENTS`, or without word statistics.

    Args:
        documents: of the corpus, with their keys in `store`.
        encoder: the model that encoded them.
        store: keeps the profile for the next search.
    """
    statistics = encoder.statistics
    if statistics is None or len(documents) < MIN_DOCUMENTS:
        return None
    # Random pairs are drawn by number: the same documents in another order are the same field.
    ordered = sorted(documents, key=lambda item: item[0])
    keys = [key for key, _ in ordered]
    profile = store.profile(CORPUS, statistics.fingerprint, keys)
    if profile is not None:
        return Field(profile, statistics)
    field = learn_field(CORPUS, [item for _, item in ordered], encoder)
    store.keep_profile(field.profile, keys)
    return field


def adapt_files(
    files: Sequence[Path],
    name: str,
    encoder: DocumentEncoder,
    *,
    password: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[FieldProfile, tuple[Skipped, ...]]:
    """Learn the profile of the documents in files; also returns the files that cannot be read.

    Args:
        files: such as `corpus.collecting.walk` finds.
        name: of the field.
        encoder: of the model; its cache is used as well.
        password: of encrypted PDFs.
        progress: called with the number of files just done.

    Raises:
        DocumentError: none of the files can be read.
        OptionError: the model can have no profiles.
    """
    model_statistics(encoder)  # An error before the work, not after it.
    collector = Collector(encoder, CorpusReader(password))
    cards = collector.cards(files, progress or (lambda number: None))
    skipped = tuple(sorted(collector.skipped, key=lambda item: item.path))
    if not cards:
        raise DocumentError(f"None of the {len(files)} documents can be read: {skipped[0].reason}")
    ordered = sorted(cards, key=lambda card: collector.key(Path(card.path)))
    return learn_field(name, ordered, encoder).profile, skipped


def check_profile_folder(folder: Path) -> None:
    """Check that a profile can be written there, before any work.

    Raises:
        OptionError: the folder holds something else, or its name is not valid.
    """
    try:
        folder.name.encode()
        others = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        taken = bool(others - {HEADER, STATISTICS, CHECKSUMS}) or (folder.exists() and not folder.is_dir())
    except UnicodeEncodeError as error:
        raise OptionError(f"The name {folder.name!a} is not UTF-8; choose another name.") from error
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
    if taken:
        raise OptionError(f"{folder} is not a field profile and is not overwritten; choose another name.")


def save_profile(profile: FieldProfile, folder: Path) -> None:
    """Write a profile, in place of one that the folder holds.

    Raises:
        OptionError: the folder holds something else, or cannot be written.
    """
    check_profile_folder(folder)
    try:
        with atomic_folder(folder) as staged:
            profile.save(staged)
            record_checksums(staged)
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
