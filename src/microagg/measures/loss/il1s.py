"""IL1s: how far the records moved, in units of √2 standard deviations.

IL1s = Σ_i (1/q) Σ_j |x_ij - x'_ij| / (√2 S_j) over records i and q columns j, as printed by Abidi,
Ben Yahia and Perera 2020, equation 1. The sum grows with the number of records, though the paper's
words call it a mean; so it is also given per record, in percent: 100 / n times that. Both have a
figure per column (the sum without 1/q), whose mean is the whole.

Readings: S_j is the sample standard deviation (n - 1) of the original column, as in the R package
the paper used. With weights a record's term counts w_i times, 100 / n becomes 100 / Σw, and S_j² is
the weighted population variance times n / (n - 1). A constant column has S_j = 1, and adds nothing
unless the release has changed it.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.measures.loss.standardise import mean
from microagg.measures.measure import Figure, Measure, Pair


def il1s(pair: Pair) -> Figure:
    """IL1s as printed: a sum over records.

    >>> pair = Pair(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [1.0]]), ("age",))
    >>> round(il1s(pair).value, 6)
    1.414214
    """
    standard = pair.standard
    n = standard.before.shape[1]
    sample = math.sqrt(n / (n - 1)) if n > 1 else 1.0
    deviations = math.sqrt(2.0) * np.where(standard.constant, 1.0, sample)
    total = n if pair.weights is None else float(np.sum(pair.weights))
    columns_of_both = zip(standard.before, standard.after, strict=True)
    moved = np.array(
        [mean(np.abs(before - after), standard.shares) for before, after in columns_of_both]
    )
    columns = total * moved / deviations
    return Figure(float(np.mean(columns)), dict(zip(pair.names, columns.tolist(), strict=True)))


def il1s_percent(pair: Pair) -> Figure:
    """IL1s per record, in percent.

    >>> pair = Pair(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [1.0]]), ("age",))
    >>> round(il1s_percent(pair).value, 4)
    47.1405
    """
    figure = pair.once(il1s)
    total = len(pair.original) if pair.weights is None else float(np.sum(pair.weights))
    return Figure(
        100.0 * figure.value / total,
        {name: 100.0 * x / total for name, x in figure.columns.items()},
    )


IL1S = Measure(
    name="il1s",
    title="IL1s as printed",
    side="loss",
    unit="√2 standard deviations, summed over records",
    lower_is_better=True,
    lowest=0.0,
    highest=float("inf"),
    zero_means="Every record is released as it was.",
    highest_means="There is no end; it grows with the number of records.",
    source="Abidi, Ben Yahia and Perera 2020, equation 1; S_j with n - 1.",
    compute=lambda pair: pair.once(il1s),
    needs="numbers",
)

IL1S_PERCENT = Measure(
    name="il1s-percent",
    title="IL1s per record",
    side="loss",
    unit="percent of √2 standard deviations",
    lower_is_better=True,
    lowest=0.0,
    highest=float("inf"),
    zero_means="Every record is released as it was.",
    highest_means="At 100 a value has moved by √2 standard deviations on average; there is no end. "
    "All records at the column means give at most 100/√2.",
    source="Abidi, Ben Yahia and Perera 2020, equation 1, times 100/n; S_j with n - 1.",
    compute=il1s_percent,
    needs="numbers",
)
