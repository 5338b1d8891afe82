"""The parameter with the caps of columns."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from microagg.errors import InputError
from microagg.table.declared import DeclaredByColumn, Schema, by_column


@dataclass(frozen=True)
class Caps(DeclaredByColumn):
    """A parameter that takes, for columns by their names, the values beyond which theirs are not
    let.

    One limit is the highest; two are the lowest and the highest, None where there is none. A limit
    is a number, or a percentile such as "99.5%". On a command line, and as text, a pair has a colon
    in its middle: income=1%:99%.

    >>> caps = Caps("cap", "what values may be")
    >>> caps.parse({"income": "99.50 %", "rent": (0, 2000)})
    {'income': (None, '99.5%'), 'rent': (0.0, 2000.0)}
    >>> caps.parse(["income=99.5%", "rent=0:2000"]) == caps.parse(
    ...     {"income": "99.5%", "rent": (0, 2000)}
    ... )
    True
    """

    name: str
    help: str
    default: None = None
    describes: str = "column=99.5%, column=50000 or column=LOWEST:HIGHEST"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        limit = {"type": ["number", "string"]}
        pair = {"type": "array", "items": limit, "minItems": 2, "maxItems": 2}
        return by_column({"anyOf": [limit, pair]})

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "COLUMN=LIMIT"

    def parse(self, value: Any) -> dict[str, tuple[float | str | None, float | str | None]]:
        """The lowest and the highest of each column."""
        entries = [value] if isinstance(value, str) else () if value is None else value
        if isinstance(entries, Mapping):
            pairs = list(entries.items())
        elif isinstance(entries, list | tuple) and all(
            isinstance(text, str) and "=" in text for text in entries
        ):
            pairs = [self._typed(text) for text in entries]
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
        """Return the entry of a settings file for one column; TOML has no null.

        >>> (
        ...     Caps("cap", "").file_form("income", (None, "99%")),
        ...     Caps("cap", "").file_form("rent", (0.0, None)),
        ... )
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

    def _limits(self, limits: Any) -> tuple[float | str | None, float | str | None]:
        if isinstance(limits, str) and ":" in limits:
            _, limits = self._typed(f"={limits}")
        pair = tuple(limits) if isinstance(limits, list | tuple) else (None, limits)
        if len(pair) != 2 or pair == (None, None):
            self._refuse()
        low, high = (None if limit is None else self._limit(limit) for limit in pair)
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

    def _limit(self, limit: Any) -> float | str:
        share = isinstance(limit, str) and limit.strip().endswith("%")
        number = math.nan
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            if not isinstance(limit, bool):
                number = float(limit.strip()[:-1] if share else limit)
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
