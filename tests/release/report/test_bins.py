"""Bins of a report: round edges from the guide alone, every record counted."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.release.report.bins import FINEST, bins_of


def columns(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A column, and what was released of it (means of k neighbours); lumpy, skewed, constant and
    far away ones too.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    n = int(rng.integers(2 * k, 400))
    values = [
        rng.normal(size=n),
        rng.lognormal(8, 2, size=n),
        rng.integers(0, 4, size=n).astype(float),
        np.where(rng.random(n) < 0.97, 0.0, rng.lognormal(size=n)),
        1e9 + rng.normal(size=n),
        np.full(n, 3.5),
    ][seed % 6]
    released = values.copy()
    order = np.argsort(values, kind="stable")
    for start in range(0, n - k + 1, k):
        group = order[start:] if start + 2 * k > n else order[start : start + k]
        released[group] = values[group].mean()
    return values, released


@pytest.mark.parametrize("seed", range(120))
def test_every_record_is_counted_where_it_lies(seed: int) -> None:
    original, released = columns(seed)
    bins = bins_of(released, original, released)
    if bins is None:
        return
    assert list(bins.edges) == sorted(set(bins.edges))
    assert len(bins.edges) <= FINEST + 1
    for values, counts in zip((original, released), bins.counts, strict=True):
        # right-open bins
        slots = [sum(edge <= value for edge in bins.edges) for value in values.tolist()]
        assert list(counts) == [slots.count(j) for j in range(len(bins.edges) + 1)]
        assert sum(counts) == len(values)
    assert any(counts[0] > 0 for counts in bins.counts), "the first bin would be of no use"
    assert len(bins.names()) == len(bins.counts[0])


@pytest.mark.parametrize("seed", range(60))
def test_the_order_of_rows_makes_no_difference(seed: int) -> None:
    _, released = columns(seed)
    shuffled = np.random.default_rng(seed).permutation(released)
    assert bins_of(shuffled, shuffled) == bins_of(released, released)


def test_most_columns_have_bins() -> None:
    shown = [bins_of(*columns(seed)) is not None for seed in range(120) if seed % 6 in (0, 1, 4)]
    assert np.mean(shown) > 0.8
    assert all(bins_of(*columns(seed)) is None for seed in range(120) if seed % 6 == 5), (
        "constant columns"
    )


def test_edges_follow_the_guide() -> None:
    original = np.arange(100.0)
    bins = bins_of(original, original, np.full(100, 49.5))
    assert bins is not None
    assert len(bins.edges) > 5
    assert max(bins.counts[1]) == 100
    assert bins_of(np.full(100, 49.5), original) is None, "everything collapsed into one value"


def test_beyond_all_measure() -> None:
    huge = np.array([-1.7e308, 1.7e308] * 10)
    assert bins_of(huge, huge) is None
    tiny = np.array([0.0, 5e-310] * 10)
    bins = bins_of(tiny, tiny)
    assert bins is None or sum(bins.counts[0]) == 20
