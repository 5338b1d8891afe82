"""Our own random numbers: known, repeatable, unbiased."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from microagg.kernels import random


def chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def highest_plausible(classes: int) -> float:
    """Beyond this a chi-square with classes - 1 degrees of freedom is seen once in some ten million
    times.
    """
    freedom = classes - 1
    return freedom * (1 - 2 / (9 * freedom) + 5.2 * (2 / (9 * freedom)) ** 0.5) ** 3


def test_the_sequence_is_splitmix64() -> None:
    state = np.zeros(1, np.uint64)
    numbers = [int(random.next_integer(state)) for _ in range(4)]
    assert numbers == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
        0xF88BB8A8724C81EC,
    ]


def test_seeds_repeat_and_differ() -> None:
    assert random.seeded(1, "rows")[0] == random.seeded(1, "rows")[0]
    parts = [
        (1, "rows"),
        (2, "rows"),
        (1, "other"),
        ("1", "row", "s"),
        (11, "rows"),
        (1, 1, "rows"),
        (-1, "rows"),
        (2**70, "rows"),
    ]
    assert len({int(random.seeded(*part)[0]) for part in parts}) == len(parts)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10])
def test_below_is_within_and_even(limit: int) -> None:
    state = random.seeded("below", limit)
    counts = np.bincount([random.below(state, limit) for _ in range(3000 * limit)], minlength=limit)
    assert len(counts) == limit
    if limit > 1:
        assert chi_square(counts) < highest_plausible(limit)


def test_below_a_very_large_limit_has_no_remainder_bias() -> None:
    """Each third of the numbers below 3·2^61 is as likely as the others; a plain remainder favours
    the lower ones.
    """
    state = random.seeded("wide")
    counts = np.bincount([random.below(state, 3 << 61) >> 61 for _ in range(6000)], minlength=3)
    assert chi_square(counts) < highest_plausible(3)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 1000])
def test_a_permutation_has_every_number_once(n: int) -> None:
    order = random.permutation(random.seeded(3), n)
    assert sorted(order.tolist()) == list(range(n))
    assert np.array_equal(order, random.permutation(random.seeded(3), n))
    if n == 1000:
        assert not np.array_equal(order, random.permutation(random.seeded(4), n))
        assert (order == np.arange(n)).sum() < 10


@pytest.mark.parametrize("n", [3, 4])
def test_every_permutation_is_as_likely_as_the_others(n: int) -> None:
    numbers = {order: i for i, order in enumerate(itertools.permutations(range(n)))}
    drawn = [
        tuple(random.permutation(random.seeded("many", seed), n).tolist())
        for seed in range(400 * len(numbers))
    ]
    counts = np.bincount([numbers[order] for order in drawn], minlength=len(numbers))
    assert chi_square(counts) < highest_plausible(len(numbers))
