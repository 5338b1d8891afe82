"""Blocks against a slow halving, on inputs full of ties."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import plain
from microagg.kernels import blocks as kernels
from microagg.kernels.blocks import kd_order


def halved(points: np.ndarray, records: list[int], halvings: int) -> list[list[int]]:
    """Return blocks in tree order: the lower half by (value of the widest column, record) first."""
    if halvings == 0:
        return [sorted(records)]
    ranges = np.ptp(points[records], axis=0) if records else np.zeros(1)
    column = int(np.argmax(ranges))
    ranked = sorted(records, key=lambda r: (points[r, column], r))
    middle = len(records) // 2
    lower, upper = ranked[:middle], ranked[middle:]
    return halved(points, lower, halvings - 1) + halved(points, upper, halvings - 1)


@pytest.mark.parametrize("seed", range(140))
def test_blocks_equal_a_slow_halving(seed: int) -> None:
    points, _ = plain.hard_problem(seed)
    largest = int(np.random.default_rng(seed).integers(1, 40))
    before = points.copy()
    order, starts = kd_order(points, largest)
    blocks = [sorted(order[a:b].tolist()) for a, b in itertools.pairwise(starts)]
    assert np.array_equal(points, before)
    assert blocks == halved(points, list(range(len(points))), len(blocks).bit_length() - 1)


@pytest.mark.parametrize("seed", range(28))
def test_blocks_are_small_enough_and_equal_within_one(seed: int) -> None:
    points, _ = plain.hard_problem(seed)
    for largest in (1, 2, 7, len(points), 10**9):
        order, starts = kd_order(points, largest)
        sizes = np.diff(starts)
        assert sorted(order.tolist()) == list(range(len(points)))
        assert len(sizes) & (len(sizes) - 1) == 0, "not a power of two"
        assert sizes.max() <= largest
        assert sizes.max() - sizes.min() <= 1
        assert len(sizes) == 1 or -(-len(points) // (len(sizes) // 2)) > largest, (
            "halved once too often"
        )


def test_many_equal_values_are_split_by_record() -> None:
    order, starts = kd_order(np.repeat([[0.0], [1.0], [0.0]], [5, 1, 4], axis=0), 5)
    assert sorted(order[: starts[1]].tolist()) == [0, 1, 2, 3, 4]


class CountedReads(list[float]):
    """Keys that count how often they are read."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("first", [0, 256, 512, 768])
def test_sorted_keys_are_split_in_linear_time(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Blocks of a sorted table: a pivot from an end of one would make the work quadratic."""
    split_at = kernels._split_at.py_func
    monkeypatch.setattr(kernels, "_middle_of_three", kernels._middle_of_three.py_func)
    keys, order = CountedReads(map(float, range(1024))), list(range(1024))
    split_at(keys, order, first, first + 256, first + 128)
    assert order == list(range(1024))
    assert keys.reads < 20 * 256
