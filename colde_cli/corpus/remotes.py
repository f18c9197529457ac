"""Places that hold published indexes: object stores (`s3://`, `gs://`, `az://`) and shared folders (`file://`).

Both offer the same five operations on small whole objects. `create` is the one that makes publishing safe: of two
writers of a name that does not exist, one succeeds, on S3 by a conditional put, on a file system by a hard link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from colde_cli.errors import MissingExtraError, OptionError, RemoteError
from colde_cli.files import atomic_file

_SCHEMES = ("s3", "gs", "az", "file")
_PATIENCE = {"connect_timeout": "5s", "timeout": "60s"}
_RETRIES = 3


@dataclass(frozen=True, slots=True)
class Listed:
    """An object of a remote place; `modified` is in seconds since 1970, by the clock of the place."""

    name: str
    modified: float


class Remote(Protocol):
    """Whole objects by name; names have parts separated by slashes. All methods raise `RemoteError`."""

    url: str

    def get(self, name: str, most: int) -> bytes | None:
        """The content of an object; None if there is none. An object larger than the limit is not read."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object; readers see the old or the new content."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one of this name; returns whether it was written."""

    def list(self, folder: str) -> list[Listed]:
        """The objects of a folder and below."""

    def delete(self, name: str) -> None:
        """Delete an object, if it exists."""


def is_url(place: str | Path) -> bool:
    """Whether a place is a published index rather than a path."""
    return re.match(rf"({'|'.join(_SCHEMES)})://", str(place)) is not None


def open_remote(url: str) -> Remote:
    """The remote place of a URL such as s3://bucket/papers.colde or file:///mnt/share/papers.colde.

    Raises:
        OptionError: the URL has no known scheme, or names no place within a bucket.
        MissingExtraError: object stores are not installed.
    """
    parts = urlsplit(url)
    if not is_url(url):
        raise OptionError(f"{url} is not a URL such as s3://bucket/papers.colde or file:///share/papers.colde.")
    if parts.scheme == "file":
        return FolderRemote(url, Path(unquote(parts.path)))
    if not parts.netloc or not parts.path.strip("/"):
        raise OptionError(f"{url} names no place in a bucket; write {parts.scheme}://BUCKET/NAME.colde.")
    return ObjectRemote(url)


class FolderRemote:
    """A folder, on a share that several machines see."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self._folder = url, folder

    def get(self, name: str, most: int) -> bytes | None:
        """See `Remote`."""
        with self._trouble():
            path = self._folder / name
            if not path.is_file():  # a pipe would be waited for
                return None
            with path.open("rb") as file:
                content = file.read(most + 1)
            _check_size(self.url, name, len(content), most)
            return content

    def put(self, name: str, content: bytes) -> None:
        """See `Remote`."""
        with self._trouble(), atomic_file(self._parent(name) / Path(name).name) as staged:
            staged.write_bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        """See `Remote`."""
        with self._trouble():
            staged = self._parent(name) / f".colde-{os.urandom(8).hex()}"
            try:
                with staged.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                (self._folder / name).hardlink_to(staged)  # Fails where the name exists, unlike a rename.
            except FileExistsError:
                return False
            finally:
                staged.unlink(missing_ok=True)
            return True

    def list(self, folder: str) -> list[Listed]:
        """See `Remote`."""
        with self._trouble():
            paths = [path for path in (self._folder / folder).rglob("*") if not path.name.startswith(".")]
            return [
                Listed(path.relative_to(self._folder).as_posix(), path.stat().st_mtime)
                for path in paths
                if path.is_file()
            ]

    def delete(self, name: str) -> None:
        """See `Remote`."""
        with self._trouble():
            (self._folder / name).unlink(missing_ok=True)

    def _parent(self, name: str) -> Path:
        parent = (self._folder / name).parent
        parent.mkdir(parents=True, exist_ok=True)
        return parent

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        # A share that is not mounted must not look like an empty one, nor be made on the local disk.
        if not self._folder.parent.is_dir():
            raise RemoteError(f"{self.url} cannot be reached: there is no folder {self._folder.parent}.")
        try:
            yield
        except OSError as error:
            raise RemoteError(f"{self.url} cannot be used: {error.strerror or error}.") from error


class ObjectRemote:
    """A place in a bucket. Keys and endpoint come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL ...)."""

    def __init__(self, url: str) -> None:
        try:
            from obstore.store import from_url
        except ImportError as error:
            message = "Object stores are not installed; install them with: pip install 'colde[remote]'"
            raise MissingExtraError(message) from error
        from datetime import timedelta

        self.url = url
        options: Any = dict(_PATIENCE)
        if urlsplit(os.environ.get("AWS_ENDPOINT_URL", "")).scheme == "http":
            options["allow_http"] = True  # A server of one's own; the user has written http.
        with self._trouble():
            self._store = from_url(
                url,
                client_options=options,
                retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=30)},
            )

    def get(self, name: str, most: int) -> bytes | None:
        """See `Remote`."""
        import obstore

        with self._trouble():
            try:
                found = obstore.get(self._store, name)
                _check_size(self.url, name, found.meta["size"], most)
                return bytes(found.bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

    def put(self, name: str, content: bytes) -> None:
        """See `Remote`."""
        import obstore

        with self._trouble():
            obstore.put(self._store, name, content)

    def create(self, name: str, content: bytes) -> bool:
        """See `Remote`."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._trouble():
            try:
                obstore.put(self._store, name, content, mode="create")
            except AlreadyExistsError:
                return False
            return True

    def list(self, folder: str) -> list[Listed]:
        """See `Remote`."""
        import obstore

        with self._trouble():
            return [
                Listed(item["path"], item["last_modified"].timestamp())
                for batch in obstore.list(self._store, folder)
                for item in batch
            ]

    def delete(self, name: str) -> None:
        """See `Remote`."""
        import obstore

        with self._trouble():
            try:
                obstore.delete(self._store, name)
            except FileNotFoundError:
                return

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise RemoteError(f"{self.url} cannot be used: {_reason(str(error))}.") from error


def _check_size(url: str, name: str, size: int, most: int) -> None:
    if size > most:
        raise RemoteError(f"{url} is damaged ({name} is too large); push the index again with --force.")


def _reason(message: str) -> str:
    """A few words in place of the report of an object store."""
    for sign, words in _REASONS.items():
        if sign in message:
            return words
    return message.partition("\n")[0][:200]


_REASONS = {
    "NoSuchBucket": "there is no such bucket",
    "AccessDenied": "access is denied",
    "403 Forbidden": "access is denied",
    "401 Unauthorized": "access is denied",
    "InvalidAccessKeyId": "the key is not known there",
    "SignatureDoesNotMatch": "the key is not right",
    "Missing": "there are no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "error sending request": "there is no answer; check the network and the endpoint",
    "timed out": "there is no answer; check the network and the endpoint",
}
