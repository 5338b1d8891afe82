"""Feasibility checks that every release makes before its search, in memory and out of core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.problem.problem import checked_k
from microagg.release.publishing import check_publishing
from microagg.release.settings import Settings
from microagg.release.true_values import check_near_unique
from microagg.table.aggregates import check_aggregates
from microagg.table.variable import Variable


def check_size(settings: Settings, records: int) -> int:
    """Raise where a table has too few records for k or for what is to be published; return k."""
    k = checked_k(settings.k, records)
    check_publishing(settings.publish, records)
    return k


def check_columns(
    variables: Sequence[Variable], frequencies: Sequence[np.ndarray | None], settings: Settings
) -> None:
    """Raise where an aggregate does not suit its column, or would release nearly unique values.

    `frequencies` are the counts of the levels of each column of categories; None for numbers.
    """
    trees = {variable.name for variable in variables if variable.hierarchy}
    check_aggregates(variables, settings.aggregates, trees)
    check_near_unique(variables, frequencies, settings)
