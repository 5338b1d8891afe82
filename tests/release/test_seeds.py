"""Statements of the documents on the seed as a defence are true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma

DOCUMENTS = Path(__file__).parents[2]
TABLE = pa.table(
    {name: np.random.default_rng(1).lognormal(8.0, 1.0, 400).round() for name in "abc"}
)


@pytest.mark.parametrize(
    ("effort", "groupings"),
    [("quick", {1}), pytest.param("balanced", {2, 3}, marks=pytest.mark.slow)],
)
def test_which_efforts_group_otherwise_with_another_seed(effort: str, groupings: set[int]) -> None:
    distinct = {
        ma.anonymize(TABLE, k=3, quasi=["a", "b", "c"], effort=effort, seed=seed).labels.tobytes()
        for seed in range(3)
    }
    assert len(distinct) in groupings
    for name in ("SECURITY.md", "docs/decisions/public.md", "docs/pipelines.md"):
        text = " ".join((DOCUMENTS / name).read_text("utf-8").split())
        assert "any seed gives the same groups" in text
        assert "quick`" in text
