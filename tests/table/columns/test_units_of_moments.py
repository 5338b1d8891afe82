"""Moments of SPSS, Stata and SAS files are read in the coarsest unit that tells them apart."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.files.stats.reading import _unit


@pytest.mark.parametrize(
    ("counts", "second", "unit"),
    [([1.0, 7.0], 1, "s"), ([1.5, 7.0], 1, "ms"), ([1.012345], 1, "us"), ([2500.0], 1000, "ms"),
     ([3000.0], 1000, "s")],
)  # fmt: skip
def test_the_coarsest_unit(counts: list[float], second: int, unit: str) -> None:
    assert _unit(np.array(counts), second) == unit


def test_none_where_no_unit_is_fine_enough() -> None:
    assert _unit(np.array([1.0123456]), 1) is None
