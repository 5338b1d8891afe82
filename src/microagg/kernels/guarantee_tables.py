"""Look-up tables of the guarantees, and the distance of a group from l-diversity, t-closeness and
the requirements on units.

A group is judged by its confidential values and its units alone, one column after the other. Its
values are sorted and counted, so the result does not depend on the order of the records. A group
that is known by counts only (a stratum, the whole table) goes through the same functions as one
that is known by its records. Values of the table that the group does not have are never visited:
running sums over the whole table cover them. O(s log m) for s records and m distinct values,
besides sorting.

Special codes (missing values included) are numbered behind all values, so they come last in sorted
order. Diversity counts the values before them; see `guarantees/t.py` for their share in a distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.elementary import logarithm

# The columns of `required`. A requirement that was not set is always met.
DISTINCT, ENTROPY, RECURSIVE, C, T, SHARE = range(6)
NO_REQUIREMENTS = (0.0, -1.0, 0.0, 0.0, 2.0, 1.0)

# A distance or an entropy counts as reached within this much. The check of a finished table allows
# ten times as much, so that rounding never makes it refuse a group that was accepted here, or two
# such groups that share a class.
CLOSE = 1e-10
# The relative gap that "less than" needs between the two sides of the recursive condition.
STRICTLY = 1e-9
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's, for sorting


class GuaranteeTables(NamedTuple):
    """Confidential columns as codes, counts over the whole table, and the requirements of each
    column.
    """

    codes: np.ndarray
    """(n, columns) int32: codes of the values, in ascending order of the values"""
    ordered: np.ndarray
    """(columns,) uint8: 1 where distances follow the order of the values"""
    known: np.ndarray
    """(columns,) int64: number of values; higher codes are special codes and missing values"""
    begins: np.ndarray
    """(columns + 1,) int64: first entry of each column in `cumulative`"""
    cumulative: np.ndarray
    """number of records with this value or a lower one"""
    running: np.ndarray
    """sums of `cumulative` over all lower values; one entry more for each column"""
    required: np.ndarray
    """(columns, 6): the requirements of each column, see `DISTINCT` and the names after it"""

    def of_rows(self, rows: np.ndarray) -> GuaranteeTables:
        """Return the tables of some records, numbered anew."""
        return self._replace(codes=np.ascontiguousarray(self.codes[rows]))


# For kernels that take the tables where nothing is guaranteed: numba then leaves out the branches
# that judge, which halves the time to compile.
NO_TABLES: tuple[None, ...] = (None,) * len(GuaranteeTables._fields)


@kernel
def shortfall(records, count, codes, ordered, known, begins, cumulative, running, required):
    """Return the distance of the first `count` records from the requirements, summed over columns.

    0 if they may be a group.
    """
    values, amounts = np.empty(count, np.int32), np.empty(count, np.int64)
    total = 0.0
    for j in range(codes.shape[1]):
        runs = _count_values(records, count, codes, j, values, amounts)
        total += _column_shortfall(
            values, amounts, runs, count, j, ordered, known, begins, cumulative, running, required
        )
    return total


@part
def falls_short(records, count, codes, ordered, known, begins, cumulative, running, required):
    """Return True if the first `count` records may not be a group: their shortfall is above 0."""
    values, amounts = np.empty(count, np.int32), np.empty(count, np.int64)
    for j in range(codes.shape[1]):
        runs = _count_values(records, count, codes, j, values, amounts)
        lacking = _column_shortfall(
            values, amounts, runs, count, j, ordered, known, begins, cumulative, running, required
        )
        if lacking > 0.0:
            return True
    return False


@kernel
def shortfalls(order, starts, codes, ordered, known, begins, cumulative, running, required):
    """Return the shortfall of each group; group g has the records
    order[starts[g]:starts[g + 1]].
    """
    lacking = np.empty(starts.shape[0] - 1)
    for g in range(lacking.shape[0]):
        first, end = starts[g], starts[g + 1]
        lacking[g] = shortfall(
            order[first:end],
            end - first,
            codes,
            ordered,
            known,
            begins,
            cumulative,
            running,
            required,
        )
    return lacking


@kernel
def shortfall_of_counts(values, amounts, j, ordered, known, begins, cumulative, running, required):
    """Return the shortfall in column j of a group that is known by its distinct values, in
    ascending order, and their counts.
    """
    count = np.int64(0)
    for r in range(values.shape[0]):
        count += amounts[r]
    return _column_shortfall(
        values,
        amounts,
        values.shape[0],
        count,
        j,
        ordered,
        known,
        begins,
        cumulative,
        running,
        required,
    )


@part
def _count_values(records, count, codes, j, values, amounts):
    """Write the distinct codes of the records in column j, ascending, to `values` and their counts
    to `amounts`; return how many there are.
    """
    for t in range(count):
        values[t] = codes[records[t], j]
    _sort(values, count)
    runs = 0
    for t in range(count):
        if t == 0 or values[t] != values[runs - 1]:
            values[runs] = values[t]
            amounts[runs] = 0
            runs += 1
        amounts[runs - 1] += 1
    return runs


@part
def _column_shortfall(
    values, amounts, runs, count, j, ordered, known, begins, cumulative, running, required
):
    """Return the shortfall in one column of a group of `count` records with these value counts."""
    begin, end, total = begins[j], begins[j + 1], 0.0
    valid_runs, valid_count = runs, count
    while valid_runs > 0 and values[valid_runs - 1] >= known[j]:  # special codes
        valid_runs -= 1
        valid_count -= amounts[valid_runs]
    if required[j, DISTINCT] > 0.0 or required[j, ENTROPY] >= 0.0 or required[j, RECURSIVE] > 0.0:
        total += _diversity_shortfall(amounts, valid_runs, valid_count, required, j)
    if required[j, SHARE] < 1.0:
        total += _excess_share(amounts, valid_runs, valid_count, required[j, SHARE])
    if required[j, T] < 1.0:
        if not ordered[j]:
            distance = _nominal_distance(values, amounts, runs, count, cumulative, begin, end)
        elif known[j] == end - begin:
            distance = _ordered_distance(
                values, amounts, runs, count, cumulative, running, begin, end, begin + j
            )
        else:
            distance = _distance_with_special_codes(
                values,
                amounts,
                runs,
                count,
                valid_runs,
                valid_count,
                cumulative,
                running,
                begin,
                begin + known[j],
                end,
                begin + j,
            )
        if distance > required[j, T] + CLOSE:
            total += distance - required[j, T]
    return total


@part
def _sort(values, count):
    """Sort the first `count` values in place, by Shell's method: quick on a handful, and not slow
    on thousands.
    """
    for gap in GAPS:
        for t in range(gap, count):
            value = values[t]
            slot = t
            while slot >= gap and values[slot - gap] > value:
                values[slot] = values[slot - gap]
                slot -= gap
            values[slot] = value


@part
def _diversity_shortfall(amounts, runs, count, required, j):
    """Return the shortfall of value counts in diversity, between 0 and 1 for each condition."""
    entropy, lacking = 0.0, 0.0
    if required[j, ENTROPY] >= 0.0:
        for r in range(runs):
            share = amounts[r] / count
            entropy -= share * logarithm(share)
    if runs < required[j, DISTINCT]:
        lacking += (required[j, DISTINCT] - runs) / required[j, DISTINCT]
    if entropy < required[j, ENTROPY] - CLOSE:
        lacking += (required[j, ENTROPY] - entropy) / required[j, ENTROPY]
    if required[j, RECURSIVE] > 0.0:
        lacking += _recursive_shortfall(amounts, runs, required, j)
    return lacking


@part
def _recursive_shortfall(amounts, runs, required, j):
    """Return the shortfall in recursive (c, l)-diversity: the most frequent value is too frequent
    beside the rare ones.
    """
    if runs == 0:
        return 1.0
    ascending = amounts[:runs].copy()
    _sort(ascending, runs)
    most, rest = ascending[runs - 1], np.int64(0)
    for r in range(runs - np.int64(required[j, RECURSIVE]) + 1):
        rest += ascending[r]
    reached = required[j, C] * rest
    return 0.0 if reached - most > STRICTLY * most else max((most - reached) / most, 1e-6)


@part
def _excess_share(amounts, runs, count, largest):
    """Return by how much the share of the most frequent value exceeds the largest allowed; exact
    for a half.
    """
    most = np.int64(0)
    for r in range(runs):
        most = max(most, amounts[r])
    return most / count - largest if most > largest * count else 0.0


@part
def _nominal_distance(values, amounts, runs, count, cumulative, begin, end):
    """Return the sum of what the shares of values in the group exceed those in the table by."""
    n, excess = cumulative[end - 1], 0.0
    for r in range(runs):
        entry = begin + values[r]
        overall = cumulative[entry] - (cumulative[entry - 1] if entry > begin else 0.0)
        excess += max(amounts[r] / count - overall / n, 0.0)
    return excess


@part
def _distance_with_special_codes(
    values,
    amounts,
    runs,
    count,
    valid_runs,
    valid_count,
    cumulative,
    running,
    begin,
    special,
    end,
    offset,
):
    """Return the distance in the shares of special codes, and of all values together, plus the
    weighted ordered distance of the values.

    Special codes begin at `special`. The weight is the share of values in the group or, if the
    column has one special code only, the share in the table where that is less.
    """
    n = cumulative[end - 1]
    share, overall = valid_count / count, cumulative[special - 1] if special > begin else 0.0
    distance = max(share - overall / n, 0.0)
    for r in range(valid_runs, runs):
        entry = begin + values[r]
        before = cumulative[entry - 1] if entry > begin else 0.0
        distance += max(amounts[r] / count - (cumulative[entry] - before) / n, 0.0)
    if valid_count == 0:
        return distance
    weight = min(share, overall / n) if end - special == 1 else share
    return distance + weight * _ordered_distance(
        values, amounts, valid_runs, valid_count, cumulative, running, begin, special, offset
    )


@part
def _ordered_distance(values, amounts, runs, count, cumulative, running, begin, end, offset):
    """Return the mean over all values but the last of |cumulative share in the group - in the
    table|.

    Between two neighbouring values of the group its cumulative share is constant and that of the
    table rises: before the value where the table's overtakes, the difference has one sign, behind
    it the other.
    """
    m = end - begin
    if m == 1:
        return 0.0
    n, reached = cumulative[end - 1], np.int64(0)
    total = running[offset + values[0]] / n  # up to the first value the group's share is 0
    for r in range(runs):
        reached += amounts[r]
        value, until = np.int64(values[r]), np.int64(values[r + 1]) if r + 1 < runs else m
        low = _overtaking(
            cumulative, begin, value, until, reached * n / count, reached * m // count
        )
        level = reached / count
        total += level * (low - value) - (running[offset + low] - running[offset + value]) / n
        total += (running[offset + until] - running[offset + low]) / n - level * (until - low)
    return total / (m - 1)


@part
def _overtaking(cumulative, begin, low, high, target, guess):
    """Return the first value from `low` on, before `high`, with which the table's count reaches
    the target; `high` if there is none.

    The search starts at the guess and widens in growing steps: the guess is exact where all values
    are equally frequent.
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
