"""Every path and every COLDE_* variable, except those that only set an option's default.

| variable          | meaning                                              | without it                      |
|-------------------|------------------------------------------------------|---------------------------------|
| COLDE_CACHE_DIR   | folder of the cache                                  | the user's cache folder         |
| COLDE_CACHE_LIMIT | largest size of the cache, e.g. "500MB", "4 GB"       | 2 GB                            |
| COLDE_MODELS      | folders of models, searched before the others        | only the shipped models         |
| COLDE_PROFILES    | folder of named field profiles                       | the user's data folder          |
| COLDE_CONFIG      | a `colde.toml`; if empty, none is read                | the nearest, upwards from here  |
| COLDE_THREADS     | chunks encoded at the same time                      | one per usable core             |
| COLDE_OCR         | pages that OCR reads: auto, always, never            | auto                            |

Variables are read on use, not at import, so that a test or a notebook can set them.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Final

from colde_cli.errors import ModelError, OptionError

VERSION: Final = "0.1.0"

DEFAULT_MODEL = "colde-minilm-l6"

CORPUS: Final = "corpus"
"""The name of the field that a searched corpus is."""

INDEX_FILE: Final = "index.sqlite"
"""The file in the folder of an index."""

CACHE_DIR = "COLDE_CACHE_DIR"
CACHE_LIMIT = "COLDE_CACHE_LIMIT"
MODELS = "COLDE_MODELS"
PROFILES = "COLDE_PROFILES"
THREADS = "COLDE_THREADS"
CONFIG = "COLDE_CONFIG"
OCR = "COLDE_OCR"

_DEFAULT_CACHE_LIMIT = 2 * 10**9
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_NUMBER = r"\d{1,18}(?:\.\d+)?"
"""Beyond some hundred digits a number is infinite, and Python reads no integer of more than 4,300."""
_PACKAGE = Path(__file__).resolve().parent


def cache_dir() -> Path:
    """The folder of the cache; it need not exist yet."""
    import platformdirs

    chosen = os.environ.get(CACHE_DIR)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("colde", appauthor=False)


def cache_limit() -> int:
    """Bytes the cache may take.

    Raises:
        OptionError: COLDE_CACHE_LIMIT is not a size.
    """
    chosen = os.environ.get(CACHE_LIMIT)
    return parse_size(chosen, CACHE_LIMIT) if chosen else _DEFAULT_CACHE_LIMIT


def parse_size(text: str, source: str) -> int:
    """Bytes meant by "500MB", "1.5 GiB" or "1000000"; `source` names the setting in errors.

    Raises:
        OptionError: `text` is not a size.
    """
    match = re.fullmatch(rf"\s*({_NUMBER})\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None:
        raise OptionError(f"{source} is {text!r}, which is not a size such as 500MB or 2GB.")
    return int(float(match.group(1)) * unit)


def parse_duration(text: str, source: str) -> float:
    """Seconds meant by "90s", "8m" or "1.5h"; `source` names the setting in errors.

    Raises:
        OptionError: `text` is not a duration above 0.
    """
    match = re.fullmatch(rf"\s*({_NUMBER})\s*([smh])\s*", text)
    seconds = float(match.group(1)) * _SECONDS[match.group(2)] if match else 0.0
    if not seconds:
        raise OptionError(f"{source} is {text!r}, which is not a duration such as 90s, 8m or 2h.")
    return seconds


def parse_moment(text: str, source: str) -> float:
    """Seconds since 1970 of "2026-01-31", "2026-01-31 18:30", or "30d" ago; `source` names the setting in errors.

    A moment without a time zone is local. The units are s, m, h, d and w.

    Raises:
        OptionError: `text` is none of them.
    """
    from datetime import datetime

    match = re.fullmatch(rf"\s*({_NUMBER})\s*([smhdw])\s*", text)
    if match:
        return time.time() - float(match.group(1)) * {**_SECONDS, "d": 86_400, "w": 604_800}[match.group(2)]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{source} is {text!r}, which is neither a date such as 2026-01-31 nor an age such as 30d."
        ) from error


def usable_cores() -> int:
    """Number of cores that this process may use; a container or `taskset` may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """Number of chunks to encode at the same time, unless the user names another.

    Raises:
        OptionError: COLDE_THREADS is not a positive number.
    """
    chosen = os.environ.get(THREADS)
    if not chosen:
        return usable_cores()
    if not re.fullmatch(r"\d{1,9}", chosen) or int(chosen) < 1:
        raise OptionError(f"{THREADS} is {chosen!r}, which is not a number of threads.")
    return int(chosen)


def model_search_path() -> tuple[Path, ...]:
    """Folders that hold model folders, in the order of the search."""
    chosen = [Path(part).expanduser() for part in os.environ.get(MODELS, "").split(os.pathsep) if part]
    # The second holds the shipped models of an installed wheel, the third those of a clone.
    return (*chosen, _PACKAGE / "_models", _PACKAGE.parent / "models")


def known_models() -> dict[str, Path]:
    """Map the name of every model on the search path to its folder; the first of a name counts."""
    models: dict[str, Path] = {}
    for folder in model_search_path():
        for config in sorted(folder.glob("*/config.json")):
            models.setdefault(config.parent.name, config.parent)
    return models


def resolve_model(name_or_folder: str | Path) -> Path:
    """Find the folder of a model by name or path.

    A bare name is searched on the search path first, so that a script does not depend on its working folder.

    Raises:
        ModelError: it is neither a known name nor a folder.
    """
    names = known_models()
    if isinstance(name_or_folder, str) and name_or_folder in names:
        return names[name_or_folder]
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    listed = f"known are: {', '.join(sorted(names))}" if names else f"set {MODELS} to the folder of your models"
    raise ModelError(f"There is no model {str(name_or_folder)!r}, neither by name nor as a folder; {listed}.")


def profiles_dir() -> Path:
    """The folder of field profiles; it need not exist yet."""
    import platformdirs

    chosen = os.environ.get(PROFILES)
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_data_path("colde", appauthor=False) / "profiles"


def profile_folder(name_or_folder: str | Path) -> Path:
    """Where a field profile is kept: a bare name stands for a folder in `profiles_dir`."""
    text = str(name_or_folder)
    bare = isinstance(name_or_folder, str) and text not in ("", ".", "..") and Path(text).name == text
    return profiles_dir() / text if bare else Path(name_or_folder).expanduser()


def resolve_profile(name_or_folder: str | Path) -> Path:
    """The folder of a field profile given by name or by path; a bare name is looked up in `profiles_dir` first.

    Raises:
        ModelError: neither a known name nor a folder.
    """
    for folder in (profile_folder(name_or_folder), Path(name_or_folder).expanduser()):
        if os.path.isdir(folder):  # noqa: PTH112 - False for a name that no file can have
            return folder
    names = sorted(path.parent.name for path in profiles_dir().glob("*/profile.json"))
    known = f"known are: {', '.join(names)}." if names else "make one with: colde adapt DOCUMENTS -o NAME"
    raise ModelError(f"There is no field profile {str(name_or_folder)!r}, neither by name nor as a folder; {known}")
