"""Bins of a public report: enough records in each, edges from the released values alone."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.release.report.bins import _merged, _subdivisions, bins_of


def columns(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A column, what was released of it (means of k neighbours), k; lumpy, skewed, constant and far away ones too."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    n = int(rng.integers(2 * k, 400))
    kind = seed % 6
    values = [
        rng.normal(size=n),
        rng.lognormal(8, 2, size=n),
        rng.integers(0, 4, size=n).astype(float),
        np.where(rng.random(n) < 0.97, 0.0, rng.lognormal(size=n)),
        1e9 + rng.normal(size=n),
        np.full(n, 3.5),
    ][kind]
    released = values.copy()
    order = np.argsort(values, kind="stable")
    for start in range(0, n - k + 1, k):
        group = order[start:] if start + 2 * k > n else order[start : start + k]
        released[group] = values[group].mean()
    return values, released, k


@pytest.mark.parametrize("seed", range(120))
def test_every_bin_holds_enough_records_of_both(seed: int) -> None:
    original, released, k = columns(seed)
    found = bins_of(original, released, k)
    if found is None:
        return
    assert list(found.edges) == sorted(set(found.edges))
    for values, counts in ((original, found.before), (released, found.after)):
        slots = [sum(edge <= value for edge in found.edges) for value in values.tolist()]  # right-open bins
        assert list(counts) == [slots.count(j) for j in range(len(found.edges) + 1)]
        assert min(counts) >= k
    assert len(found.names()) == len(found.before)


def test_most_columns_have_bins() -> None:
    shown = [bins_of(*columns(seed)) is not None for seed in range(120) if seed % 6 in (0, 1, 4)]
    assert np.mean(shown) > 0.8
    assert all(bins_of(*columns(seed)) is None for seed in range(120) if seed % 6 == 5), "constant columns"


@pytest.mark.parametrize("seed", range(60))
def test_extremes_leave_no_trace(seed: int) -> None:
    """Whatever the largest original value is, the bins are the same as long as the released values are."""
    original, released, k = columns(seed)
    if np.ptp(original) == 0:
        return
    found = bins_of(original, released, k)
    for replacement in (2 * original.max() + 1, 1e12, 1e300):
        changed = original.copy()
        changed[original.argmax()] = replacement
        assert bins_of(changed, released, k) == found


@pytest.mark.parametrize("seed", range(60))
def test_edges_come_from_the_released_values_alone(seed: int) -> None:
    """Originals only choose among subdivisions that the released values offer."""
    _, released, k = columns(seed)
    rng = np.random.default_rng(seed)
    offered = _all_subdivisions(released, k)
    for spread in (0.0, 0.05, 0.5, 3.0):
        original = released + spread * (released.std() + 1e-9) * rng.normal(size=len(released))
        found = bins_of(original, released, k)
        assert found is None or found.edges in offered


def _all_subdivisions(released: np.ndarray, k: int) -> set[tuple[float, ...]]:
    return {tuple(_merged(edges, released, k).tolist()) for edges in _subdivisions(released)}


def test_too_few_originals_in_a_bin_ask_for_coarser_bins() -> None:
    released = np.repeat([10.0, 20.0, 30.0, 40.0], 5)
    same = bins_of(released, released, 5)
    assert same is not None
    assert same.after == (5, 5, 5, 5)
    elsewhere = np.where(released == 30.0, 41.0, released)  # nobody's original is near 30
    found = bins_of(elsewhere, released, 5)
    assert found is None or (len(found.edges) < len(same.edges) and min(found.before) >= 5)


def test_an_internal_report_may_follow_the_original() -> None:
    original = np.arange(100.0)
    found = bins_of(original, np.full(100, 49.5), 0, guide=original)
    assert found is not None
    assert len(found.edges) > 5
    assert bins_of(original, np.full(100, 49.5), 2) is None, "everything collapsed into one value"


def test_beyond_all_measure() -> None:
    huge = np.array([-1.7e308, 1.7e308] * 10)
    assert bins_of(huge, huge, 2) is None
    tiny = np.array([0.0, 5e-310] * 10)
    found = bins_of(tiny, tiny, 2)
    assert found is None or min(found.before) >= 2
