"""Parameters that say what columns hold: their kinds, orders, special codes, and what groups
release of them.

All but lists of names are given by column: a dictionary in Python, column=… on a command line. This
module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import contextlib
import csv
import math
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from microagg.errors import InputError
from microagg.table.aggregates import AGGREGATES
from microagg.table.parameters import Choice, Names
from microagg.table.schema import OF_WEIGHT, ColumnSettings, Kind

PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
LARGEST_WEIGHT = 1e12
LONGEST_ORDER = 1 << 20  # characters of a file with the levels of one column


@dataclass(frozen=True)
class ByColumn:
    """A parameter that takes something for each of some columns, by their names.

    >>> ByColumn("kinds", "").parse(["sex=nominal"])
    {'sex': 'nominal'}
    """

    name: str
    help: str
    default: None = None
    describes: str = "column=value"

    def parse(self, value: Any) -> dict[str, Any]:
        """What was given for each column, checked."""
        found: dict[str, Any] = {}
        for column, given in self._pairs(value):
            name = self._as_name(column)
            checked = self._checked(name, given)
            found[name] = self._joined(name, found[name], checked) if name in found else checked
        return found

    def _pairs(self, value: Any) -> list[tuple[Any, Any]]:
        if value is None:
            return []
        if isinstance(value, Mapping):
            return list(value.items())
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            self._refuse()
        return [self._typed(each) for each in listed]

    def _typed(self, text: Any) -> tuple[Any, Any]:
        """The column and its value, from what was typed as column=value."""
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, given = text.rpartition("=")
        return column.strip(), given.strip()

    def _as_name(self, column: Any) -> str:
        if isinstance(column, str) and column:
            return str(column)
        with contextlib.suppress(TypeError):
            if not isinstance(column, bool | str):
                return str(operator.index(column))
        return self._refuse()

    def _checked(self, column: str, given: Any) -> Any:
        return given

    def _joined(self, column: str, first: Any, second: Any) -> Any:
        if first != second:
            raise InputError(f"{self.name} was given twice for column {column!r}; choose one.")
        return first

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"{self.name} must name columns and what is said of each, as "
            f"{self.describes} (in Python a dictionary)."
        )


@dataclass(frozen=True)
class WordByColumn(ByColumn):
    """A parameter that takes one of a few words for each column.

    >>> WordByColumn("kinds", "", choices=("numeric", "nominal")).parse({"sex": "nominal"})
    {'sex': 'nominal'}
    """

    choices: tuple[str, ...] = ()

    def _checked(self, column: str, given: Any) -> str:
        if not isinstance(given, str) or given not in self.choices:
            raise InputError(
                f"{self.name} of column {column!r} must be one of {', '.join(self.choices)}."
            )
        return str(given)


@dataclass(frozen=True)
class WeightByColumn(ByColumn):
    """A parameter that takes a positive number for each column.

    >>> WeightByColumn("importance", "").parse(["age=2"])
    {'age': 2.0}
    """

    describes: str = "column=number"

    def _checked(self, column: str, given: Any) -> float:
        number = math.nan
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = math.nan if isinstance(given, bool) else float(given)
        if not (math.isfinite(number) and number > 0.0):
            raise InputError(f"{self.name} of column {column!r} must be a number above 0.")
        # squares of distances would leave float64
        if not 1.0 / LARGEST_WEIGHT <= number <= LARGEST_WEIGHT:
            raise InputError(
                f"{self.name} of column {column!r} must lie between "
                f"{1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}."
            )
        return number


@dataclass(frozen=True)
class Orders(ByColumn):
    """A parameter that takes the levels of columns in their order, or names of columns whose type
    or numbers carry it.

    On a command line and as text an order is typed with < between its levels, or read from a file
    with a level a line.

    >>> orders = Orders("ordinal", "which columns have an order")
    >>> orders.parse("education=P < S < PS"), orders.parse(["education", "age"])
    ({'education': ('P', 'S', 'PS')}, {'education': None, 'age': None})
    """

    describes: str = 'column, "column=LOWEST<NEXT<HIGHEST" or column=@FILE with a level a line'

    def _pairs(self, value: Any) -> list[tuple[Any, Any]]:
        return super()._pairs(
            [value] if isinstance(value, int) and not isinstance(value, bool) else value
        )

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str):
            return text, None
        column, equals, order = text.partition("=")
        return (column.strip(), order.strip()) if equals else (text, None)

    def located(self, given: Any, folder: Path) -> Any:
        """What a file in this folder says, with the files it names where they are."""
        if not isinstance(given, Mapping):
            return given
        return {
            name: f"@{folder / said[1:]}"
            if isinstance(said, str) and said.startswith("@")
            else said
            for name, said in given.items()
        }

    def file_form(self, column: str, levels: Any, folder: Path | None) -> Any:
        """What a file of settings says of one column: its levels, or true where its type or its
        numbers carry the order.
        """
        return True if levels is None else list(levels)

    def _checked(self, column: str, given: Any) -> tuple[Any, ...] | None:
        if given is None or given is True:
            return None
        if isinstance(given, str):
            path = given[1:] if given.startswith("@") else None
            given = given.split("<") if path is None else self._lines_of(Path(path), column)
            given = [each.strip() for each in given] if path is None else given
        if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping | set | frozenset):
            self._refuse()
        levels = tuple(map(self._level, given))
        if not levels or "" in levels:
            raise InputError(
                f"the order of column {column!r} has an empty level; give each a name."
            )
        for position, level in enumerate(levels, 1):
            first = levels.index(level) + 1
            if first != position:
                raise InputError(
                    f"the order of column {column!r} has one level twice, in places "
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
                "a file in UTF-8 with a level a line."
            ) from None
        return [line for line in text.split("\n") if line]

    def public_form(self, given: Any) -> Any:
        """The columns alone: levels are values, and some of them may not be in the release."""
        return list(given) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class Hierarchies(ByColumn):
    """A parameter that takes trees over the values of columns: a file, in Python also a table or a
    dictionary.
    """

    describes: str = "column=FILE"

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, path = text.partition("=")
        return column.strip(), path.strip()

    def located(self, given: Any, folder: Path) -> Any:
        """What a file in this folder says, with the files it names where they are."""
        if not isinstance(given, Mapping):
            return given
        return {
            name: str(folder / tree) if isinstance(tree, str) else tree
            for name, tree in given.items()
        }

    def file_form(self, column: str, tree: Any, folder: Path | None) -> Any:
        """What a file of settings says of one column: the file of its tree, seen from the folder,
        or the tree itself.
        """
        return (tree.reference(folder) if folder else None) or tree.as_data()

    def _checked(self, column: str, given: Any) -> Any:
        from microagg.table.hierarchy import Hierarchy

        return given if isinstance(given, Hierarchy) else Hierarchy.of(given)

    def public_form(self, given: Any) -> Any:
        """The digest of each tree: whoever has the file can tell that it is the one, and its values
        stay inside.
        """
        from microagg.table.hierarchy import Hierarchy

        return {
            name: tree if isinstance(tree, str) else Hierarchy.of(tree).digest
            for name, tree in given.items()
        }


@dataclass(frozen=True)
class Codes(ByColumn):
    """A parameter that takes codes for columns; those that are written as numbers are numbers,
    so that they match by value.

    >>> Codes("special", "").parse("AGEYOUNG=97,refused"), Codes("special", "").parse({"AGEYOUNG": 97})
    ({'AGEYOUNG': (97, 'refused')}, {'AGEYOUNG': (97,)})
    """

    describes: str = "column=CODE,CODE"

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, codes = text.partition("=")
        try:
            return column.strip(), next(csv.reader([codes.strip()], skipinitialspace=True), [])
        except csv.Error:
            self._refuse()

    def _checked(self, column: str, given: Any) -> tuple[Any, ...]:
        listed = given if isinstance(given, list | tuple) else [given]
        codes = tuple(dict.fromkeys(self._code(column, each) for each in listed))
        if not codes:
            raise InputError(f"{self.name} names no code for column {column!r}; give one.")
        return codes

    def _joined(self, column: str, first: Any, second: Any) -> tuple[Any, ...]:
        return tuple(dict.fromkeys((*first, *second)))

    def _code(self, column: str, code: Any) -> int | float | str:
        if isinstance(code, str) and code.strip():
            return as_number(code.strip())
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if not isinstance(code, str | bool):
                number = float(code)
                if math.isfinite(number):
                    return int(number) if number.is_integer() else number
        raise InputError(
            f"{self.name} codes of column {column!r} must be numbers or texts; what is "
            "empty or NaN is missing anyway."
        )


@dataclass(frozen=True)
class Markers(Names):
    """A parameter that takes texts or numbers that stand for what is missing.

    >>> Markers("na", "").parse(-9), Markers("na", "").parse(["-9", "refused"])
    (('-9',), ('-9', 'refused'))
    """

    describes: str = "texts or numbers"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The markers as texts, each once."""
        listed = value if isinstance(value, list | tuple) else [value]
        return tuple(dict.fromkeys(map(self._marker, listed)))

    def _marker(self, value: Any) -> str:
        if isinstance(value, str):
            return value.strip()
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if (
                value is not None
                and not isinstance(value, bool)
                and math.isfinite(number := float(value))
            ):
                return str(int(number)) if number.is_integer() else repr(number)
        raise InputError(
            f"{self.name} must be a list of texts or numbers that stand for missing values."
        )


