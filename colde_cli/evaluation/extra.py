"""The one place that knows what the `evaluate` extra brings."""

from __future__ import annotations

from importlib.util import find_spec

from colde_cli.errors import MissingExtraError

_PACKAGES = {"sklearn": "scikit-learn", "scipy": "scipy"}


def require_evaluate_extra(what: str) -> None:
    """Check, without importing them, that the packages for measuring are installed.

    Args:
        what: the command that needs them, for the message.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        names = ", ".join(missing)
        raise MissingExtraError(f"{what} needs {names}; install with: pip install 'colde[evaluate]'")
