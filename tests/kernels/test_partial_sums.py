"""Sums of parts come to what the whole comes to; numbers count as often as they occur."""

from __future__ import annotations

import math

import numpy as np
import pytest

from microagg.kernels import counting, partial_sums, sums


def numbers(seed: int, shape: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng([51, seed])
    return rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape)


@pytest.mark.parametrize("seed", range(6))
def test_parts_come_to_the_whole(seed: int) -> None:
    points = numbers(seed, (60, 3))
    for order in ((0, 1, 2), (2, 0, 1)):
        total = np.zeros((3, 3))
        for part in order:
            partial_sums.add_sums(total, sums.column_sums(points[20 * part : 20 * part + 20]))
        assert [sums.rounded(total, j) for j in range(3)] == [
            math.fsum(points[:, j]) for j in range(3)
        ]


@pytest.mark.parametrize("seed", range(4))
def test_squares_by_column_and_by_record(seed: int) -> None:
    points, others = numbers(seed, (40, 3)), numbers(seed + 9, (5, 3))
    rows = np.random.default_rng(seed).integers(0, 5, 40).astype(np.int32)
    squares = partial_sums.square_sums(points, others[2])
    for j in range(3):
        expected = math.fsum((x - others[2, j]) * (x - others[2, j]) for x in points[:, j])
        assert sums.rounded(squares, j) == expected
    error = partial_sums.squared_error_sums(points, others, rows)
    assert sums.rounded(error, 0) == sums.squared_error(points, others, rows)


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_groups(seed: int) -> None:
    errors = numbers(seed, (40, 2))
    labels = np.random.default_rng(seed).integers(0, 4, 40).astype(np.int32)
    parts = partial_sums.group_error_sums(errors, labels, 5)
    expected = [math.fsum(errors[labels == g].ravel()) for g in range(5)]
    assert partial_sums.rounded_each(parts).tolist() == expected
    more = parts.reshape(5, 3, 1).copy()
    partial_sums.add_group_errors(more, errors[:7], labels[:7])
    both = [
        math.fsum([*errors[labels == g].ravel(), *errors[:7][labels[:7] == g].ravel()])
        for g in range(5)
    ]
    assert partial_sums.rounded_each(more[:, :, 0].copy()).tolist() == both


@pytest.mark.parametrize("seed", range(6))
def test_moments_of_numbers_that_occur_several_times(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, counts = numbers(seed, (1, 9))[0], rng.integers(1, 70, 9)
    mean, deviation = counting.repeated_moments(values, counts)
    whole = np.repeat(values, counts)
    centre = math.fsum(whole) / len(whole)
    assert mean == centre
    assert deviation == math.sqrt(
        math.fsum((x - centre) * (x - centre) for x in whole) / len(whole)
    )


def test_keys_are_in_the_order_of_numbers() -> None:
    values = np.array([-np.inf, -1e300, -2.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 2.5, 1e300, np.inf])
    keys = counting.keys_of(values.view(np.uint64))
    assert (np.diff(keys.astype(object)) > 0).all()
    shuffled = np.random.default_rng(2).permutation(values)
    assert np.array_equal(
        np.argsort(counting.keys_of(shuffled.view(np.uint64))),
        np.lexsort((np.signbit(shuffled) * -1, shuffled)),
    )


@pytest.mark.parametrize("shift", [0, 3, 52])
def test_keys_are_counted_in_buckets_with_their_extremes(shift: int) -> None:
    rng = np.random.default_rng(shift)
    values = rng.choice([1.0, 1.5, 2.0, 2.75, 3.0, 8.0], 200)
    if shift < 52:
        values = np.array([1.0 + step * 2.0**-52 for step in rng.integers(0, 40, 200)])
    bits = values.view(np.uint64)
    keys = counting.keys_of(bits)
    low, high = np.sort(np.unique(keys))[[1, -2]]
    buckets = int((high - low) >> np.uint64(shift)) + 1
    counts = np.zeros(buckets, np.int64)
    least, most = np.full(buckets, 2**64 - 1, np.uint64), np.zeros(buckets, np.uint64)
    counting.count_keys(bits, low, high, np.uint64(shift), counts, least, most)
    inside = keys[(keys >= low) & (keys <= high)]
    for bucket in range(buckets):
        here = inside[(inside - low) >> np.uint64(shift) == bucket]
        assert counts[bucket] == len(here)
        if len(here):
            assert (least[bucket], most[bucket]) == (here.min(), here.max())
