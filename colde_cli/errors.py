"""Every error that colde raises on purpose.

    ColdeError                      one sentence: what is wrong, with which file, and the remedy
    ├── DocumentError               a document that cannot be read
    │   ├── MissingFileError        no such file, or a folder where a file is needed
    │   ├── UnsupportedFormatError  a kind of file that no reader takes
    │   ├── NoTextError             a document without any text (a scan without OCR, an empty file)
    │   ├── PasswordError           an encrypted document and no password, or a wrong one
    │   ├── CorruptFileError        a damaged document
    │   ├── LimitError              a document over a limit of size, time or memory
    │   └── PartlyReadError         a document of which only a part was read, where all of it counts
    ├── DataError                   a line of training or evaluation data that is not valid
    ├── ModelError                  a folder that is not a model, or not a whole one
    ├── BadIndexError               an index that is damaged, of another model or version, in use or out of reach
    ├── RemoteError                 an index on an object store that cannot be reached
    ├── ClusterError                a cluster that is not there, was lost, or has other models
    ├── DeviceError                 a device that was asked for and is not there
    ├── MissingExtraError           a part of colde that was not installed
    ├── RequestError                a request that the service turns down
    └── OptionError                 options that contradict each other or the input

`colde_cli.commands.app` is the one place where a `ColdeError` becomes a red line on stderr and status 2.
"""

from __future__ import annotations

on_command_line = False
"""Whether errors name options, such as --pages; `app.main` turns it on. From Python they name arguments."""


def called(argument: str) -> str:
    """What the reader of an error calls an argument: `ignore.like` from Python, `--ignore-like` on the command line."""
    return "--" + argument.replace("_", "-").replace(".", "-") if on_command_line else argument


class ColdeError(Exception):
    """Base of every error colde raises on purpose; `str()` of it is one sentence for the user."""


class DocumentError(ColdeError):
    """A document that cannot be read."""


class MissingFileError(DocumentError):
    """There is no such file, or it is a folder where a file is needed."""


class UnsupportedFormatError(DocumentError):
    """No reader takes this kind of file."""


class NoTextError(DocumentError):
    """The document holds no text: an empty file, or a scan without a text layer."""


class PasswordError(DocumentError):
    """The document is encrypted and the password is missing or wrong."""


class CorruptFileError(DocumentError):
    """The document is damaged beyond reading."""


class LimitError(DocumentError):
    """The document is over a limit of size, time or memory."""


class PartlyReadError(DocumentError):
    """Only a part of the document was read, and all of it counts."""


class DataError(ColdeError):
    """A line of training or evaluation data that is not valid; names the file and the line."""


class ModelError(ColdeError):
    """The folder is not a model, lacks a file, or holds a model of another kind."""


class BadIndexError(ColdeError):
    """The index is damaged, of another model or version, in use, or out of reach."""


class RemoteError(ColdeError):
    """An object store that cannot be reached, has no such bucket, or refuses the keys."""


class ClusterError(ColdeError):
    """The cluster is not there, was lost during the work, or its nodes have other models."""


class DeviceError(ColdeError):
    """The device that was asked for is not there."""


class MissingExtraError(ColdeError):
    """An optional part of colde is not installed; the message names the `pip install` that brings it."""


class RequestError(ColdeError):
    """A request that the service turns down.

    Attributes:
        status: of HTTP.
        retry: seconds after which to come again; None where that is of no use.
    """

    def __init__(self, status: int, sentence: str, retry: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.retry = status, retry


class OptionError(ColdeError):
    """Options that contradict each other or do not fit the input."""
