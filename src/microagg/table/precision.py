"""Precision of numeric columns: to how many decimals the mean of a group is rounded.

A column has the precision of most of its values: the fewest decimals that all of them have but one
in twenty (or a single one). One odd cell among whole numbers therefore does not make means exact.
Where that takes more than four decimals (raw floats, also those written with six), the number of
decimals follows from the column's spread.

All that decides is a count or an order statistic, so a table gives the same number of decimals
whether it is read at once or chunk by chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import numpy as np

from microagg.table.reduction import Reduction
from microagg.table.variable import Variable

FINEST = 9  # decimals that are looked at
MOST = 4  # a column that needs more decimals than this is taken to have no precision of its own
ODD = 20  # one value in so many may have more decimals than the column
DIGITS = Decimal(300)  # steps within one standard deviation: three to four significant digits of it
# of the range: a narrower middle of the values tells nothing of their spread
NARROW = Decimal("1e-9")
RUN = 65_536  # values at a time, so that they stay in the processor's cache
_WHOLE = 2.0**53
_ZERO = -2000  # the binary exponent of 0, below those of all other numbers
_LARGEST_POWER = 300  # powers of ten above this leave float64 too soon

ValuesAt = Callable[[Sequence[int]], Mapping[int, float]]
"""The values of a column at these places, from 0, in ascending order."""
Reason = Literal["own", "most", "spread"]


@dataclass(frozen=True)
class Precision:
    """To what the means of a numeric column are rounded, and why."""

    decimals: int | None = None
    """Decimals of a released mean, negative for tens and hundreds; None where nothing is rounded.
    """
    written: int | None = None
    """The fewest decimals that all values have; None if some have more than nine."""
    reason: Reason = "own"
    """own: all values have so many decimals; most: nearly all do; spread: it follows from the
    spread.
    """


@dataclass
class PrecisionFacts(Reduction):
    """Counts of the values of a column by their decimals; those of chunks can be added up.

    A value has d decimals if it differs from such a number by no more than rounding leaves over,
    beside its own size or the column's usual (median) one. Where that is a quarter of the last
    decimal or more, it shows nothing.
    """

    values: int = 0
    """How many values there are besides 0."""
    passed: np.ndarray = field(default_factory=lambda: np.zeros(FINEST + 1, np.int64))
    """By decimals: how many of these have at most so many, beside their own size."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How many values there are of each binary exponent, 0 included."""
    needs: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in range(FINEST + 1)])
    """By decimals, of the other values: how many have so many if the usual exponent is this or
    more.
    """
    single: bool = False
    """Whether values were stored in single precision, which carries some seven digits."""

    @classmethod
    def of_chunk(cls, values: np.ndarray, *, single: bool = False) -> PrecisionFacts:
        """Count the values of a column, or of a chunk of it.

        >>> facts = PrecisionFacts.of_chunk(np.array([1.5, 2.25, 0.0]))
        >>> facts.values, facts.passed[:3].tolist()
        (2, [0, 1, 2])
        """
        facts = PrecisionFacts(single=single)
        for start in range(0, len(values), RUN):
            facts._count(values[start : start + RUN])
        return facts

    @staticmethod
    def of_whole_numbers(values: int) -> PrecisionFacts:
        """Count so many values of a type that holds whole numbers only."""
        return PrecisionFacts(values, np.full(FINEST + 1, values, np.int64))

    def _count(self, run: np.ndarray) -> None:
        zeros = int((run == 0.0).sum())
        exponents = np.frexp(run)[1]
        _add(self.sizes, exponents[run != 0.0] if zeros else exponents)
        if zeros:
            self.sizes[_ZERO] = self.sizes.get(_ZERO, 0) + zeros
        self.values += len(run) - zeros
        # all larger numbers of float64 are whole, which shows nothing
        small = np.abs(run) <= _WHOLE
        whole = small & (run == np.rint(run))
        self.passed += int(whole.sum()) - zeros
        left = run[small & ~whole]
        for decimals in range(FINEST + 1):
            if len(left) == 0:
                return
            tolerated = self._tolerance * 10.0**decimals
            scaled = left * 10.0**decimals
            off, slack = np.abs(scaled - np.rint(scaled)), tolerated * np.abs(left)
            telling = slack < 0.25
            passing = telling & (off <= slack)
            self.passed[decimals:] += int(passing.sum())
            failing = telling & ~passing
            left = left[failing]
            _add(self.needs[decimals], np.frexp(off[failing] / tolerated)[1])

    @property
    def _tolerance(self) -> float:
        return 1e-7 if self.single else 2e-15

    def combine(self, more: PrecisionFacts) -> PrecisionFacts:
        """Add the counts of another chunk."""
        self.values += more.values
        self.passed = self.passed + more.passed
        pairs = zip([self.sizes, *self.needs], [more.sizes, *more.needs], strict=True)
        for mine, theirs in pairs:
            for exponent, count in theirs.items():
                mine[exponent] = mine.get(exponent, 0) + count
        return self

    def decimals(self, odd: int = 0, finest: int = FINEST) -> int | None:
        """Return the fewest decimals that all values but `odd` have; None if that takes more than
        `finest`.
        """
        usual = self._usual_exponent()
        for decimals in range(finest + 1):
            passing = int(self.passed[decimals])
            if math.ldexp(1.0, usual) * self._tolerance * 10.0**decimals < 0.25:
                passing += sum(n for need, n in self.needs[decimals].items() if need <= usual)
            if self.values - passing <= odd:
                return decimals
        return None

    def _usual_exponent(self) -> int:
        """Return the binary exponent of the (upper) median of the sizes."""
        rank, before = sum(self.sizes.values()) // 2, 0
        for exponent in sorted(self.sizes):
            before += self.sizes[exponent]
            if before > rank:
                return exponent
        return _ZERO

    @property
    def of_most(self) -> int | None:
        """The decimals that nearly all values have, if there is such a number."""
        return self.decimals(max(1, self.values // ODD) if self.values > 2 else 0, MOST)

    def precision(self, finest: int, count: int, values_at: ValuesAt) -> Precision:
        """Return the precision of a column with `count` values, zeros included.

        `finest` are the decimals of its origin. `at` is called where the spread decides.
        """
        written, of_most = self.decimals(), self.of_most
        whole = None if written is None else max(written, finest)
        if of_most is None:
            return Precision(
                decimals_of_spread(values_at(places_of_spread(count)), count), whole, "spread"
            )
        decimals = max(of_most, finest)
        return Precision(decimals, whole, "own" if decimals == whole else "most")


def _add(counts: dict[int, int], exponents: np.ndarray) -> None:
    if len(exponents) == 0:
        return
    least = int(exponents.min())
    for index, count in enumerate(np.bincount(exponents - least).tolist()):
        if count:
            counts[least + index] = counts.get(least + index, 0) + count


def places_of_spread(count: int) -> tuple[int, ...]:
    """Return the places in the order of so many values that tell how far they are spread.

    >>> places_of_spread(101)
    (0, 5, 25, 75, 95, 100)
    """
    low = (0, count // 20, count // 4)
    return *low, *(count - 1 - index for index in reversed(low))


def decimals_of_spread(values: Mapping[int, float], count: int) -> int | None:
    """Return the decimals that give three to four significant digits of the standard deviation.

    That is estimated from the quartiles, so that a few values far out do not count. Where the
    middle half of the values is (all but) one value, the middle nine tenths tell, then all.
    None where all values are equal. `values` has those at `places_of_spread(count)`.

    >>> decimals_of_spread({0: -3.0, 5: -1.6, 25: -0.7, 75: 0.7, 95: 1.6, 100: 3.0}, 101)
    3
    """
    ends = [Decimal(values[index]) for index in places_of_spread(count)]
    widths = [ends[3] - ends[2], ends[4] - ends[1], ends[5] - ends[0]]
    normal = (Decimal("1.349"), Decimal("3.29"), Decimal(6))
    for width, deviations in zip(widths, normal, strict=True):
        if width > NARROW * widths[2]:
            return -(width / deviations / DIGITS).adjusted()
    return None


def precision_of(variable: Variable, column: np.ndarray) -> Precision:
    """Return the precision of a numeric column; NaN where a cell has no value. Times have steps
    instead.

    >>> precision_of(Variable("x", origin=Decimal("0.25")), np.array([0.0, np.nan, 1.5])).decimals
    2
    >>> precision_of(Variable("age"), np.append(np.arange(20.0, 60.0), 1 / 3))
    Precision(decimals=0, written=None, reason='most')
    """
    present = column if not np.isnan(column).any() else column[~np.isnan(column)]
    if variable.unit or len(present) == 0:
        return Precision()

    def at(places: Sequence[int]) -> dict[int, float]:
        ordered = np.partition(present, sorted(set(places)))
        return {index: float(ordered[index]) for index in places}

    facts = PrecisionFacts.of_chunk(present, single=variable.single)
    return facts.precision(decimals_of_origin(variable), len(present), at)


def decimals_of_origin(variable: Variable) -> int:
    """Return how many decimals the value has that a column's numbers are differences from."""
    exponent = Decimal(variable.origin).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def decimals_of(column: np.ndarray, *, single: bool = False) -> int | None:
    """Return how many decimals the values have, at least one of them; None if it takes more than
    nine.

    Values that were stored in single precision carry some seven digits: what lies beyond is not
    theirs.

    >>> (
    ...     decimals_of(np.array([1.5, 2.25])),
    ...     decimals_of(np.array([3.0, 4.0])),
    ...     decimals_of(np.array([1 / 3])),
    ... )
    (2, 0, None)
    """
    return PrecisionFacts.of_chunk(column, single=single).decimals()


def round_to(column: np.ndarray, decimals: int | None) -> np.ndarray:
    """Round to so many decimals; None leaves the column as it is. Never leaves a negative zero."""
    if decimals is None:
        return column + 0.0
    if decimals > _LARGEST_POWER:
        return (
            np.round(column * 10.0**_LARGEST_POWER, decimals - _LARGEST_POWER)
            / 10.0**_LARGEST_POWER
            + 0.0
        )
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.round(column, decimals)
    return np.where(np.isfinite(rounded), rounded, column) + 0.0


def rounded_means(variable: Variable, means: np.ndarray, decimals: int | None) -> np.ndarray:
    """Round means of a numeric column to its decimals, or to the step of its times; halves to even.

    Even is what the value itself is, not its difference from the origin.

    >>> rounded_means(Variable("year", origin=1999), np.array([0.5, 1.5]), 0).tolist()
    [1.0, 1.0]
    """
    if variable.unit:
        step = variable.step or 1
        odd = int(variable.origin) // step % 2
        return (np.rint(means / step + odd) - odd) * step + 0.0
    if not variable.origin or decimals is None:
        return round_to(means, decimals)
    origin = Decimal(variable.origin).scaleb(decimals)
    below = origin.to_integral_value("ROUND_FLOOR")
    shift = float(origin - below) + int(below) % 2
    power = 10.0 ** abs(decimals)
    steps = np.rint((means * power if decimals >= 0 else means / power) + shift) - shift
    return (steps / power if decimals >= 0 else steps * power) + 0.0
