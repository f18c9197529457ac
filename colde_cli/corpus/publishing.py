"""Publish an index to an object store or a shared folder, and fetch it from there.

    versions/00000007    a version: the files of the index, each as a list of blocks; written once, never changed
    blocks/3f/3f0c...    a block of a file, deflated; its name is the hash of its content

A push takes a consistent snapshot of the index, sends the blocks that the place does not hold, and then creates the
next version. Of two pushes at the same time one creates it and the other is told: none replaces a version that it does
not know. Readers take the newest version, which never changes: they see a whole one. A push or fetch that was cut off
goes on where it ended, because what is there already is recognised by its hash.

A place may be a stranger's: a version is read up to a limit, and checked in all it says, before a file is made of it.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from colde_cli.corpus.finding import Corpus, is_index
from colde_cli.corpus.index_reader import Index, connect, trouble
from colde_cli.corpus.index_writer import LOCK, only_writer
from colde_cli.corpus.remotes import Remote, is_url, open_remote
from colde_cli.documents.selection import one_or_more
from colde_cli.encoder.vector_cache import digest
from colde_cli.errors import BadIndexError, OptionError, RemoteError
from colde_cli.files import atomic_file, bytes_below, replace_folder
from colde_cli.settings import INDEX_FILE, cache_dir

GRACE = 86_400.0
"""Seconds for which a version that was replaced, and a block that no version names, are kept: a push or fetch under
way may still need them."""

_BLOCK = 1 << 20  # bytes; SQLite changes pages in place, so that most blocks stay as they are
_AT_ONCE = 16  # blocks in memory
_THREADS = 8
_MOST_DESCRIBED = 8 << 20  # bytes of a description: that of an index of 190 GB
_MOST_DEFLATED = 2 * _BLOCK  # bytes of a block as it is kept; deflating never makes it much larger
_LARGEST_NUMBER = 99_999_999
_SCHEMA = "colde.published/1"
_RECORD = "published.json"
_FETCHED = "fetched"  # in the cache folder
_HOME = re.compile(r"[0-9a-f]{40}")  # what `digest` makes of a URL
_INCOMING = "incoming"
_VERSIONS, _BLOCKS = "versions", "blocks"
_HASH = re.compile(r"[0-9a-f]{40}")
# SQLite obeys files beside its own, such as a journal; hidden files and the record are of this machine.
_FILE = re.compile(
    rf"(?!{re.escape(_RECORD)}|{re.escape(LOCK)}|{re.escape(INDEX_FILE)}.)[a-z0-9_][\w.-]{{0,99}}",
    re.ASCII | re.IGNORECASE,
)

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a version: its length in bytes, and the hashes of its blocks in order."""

    size: int
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a published index.

    Attributes:
        number: from 1.
        identity: hash of its description.
        files: by name.
    """

    number: int
    identity: str
    files: dict[str, PublishedFile]

    @property
    def blocks(self) -> set[str]:
        """All hashes."""
        return {block for file in self.files.values() for block in file.blocks}


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a push or fetch did.

    Attributes:
        url: of the published index.
        version: that is now there, and in the folder.
        blocks: of the version.
        sent: blocks that were transferred.
        sent_bytes: as transferred, deflated.
    """

    url: str
    version: int
    folder: Path
    blocks: int
    sent: int
    sent_bytes: int


def local_places(corpus: Corpus, progress: Progress | None = None) -> list[str | Path]:
    """The places of a corpus, with a folder in the cache in place of the URL of a published index; see `fetch`."""
    places = one_or_more(corpus)
    return [fetch(str(place), progress=progress).folder if is_url(place) else place for place in places]


