"""Which options of `colde train` mean something to which system, and what trains it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.learning.loop import Outcome
    from colde_cli.learning.towers.recipe import TowerRecipe

COLDE_ONLY = frozenset(
    "freeze_backbone chunk_position chunk_pool ablation heads projection residual residual_share dropout combine "
    "max_memory loss temperature sections window elongation elongation_weight".split()
)
TOWERS_ONLY = frozenset("row_tokens max_rows network pretrain pretrain_epochs fixed_scale".split())
_NO_BACKBONE = frozenset("backbone trainable_layers".split())
_NO_PRETRAINED = frozenset("trainable_layers".split())
_FIXED_ROWS = frozenset("max_rows".split())


def check_options(context: typer.Context, system: str) -> None:
    """Refuse options that were given and mean nothing to the system.

    Raises:
        OptionError: one was.
    """
    refused = TOWERS_ONLY if system == "colde" else COLDE_ONLY | _foreign(system)
    for name in context.params:
        source = context.get_parameter_source(name)
        if name in refused and source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT"):
            option = "--" + name.replace("_", "-")
            raise OptionError(f"{option} means nothing to --system {system}; leave it out.")


def _foreign(system: str) -> frozenset[str]:
    """Options of towers that this one has no use for."""
    from colde_cli.learning.towers.registry import system_named

    found = system_named(system)
    without = frozenset() if found.uses_backbone else _NO_BACKBONE
    return (
        without
        | (frozenset() if found.pretrained else _NO_PRETRAINED)
        | (_FIXED_ROWS if found.packing in ("flat", "trigrams") else frozenset())
    )


def tower_recipe(system: str, sizes: list[str], given: dict[str, Any]) -> TowerRecipe:
    """The recipe of a tower.

    Raises:
        OptionError: it has no size of that name.
    """
    from colde_cli.learning.towers.recipe import TowerRecipe
    from colde_cli.learning.towers.registry import parse_sizes, system_named

    found = system_named(system)
    if given["pretrain"] not in ("none", *found.pretraining):
        listed = ", ".join(("none", *found.pretraining))
        raise OptionError(
            f"--pretrain {given['pretrain']} is not for --system {system}, which has: {listed}."
        )
    options = {"learning_rate": found.learning_rate, **given}
    return TowerRecipe(system=system, network=parse_sizes(found, sizes), **options)


def trainer_of(recipe: object) -> Callable[..., Outcome]:
    """What trains by this recipe."""
    from colde_cli.learning.recipe import Recipe

    if isinstance(recipe, Recipe):
        from colde_cli.learning.run import train_model

        return train_model
    from colde_cli.learning.towers.run import train_tower

    return train_tower
