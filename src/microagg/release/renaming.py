"""Settings and tables under the new names of their columns, and settings under the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg.release.selecting import BY_PATTERN
from microagg.table.rules import NO_RULES, Rule

if TYPE_CHECKING:
    import narwhals as nw

    from microagg.release.settings import Settings

ONE_NAME = ("weight", "unit")
BY_COLUMN = ("kinds", "ordinal", "importance", "aggregate", "hierarchy", "special", "cap")
"""Settings that are dictionaries by column."""


def with_new_names(settings: Settings) -> Settings:
    """Return the same settings with the new name of each column that is renamed: those of the
    release.

    >>> from microagg.release.settings import Settings
    >>> settings = Settings.of(k=5, quasi=["net wage"], rename={"net wage": "wage"})
    >>> with_new_names(settings).quasi, with_old_names(with_new_names(settings)).quasi
    (('wage',), ('net wage',))
    """
    return _with_names(settings, settings.rename)


def with_old_names(settings: Settings) -> Settings:
    """Return the same settings with the names that columns have in the file that is read."""
    return _with_names(settings, {new: old for old, new in settings.rename.items()})


def renamed_frame(frame: nw.DataFrame[Any], rename: Mapping[str, str]) -> nw.DataFrame[Any]:
    """Return a table with new names; columns that have them already keep them."""
    from microagg.files.renaming import rename_columns

    if not rename:
        return frame
    names = dict(zip(frame.columns, rename_columns(frame.columns, rename), strict=True))
    return frame.rename({old: new for old, new in names.items() if old != new})


def _with_names(settings: Settings, names: Mapping[str, str]) -> Settings:
    if not names:
        return settings
    changes: dict[str, Any] = {}
    for setting in BY_PATTERN:
        changes[setting] = tuple(names.get(name, name) for name in getattr(settings, setting))
    for setting in ONE_NAME:
        name = getattr(settings, setting)
        changes[setting] = None if name is None else names.get(name, name)
    for setting in BY_COLUMN:
        changes[setting] = {
            names.get(name, name): value for name, value in getattr(settings, setting).items()
        }
    changes["rules"] = tuple(_renamed_rule(text, names) for text in settings.rules)
    return replace(settings, **changes)


def _renamed_rule(text: str, names: Mapping[str, str]) -> str:
    """Return a rule with new names for its columns."""
    if text == NO_RULES:
        return text
    rule = Rule.parse(text)
    terms = tuple((sign, names.get(name, name)) for sign, name in rule.terms)
    return Rule(names.get(rule.left, rule.left), terms).text
