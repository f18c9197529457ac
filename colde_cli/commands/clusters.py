"""`colde clusters`: group the documents of a corpus by subject."""

from __future__ import annotations

from typing import Annotated

from colde_cli.commands import options
from colde_cli.commands.options import ModelChoice, Reporter, format_option, option
from colde_cli.commands.reading_options import CorpusReading
from colde_cli.views.output import Format, choose_format

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)


def clusters(
    corpus: options.CorpusArgument,
    *,
    top: options.TopOption = 5,
    min_score: Annotated[
        float | None,
        option(
            "--min-score",
            callback=options.check_score,
            metavar="SCORE",
            help="Least score of two neighbours. Default: that of the closest tenth of random pairs.",
        ),
    ] = None,
    resolution: Annotated[
        float, option("--resolution", min=0.01, metavar="NUMBER", help="Above 1 makes more and smaller clusters.")
    ] = 1.0,
    field: options.FieldOption = "corpus",
    reading: CorpusReading,
    format: Annotated[Format | None, format_option("table|json|markdown|html|csv")] = None,
    out: options.Destination,
    ending: options.Ending,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Group documents by subject.

    Each cluster has the words that tell it from the others, and its most
    central document. Files that cannot be read are reported and skipped.
    Exits with status 0 if there is a cluster, 1 if there is none, 2 if
    something went wrong.
    """
    chosen = choose_format(format, out.output, corpus, FORMATS)
    places = options.corpus_places(corpus, out.output)
    within = None if field == "none" else field
    how = {"min_score": min_score, "resolution": resolution, "field": within, **reading.arguments()}
    with reporter.progress("Reading", "documents") as advance:
        found = model.open().clusters(places, progress=advance, **how)
    reporter.about_model(found.model)
    reporter.about_encoded(found.encoded)
    reporter.about_corpus(found)
    out.show(found, chosen, top=top)
    raise ending.after(found, found.skipped)
