"""Parameters, declared: name, what may be given, default, help. Methods and settings use the same
declarations.

A declaration is all that the command line, a manifest, a form or a check needs to know of a
parameter. This module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from microagg.errors import InputError

MOST_STEPS = 1e6  # for each record: hours for a thousand records


class Parameter(Protocol):
    """What every declaration of a parameter has."""

    @property
    def name(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def help(self) -> str: ...
    @property
    def describes(self) -> str:
        """What may be given, in words."""
        ...

    def parse(self, value: Any) -> Any:
        """The value, or its text as typed on a command line, checked; raises InputError."""
        ...


@dataclass(frozen=True)
class Choice:
    """A parameter that takes one of a few words."""

    name: str
    choices: tuple[str, ...]
    default: str
    help: str

    @property
    def describes(self) -> str:
        """What may be given, in words."""
        return " | ".join(self.choices)

    def parse(self, value: Any) -> str:
        """The value, if it is one of the choices."""
        if not isinstance(value, str) or value not in self.choices:
            raise InputError(f"{self.name} must be one of {', '.join(self.choices)}.")
        return str(value)


@dataclass(frozen=True)
class Number:
    """A parameter that takes a number within bounds."""

    name: str
    low: float
    high: float
    default: float | None
    help: str
    whole: bool = False
    public: bool = True
    """Whether everybody may know what was given; not so where a run adds what it found out."""

    @property
    def describes(self) -> str:
        """What may be given, in words."""
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
class Effort:
    """How hard to search: one of a few words, or a number of steps for each record."""

    name: str
    words: tuple[str, ...]
    default: str
    help: str

    @property
    def describes(self) -> str:
        """What may be given, in words."""
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
class Names:
    """A parameter that takes names of columns: one, or a list of them. Columns of a matrix are
    named by their numbers.

    >>> Names("quasi", "what others may know").parse("age"), Names("quasi", "").parse([0, "age"])
    (('age',), ('0', 'age'))
    """

    name: str
    help: str
    default: tuple[str, ...] = ()
    describes: str = "names of columns"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The names as a tuple."""
        names = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
        if not isinstance(names, Iterable) or isinstance(names, bytes | dict):
            raise InputError(f"{self.name} must be a name or a list of names of columns.")
        return tuple(map(self._as_name, names))

    def _as_name(self, value: Any) -> str:
        if isinstance(value, str):
            return str(value)
        with contextlib.suppress(TypeError):
            return str(operator.index(value))
        raise InputError(f"{self.name} must be a name or a list of names of columns.")


@dataclass(frozen=True)
class ColumnName:
    """A parameter that takes the name of one column, or none.

    >>> ColumnName("weight", "", "others").parse("w"), ColumnName("weight", "", "others").parse(None)
    ('w', None)
    """

    name: str
    help: str
    others: str
    """What to do with further columns of the sort."""
    default: None = None
    describes: str = "the name of one column"

    def parse(self, value: Any) -> str | None:
        """The name; None where there is none."""
        names = () if value is None else Names(self.name, self.help).parse(value)
        if len(set(names)) > 1:
            raise InputError(
                f"{self.name} takes one column, but {len(names)} were named; {self.others}."
            )
        return names[0] if names else None


