"""Commands that the contract announces and this version does not have yet."""

from __future__ import annotations

import typer

from colde_cli.errors import NotAvailableError


def later(context: typer.Context) -> None:
    """Not available yet."""
    raise NotAvailableError(f"`colde {context.info_name}` is not available yet in this version.")
