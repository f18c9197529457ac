"""Files read and written with care: whole or not at all."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import ModelError

# NumPy parses the head of an array with `ast.literal_eval`, which in CPython 3.11 fails now and then while another
# thread parses too (SystemError: AST constructor recursion depth mismatch; python/cpython issue 106905).
_ONE_AT_A_TIME = threading.Lock()


def load_arrays(path: Path, *names: str) -> tuple[NDArray[Any], ...]:
    """The arrays of these names, in this order.

    Raises:
        ModelError: the file is not there, damaged, or lacks one of them.
    """
    try:
        # Opened here, because NumPy leaves what is no archive open.
        with _ONE_AT_A_TIME, path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return tuple(file[name] for name in names)
    except Exception as error:  # of the archive, of inflation, of the parser of array headers
        raise ModelError(f"{path} is damaged; fetch or train the model again.") from error
