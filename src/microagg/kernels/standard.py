"""Whether a group of records may be one: how far it is from the l-diversity, the t-closeness and
the units asked for.

A group is judged by its confidential values and its units alone, column by column, each against
what is asked of that column. They are sorted, so the answer does not depend on the order of the
records, and never looked at beyond the group: what lies between two of its values is summed by
looks into running sums of the whole table. O(s log m) for s records and m distinct values, besides
the sorting.

Atoms (what is missing, and special codes) have numbers behind all values, so once sorted they are
the last. Diversity is that of the values before them; see `guarantees/t.py` for what they do to a
distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.elementary import logarithm

# Places in a row of `asked`; what is not asked for is never missed.
DISTINCT, ENTROPY, RECURSIVE, C, T, SHARE = range(6)
NOTHING_ASKED = (0.0, -1.0, 0.0, 0.0, 2.0, 1.0)

# A distance or an entropy counts as reached within this much; the check of a finished table allows
# ten times as much, so
# that rounding never makes it refuse a group, or two groups that share a class, which were accepted
# here.
CLOSE = 1e-10
STRICTLY = (
    1e-9  # what "less than" leaves between the two sides of the recursive condition, relative
)
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's, for sorting


class Standard(NamedTuple):
    """What groups are measured against: the columns as numbers of values, the whole table's
    counts, what is asked of each column.
    """

    codes: np.ndarray
    """(n, columns) int32: the number of each record's value, in ascending order of the values"""
    ordered: np.ndarray
    """(columns,) uint8: whether distances go by the order of the values"""
    known: np.ndarray
    """(columns,) int64: how many values there are; numbers from there on are atoms (missing,
    special codes), which are none
    """
    begins: np.ndarray
    """(columns + 1,) int64: where the values of each column begin in `cumulative`"""
    cumulative: np.ndarray
    """how many records have this value or a lower one"""
    running: np.ndarray
    """sums of the `cumulative` of lower values; one entry more for each column"""
    asked: np.ndarray
    """(columns, what can be asked) what must be reached in each column, by its place"""

    def of_rows(self, rows: np.ndarray) -> Standard:
        """The same for some records, numbered anew."""
        return self._replace(codes=np.ascontiguousarray(self.codes[rows]))


# For kernels that take a standard where there is none: numba then leaves out what judges, which
# halves the time to compile.
NO_STANDARD: tuple[None, ...] = (None,) * len(Standard._fields)


@kernel
def shortfall(records, count, codes, ordered, known, begins, cumulative, running, asked):
    """How far the first `count` records are from what is asked of a group, over all columns; 0
    if they may be one.
    """
    values, total = np.empty(count, np.int32), 0.0
    for j in range(codes.shape[1]):
        total += _lacking(
            records, count, j, values, codes, ordered, known, begins, cumulative, running, asked
        )
    return total


@part
def falls_short(records, count, codes, ordered, known, begins, cumulative, running, asked):
    """Whether the first `count` records may not be a group: whether their shortfall is above 0."""
    values = np.empty(count, np.int32)
    for j in range(codes.shape[1]):
        if (
            _lacking(
                records, count, j, values, codes, ordered, known, begins, cumulative, running, asked
            )
            > 0.0
        ):
            return True
    return False


@part
def _lacking(records, count, j, values, codes, ordered, known, begins, cumulative, running, asked):
    """The shortfall in one column; `values` is room to work in."""
    for t in range(count):
        values[t] = codes[records[t], j]
    _sort(values, count)
    begin, end, total = begins[j], begins[j + 1], 0.0
    told = count
    if known[j] < end - begin:  # the column has atoms
        while told > 0 and values[told - 1] >= known[j]:
            told -= 1
    if asked[j, DISTINCT] > 0.0 or asked[j, ENTROPY] >= 0.0 or asked[j, RECURSIVE] > 0.0:
        total += _lacking_diversity(values, told, asked, j)
    if asked[j, SHARE] < 1.0:
        total += _excess_share(values, told, asked[j, SHARE])
    if asked[j, T] < 1.0:
        if not ordered[j]:
            apart = _nominal_distance(values, count, cumulative, begin, end)
        elif known[j] == end - begin:
            apart = _ordered_distance(values, count, cumulative, running, begin, end, begin + j)
        else:
            apart = _distance_with_atoms(
                values, count, told, cumulative, running, begin, begin + known[j], end, begin + j
            )
        if apart > asked[j, T] + CLOSE:
            total += apart - asked[j, T]
    return total


@part
def _sort(values, count):
    """Shell's sort: quick on a handful, and no stranger to thousands."""
    for gap in GAPS:
        for t in range(gap, count):
            value = values[t]
            at = t
            while at >= gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value


