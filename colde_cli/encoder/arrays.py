"""Arrays of a model's folder, read from NumPy's archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import ModelError


def load_arrays(path: Path, *names: str) -> tuple[NDArray[Any], ...]:
    """The arrays of these names, in this order.

    Raises:
        ModelError: the file is not there, damaged, or lacks one of them.
    """
    try:
        # Opened here, because NumPy leaves what is no archive open.
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return tuple(file[name] for name in names)
    except Exception as error:  # of the archive, of inflation, of the parser of array headers
        raise ModelError(f"{path} is damaged; fetch or train the model again.") from error