def push(index: Path, url: str, *, force: bool = False, progress: Progress | None = None) -> Transfer:
    """Publish an index as the next version at a URL.

    Args:
        index: its folder.
        url: such as s3://bucket/papers.colde or file:///share/papers.colde.
        force: replace a version that this index does not know, and send all blocks again.
        progress: called with the number of blocks just done.

    Raises:
        RemoteError: the place cannot be used, or holds a version that this index does not know.
        BadIndexError: the folder is no index, damaged, or cannot be read or written.
        OptionError: the URL is not valid.
        MissingExtraError: object stores are not installed.
    """
    remote = open_remote(url)
    newest = newest_version(remote)
    with _local_trouble(index), _snapshot(index) as folder:
        files = {path.name: _described(path) for path in sorted(folder.iterdir())}
        if newest is not None and newest.files == files and not force:
            _keep_record(index, url, newest)
            return Transfer(url, newest.number, index, len(newest.blocks), 0, 0)
        if newest is not None and _known_identity(index, url) != newest.identity and not force:
            raise RemoteError(
                f"{url} holds version {newest.number}, which {index} does not know: get it with "
                f"colde index {index} --pull {url}, or replace it with --force."
            )
        held = set() if force else _held_blocks(remote, newest)
        sent, sent_bytes = _send(remote, folder, files, held, progress or (lambda number: None))
        version = _create_version(remote, 1 if newest is None else newest.number + 1, files)
        _keep_record(index, url, version)
    with suppress(RemoteError):  # The version is there, also for someone who may not delete.
        remove_old(url)
    return Transfer(url, version.number, index, len(version.blocks), sent, sent_bytes)


def pull(url: str, index: Path, *, force: bool = False, progress: Progress | None = None) -> Transfer:
    """Fetch the newest version at a URL into a folder, to work with as with any other index.

    The folder is made if it does not exist; `force` replaces an index that has changes of its own.

    Raises:
        RemoteError: the place cannot be used, holds no index, or a block of it is damaged.
        BadIndexError: the folder cannot be written, or has a writer.
        OptionError: the folder holds something else, or an index with changes of its own.
        MissingExtraError: object stores are not installed.
    """
    remote = open_remote(url)
    newest = _required_version(remote)
    with _local_trouble(index):
        target = index.resolve()
        _check_place(target, url, force)
        with only_writer(target) if target.exists() else nullcontext():
            if is_index(target) and not force:
                _check_unchanged(target)
                if _known_identity(target, url) == newest.identity:
                    return Transfer(url, newest.number, index, len(newest.blocks), 0, 0)
            incoming = target.with_name(f".{target.name}.incoming")
            sent, sent_bytes = _receive(remote, newest, incoming, [target], progress)
            replace_folder(incoming, target)
    return Transfer(url, newest.number, index, len(newest.blocks), sent, sent_bytes)


