"""A zero with a sign among the values that groups release as they are."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma


@pytest.mark.parametrize("aggregate", ["medoid", "draw"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_units_with_zeros_of_both_signs(tmp_path: Path, aggregate: str, ending: str) -> None:
    rng = random.Random(3)
    table = pa.table(
        {
            "id": [f"h{number % 30}" for number in range(60)],
            "x": [rng.choice([0.0, -0.0, 1.5]) for _ in range(60)],
            "y": [rng.choice([0.0, -0.0, 2.5]) for _ in range(60)],
        }
    )
    release = ma.anonymize(
        table, k=3, quasi=["x", "y"], unit="id", seed=1, aggregate={"x": aggregate, "y": aggregate},
        accept_risk=["true-values"],
    )  # fmt: skip
    release.save(tmp_path / f"out{ending}")
    assert ma.check(release.table, ["x", "y"], k=3).holds
