"""Questions about all groups at once, against one group after another."""

from __future__ import annotations

import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from microagg.table.grouping import ROUNDING, Groups


def made_up(seed: int) -> tuple[Groups, list[list[int]], np.random.Generator]:
    """Groups with gaps in their order, some of one record, and their records one after another."""
    rng = np.random.default_rng([30, seed])
    count = int(rng.integers(1, 7))
    labels = np.concatenate([np.arange(count), rng.integers(0, count, rng.integers(0, 25))])
    labels = rng.permutation(labels)
    return Groups.of(labels), [np.flatnonzero(labels == g).tolist() for g in range(count)], rng


@pytest.mark.parametrize("seed", range(20))
def test_groups_as_they_are(seed: int) -> None:
    groups, members, rng = made_up(seed)
    wanted = rng.random(len(groups.labels)) < 0.5
    column = rng.integers(-3, 4, len(groups.labels)).astype(float)
    assert groups.count == len(members)
    assert groups.sizes.tolist() == [len(some) for some in members]
    assert groups.order.tolist() == [record for some in members for record in some]
    assert [groups.order[start] for start in groups.starts] == [some[0] for some in members]
    assert groups.counts(wanted).tolist() == [int(wanted[some].sum()) for some in members]
    assert groups.least(column).tolist() == [column[some].min() for some in members]
    assert groups.largest(column).tolist() == [column[some].max() for some in members]


def test_no_groups() -> None:
    groups = Groups.of(np.zeros(0, np.int64))
    nothing = np.zeros(0)
    assert (groups.count, groups.sizes.tolist()) == (0, [])
    for result in (groups.least(nothing), groups.largest(nothing), groups.lower_medians(nothing)):
        assert result.tolist() == []
    assert groups.most_frequent(np.zeros(0, np.int64), np.zeros(0)).tolist() == []
    assert groups.means(np.zeros((0, 2)), nothing).shape == (0, 2)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("times", [1.0, 1e300, 1e-300])
def test_weighted_means(seed: int, times: float) -> None:
    groups, members, rng = made_up(seed)
    columns = rng.normal(size=(len(groups.labels), 2))
    weights = rng.uniform(0.1, 9.0, len(columns))
    means = groups.means(columns, weights * times)
    for group, some in enumerate(members):
        for j in range(2):
            exact = sum(Fraction(weights[i]) * Fraction(columns[i, j]) for i in some) / sum(
                Fraction(weights[i]) for i in some
            )
            assert means[group, j] == pytest.approx(float(exact), rel=1e-13, abs=1e-13)
    np.testing.assert_array_equal(
        groups.means(columns, np.full(len(columns), 7.0)).round(12), groups.means(columns).round(12)
    )
    equal = np.full_like(columns, 0.1)
    assert (groups.means(equal, weights) == 0.1).all(), "rounding does not lead out of a group"
    heavy = groups.means(columns, weights, heaviest=1e6)
    np.testing.assert_allclose(heavy, groups.means(columns, weights), rtol=1e-12)


@pytest.mark.parametrize("kind", ["whole", "parts", "large", "far"])
@pytest.mark.parametrize("seed", range(10))
def test_lower_medians(seed: int, kind: str) -> None:
    groups, members, rng = made_up(seed)
    column = rng.integers(-5, 5, len(groups.labels)).astype(float)
    column = {
        "whole": column,
        "parts": column / 3,
        "large": column * 2.0**40,
        "far": column + 1e15,
    }[kind]
    expected = [statistics.median_low(column[some].tolist()) for some in members]
    assert groups.lower_medians(column).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_the_most_frequent_code(seed: int) -> None:
    """Ties go to the code of the larger frequency, then to the lower one."""
    groups, members, rng = made_up(seed)
    codes = rng.integers(0, 4, len(groups.labels))
    frequency = rng.integers(0, 3, 4)
    expected = []
    for some in members:
        counts = Counter(codes[some].tolist())
        expected.append(min(counts, key=lambda code: (-counts[code], -frequency[code], code)))
    assert groups.most_frequent(codes, frequency).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_record(seed: int) -> None:
    groups, members, rng = made_up(seed)
    distances = rng.integers(0, 3, len(groups.labels)).astype(float)
    expected = [min(some, key=lambda record: (distances[record], record)) for some in members]
    assert groups.nearest(distances).tolist() == expected


def test_records_that_rounding_parts_are_equally_near() -> None:
    groups = Groups.of(np.array([0, 0, 1, 1]))
    apart = np.array([1.0 + ROUNDING / 2, 1.0, 1.0 + 3 * ROUNDING, 1.0])
    assert groups.nearest(apart).tolist() == [0, 3]


def test_draws_are_of_the_group_and_follow_from_the_key_and_the_number() -> None:
    labels = np.arange(3000) % 1000
    groups = Groups.of(labels)
    drawn = groups.drawn(7, "age")
    assert labels[drawn].tolist() == list(range(1000))
    places = Counter((drawn // 1000).tolist())
    assert min(places.values()) > 270, "each of three records about as often"
    assert groups.drawn(7, "age").tolist() == drawn.tolist()
    assert (groups.drawn(8, "age") != drawn).sum() > 500
    assert (groups.drawn(7, "wage") != drawn).sum() > 500
    some = np.array([5, 900])
    part = Groups.of(np.array([0, 1, 0, 1, 0, 1]))
    alone = part.drawn(7, "age", numbers=some)
    assert [alone[0] // 2, alone[1] // 2] == [drawn[5] // 1000, drawn[900] // 1000]
