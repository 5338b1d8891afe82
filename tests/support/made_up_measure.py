"""A made-up measure, as a contributor would add it: this module and one line in the registry."""

from __future__ import annotations

import numpy as np

from microagg.measures.measure import Basis, Figure, Measure, Pair

BINS = 10
LINE = "hellinger = made_up_measure:HELLINGER"


def hellinger(pair: Pair) -> Figure:
    """Return the Hellinger distance of each column's distribution, over deciles of the original."""
    columns = {}
    for j, name in enumerate(pair.names):
        edges = np.unique(np.quantile(pair.original[:, j], np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        shares = []
        for values in (pair.original[:, j], pair.released[:, j]):
            counts = np.bincount(np.digitize(values, edges), minlength=len(edges) + 1)
            shares.append(counts / len(values))
        overlap = float(np.sqrt(shares[0] * shares[1]).sum())
        columns[name] = float(np.sqrt(max(0.0, 1.0 - overlap)))
    return Figure(float(np.mean(list(columns.values()))), columns)


HELLINGER = Measure(
    name="hellinger",
    title="Hellinger distance of single columns",
    side="loss",
    unit="distance, mean over columns",
    lower_is_better=True,
    lowest=0.0,
    highest=1.0,
    zero_means="Every column is distributed as it was.",
    highest_means="No decile of the original has a released value.",
    source="Hellinger 1909, over deciles of the original.",
    compute=hellinger,
    basis=Basis.SAMPLE,
    needs="numbers",
)
