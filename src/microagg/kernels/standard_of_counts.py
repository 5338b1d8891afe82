"""What `standard.py` says of a group of records, said of one that is known by counts: which
values it has, and how often each.

For groups that are never in memory record by record: strata, and the whole table. The same terms
are added in the same order, so that the answers are the same to the bit. O(r log m) for r values of
the group and m of the table.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.elementary import logarithm
from microagg.kernels.standard import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    RECURSIVE,
    SHARE,
    STRICTLY,
    C,
    T,
    _overtaking,
)


@kernel
def shortfall_of_counts(values, amounts, j, ordered, known, begins, cumulative, running, asked):
    """How far a group is from what is asked in column j: its different values, in ascending
    order, and how often each occurs.
    """
    begin, end, total = begins[j], begins[j + 1], 0.0
    count = np.int64(0)
    for r in range(values.shape[0]):
        count += amounts[r]
    runs, told = values.shape[0], count
    while runs > 0 and values[runs - 1] >= known[j]:  # atoms
        runs -= 1
        told -= amounts[runs]
    if asked[j, DISTINCT] > 0.0 or asked[j, ENTROPY] >= 0.0 or asked[j, RECURSIVE] > 0.0:
        total += _lacking_diversity(amounts, runs, told, asked, j)
    if asked[j, SHARE] < 1.0:
        total += _excess_share(amounts, runs, told, asked[j, SHARE])
    if asked[j, T] < 1.0:
        if not ordered[j]:
            apart = _nominal_distance(values, amounts, count, cumulative, begin, end)
        elif known[j] == end - begin:
            apart = _ordered_distance(
                values, amounts, runs, count, cumulative, running, begin, end, begin + j
            )
        else:
            apart = _distance_with_atoms(
                values,
                amounts,
                runs,
                count,
                told,
                cumulative,
                running,
                begin,
                begin + known[j],
                end,
                begin + j,
            )
        if apart > asked[j, T] + CLOSE:
            total += apart - asked[j, T]
    return total


@part
def _lacking_diversity(amounts, runs, count, asked, j):
    """How far values are from being diverse enough, between 0 and 1 for each condition."""
    entropy, lacking = 0.0, 0.0
    if asked[j, ENTROPY] >= 0.0:
        for r in range(runs):
            share = amounts[r] / count
            entropy -= share * logarithm(share)
    if runs < asked[j, DISTINCT]:
        lacking += (asked[j, DISTINCT] - runs) / asked[j, DISTINCT]
    if entropy < asked[j, ENTROPY] - CLOSE:
        lacking += (asked[j, ENTROPY] - entropy) / asked[j, ENTROPY]
    if asked[j, RECURSIVE] > 0.0:
        lacking += _lacking_recursively(amounts, runs, asked, j)
    return lacking


@part
def _lacking_recursively(amounts, runs, asked, j):
    """How far the most frequent value is from being rare enough."""
    if runs == 0:
        return 1.0
    often = np.sort(amounts[:runs])
    most, rest = often[runs - 1], np.int64(0)
    for r in range(runs - np.int64(asked[j, RECURSIVE]) + 1):
        rest += often[r]
    reached = asked[j, C] * rest
    return 0.0 if reached - most > STRICTLY * most else max((most - reached) / most, 1e-6)


@part
def _excess_share(amounts, runs, count, largest):
    """What the share of the most frequent value is above the largest allowed."""
    most = np.int64(0)
    for r in range(runs):
        most = max(most, amounts[r])
    return most / count - largest if most > largest * count else 0.0


@part
def _nominal_distance(values, amounts, count, cumulative, begin, end):
    """What the shares of the values exceed those in the table by."""
    n, excess = cumulative[end - 1], 0.0
    for r in range(values.shape[0]):
        at = begin + values[r]
        overall = cumulative[at] - (cumulative[at - 1] if at > begin else 0.0)
        excess += max(amounts[r] / count - overall / n, 0.0)
    return excess


@part
def _distance_with_atoms(
    values, amounts, runs, count, told, cumulative, running, begin, atoms, end, offset
):
    """The shares of the atoms and of values as such, compared, and the ordered distance of the
    values, weighed.
    """
    here, n, overall = (
        told / count,
        cumulative[end - 1],
        cumulative[atoms - 1] if atoms > begin else 0.0,
    )
    apart = max(here - overall / n, 0.0)
    for r in range(runs, values.shape[0]):
        at = begin + values[r]
        before = cumulative[at - 1] if at > begin else 0.0
        apart += max(amounts[r] / count - (cumulative[at] - before) / n, 0.0)
    if told == 0:
        return apart
    weight = min(here, overall / n) if end - atoms == 1 else here
    return apart + weight * _ordered_distance(
        values, amounts, runs, told, cumulative, running, begin, atoms, offset
    )


@part
def _ordered_distance(values, amounts, runs, count, cumulative, running, begin, end, offset):
    """The mean over all values but the last of |cumulative share here - in the table|."""
    m = end - begin
    if m == 1:
        return 0.0
    n, t = cumulative[end - 1], np.int64(0)
    total = running[offset + values[0]] / n
    for r in range(runs):
        t += amounts[r]
        here, until = np.int64(values[r]), np.int64(values[r + 1]) if r + 1 < runs else m
        low = _overtaking(cumulative, begin, here, until, t * n / count, t * m // count)
        level = t / count
        total += level * (low - here) - (running[offset + low] - running[offset + here]) / n
        total += (running[offset + until] - running[offset + low]) / n - level * (until - low)
    return total / (m - 1)
