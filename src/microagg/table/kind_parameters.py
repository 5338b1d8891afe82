"""Parameters that say what columns hold: their kinds, orders, special codes, and what groups
release of them.

All but lists of names are given by column: a dictionary in Python, column=… on a command line. This
module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from microagg.errors import InputError
from microagg.table.aggregates import default_aggregate
from microagg.table.code_parameters import Codes, Markers, as_number
from microagg.table.column_parameters import (
    AggregateByColumn,
    ByColumn,
    KindByColumn,
    WeightByColumn,
)
from microagg.table.declared import Schema, by_column, one_or_several
from microagg.table.name_parameters import Names
from microagg.table.parameters import Choice
from microagg.table.schema import ColumnSettings, Kind

LONGEST_ORDER = 1 << 20  # characters of a file with the levels of one column


@dataclass(frozen=True)
class Orders(ByColumn):
    """A parameter that takes the levels of columns in their order, or names of columns whose type
    or numbers carry it.

    On a command line and as text an order is typed with < between its levels, or read from a file
    with one level per line.

    >>> orders = Orders("ordinal", "which columns have an order")
    >>> orders.parse("education=P < S < PS"), orders.parse(["education", "age"])
    ({'education': ('P', 'S', 'PS')}, {'education': None, 'age': None})
    """

    describes: str = 'column, "column=LOWEST<NEXT<HIGHEST" or column=@FILE with one level per line'

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        levels = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
        orders = by_column({"anyOf": [levels, {"type": "string"}, {"const": True}]})
        return {"anyOf": [orders, *one_or_several({"type": ["string", "integer"]})["anyOf"]]}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN[=ORDER]"

    @property
    def hint(self) -> str:
        """Return the hint on orders that help adds."""
        return (
            'As "education=LOW<MIDDLE<HIGH", or education=@FILE with one level per line. '
            "May be repeated."
        )

    def _pairs(self, value: Any) -> list[tuple[Any, Any]]:
        return super()._pairs(
            [value] if isinstance(value, int) and not isinstance(value, bool) else value
        )

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str):
            return text, None
        column, equals, order = text.partition("=")
        return (column.strip(), order.strip()) if equals else (text, None)

    def located(self, value: Any, folder: Path) -> Any:
        """Resolve the files that a settings file in this folder names."""
        if not isinstance(value, Mapping):
            return value
        return {
            name: f"@{folder / entry[1:]}"
            if isinstance(entry, str) and entry.startswith("@")
            else entry
            for name, entry in value.items()
        }

    def file_form(self, column: str, levels: Any, folder: Path | None) -> Any:
        """Return the entry of a settings file: the levels, or true if type or numbers carry the
        order.
        """
        return True if levels is None else list(levels)

    def _checked(self, column: str, value: Any) -> tuple[Any, ...] | None:
        if value is None or value is True:
            return None
        if isinstance(value, str):
            path = value[1:] if value.startswith("@") else None
            value = value.split("<") if path is None else self._lines_of(Path(path), column)
            value = [item.strip() for item in value] if path is None else value
        if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping | set | frozenset):
            self._refuse()
        levels = tuple(map(self._level, value))
        if not levels or "" in levels:
            raise InputError(
                f"the order of column {column!r} has an empty level; give each a name."
            )
        for position, level in enumerate(levels, 1):
            first = levels.index(level) + 1
            if first != position:
                raise InputError(
                    f"the order of column {column!r} has one level twice, at positions "
                    f"{first} and {position}; leave one out."
                )
        return levels

    def _level(self, level: Any) -> str | int | float | bool:
        if isinstance(level, str | bool):
            return level
        with contextlib.suppress(TypeError):
            return operator.index(level)
        number = math.nan
        with contextlib.suppress(TypeError, ValueError):
            number = float(level)
        if not math.isfinite(number):
            raise InputError(f"levels of {self.name} columns must be texts or numbers.")
        return number

    def _lines_of(self, path: Path, column: str) -> list[str]:
        try:
            with path.open(encoding="utf-8-sig") as file:
                text = file.read(LONGEST_ORDER)
        except (OSError, ValueError):
            raise InputError(
                f"the order of column {column!r} cannot be read from {str(path)!r}; name "
                "a file in UTF-8 with one level per line."
            ) from None
        return [line for line in text.split("\n") if line]

    def public_form(self, value: Any) -> Any:
        """The columns alone: levels are values, and some of them may not be in the release."""
        return list(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Hierarchies(ByColumn):
    """A parameter that takes trees over the values of columns: a file, in Python also a table or a
    dictionary.
    """

    describes: str = "column=FILE"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        path = {"type": "array", "items": {"type": ["string", "number"]}}
        paths = {"type": "array", "items": path}
        return by_column({"anyOf": [{"type": "string"}, paths, {"type": "object"}]})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN=FILE"

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, path = text.partition("=")
        return column.strip(), path.strip()

    def located(self, value: Any, folder: Path) -> Any:
        """Resolve the files that a settings file in this folder names."""
        if not isinstance(value, Mapping):
            return value
        return {
            name: str(folder / tree) if isinstance(tree, str) else tree
            for name, tree in value.items()
        }

    def file_form(self, column: str, tree: Any, folder: Path | None) -> Any:
        """Return the entry of a settings file: the path of the tree's file, or the tree itself."""
        return (tree.reference(folder) if folder else None) or tree.as_data()

    def _checked(self, column: str, value: Any) -> Any:
        from microagg.table.hierarchy import Hierarchy

        return value if isinstance(value, Hierarchy) else Hierarchy.of(value)

    def public_form(self, value: Any) -> Any:
        """The digest of each tree: whoever has the file can tell that it is the one, and its values
        stay inside.
        """
        from microagg.table.hierarchy import Hierarchy

        return {
            name: tree if isinstance(tree, str) else Hierarchy.of(tree).digest
            for name, tree in value.items()
        }


