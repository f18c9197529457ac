"""Documents, judged pairs and a model → `RobustnessReport`: what `colde evaluate --robustness` shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.document import Document
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.errors import OptionError
from colde_cli.evaluation.robustness.elongation import ElongationOptions, elongation
from colde_cli.evaluation.robustness.length import length
from colde_cli.evaluation.robustness.report import ProtocolReport, RobustnessReport
from colde_cli.evaluation.robustness.scored import Bench, Judged, make_bench
from colde_cli.evaluation.robustness.shuffle import shuffle

PROTOCOLS = ("length", "shuffle", "elongation")
"""What can be asked for."""


@dataclass(frozen=True, slots=True)
class Options:
    """How hard the attacks are.

    Attributes:
        elongation: how far documents are elongated.
        shuffles: how many orders of sections are drawn for every document.
        first_chunks: how many chunks are read, for "length".
    """

    elongation: ElongationOptions = field(default_factory=ElongationOptions)
    shuffles: int = 1
    first_chunks: tuple[int, ...] = (1, 2, 4, 8)


def robustness(
    encoder: DocumentEncoder,
    documents: Mapping[str, Document],
    pairs: Sequence[Judged],
    protocols: Sequence[str] = PROTOCOLS,
    *,
    threshold: float | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> RobustnessReport:
    """Attack documents and see what becomes of the scores of pairs.

    A model without a document head over chunk vectors is attacked through the text of its documents.

    Args:
        encoder: the model.
        documents: by id; those of the pairs at least.
        pairs: ids of two documents and whether they are related, at least one.
        protocols: of `PROTOCOLS`, in the order of the report.
        threshold: from which a pair counts as related, chosen on clean scores; the model's own if None.
        seed: of every draw.
        options: how hard the attacks are.

    Raises:
        OptionError: no such protocol, or no pairs.
        NoTextError: a document has no text.
        ModelError: a graph is damaged or does not fit the tokenizer.
    """
    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown:
        raise OptionError(
            f"There is no robustness protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}."
        )
    if not pairs:
        raise OptionError("Robustness is measured on judged pairs, and there are none.")
    known = encoder.config.threshold if threshold is None else threshold
    bench = make_bench(encoder, documents, pairs, known, seed)
    chosen = options or Options()
    reports = [report for name in protocols for report in _run(name, bench, chosen)]
    return RobustnessReport(encoder.info.name, known, seed, tuple(reports))


def _run(name: str, bench: Bench, options: Options) -> Iterable[ProtocolReport]:
    if name == "length":
        return [length(bench, options.first_chunks)]
    if name == "shuffle":
        return [shuffle(bench, options.shuffles)]
    return elongation(bench, options.elongation)
