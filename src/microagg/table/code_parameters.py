"""Parameters that are codes: special values of a column, and markers of missing cells."""

from __future__ import annotations

import contextlib
import csv
import math
import re
from dataclasses import dataclass
from typing import Any

from microagg.errors import InputError
from microagg.table.column_parameters import (
    ByColumn,
)
from microagg.table.declared import Schema, by_column, one_or_several
from microagg.table.name_parameters import Names

PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Codes(ByColumn):
    """A parameter that takes codes for columns; those that are written as numbers are numbers,
    so that they match by value.

    >>> (
    ...     Codes("special", "").parse("AGEYOUNG=97,refused"),
    ...     Codes("special", "").parse({"AGEYOUNG": 97}),
    ... )
    ({'AGEYOUNG': (97, 'refused')}, {'AGEYOUNG': (97,)})
    """

    describes: str = "column=CODE,CODE"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return by_column(one_or_several({"type": ["string", "number"]}))

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN=CODES"

    def _typed(self, text: Any) -> tuple[Any, Any]:
        if not isinstance(text, str) or "=" not in text:
            self._refuse()
        column, _, codes = text.partition("=")
        try:
            return column.strip(), next(csv.reader([codes.strip()], skipinitialspace=True), [])
        except csv.Error:
            self._refuse()

    def _checked(self, column: str, value: Any) -> tuple[Any, ...]:
        listed = value if isinstance(value, list | tuple) else [value]
        codes = tuple(dict.fromkeys(self._code(column, item) for item in listed))
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

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return one_or_several({"type": ["string", "number"]})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "TEXT"

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
