"""One value per group, and the precision of a column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.table.aggregate import decimals_of, group_means_for_records, round_to


@pytest.mark.parametrize("seed", range(10))
def test_means_are_the_correctly_rounded_sums_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-8, 8, (50, 3))
    labels = rng.permutation(np.repeat(np.arange(10), 5)).astype(np.int32)
    means = group_means_for_records(values, labels)
    for record in range(50):
        members = np.flatnonzero(labels == labels[record])
        for j in range(3):
            assert means[record, j] == math.fsum(values[members, j]) / len(members)
    order = rng.permutation(50)
    assert np.array_equal(group_means_for_records(values[order], labels[order]), means[order])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 4.0, -7.0], 0),
        ([0.0, 0.0], 0),
        ([-0.0], 0),
        ([0.1, 0.2, 0.3], 1),
        ([0.1 + 0.2, 0.5], 1),
        ([1.5, 2.25], 2),
        ([19.99, 5.0], 2),
        ([1e6 + 0.01], 2),
        ([1e9 + 0.25, 1e9], 2),
        ([1e12 + 0.25, 1e12], 2),
        ([123456.789012], 6),
        ([0.000000001], 9),
        ([0.0000000001], None),
        ([1 / 3], None),
        ([1e-200, 2e-200], None),
        ([5e-324], None),
        ([math.pi, math.e], None),
        ([1e300], None),
        ([2.0**53, 2.0], 0),
        ([1.25, 2.5, 3.75, 1e15], 2),
        ([0.1, 0.2, 1e12], 1),
        ([1000.1 - 1000.0, 1000.2], 1),
        ([1 / 3, 2 / 3, 1e15], None),
    ],
)
def test_decimals(values: list[float], expected: int | None) -> None:
    assert decimals_of(np.array(values)) == expected


@pytest.mark.slow
@given(
    st.integers(0, 6).flatmap(
        lambda places: st.tuples(
            st.just(places), st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=20)
        )
    )
)
def test_decimals_of_numbers_as_they_are_written(drawn: tuple[int, list[int]]) -> None:
    places, digits = drawn
    texts = [f"{number / 10**places:.{places}f}" for number in digits]
    needed = max(len(text.partition(".")[2].rstrip("0")) for text in texts)
    decimals = decimals_of(np.array([float(text) for text in texts]))
    assert decimals == needed
    assert round_to(np.array([float(text) for text in texts]), decimals).tolist() == [
        float(text) for text in texts
    ]


def test_single_precision_has_its_own_decimals() -> None:
    column = np.array([1.1, 2.3, 1234.5], np.float32).astype(np.float64)
    assert decimals_of(column, single=True) == 1
    assert decimals_of(column) is None


def test_rounding() -> None:
    assert round_to(np.array([1.26, -0.04, 2.0]), 1).tolist() == [1.3, 0.0, 2.0]
    assert not np.signbit(round_to(np.array([-0.04, -0.0]), 1)).any()
    assert not np.signbit(round_to(np.array([-0.0]), None)).any()
    exact = np.array([1 / 3, 2 / 3])
    assert round_to(exact, None).tolist() == exact.tolist()
