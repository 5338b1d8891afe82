"""Parameters, declared: name, what may be given, default, help. Methods and settings use the same
declarations.

A declaration is all that the command line, a manifest, a form or a check needs to know of a
parameter. This module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import contextlib
import datetime
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from microagg.errors import InputError
from microagg.table.declared import (
    Declared,
    OptionForm,
    Schema,
)

MOST_STEPS = 1e6  # for each record: hours for a thousand records


class Parameter(Protocol):
    """Base of every declaration of a parameter."""

    @property
    def name(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def help(self) -> str: ...
    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        ...

    @property
    def json_schema(self) -> Mapping[str, Any]: ...
    def option_forms(self) -> tuple[OptionForm, ...]: ...
    def from_typed(self, typed: Mapping[str, Any]) -> Any: ...
    def parse(self, value: Any) -> Any:
        """The value, or its text as typed on a command line, checked; raises InputError."""
        ...


@dataclass(frozen=True)
class Choice(Declared):
    """A parameter that takes one of a few words."""

    name: str
    choices: tuple[str, ...]
    default: str
    help: str

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"enum": list(self.choices)}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "|".join(self.choices)

    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        return " | ".join(self.choices)

    def parse(self, value: Any) -> str:
        """The value, if it is one of the choices."""
        if not isinstance(value, str) or value not in self.choices:
            raise InputError(f"{self.name} must be one of {', '.join(self.choices)}.")
        return str(value)


@dataclass(frozen=True)
class Number(Declared):
    """A parameter that takes a number within bounds."""

    name: str
    low: float
    high: float
    default: float | None
    help: str
    whole: bool = False
    public: bool = True
    """True if the value may be public; False if a run adds what it detects."""

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.low, "maximum": self.high}

    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        return f"{'whole number' if self.whole else 'number'} from {self.low:g} to {self.high:g}"

    def parse(self, value: Any) -> float | None:
        """The value as a number, if it is one and within bounds; None only where that is the
        default.
        """
        if value is None and self.default is None:
            return None
        number = float("nan")
        with contextlib.suppress(TypeError, ValueError):
            number = number if value is None else float(value)
        if not self.low <= number <= self.high or (self.whole and not number.is_integer()):
            raise InputError(f"{self.name} must be a {self.describes}.")
        return int(number) if self.whole else number


@dataclass(frozen=True)
class Effort(Declared):
    """Effort of a search: one of a few words, or a number of steps for each record."""

    name: str
    words: tuple[str, ...]
    default: str
    help: str

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"anyOf": [{"enum": list(self.words)}, {"type": "number", "minimum": 0}]}

    @property
    def describes(self) -> str:
        """Describe the accepted values in words."""
        return f"{' | '.join(self.words)} | steps for each record"

    def parse(self, value: Any) -> str | float:
        """The word, or the number of steps for each record."""
        if isinstance(value, str) and value in self.words:
            return str(value)
        try:
            return float(Number(self.name, 0, MOST_STEPS, 0, self.help).parse(value) or 0.0)
        except InputError:
            raise InputError(
                f"{self.name} must be one of {', '.join(self.words)}, or a number of "
                f"steps for each record "
                f"from 0 to {MOST_STEPS:g}."
            ) from None


@dataclass(frozen=True)
class Flag(Declared):
    """A parameter that is switched on or off.

    >>> Flag("refine", "improve the groups").parse(True)
    True
    """

    name: str
    help: str
    default: bool = False
    describes: str = "yes or no"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "boolean"}

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one switch."""
        return (OptionForm(self.name, self.help, switch=True),)

    def parse(self, value: Any) -> bool:
        """True or False, and nothing that merely counts as such."""
        # numpy's too, without numpy
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise InputError(f"{self.name} must be True or False.")


@dataclass(frozen=True)
class OptionalBool(Declared):
    """A parameter that is switched on or off, or left to be found out: True, False or None.

    >>> OptionalBool("header", "whether the first row holds names").parse(None) is None
    True
    """

    name: str
    help: str
    default: None = None
    describes: str = "yes, no, or found out"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "boolean"}

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one switch."""
        return (OptionForm(self.name, self.help, switch=True),)

    def parse(self, value: Any) -> bool | None:
        """True, False or None, and nothing that merely counts as such."""
        if value is None or isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return None if value is None else bool(value)
        raise InputError(f"{self.name} must be True, False or None.")


@dataclass(frozen=True)
class OptionalInt(Declared):
    """A parameter that takes any whole number, or none.

    >>> OptionalInt("seed", "repeats a run").parse("7")
    7
    """

    name: str
    help: str
    default: int | None = None
    describes: str = "whole number"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "integer"}

    def parse(self, value: Any) -> int | None:
        """The whole number; None if none was given."""
        if value is None:
            return None
        with contextlib.suppress(TypeError, ValueError):
            if not isinstance(value, bool):
                return int(value) if isinstance(value, str) else operator.index(value)
        raise InputError(f"{self.name} must be a whole number.")


@dataclass(frozen=True)
class Day(Declared):
    """A parameter that takes a calendar day.

    >>> Day("date", "when").parse("2026-11-17")
    '2026-11-17'
    """

    name: str
    help: str
    default: str | None = None
    describes: str = "day as YYYY-MM-DD"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "string", "format": "date"}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "YYYY-MM-DD"

    def parse(self, value: Any) -> str | None:
        """The day as text, YYYY-MM-DD; None if none was given."""
        if value is None:
            return None
        with contextlib.suppress(TypeError, ValueError):
            day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)
            return day.strftime("%Y-%m-%d")
        raise InputError(f"{self.name} must be a {self.describes}.")


@dataclass(frozen=True)
class ShortText(Declared):
    """A parameter that takes a few words on one line.

    >>> ShortText("title", "what the report is called").parse("  Survey of 2026 ")
    'Survey of 2026'
    """

    name: str
    help: str
    default: str = ""
    describes: str = "text of at most 120 characters"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "string", "maxLength": 120}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "TEXT"

    def parse(self, value: Any) -> str:
        """Return the text without spaces around it."""
        text = "" if value is None else " ".join(str(value).split())
        if len(text) > 120:
            raise InputError(f"{self.name} must be a {self.describes}.")
        return text


@dataclass(frozen=True)
class GroupSize(Declared):
    """k: a whole number, at least 2.

    >>> GroupSize("k", "").parse("5")
    5
    """

    name: str
    help: str
    default: None = None
    describes: str = "whole number, at least 2"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "integer", "minimum": 2}

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one option that has a short form."""
        return (OptionForm(self.name, self.help, short="k"),)

    def parse(self, value: Any) -> int:
        """k as an int."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        k = None
        with contextlib.suppress(InputError):
            k = OptionalInt(self.name, self.help).parse(value)
        if k is None:
            raise InputError(f"{self.name} must be a {self.describes}.")
        if k < 2:
            raise InputError(
                f"{self.name} is {k}, but must be at least 2: a group of one protects nobody."
            )
        return k


K = GroupSize("k", "The least number of records that must look alike.")
