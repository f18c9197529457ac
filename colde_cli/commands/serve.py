"""`colde serve`: answer questions about a corpus over HTTP, with a page for people."""

from __future__ import annotations

from typing import Annotated

import typer

from colde_cli.commands.options import ModelChoice, Reporter, option, require_extra
from colde_cli.commands.reading_options import OcrOption
from colde_cli.settings import parse_duration, parse_size

ACCESS, LIMITS = "Access", "Limits"
_QUEUE = 32
"""Requests that may wait for each that is worked on."""


def serve(
    place: Annotated[
        str, typer.Argument(metavar="INDEX", help="An index, or s3://BUCKET/NAME.lance, or a folder of documents.")
    ],
    *,
    host: Annotated[str, option("--host", panel=ACCESS, metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, option("--port", panel=ACCESS, metavar="N", min=0, max=65535, help="Port; 0 for any free one.")
    ] = 8765,
    token: Annotated[
        str | None,
        option(
            "--token",
            panel=ACCESS,
            metavar="TEXT",
            help="Secret to ask for. Needed unless only this machine can connect; safer as COLDE_TOKEN.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", panel=ACCESS, metavar="NAME", help="Name that clients call this by; repeatable."),
    ] = None,
    max_upload: Annotated[
        str, option("--max-upload", panel=LIMITS, metavar="SIZE", help="Size of a document that is sent.")
    ] = "50MB",
    timeout: Annotated[
        str, option("--timeout", panel=LIMITS, metavar="TIME", help="Time for a request, waiting included.")
    ] = "120s",
    jobs: Annotated[int, option("--jobs", panel=LIMITS, metavar="N", min=1, help="Requests to work on at a time.")] = 2,
    ocr: OcrOption = None,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Rank and compare documents over HTTP, with a page for people.

    Only this machine can connect, unless --host says otherwise. Documents
    that are sent stay in memory for 15 minutes.
    """
    require_extra("serve", "colde serve")
    from colde_cli.service.corpus import ServedCorpus
    from colde_cli.service.guard import Access, Limits
    from colde_cli.service.http import create_app
    from colde_cli.service.server import address_of, run, taken
    from colde_cli.views.wording import plural

    limits = Limits(parse_size(max_upload, "--max-upload"), parse_duration(timeout, "--timeout"), jobs, _QUEUE * jobs)
    access = Access.of(host, token, allow_host or (), limits)
    with taken(host, port) as address:
        encoder = model.load(model.model)
        reporter.about_model(encoder.info)
        corpus = ServedCorpus(place, encoder, ocr)
        with reporter.progress("Reading", "documents") as advance:
            skipped = corpus.prepare(advance)
        reporter.about_skipped(skipped)
        app = create_app(corpus, access)
        address.listen()  # from here on connections wait
        if not reporter.quiet:
            unread = {corpus.name_of(item.path) for item in skipped}
            served = [item for item in corpus.documents()[0] if item["path"] not in unread]
            reporter.note(f"Serving {plural(len(served), 'document')} at {address_of(address)} (Ctrl-C ends)")
        run(app, address)