KINDS = KindByColumn(
    "kinds",
    "The kind of a column: numeric, ordinal (levels with an order) or nominal "
    "(categories); overrides its type.",
    describes="column=KIND",
    choices=tuple(kind.value for kind in Kind),
    flag="kind",
)
NOMINAL = Names("nominal", "Columns of categories without an order, even if they are numbers.")
ORDINAL = Orders(
    "ordinal",
    "A column of levels and their order, the lowest first; the name alone if its type "
    "or its numbers give the order.",
)
IMPORTANCE = WeightByColumn("importance", "How important a column is; above 0, 1 is normal.")
AGGREGATE = AggregateByColumn(
    "aggregate",
    f"The value that a group releases of a column; by default the "
    f"{default_aggregate(Kind.NUMERIC).name} "
    f"of numbers, the {default_aggregate(Kind.ORDINAL).name} of levels, the "
    f"{default_aggregate(Kind.NOMINAL).name} of categories. Of the weight: mean, keep or drop.",
    describes="column=WORD",
)
HIERARCHY = Hierarchies(
    "hierarchy",
    "A tree over the values of a column: a file with value;parent;…;top in each line, no header.",
)
MISSING = Choice(
    "missing",
    ("group", "error", "drop"),
    "group",
    "Records with missing quasi-identifiers: group them with similar ones, refuse them, or "
    "leave them out.",
)
SPECIAL = Codes(
    "special",
    'Codes such as 97 that mean "not applicable" or "refused" in a column of numbers or levels.',
)
NA = Markers("na", "Further texts that mean a missing value; empty cells are missing anyway.")
OF_COLUMNS = (KINDS, NOMINAL, ORDINAL, IMPORTANCE, AGGREGATE, HIERARCHY, SPECIAL, NA)
"""The parameters that `column_settings` puts together."""


class MeaningOptions(TypedDict, total=False):
    """Keywords that say what the values of a column mean, whoever made the table."""

    kinds: Mapping[str, str] | Sequence[str] | str | None
    nominal: Sequence[str | int] | str | int
    ordinal: Mapping[str, Any] | Sequence[str | int] | str | int | None
    special: Mapping[str, Any] | Sequence[str] | str | None
    na: Sequence[Any] | str | float


class ColumnOptions(MeaningOptions, total=False):
    """Keywords that `column_settings` takes."""

    importance: Mapping[str, float] | Sequence[str] | str | None
    aggregate: Mapping[str, str] | Sequence[str] | str | None
    hierarchy: Mapping[str, Any] | Sequence[str] | str | None


def column_settings(**value: Any) -> ColumnSettings:
    """Check settings of columns and combine them; contradictory ones are refused.

    >>> column_settings(nominal=["sex"], ordinal={"education": ["P", "S"]}).kinds["education"].value
    'ordinal'
    """
    parsed: dict[str, Any] = {
        item.name: item.parse(value.pop(item.name, item.default)) for item in OF_COLUMNS
    }
    if value:
        raise InputError(f"columns have no setting {next(iter(value))!r}.")
    answers: dict[str, tuple[Kind, str]] = {}
    for name, kind, said_by in (
        *((name, Kind(word), KINDS.name) for name, word in parsed["kinds"].items()),
        *((name, Kind.NOMINAL, NOMINAL.name) for name in parsed["nominal"]),
        *((name, Kind.ORDINAL, ORDINAL.name) for name in parsed["ordinal"]),
    ):
        first, by = answers.setdefault(name, (kind, said_by))
        if first is not kind:
            raise InputError(
                f"column {name!r} is {first} by {by} and {kind} by {said_by}; choose one."
            )
    settings = ColumnSettings(
        kinds={name: kind for name, (kind, _) in answers.items()},
        levels={name: levels for name, levels in parsed["ordinal"].items() if levels is not None},
        importance=parsed["importance"],
        aggregate=parsed["aggregate"],
        hierarchy=parsed["hierarchy"],
        special=parsed["special"],
        na=parsed["na"],
    )
    _check_two_meanings(settings)
    return settings


def _check_two_meanings(settings: ColumnSettings) -> None:
    """Refuse a marker of missing values that is a special code or a level, and a code that is a
    level.
    """
    markers = {as_number(marker) for marker in settings.na}
    for name in dict.fromkeys((*settings.special, *settings.levels)):
        codes = set(settings.special.get(name, ()))
        levels = {
            as_number(level) if isinstance(level, str) else level
            for level in settings.levels.get(name, ())
        }
        for what, both in (
            ("special and among na", codes & markers),
            ("special and among its levels", codes & levels),
            ("among its levels and among na", levels & markers),
        ):
            if both:
                raise InputError(
                    f"column {name!r} has a code that is {what}; it can be one of them only."
                )
