"""The direction of Abidi, Ben Yahia and Perera 2020: more diversity and more loss than MDAV at the
same k.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import plain
from microagg.datasets.reference import load_reference
from microagg.measures.measure import Pair
from microagg.measures.registry import measure_named
from microagg.table.encoder import Space


def figures(points, confidential, labels):
    released = np.array(
        [plain.centroid(points, np.flatnonzero(labels == g)) for g in range(labels.max() + 1)]
    )[labels]
    columns = {str(j): np.ascontiguousarray(column) for j, column in enumerate(confidential.T)}
    pair = Pair(points, released, tuple("abcdefg"[: points.shape[1]]), columns)
    return [measure_named(name).compute(pair).value for name in ("sse-i", "il1s-percent")]


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "columns", "quasi"), [("Census", "all", 5), ("EIA", "MONTH+10", 7)]
)
@pytest.mark.parametrize("k", [3, 10, 25])
def test_more_diverse_and_dearer_than_mdav(name, columns, quasi, k, reference_data: Path):
    values = load_reference(name, columns, reference_data)
    scaled = Space.fit(values, "minmax").points(values)
    points, confidential = np.ascontiguousarray(scaled[:, :quasi]), scaled[:, quasi:]
    diverse = figures(
        points, confidential, ma.partition(points, k, "hm-pfsom", confidential=confidential)
    )
    mdav = figures(points, confidential, ma.partition(points, k, "mdav"))
    assert diverse[0] > mdav[0]
    assert diverse[1] > mdav[1]
