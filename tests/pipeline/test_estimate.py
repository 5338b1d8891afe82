"""Estimates of a search: from samples that are smaller than the table wherever it is larger than
the first of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from microagg.methods.registry import method_named
from microagg.pipeline import estimate
from microagg.pipeline.estimate import SMALLEST
from microagg.problem.problem import Problem


@pytest.mark.parametrize(
    ("records", "k", "sample"),
    [
        (SMALLEST - 1, 3, SMALLEST - 1),
        (SMALLEST, 3, SMALLEST),
        (SMALLEST + 1, 3, SMALLEST),
        (2 * SMALLEST, 3, SMALLEST),
        (2 * SMALLEST + 1, 3, 2 * SMALLEST),
        (1000, 110, 880),
        (900, 250, 900),
    ],
)
def test_the_largest_sample_is_the_largest_below_the_table(
    records: int, k: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has 400 records, or 4 k; each further one has twice as many."""
    monkeypatch.setattr(estimate, "ENOUGH", float("inf"))  # however busy the machine is
    problem = Problem.of(np.arange(float(records)).reshape(-1, 1), k)
    expected = estimate.search_estimate(
        method_named("mdav"), problem, {"leftovers": "block"}, seed=0
    )
    assert expected.sample == sample
    assert expected.seconds is not None
    assert expected.seconds >= 0.0