def as_number(text: str) -> int | float | str:
    """The number that a text is; the text itself where it is none, or a code that begins with
    zeros.

    >>> as_number("97"), as_number("9.5"), as_number("007"), as_number("refused")
    (97, 9.5, '007', 'refused')
    """
    if not PLAIN_NUMBER.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number


KINDS = WordByColumn(
    "kinds",
    "What a column holds: numeric, ordinal (levels with an order) or nominal "
    "(categories); wins over its type.",
    describes="column=KIND",
    choices=tuple(kind.value for kind in Kind),
)
NOMINAL = Names("nominal", "Columns of categories without an order, also where they are numbers.")
ORDINAL = Orders(
    "ordinal",
    "A column of levels and their order, the lowest first; the name alone where its type "
    "or its numbers carry the order.",
)
IMPORTANCE = WeightByColumn(
    "importance", "How many times squared distances in a column count; above 0, 1 if not given."
)
AGGREGATE = WordByColumn(
    "aggregate",
    "What a group releases of a column; by default the mean of numbers, the median of "
    "levels, the mode of categories. Of the "
    "weight: mean, keep or drop.",
    describes="column=WORD",
    choices=tuple(dict.fromkeys((*AGGREGATES, *OF_WEIGHT))),
)
HIERARCHY = Hierarchies(
    "hierarchy",
    "A tree over the values of a column: a file with value;parent;…;top in each line, no header.",
)
MISSING = Choice(
    "missing",
    ("group", "error", "drop"),
    "group",
    "What happens to records with missing quasi-identifiers: grouped with what they are "
    "like, refused, or left out.",
)
SPECIAL = Codes(
    "special",
    "Codes in a column of numbers or levels that are none: not applicable, refused and the like.",
)
NA = Markers("na", "Further markers of missing values; what is empty is missing anyway.")
OF_COLUMNS = (KINDS, NOMINAL, ORDINAL, IMPORTANCE, AGGREGATE, HIERARCHY, SPECIAL, NA)
"""The parameters that `column_settings` puts together."""