@dataclass(frozen=True)
class MultiChoice:
    """A parameter that takes any number of a few words: one, or a list of them.

    >>> MultiChoice("accept_risk", ("full-precision", "single-columns"), "what is accepted").parse("single-columns")
    ('single-columns',)
    """

    name: str
    choices: tuple[str, ...]
    help: str
    default: tuple[str, ...] = ()

    @property
    def describes(self) -> str:
        """What may be given, in words."""
        return f"any of {', '.join(self.choices)}"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The words that were given, each once and in the order of the declaration."""
        words = [value] if isinstance(value, str) else value
        proper = isinstance(words, Iterable) and not isinstance(words, bytes | Mapping)
        given = list(words) if proper else [None]
        if not all(isinstance(word, str) and word in self.choices for word in given):
            raise InputError(f"{self.name} must be {self.describes}.")
        return tuple(word for word in self.choices if word in given)


@dataclass(frozen=True)
class Caps:
    """A parameter that takes, for columns by their names, the values beyond which theirs are not
    let.

    One limit is the highest; two are the lowest and the highest, None where there is none. A limit
    is a number, or a percentile such as "99.5%". On a command line, and as text, a pair has a colon
    in its middle: income=1%:99%.

    >>> caps = Caps("cap", "what values may be")
    >>> caps.parse({"income": "99.50 %", "rent": (0, 2000)})
    {'income': (None, '99.5%'), 'rent': (0.0, 2000.0)}
    >>> caps.parse(["income=99.5%", "rent=0:2000"]) == caps.parse({"income": "99.5%", "rent": (0, 2000)})
    True
    """

    name: str
    help: str
    default: None = None
    describes: str = "column=99.5%, column=50000 or column=LOWEST:HIGHEST"

    def parse(self, value: Any) -> dict[str, tuple[float | str | None, float | str | None]]:
        """The lowest and the highest of each column."""
        given = [value] if isinstance(value, str) else () if value is None else value
        if isinstance(given, Mapping):
            pairs = list(given.items())
        elif isinstance(given, list | tuple) and all(
            isinstance(each, str) and "=" in each for each in given
        ):
            pairs = [self._typed(each) for each in given]
        else:
            self._refuse()
        names = [str(name) if _is_number(name) else name for name, _ in pairs]
        if not all(isinstance(name, str) and name for name in names):
            self._refuse()
        if len(set(names)) < len(names):
            raise InputError(
                f"{self.name} was given twice for one column; give both limits as a pair."
            )
        return {name: self._limits(limits) for name, (_, limits) in zip(names, pairs, strict=True)}

    def file_form(self, column: str, limits: tuple[Any, Any], folder: Any = None) -> Any:
        """What a file of settings says of one column, which has no word for nothing.

        >>> Caps("cap", "").file_form("income", (None, "99%")), Caps("cap", "").file_form("rent", (0.0, None))
        ('99%', '0.0:')
        """
        low, high = limits
        if low is None:
            return high
        return f"{low}:" if high is None else [low, high]

    def _typed(self, text: str) -> tuple[str, Any]:
        name, _, limits = text.rpartition("=")
        low, colon, high = limits.partition(":")
        return name.strip(), (low.strip() or None, high.strip() or None) if colon else limits

    def _limits(self, given: Any) -> tuple[float | str | None, float | str | None]:
        if isinstance(given, str) and ":" in given:
            _, given = self._typed(f"={given}")
        pair = tuple(given) if isinstance(given, list | tuple) else (None, given)
        if len(pair) != 2 or pair == (None, None):
            self._refuse()
        low, high = (None if each is None else self._limit(each) for each in pair)
        if isinstance(low, str) and float(low[:-1]) > 50.0:
            raise InputError(
                f"the lowest value of a {self.name} must be a percentile of at most 50%."
            )
        if isinstance(high, str) and float(high[:-1]) < 50.0:
            raise InputError(
                f"the highest value of a {self.name} must be a percentile of at least 50%."
            )
        if isinstance(low, float) and isinstance(high, float) and low >= high:
            raise InputError(f"the lowest value of a {self.name} must be below the highest.")
        return low, high

    def _limit(self, given: Any) -> float | str:
        share = isinstance(given, str) and given.strip().endswith("%")
        number = math.nan
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if not isinstance(given, bool):
                number = float(given.strip()[:-1] if share else given)
        if not math.isfinite(number) or (share and not 0.0 < number < 100.0):
            self._refuse()
        return f"{number:.12g}%" if share else number

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"{self.name} must name columns and their highest value, a number or a "
            f"percentile above 0% and below 100%, "
            "or a pair of their lowest and highest."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Flag:
    """A parameter that is switched on or off.

    >>> Flag("refine", "improve the groups").parse(True)
    True
    """

    name: str
    help: str
    default: bool = False
    describes: str = "yes or no"

    def parse(self, value: Any) -> bool:
        """True or False, and nothing that merely counts as such."""
        # numpy's too, without numpy
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise InputError(f"{self.name} must be True or False.")


@dataclass(frozen=True)
class OptionalBool:
    """A parameter that is switched on or off, or left to be found out: True, False or None.

    >>> OptionalBool("header", "whether the first row holds names").parse(None) is None
    True
    """

    name: str
    help: str
    default: None = None
    describes: str = "yes, no, or found out"

    def parse(self, value: Any) -> bool | None:
        """True, False or None, and nothing that merely counts as such."""
        if value is None or isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return None if value is None else bool(value)
        raise InputError(f"{self.name} must be True, False or None.")


@dataclass(frozen=True)
class OptionalInt:
    """A parameter that takes any whole number, or none.

    >>> OptionalInt("seed", "repeats a run").parse("7")
    7
    """

    name: str
    help: str
    default: int | None = None
    describes: str = "whole number"

    def parse(self, value: Any) -> int | None:
        """The whole number; None if none was given."""
        if value is None:
            return None
        with contextlib.suppress(TypeError, ValueError):
            if not isinstance(value, bool):
                return int(value) if isinstance(value, str) else operator.index(value)
        raise InputError(f"{self.name} must be a whole number.")


@dataclass(frozen=True)
class Day:
    """A parameter that takes a calendar day.

    >>> Day("date", "when").parse("2026-11-17")
    '2026-11-17'
    """

    name: str
    help: str
    default: str | None = None
    describes: str = "day as YYYY-MM-DD"

    def parse(self, value: Any) -> str | None:
        """The day as text, YYYY-MM-DD; None if none was given."""
        if value is None:
            return None
        with contextlib.suppress(TypeError, ValueError):
            day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)
            return day.strftime("%Y-%m-%d")
        raise InputError(f"{self.name} must be a {self.describes}.")


@dataclass(frozen=True)
class GroupSize:
    """k: a whole number, at least 2.

    >>> GroupSize("k", "").parse("5")
    5
    """

    name: str
    help: str
    default: None = None
    describes: str = "whole number, at least 2"

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
                f"{self.name} is {k}, but a group protects nobody unless {self.name} is at least 2."
            )
        return k


K = GroupSize("k", "The least number of records that must look alike.")
