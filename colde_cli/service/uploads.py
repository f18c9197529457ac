"""Documents that clients send: read under a name that is only text, and kept for a while as vectors in memory."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import BinaryIO

from colde_cli import DocumentEncoder, Encoding, read
from colde_cli.errors import MissingFileError
from colde_cli.views.escaping import short

_KEPT = 32
_MINUTES = 15
_NAME = 120
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that a client sent: its name as the client gave it, without folders, and its encoding."""

    name: str
    encoding: Encoding


def read_upload(stream: BinaryIO, name: str, encoder: DocumentEncoder, password: str | None = None) -> Upload:
    """Read and encode what a client sent. The name decides the kind of file and stands in messages, nothing else.

    Raises:
        DocumentError: it cannot be read.
    """
    shown = file_name(name)
    document = read(shown, password=password, stream=stream)
    # A path could be that of a file of this machine. Ranking would then take that file for the query's own.
    return Upload(shown, encoder.encode(replace(document, path="")))


def file_name(name: str) -> str:
    """The last part of a path as a client gave it, on one line and without signs that steer a terminal or a page."""
    last = _STEERING.sub("", re.split(r"[/\\]", name)[-1]).strip()
    if len(last) > _NAME:
        stem, dot, suffix = last.rpartition(".")
        last = f"{stem[: _NAME - 20]}{dot}{suffix[:10]}" if dot else last[:_NAME]
    return short(last, _NAME) if last.strip("-. ") else "upload"


class KeptUploads:
    """The uploads of the last minutes, so that a client can rank one and then compare it without sending it again."""

    def __init__(self, most: int = _KEPT, minutes: float = _MINUTES) -> None:
        self._most, self._seconds = most, 60 * minutes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Upload]] = OrderedDict()

    def keep(self, upload: Upload) -> str:
        """Keep an upload and return the id to ask for it; nobody can guess one."""
        number = secrets.token_urlsafe(16)
        with self._lock:
            self._forget()
            self._kept[number] = (time.monotonic(), upload)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return number

    def get(self, number: str) -> Upload:
        """The upload with this id.

        Raises:
            MissingFileError: there is none, or no longer.
        """
        with self._lock:
            self._forget()
            if number not in self._kept:
                raise MissingFileError("This upload is not kept any more; send the document again.")
            return self._kept[number][1]

    def _forget(self) -> None:
        oldest = time.monotonic() - self._seconds
        for number in [key for key, (since, _) in self._kept.items() if since < oldest]:
            del self._kept[number]
