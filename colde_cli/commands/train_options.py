"""The command line of `colde train`, made from the fields of the recipes, and a recipe made from what was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from colde_cli.errors import OptionError
from colde_cli.recipes import PANELS, BaseName, GivenAs, Recipe, TowerRecipe

_RECIPES: tuple[type[Recipe | TowerRecipe], ...] = (Recipe, TowerRecipe)


class SystemName(StrEnum):
    """What can be trained; the registry of `learning.towers` says how."""

    COLDE = "colde"
    ARCI = "arci"
    DSSM = "dssm"
    HAN = "han"
    MATCHBERT = "matchbert"
    SBERT = "sbert"
    SLONG = "slong"
    SMASH = "smash"
    SMITH = "smith"
    SMITH_SHORT = "smith-short"


@dataclass(frozen=True, slots=True)
class RecipeOption:
    """An option of one recipe, or of both.

    Attributes:
        kind: its type on the command line.
        option: names, panel and help.
        defaults: by recipe.
    """

    kind: Any
    option: OptionInfo
    defaults: dict[type[Recipe | TowerRecipe], Any]

    def parameter(self, name: str) -> inspect.Parameter:
        """Declare the option as a parameter of the command."""
        option, kind = copy(self.option), self.kind
        default, *others = self.defaults.values()
        if others and others[0] != default and not isinstance(option.show_default, str):
            option.show_default = f"{default}; other systems: {others[0]}"
        if isinstance(option.show_default, str) or default == ():
            # The recipe has the default, which depends on the system or on other options.
            kind, default = kind | None, None
        place = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, place, default=default, annotation=Annotated[kind, option])


@cache
def recipe_options() -> Mapping[str, RecipeOption]:
    """Read the options from the fields of the recipes, by name, panel by panel."""
    found: dict[str, RecipeOption] = {}
    for recipe in _RECIPES:
        hints = get_type_hints(recipe, include_extras=True)
        for item in fields(recipe):
            kind, *notes = get_args(hints[item.name]) or (None,)
            for option in [note for note in notes if isinstance(note, OptionInfo)]:
                given_as = [note.kind for note in notes if isinstance(note, GivenAs)]
                known = found.setdefault(item.name, RecipeOption((given_as or [kind])[0], option, {}))
                known.defaults[recipe] = item.default
    panels = {name: PANELS.index(str(each.option.rich_help_panel)) for name, each in found.items()}
    return {name: found[name] for name in sorted(found, key=panels.__getitem__)}


def with_recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the recipes, in the place of its `**options`."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    stated = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    more = [each.parameter(name) for name, each in recipe_options().items()]
    command.__signature__ = signature.replace(parameters=[*stated, *more])  # type: ignore[attr-defined]
    return command


def make_recipe(
    context: typer.Context, system: str, base: BaseName = BaseName.DEFAULT
) -> Recipe | TowerRecipe:
    """Make the recipe of a system from the options that were given, and for CoLDE from a recipe to start from.

    Raises:
        OptionError: an option means nothing to the system, or has a value that the system does not know.
    """
    from colde_cli.learning.towers.registry import system_named

    tower = None if system == SystemName.COLDE else system_named(system)
    options, kind = recipe_options(), TowerRecipe if tower else Recipe
    refused = {name for name, each in options.items() if kind not in each.defaults}
    refused |= tower.unused_options | {"recipe"} if tower else set()
    given = [item for item in context.command.params if item.name and _was_given(context, item.name)]
    for item in given:
        if item.name in refused:
            raise OptionError(f"{item.opts[0]} means nothing to --system {system}; leave it out.")
    values = {item.name: _field_value(context.params[item.name]) for item in given if item.name in options}
    return tower.recipe(values) if tower else Recipe.of(values, base)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _field_value(value: object) -> object:
    """Return what a recipe holds: a list becomes a tuple that does not depend on its order."""
    return tuple(sorted({str(item) for item in value})) if isinstance(value, list) else value