def fetch(url: str, *, progress: Progress | None = None) -> Transfer:
    """Bring the newest version at a URL into the cache folder, to search in; only what is new is transferred.

    Raises:
        RemoteError: the place cannot be used, holds no index, or a block of it is damaged.
        BadIndexError: the cache folder cannot be written.
        MissingExtraError: object stores are not installed.
    """
    remote = open_remote(url)
    newest = _required_version(remote)
    home = cache_dir() / _FETCHED / digest(url.encode()).hex()
    target = home / f"{newest.number:08d}-{newest.identity[:8]}.colde"
    sent = sent_bytes = 0
    with _local_trouble(home):
        if not target.exists():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(home):
                if not target.exists():
                    earlier = sorted(home.glob("*.colde"))
                    incoming = home / _INCOMING
                    sent, sent_bytes = _receive(remote, newest, incoming, earlier[-1:], progress)
                    incoming.rename(target)
                    for folder in earlier[:-1]:  # A search that began before this one may still use the last.
                        shutil.rmtree(folder, ignore_errors=True)
    return Transfer(url, newest.number, target, len(newest.blocks), sent, sent_bytes)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched from a place into the cache folder: its URL, "" if it is not whole, and its bytes on disk."""

    url: str
    size: int


def list_fetched() -> list[Fetched]:
    """The published indexes in the cache folder, by URL. The limit of the cache does not count them."""
    found = []
    for home in _fetched_homes():
        urls = [_record(folder).get("url", "") for folder in sorted(home.glob("*.colde"))]
        if urls or (home / _INCOMING).exists():
            found.append(Fetched(urls[-1] if urls else "", bytes_below(home)))
    return sorted(found, key=lambda item: item.url)


def remove_fetched() -> None:
    """Delete the published indexes in the cache folder, once no fetch is under way, and nothing else.

    The files of their locks stay: another process may be waiting for one.

    Raises:
        BadIndexError: they cannot be deleted.
    """
    for home in _fetched_homes():
        with _local_trouble(home), _locked(home):
            for folder in (*home.glob("*.colde"), home / _INCOMING):
                if folder.is_dir() and not folder.is_symlink():
                    shutil.rmtree(folder)


def _fetched_homes() -> list[Path]:
    """The folders of all places that something was fetched from, by the names that `fetch` gives; links are none."""
    fetched = cache_dir() / _FETCHED
    if fetched.is_symlink():
        return []
    homes = (home for home in fetched.glob("*") if _HOME.fullmatch(home.name))
    return [home for home in homes if home.is_dir() and not home.is_symlink()]


def remove_old(url: str, grace: float = GRACE) -> int:
    """Delete versions that were replaced longer than `grace` seconds ago, and blocks that none names.

    Returns:
        How many blocks were deleted.

    Raises:
        RemoteError: the place cannot be used, or holds no index.
    """
    remote = open_remote(url)
    listed = sorted(remote.list(_VERSIONS), key=lambda item: item.name)
    if not listed:
        raise RemoteError(f"There is no index at {url}.")
    oldest_kept = time.time() - grace
    # A version was replaced when the next one was created.
    pairs = pairwise(listed)
    gone = {old.name for old, following in pairs if following.modified <= oldest_kept}
    kept = [_read_version(remote, item.name) for item in listed if item.name not in gone]
    named = {block for version in kept for block in version.blocks}
    # Versions first: a version must never name a block that is not there.
    _in_threads(remote.delete, sorted(gone))
    unnamed = [
        item.name
        for item in remote.list(_BLOCKS)
        if item.name.rpartition("/")[2] not in named and item.modified <= oldest_kept
    ]
    _in_threads(remote.delete, unnamed)
    return len(unnamed)


def newest_version(remote: Remote) -> Version | None:
    """The version that readers see; None if nothing was ever published there.

    Raises:
        RemoteError: the place cannot be used, or the version is damaged.
    """
    names = sorted(item.name for item in remote.list(_VERSIONS))
    return _read_version(remote, names[-1]) if names else None


def _required_version(remote: Remote) -> Version:
    newest = newest_version(remote)
    if newest is None:
        raise RemoteError(f"There is no index at {remote.url}.")
    return newest


def _read_version(remote: Remote, name: str) -> Version:
    content = remote.get(name, _MOST_DESCRIBED) or b""
    try:
        values = json.loads(_inflated(content))
        schema, number = values["schema"], values["number"]
        if schema != _SCHEMA and str(schema).startswith("colde.published/"):
            raise RemoteError(f"{remote.url} was published by another version of colde; upgrade colde.")
        if schema != _SCHEMA or type(number) is not int or name != _version_name(number):
            raise ValueError(name)
        return Version(number, digest(content).hex(), _checked_files(values["files"]))
    except (zlib.error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise RemoteError(f"{remote.url} is damaged ({name}); push the index again with --force.") from error


def _inflated(content: bytes) -> bytes:
    """The text of a description.

    Raises:
        ValueError: it is longer than one can be, cut off, or something follows.
        zlib.error: it is damaged.
    """
    inflating = zlib.decompressobj()
    text = inflating.decompress(content, _MOST_DESCRIBED)
    if not inflating.eof or inflating.unused_data:
        raise ValueError("not one description")
    return text


def _version_name(number: int) -> str:
    return f"{_VERSIONS}/{number:08d}" if 0 < number <= _LARGEST_NUMBER else ""


def _checked_files(values: object) -> dict[str, PublishedFile]:
    """The files of a description, if each can be a file of an index and is as long as its blocks.

    Raises:
        ValueError: one cannot.
        LookupError, TypeError: the description has another shape.
    """
    if not isinstance(values, dict) or INDEX_FILE not in values:
        raise ValueError("no index")
    files = {}
    for name, file in values.items():
        size, blocks = file["size"], file["blocks"]
        if type(size) is not int or not isinstance(blocks, list | tuple) or not _FILE.fullmatch(name):
            raise ValueError(name)
        if size < 0 or len(blocks) != -(-size // _BLOCK) or not all(map(_HASH.fullmatch, blocks)):
            raise ValueError(name)
        files[name] = PublishedFile(size, tuple(blocks))
    return files


def _create_version(remote: Remote, number: int, files: dict[str, PublishedFile]) -> Version:
    listed = {name: asdict(file) for name, file in files.items()}
    text = json.dumps({"schema": _SCHEMA, "number": number, "files": listed}).encode()
    if len(text) > _MOST_DESCRIBED:
        raise RemoteError(f"The index is larger than what can be published at {remote.url}; divide the corpus.")
    content = zlib.compress(text)
    if not remote.create(_version_name(number), content):
        raise RemoteError(f"Another push to {remote.url} came first; get its version with --pull {remote.url}.")
    return Version(number, digest(content).hex(), files)


@contextmanager
def _snapshot(index: Path) -> Iterator[Path]:
    """A folder with a consistent copy of the index, and of the files beside it that spare readers time."""
    Index.open(index).close()  # raises why it is none
    with _locked(index):
        folder = index / ".snapshot"
        shutil.rmtree(folder, ignore_errors=True)  # Left by a push that was killed.
        folder.mkdir(mode=0o700)
        try:
            with (
                trouble(index),
                closing(connect(index)) as source,
                closing(sqlite3.connect(folder / INDEX_FILE)) as copy,
            ):
                source.backup(copy)
            for path in index.iterdir():
                if path.is_file() and not path.name.startswith((".", INDEX_FILE, LOCK, _RECORD)):
                    shutil.copyfile(path, folder / path.name)
            yield folder
        finally:
            shutil.rmtree(folder)


def _described(path: Path) -> PublishedFile:
    with path.open("rb") as file:
        hashes = [digest(block).hex() for block in iter(lambda: file.read(_BLOCK), b"")]
    return PublishedFile(path.stat().st_size, tuple(hashes))


def _block_name(block: str) -> str:
    return f"{_BLOCKS}/{block[:2]}/{block}"


def _held_blocks(remote: Remote, newest: Version | None) -> set[str]:
    """The blocks that need not be sent: those of the newest version, and those that no clean-up deletes meanwhile."""
    named = newest.blocks if newest is not None else set()
    young = time.time() - GRACE / 2
    listed = {item.name.rpartition("/")[2]: item.modified for item in remote.list(_BLOCKS)}
    return {block for block, modified in listed.items() if block in named or modified > young}


def _send(
    remote: Remote, folder: Path, files: dict[str, PublishedFile], held: set[str], progress: Progress
) -> tuple[int, int]:
    """Send blocks that are not held; returns their number and their bytes."""
    places = {
        block: (name, number)
        for name, file in files.items()
        for number, block in enumerate(file.blocks)
        if block not in held
    }
    progress(len({block for file in files.values() for block in file.blocks}) - len(places))

    def send(block: str) -> int:
        name, number = places[block]
        with (folder / name).open("rb") as file:
            file.seek(number * _BLOCK)
            content = zlib.compress(file.read(_BLOCK), 1)
        remote.put(_block_name(block), content)
        progress(1)
        return len(content)

    return len(places), sum(_in_threads(send, list(places)))


def _receive(
    remote: Remote, version: Version, incoming: Path, earlier: Sequence[Path], progress: Progress | None
) -> tuple[int, int]:
    """Fill the folder `incoming`, from its own earlier content, from `earlier` folders, and from the place."""
    incoming.mkdir(mode=0o700, exist_ok=True)
    for path in incoming.iterdir():
        if path.name not in version.files:
            path.unlink()
    _check_space(remote, version, incoming)
    sources = _local_blocks([incoming, *earlier])
    sent = sent_bytes = 0
    for name, described in version.files.items():
        path = incoming / name
        path.touch(mode=0o600)
        with path.open("r+b") as file:
            numbers = range(len(described.blocks))
            for start in range(0, len(numbers), _AT_ONCE):
                group = numbers[start : start + _AT_ONCE]
                missing = [number for number in group if not _holds(file, number, described.blocks[number])]

                def block_of(number: int, blocks: Sequence[str] = described.blocks) -> tuple[bytes, int]:
                    return _local_block(sources, blocks[number]) or _remote_block(remote, blocks[number])

                for number, (content, transferred) in zip(missing, _in_threads(block_of, missing), strict=True):
                    if len(content) != min(_BLOCK, described.size - number * _BLOCK):
                        raise _damaged_block(remote, described.blocks[number])
                    file.seek(number * _BLOCK)
                    file.write(content)
                    sent += transferred > 0
                    sent_bytes += transferred
                if progress is not None:
                    progress(len(group))
            file.truncate(described.size)
    _keep_record(incoming, remote.url, version)
    return sent, sent_bytes


def _holds(file: IO[bytes], number: int, block: str) -> bool:
    file.seek(number * _BLOCK)
    return digest(file.read(_BLOCK)).hex() == block


def _local_blocks(folders: Sequence[Path]) -> dict[str, tuple[Path, int]]:
    """Where blocks may lie in folders that were published or fetched before."""
    places = {}
    for folder in folders:
        for name, file in _record(folder).get("files", {}).items():
            places.update({block: (folder / name, number) for number, block in enumerate(file["blocks"])})
    return places


def _local_block(sources: dict[str, tuple[Path, int]], block: str) -> tuple[bytes, int] | None:
    """A block that lies on this disk, if it is as it was; nothing is transferred."""
    if block not in sources:
        return None
    path, number = sources[block]
    try:
        with path.open("rb") as file:
            file.seek(number * _BLOCK)
            content = file.read(_BLOCK)
    except OSError:
        return None
    return (content, 0) if digest(content).hex() == block else None


def _check_space(remote: Remote, version: Version, incoming: Path) -> None:
    """Check that a version fits on the disk: a few kilobytes can describe any number of blocks."""
    needed = sum(file.size for file in version.files.values())
    there = sum(path.stat().st_size for path in incoming.iterdir())
    free = shutil.disk_usage(incoming).free
    if needed - there > free:
        raise RemoteError(
            f"{remote.url} takes {needed / 1e6:,.0f} MB, and the disk of {incoming.parent} has {free / 1e6:,.0f} MB"
            " left; make room there."
        )


def _remote_block(remote: Remote, block: str) -> tuple[bytes, int]:
    packed = remote.get(_block_name(block), _MOST_DEFLATED)
    try:
        inflating = zlib.decompressobj()
        content = inflating.decompress(packed or b"", _BLOCK)  # No more, whatever it claims to hold.
    except zlib.error:
        content = b""
    if packed is None:
        raise RemoteError(f"Block {block} of {remote.url} is missing; push the index again with --force.")
    if digest(content).hex() != block:
        raise _damaged_block(remote, block)
    return content, len(packed)


def _damaged_block(remote: Remote, block: str) -> RemoteError:
    return RemoteError(f"Block {block} of {remote.url} is damaged; push the index again with --force.")


def _in_threads(action: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Results in order; after an error no further one is begun."""
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(action, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _check_place(index: Path, url: str, force: bool) -> None:
    """Check that a folder may be replaced: it is new, empty, or an index from this very place, or any with `force`."""
    if not index.exists() or (index.is_dir() and not any(index.iterdir())):
        return
    if not is_index(index):
        raise OptionError(f"{index} is no index and is not overwritten; choose another name.")
    if _record(index).get("url") != url and not force:
        raise OptionError(f"{index} was not fetched from {url} and is not overwritten; replace it with --force.")


def _check_unchanged(index: Path) -> None:
    """Check that an index is as it was pushed or fetched, so that nothing is lost with it."""
    with _snapshot(index) as folder:
        if asdict(_described(folder / INDEX_FILE)) != _listed(_record(index)["files"][INDEX_FILE]):
            raise OptionError(f"{index} has changes that were not pushed; replace it with --force.")


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    return {"size": values["size"], "blocks": tuple(values["blocks"])}


def _known_identity(index: Path, url: str) -> str | None:
    record = _record(index)
    return record.get("identity") if record.get("url") == url else None


def _record(index: Path) -> dict[str, Any]:
    """What was last pushed from a folder, or fetched into it; empty if nothing was, or the record is damaged."""
    try:
        values = json.loads((index / _RECORD).read_bytes())
        files = _checked_files(values["files"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return {**values, "files": {name: asdict(file) for name, file in files.items()}}


def _keep_record(index: Path, url: str, version: Version) -> None:
    values = {"url": url, **asdict(version)}
    with atomic_file(index / _RECORD) as staged:
        staged.write_text(json.dumps(values))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work in a folder; the lock of a process that was killed goes with it."""
    with closing(sqlite3.connect(folder / ".lock", timeout=600, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def _local_trouble(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadIndexError(f"{folder} cannot be read or written: {reason}.") from error
