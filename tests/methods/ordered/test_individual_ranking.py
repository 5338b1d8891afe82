"""Individual ranking: each column alone, and honest about what that gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import plain
from microagg.errors import GuaranteeError
from microagg.guarantees.k import anonymity, verify


def oracle(points: np.ndarray, k: int) -> np.ndarray:
    """Sort each column, every k in a row form a group, the last group takes the rest."""
    n, d = points.shape
    columns = []
    for j in range(d):
        order = sorted(range(n), key=lambda i, j=j: (points[i, j], i))
        starts = [k * g for g in range(n // k)]
        groups = [order[a:b] for a, b in zip(starts, [*starts[1:], n], strict=True)]
        columns.append(plain.labels_from_groups(n, groups))
    return np.column_stack(columns)


@pytest.mark.parametrize("seed", range(60))
def test_each_column_as_told(seed: int) -> None:
    points, k = plain.hard_problem(70_000 + seed)
    fixed = ma.partition(points, k=k, method="individual-ranking")
    assert fixed.dtype == np.int32
    assert np.array_equal(fixed, oracle(points, k))
    optimal = ma.partition(points, k=k, method="individual-ranking", groups="optimal")
    for j in range(points.shape[1]):
        column = points[:, j : j + 1]
        assert np.bincount(optimal[:, j]).min() >= k
        assert (
            plain.sse(column, optimal[:, j]) <= plain.sse(column, fixed[:, j]) * (1 + 1e-9) + 1e-300
        )


def table_of(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.integers(1000, 90_000, n),
            "x": rng.normal(size=n),
        }
    )


def test_the_release_says_what_it_gives(tmp_path: Path) -> None:
    table = table_of()
    release = ma.anonymize(
        table,
        k=5,
        quasi=table.column_names,
        method="individual-ranking",
        seed=1,
        accept_risk="single-columns",
    )
    assert release.labels.shape == (200, 3)
    for name in table.column_names:
        assert anonymity(release.table, [name], 5).holds
    assert not release.anonymity.holds, "random columns: the combinations cannot all be shared"
    assert any("NOT 5-anonymous" in note for note in release.notes)
    path, _, public = release.save(tmp_path / "out.csv")
    guarantee = json.loads(public.read_text())["guarantee"]
    assert guarantee["of"] == "each column alone"
    assert guarantee["k_anonymous"] is False
    assert guarantee["smallest_class"] == int(release.anonymity.sizes.min())
    assert path.exists()


def test_it_loses_less_than_a_method_that_protects_combinations() -> None:
    points = np.random.default_rng(1).normal(size=(300, 4))
    alone = ma.information_loss(points, ma.partition(points, k=5, method="individual-ranking"))
    assert alone < ma.information_loss(points, ma.partition(points, k=5, method="mdav"))


def test_verify_refuses_a_single_value_even_of_one_column() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 1, 2]})
    with pytest.raises(GuaranteeError):
        verify(table, ["a", "b"], 2, 4, scope="column")
    assert verify(table, ["a"], 2, 4, scope="column").holds