@part
def _lacking_diversity(values, count, asked, j):
    """How far sorted values are from being diverse enough, between 0 and 1 for each condition."""
    distinct, entropy, first, lacking = 0, 0.0, 0, 0.0
    for t in range(1, count + 1):
        if t == count or values[t] != values[first]:
            if asked[j, ENTROPY] >= 0.0:
                share = (t - first) / count
                entropy -= share * logarithm(share)
            distinct += 1
            first = t
    if distinct < asked[j, DISTINCT]:
        lacking += (asked[j, DISTINCT] - distinct) / asked[j, DISTINCT]
    if entropy < asked[j, ENTROPY] - CLOSE:
        lacking += (asked[j, ENTROPY] - entropy) / asked[j, ENTROPY]
    if asked[j, RECURSIVE] > 0.0:
        lacking += _lacking_recursively(values, count, distinct, asked, j)
    return lacking


@part
def _lacking_recursively(values, count, distinct, asked, j):
    """How far the most frequent value is from being rare enough."""
    if distinct == 0:
        return 1.0
    often = np.empty(distinct, np.int32)
    at, first = 0, 0
    for t in range(1, count + 1):
        if t == count or values[t] != values[first]:
            often[at] = t - first
            at += 1
            first = t
    _sort(often, distinct)
    most, rest = often[distinct - 1], 0
    for t in range(distinct - np.int64(asked[j, RECURSIVE]) + 1):
        rest += often[t]
    reached = asked[j, C] * rest
    return 0.0 if reached - most > STRICTLY * most else max((most - reached) / most, 1e-6)


@part
def _excess_share(values, count, largest):
    """What the share of the most frequent of sorted values is above the largest allowed; exact
    for a half.
    """
    most, first = 0, 0
    for t in range(1, count + 1):
        if t == count or values[t] != values[first]:
            most = max(most, t - first)
            first = t
    return most / count - largest if most > largest * count else 0.0


@part
def _nominal_distance(values, count, cumulative, begin, end):
    """What the shares of the values exceed those in the table by."""
    n = cumulative[end - 1]
    excess, first = 0.0, 0
    for t in range(1, count + 1):
        if t == count or values[t] != values[first]:
            at = begin + values[first]
            overall = cumulative[at] - (cumulative[at - 1] if at > begin else 0.0)
            excess += max((t - first) / count - overall / n, 0.0)
            first = t
    return excess


@part
def _distance_with_atoms(values, count, told, cumulative, running, begin, atoms, end, offset):
    """The shares of the atoms and of values as such, compared, and the ordered distance of the
    first `told` values, weighed.

    Values end and atoms begin at `atoms`. The weight is the share of values here, or, if the column
    has one atom only, in the table if that is less.
    """
    here, n, overall = (
        told / count,
        cumulative[end - 1],
        cumulative[atoms - 1] if atoms > begin else 0.0,
    )
    apart, first = max(here - overall / n, 0.0), told
    for t in range(told + 1, count + 1):
        if t == count or values[t] != values[first]:
            at = begin + values[first]
            before = cumulative[at - 1] if at > begin else 0.0
            apart += max((t - first) / count - (cumulative[at] - before) / n, 0.0)
            first = t
    if told == 0:
        return apart
    weight = min(here, overall / n) if end - atoms == 1 else here
    return apart + weight * _ordered_distance(
        values, told, cumulative, running, begin, atoms, offset
    )


@part
def _ordered_distance(values, count, cumulative, running, begin, end, offset):
    """The mean over all values but the last of |cumulative share here - in the table|.

    From one value to the next that occurs here the share here stands still and the table's rises:
    before the value where it overtakes, the difference has one sign, behind it the other.
    """
    m = end - begin
    if m == 1:
        return 0.0
    n = cumulative[end - 1]
    total = running[offset + values[0]] / n  # up to the first value the share here is 0
    for t in range(1, count + 1):
        if t < count and values[t] == values[t - 1]:
            continue
        here, until = np.int64(values[t - 1]), np.int64(values[t]) if t < count else m
        low = _overtaking(cumulative, begin, here, until, t * n / count, t * m // count)
        level = t / count
        total += level * (low - here) - (running[offset + low] - running[offset + here]) / n
        total += (running[offset + until] - running[offset + low]) / n - level * (until - low)
    return total / (m - 1)


@part
def _overtaking(cumulative, begin, low, high, target, guess):
    """The first value from `low` on, before `high`, that the table's count reaches the target
    with; `high` if none does.

    It looks around the guess first, in growing steps: the place is exact where all values are
    equally frequent.
    """
    guess, step = min(max(guess, low), high), 1
    while guess < high and cumulative[begin + guess] < target:
        low = guess + 1
        guess += step
        step *= 2
    high = min(high, guess)
    step = 1
    while high - step >= low and cumulative[begin + high - step] >= target:
        high -= step
        step *= 2
    low = max(low, high - step + 1) if high - step >= low else low
    while low < high:
        middle = (low + high) // 2
        if cumulative[begin + middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def shortfalls(order, starts, codes, ordered, known, begins, cumulative, running, asked):
    """The shortfall of each group; group g has the records order[starts[g]:starts[g + 1]]."""
    found = np.empty(starts.shape[0] - 1)
    for g in range(found.shape[0]):
        first, end = starts[g], starts[g + 1]
        found[g] = shortfall(
            order[first:end], end - first, codes, ordered, known, begins, cumulative, running, asked
        )
    return found
