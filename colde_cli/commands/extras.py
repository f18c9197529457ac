"""Extras of the package, and what each brings: commands ask before they import any of it."""

from __future__ import annotations

from importlib.util import find_spec

from colde_cli.errors import MissingExtraError

_EXTRAS = {
    "evaluate": {"sklearn": "scikit-learn", "scipy": "scipy"},
    "train": {
        "torch": "torch",
        "transformers": "transformers",
        "optimum": "optimum",
        "onnx": "onnx",
        "safetensors": "safetensors",
        "accelerate": "accelerate",
        "sklearn": "scikit-learn",
        "scipy": "scipy",
    },
}


def require_extra(extra: str, what: str) -> None:
    """Check, without importing them, that the packages of an extra are installed.

    Args:
        extra: "evaluate" or "train".
        what: the command that needs them, for the message.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    missing = [name for module, name in _EXTRAS[extra].items() if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"{what} needs {', '.join(missing)}; install with: pip install 'colde[{extra}]'"
        )
