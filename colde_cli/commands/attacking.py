"""`--robustness` of `colde evaluate`: names of protocols to what is done to every model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.evaluation.evaluate import Attack
    from colde_cli.evaluation.field import Field
    from colde_cli.evaluation.result import Attacked
    from colde_cli.evaluation.systems import ModelSystem


def make_attack(names: str | None, seed: int) -> Attack | None:
    """What `evaluate` calls for every model and field; None where nothing was asked for.

    Args:
        names: of protocols, with commas between them.
        seed: of every draw.

    Raises:
        OptionError: not a protocol.
    """
    if names is None:
        return None
    from colde_cli.evaluation.robustness import PROTOCOLS

    chosen = list(dict.fromkeys(name.strip() for name in names.split(",")))
    unknown = [name for name in chosen if name not in PROTOCOLS]
    if unknown:
        raise OptionError(
            f"There is no robustness protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}, with commas between."
        )

    def attack(model: ModelSystem, field: Field, threshold: float | None) -> Attacked:
        from colde_cli.evaluation.result import Attacked
        from colde_cli.evaluation.robustness import robustness

        pairs = [(pair.a, pair.b, pair.related) for pair in field.pairs]
        found = robustness(model.encoder, field.documents, pairs, chosen, threshold=threshold, seed=seed)
        notes = tuple(note for protocol in found.protocols for note in protocol.notes)
        return Attacked(found.to_json(), tuple(found.tables()), notes)

    return attack
