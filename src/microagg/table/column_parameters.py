"""Parameters with a value for each column."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from microagg.errors import InputError
from microagg.table.aggregates import AGGREGATES
from microagg.table.declared import (
    SEVERAL,
    DeclaredByColumn,
    OptionForm,
    Schema,
    by_column,
    split_words,
)
from microagg.table.schema import OF_WEIGHT

LARGEST_WEIGHT = 1e12


@dataclass(frozen=True)
class ByColumn(DeclaredByColumn):
    """A parameter that takes something for each of some columns, by their names.

    >>> ByColumn("kinds", "").parse(["sex=nominal"])
    {'sex': 'nominal'}
    """

    name: str
    help: str
    default: None = None
    describes: str = "column=value"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "object"}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return f"COLUMN={'|'.join(self.proposed_words)}"

    def parse(self, value: Any) -> dict[str, Any]:
        """Return the checked value of each column."""
        parsed: dict[str, Any] = {}
        for column, entry in self._pairs(value):
            name = self._as_name(column)
            checked = self._checked(name, entry)
            parsed[name] = self._joined(name, parsed[name], checked) if name in parsed else checked
        return parsed

    def _pairs(self, value: Any) -> list[tuple[Any, Any]]:
        if value is None:
            return []
        if isinstance(value, Mapping):
            return list(value.items())
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            self._refuse()
        return [self._typed(item) for item in listed]

    def _typed(self, text: Any) -> tuple[Any, Any]:
        """The column and its value, from what was typed as column=value."""
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, value = text.rpartition("=")
        return column.strip(), value.strip()

    def _as_name(self, column: Any) -> str:
        if isinstance(column, str) and column:
            return str(column)
        with contextlib.suppress(TypeError):
            if not isinstance(column, bool | str):
                return str(operator.index(column))
        return self._refuse()

    def _checked(self, column: str, value: Any) -> Any:
        return value

    def _joined(self, column: str, first: Any, second: Any) -> Any:
        if first != second:
            raise InputError(f"{self.name} was given twice for column {column!r}; choose one.")
        return first

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"{self.name} must give a value for each column, as "
            f"{self.describes} (in Python a dictionary)."
        )


@dataclass(frozen=True)
class WordByColumn(ByColumn):
    """A parameter that takes one of a few words for each column.

    >>> WordByColumn("kinds", "", choices=("numeric", "nominal")).parse({"sex": "nominal"})
    {'sex': 'nominal'}
    """

    choices: tuple[str, ...] = ()
    flag: str = ""
    """Name of its option where it differs, for it is typed for one column at a time."""

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return by_column({"enum": list(self.choices)})

    def _checked(self, column: str, value: Any) -> str:
        return _checked_word(self.name, self.choices, column, value)


@dataclass(frozen=True)
class KindByColumn(WordByColumn):
    """A parameter that takes the kind of each column; numbers have an option of their own.

    >>> kinds = KindByColumn("kinds", "", choices=("numeric", "nominal"), flag="kind")
    >>> kinds.from_typed({"kinds": ["sex=nominal"], "numeric": ["age,rent"]})
    {'sex': 'nominal', 'age': 'numeric', 'rent': 'numeric'}
    """

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return an option for any kind, and one that names columns of numbers."""
        text = f"Columns of numbers, even if they look like codes. {SEVERAL}"
        numbers = OptionForm("numeric", text, "COLUMNS", repeatable=True)
        return (*super().option_forms(), numbers)

    def from_typed(self, typed: Mapping[str, Any]) -> Any:
        """Return the kinds of both options."""
        kinds, numbers = typed.get(self.name), split_words(typed.get("numeric"))
        if not numbers:
            return kinds
        return {**dict(self._pairs(kinds)), **dict.fromkeys(numbers, "numeric")}


@dataclass(frozen=True)
class AggregateByColumn(ByColumn):
    """A parameter that takes an aggregate for each column; of the weight, what becomes of it.

    >>> AggregateByColumn("aggregate", "").parse({"age": "median"})
    {'age': 'median'}
    """

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return by_column({"enum": list(self.choices)})

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the names of all aggregates, and the words for weights."""
        return tuple(dict.fromkeys((*AGGREGATES, *OF_WEIGHT)))

    def _checked(self, column: str, value: Any) -> str:
        return _checked_word(self.name, self.choices, column, value)


def _checked_word(name: str, choices: Sequence[str], column: str, value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} of column {column!r} must be one of {', '.join(choices)}.")
    return str(value)


@dataclass(frozen=True)
class WeightByColumn(ByColumn):
    """A parameter that takes a positive number for each column.

    >>> WeightByColumn("importance", "").parse(["age=2"])
    {'age': 2.0}
    """

    describes: str = "column=number"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return by_column({"type": "number", "exclusiveMinimum": 0})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN=NUMBER"

    def _checked(self, column: str, value: Any) -> float:
        number = math.nan
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = math.nan if isinstance(value, bool) else float(value)
        if not (math.isfinite(number) and number > 0.0):
            raise InputError(f"{self.name} of column {column!r} must be a number above 0.")
        # squares of distances would leave float64
        if not 1.0 / LARGEST_WEIGHT <= number <= LARGEST_WEIGHT:
            raise InputError(
                f"{self.name} of column {column!r} must lie between "
                f"{1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}."
            )
        return number
