"""A made-up aggregate, as a contributor would add it: one entry."""

from __future__ import annotations

import numpy as np

from microagg.table.aggregates import AGGREGATES, Aggregate, GroupValues, SortedMembers
from microagg.table.schema import Kind


def trimmed_mean(members: SortedMembers) -> GroupValues:
    """Mean of each group without its least and its largest value; the mean of groups of two."""
    groups, column = members.groups, np.ascontiguousarray(members.values).reshape(-1, 1)
    means = groups.means(column, None, None)[:, 0]
    inner = means * groups.sizes - groups.least(members.values) - groups.largest(members.values)
    trimmed = np.divide(inner, groups.sizes - 2, out=means.copy(), where=groups.sizes > 2)
    return GroupValues(trimmed, members.variable)


TRIMMED_MEAN = Aggregate(
    name="trimmed-mean",
    noun="trimmed mean",
    phrase="the mean of its group without the least and the largest value",
    help="the mean of all but the least and the largest value",
    kinds=(Kind.NUMERIC,),
    default_for=(),
    true_values_in=(),
    dominance_applies=True,
    keeps_totals=False,
    keeps_shares=False,
    rounds=True,
    is_coarse=False,
    values=trimmed_mean,
)


def register() -> None:
    """Add the entry in this process: also called on the workers of a cluster."""
    AGGREGATES[TRIMMED_MEAN.name] = TRIMMED_MEAN
