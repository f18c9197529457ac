"""`colde cache`: show where the cache is and how large, or delete it."""

from __future__ import annotations

import typer

from colde_cli.commands.options import DebugOption

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Show or delete the cache.")


@app.command("path")
def path(debug: DebugOption = False) -> None:
    """Print the path of the cache file."""
    import sys

    from colde_cli.encoder.vector_cache import Cache
    from colde_cli.views.escaping import visible

    path = str(Cache.open().path)
    typer.echo(visible(path) if sys.stdout.isatty() else path)  # a script needs the path itself


@app.command("size")
def size(debug: DebugOption = False) -> None:
    """Print the size of the cache and its limit (COLDE_CACHE_LIMIT)."""
    from colde_cli.documents.pdf.scans import kept_pages
    from colde_cli.encoder.vector_cache import Cache

    with Cache.open() as cache:
        count, used = cache.count(), cache.size()
    typer.echo(f"{count} items, {used / 1e6:.1f} MB of at most {cache.limit / 1e6:.0f} MB")
    pages, held = kept_pages()
    if pages:
        typer.echo(f"{pages} pages read by OCR: {held / 1e6:.1f} MB")


@app.command("clear")
def clear(debug: DebugOption = False) -> None:
    """Delete the cache and pages read by OCR; both are made again when needed."""
    from colde_cli.documents.pdf.scans import forget_pages, kept_pages
    from colde_cli.encoder.vector_cache import Cache

    cache = Cache.open()
    freed = cache.size() + kept_pages()[1]
    cache.clear()
    forget_pages()
    typer.echo(f"Freed {freed / 1e6:.1f} MB.")
