"""Files of documents and judged pairs to the fields that are measured: what evaluate and calibrate share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.evaluation.field import Field

DATA = "Data"
"""Panel of the help for options that name data."""

_SAYS_NOTHING = ("docs", "documents", "data")


class SplitName(StrEnum):
    """Sides of a data set."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def option(name: str, panel: str, help: str, **more: Any) -> Any:  # noqa: ANN401
    """An option, which the environment may give as COLDE_<OPTION> as well."""
    variable = "COLDE_" + name.lstrip("-").replace("-", "_").upper()
    return typer.Option(name, rich_help_panel=panel, help=help, envvar=variable, show_envvar=False, **more)


PairsOption = Annotated[
    list[Path],
    option("--pairs", DATA, "Judged pairs, JSON Lines; repeatable, in the order of --docs.", metavar="FILE"),
]
DocsOption = Annotated[
    list[Path],
    option(
        "--docs",
        DATA,
        "Their documents, as colde train reads them; repeatable: each file is a field.",
        metavar="FILE",
    ),
]


def read_fields(
    docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path], split: str
) -> list[Field]:
    """One field per file of documents, its pairs the file of the same place.

    Raises:
        OptionError: not as many files of pairs as of documents.
        DataError, MissingFileError: a file is not valid, or not there.
    """
    from colde_cli.evaluation.field import make_field
    from colde_cli.learning.data import read_data, read_pairs

    _check_numbers(docs, pairs, validation)
    fields = []
    for number, (name, path) in enumerate(zip(field_names(docs), docs, strict=True)):
        data = read_data([path], supervised=False)
        known = data.numbers()
        held = read_pairs(validation[number], known) if validation else None
        fields.append(make_field(name, data.documents, read_pairs(pairs[number], known), held, split))
    return fields


def _check_numbers(docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path]) -> None:
    if len(pairs) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(pairs)} --pairs; give both for every field, in the same order."
        )
    if validation and len(validation) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(validation)} --validation; give one for every field or none."
        )


def field_names(docs: Sequence[Path]) -> list[str]:
    """A name for every file: its own, or its folder's where its own says nothing; the whole path if two are alike."""
    names = []
    for path in docs:
        stem = path.name.partition(".")[0]
        names.append(path.resolve().parent.name if stem in _SAYS_NOTHING else stem)
    counts = Counter(names)
    return [name if counts[name] == 1 and name else str(path) for name, path in zip(names, docs, strict=True)]
