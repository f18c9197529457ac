"""The one place that knows what the `train` extra brings."""

from __future__ import annotations

from importlib.util import find_spec

from colde_cli.errors import MissingExtraError

_PACKAGES = ("torch", "transformers", "optimum", "onnx", "safetensors", "accelerate", "sklearn", "scipy")


def require_train_extra(what: str) -> None:
    """Check, without importing them, that the packages for training are installed.

    Args:
        what: the command that needs them, for the message.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise MissingExtraError(f"{what} needs {names}; install with: pip install 'colde[train]'")
