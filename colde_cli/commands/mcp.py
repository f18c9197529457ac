"""`colde mcp`: tools for agents, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from colde_cli.commands.options import ModelChoice, Reporter, option, require_extra
from colde_cli.commands.reading_options import OcrOption


def mcp(
    *,
    root: Annotated[
        list[Path] | None,
        option("--root", metavar="FOLDER", help="Folder that may be read; repeatable. Default: the working folder."),
    ] = None,
    ocr: OcrOption = None,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Offer compare, rank and read_passages to an agent (Model Context Protocol).

    The agent's program starts this and speaks to it over standard input
    and output. Nothing outside the folders is read, and nothing written.
    """
    require_extra("mcp", "colde mcp")
    from colde_cli.service.mcp_server import Library, create_server

    library = Library(root or [Path.cwd()], model.open(), ocr)
    create_server(library).run("stdio")