def column_settings(**given: Any) -> ColumnSettings:
    """What is said of columns, checked and put together; one with different answers is refused.

    >>> column_settings(nominal=["sex"], ordinal={"education": ["P", "S"]}).kinds["education"].value
    'ordinal'
    """
    parsed: dict[str, Any] = {
        each.name: each.parse(given.pop(each.name, each.default)) for each in OF_COLUMNS
    }
    if given:
        raise InputError(f"there is no {next(iter(given))!r} to be said of columns.")
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
    asked = ColumnSettings(
        kinds={name: kind for name, (kind, _) in answers.items()},
        levels={name: levels for name, levels in parsed["ordinal"].items() if levels is not None},
        importance=parsed["importance"],
        aggregate=parsed["aggregate"],
        hierarchy=parsed["hierarchy"],
        special=parsed["special"],
        na=parsed["na"],
    )
    _check_two_meanings(asked)
    return asked


def _check_two_meanings(asked: ColumnSettings) -> None:
    """What stands for a missing value is neither a special code nor a level, and a code is no
    level.
    """
    markers = {as_number(marker) for marker in asked.na}
    for name in dict.fromkeys((*asked.special, *asked.levels)):
        codes = set(asked.special.get(name, ()))
        levels = {
            as_number(level) if isinstance(level, str) else level
            for level in asked.levels.get(name, ())
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
