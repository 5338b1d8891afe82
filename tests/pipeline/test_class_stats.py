"""Statistics of classes, by hand."""

from __future__ import annotations

import numpy as np

from microagg.measures.risk.dominance import two_largest
from microagg.pipeline.class_stats import ClassStats


def test_the_two_largest_of_each_run_also_where_they_are_equal() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        sizes = rng.integers(1, 6, int(rng.integers(1, 8)))
        labels = np.repeat(np.arange(len(sizes)), sizes)
        values = rng.integers(0, 4, len(labels)).astype(float)
        largest, second = two_largest(values, np.cumsum(sizes) - sizes, labels)
        for group in range(len(sizes)):
            descending = sorted([*values[labels == group].tolist(), 0.0], reverse=True)
            assert (largest[group], second[group]) == (
                descending[0],
                descending[1] if sizes[group] > 1 else 0.0,
            )


def test_the_highest_chance_counts_those_who_have_it() -> None:
    whole = ClassStats()
    for chance, records in ((0.2, 5), (0.5, 2), (0.5, 4), (0.25, 4)):
        whole.combine(ClassStats(classes=1, chance=chance, at_chance=records))
    assert (whole.classes, whole.chance, whole.at_chance) == (4, 0.5, 6)
