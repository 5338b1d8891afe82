"""Distance-based record linkage, against a look at all pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import plain
from measures.risk.pairs import (
    SEEDS,
    agrees,
    collapsed,
    deviation,
    distinct_pair,
    percent,
    random_pair,
    weights_of,
)
from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.measures.risk.linkage import LINKAGE, linked_parts, record_linkage

UNIT = 2.0**-52


def slow_parts(pair: Pair, columns: list[int] | None = None) -> tuple[list[float], list[float]]:
    """Each record's part in the tie for the nearest original, and for the second nearest; equal
    within rounding is equal.
    """
    chosen = range(pair.original.shape[1]) if columns is None else columns
    before, after, moved = [], [], []
    for j in chosen:
        x = pair.original[:, j].tolist()
        centre, unit = math.fsum(x) / len(x), deviation(x) or 1.0
        before.append([(a - centre) / unit for a in x])
        after.append([(b - centre) / unit for b in pair.released[:, j].tolist()])
        if min(x) < max(x):
            moved.append(4.0 * UNIT * (abs(centre) / unit + 2.0 * max(map(abs, before[-1]))))

    def rounded_up(squared: float) -> float:
        reach = math.sqrt(squared) * (1.0 + (len(before) + 8) * UNIT) + math.hypot(*moved)
        return max(squared, reach * reach)

    originals, everybody = np.array(before).T, range(len(pair.original))
    nearest, second = [], []
    for record, q in enumerate(np.array(after).T):
        distances = plain.squared_distances(originals, everybody, q).tolist()
        lower = rounded_up(min(distances))
        beyond = [x for x in distances if x > lower]
        upper = rounded_up(min(beyond)) if beyond else lower
        first, following = [x for x in distances if x <= lower], [x for x in beyond if x <= upper]
        nearest.append(1.0 / len(first) if distances[record] in first else 0.0)
        second.append(1.0 / len(following) if distances[record] in following else 0.0)
    return nearest, second


def exact_parts(
    original: list[list[Fraction]], groups: list[list[int]]
) -> tuple[list[Fraction], list[Fraction]]:
    """The same where groups are released as their means, without any rounding: in fractions, so
    that ties are ties.
    """
    n, d = len(original), len(original[0])
    precisions = []
    for j in range(d):
        x = [row[j] for row in original]
        centre = sum(x) / n
        spread = sum((a - centre) ** 2 for a in x) / n
        precisions.append(1 / spread if spread else Fraction(0))
    nearest, second = [Fraction(0)] * n, [Fraction(0)] * n
    for group in groups:
        q = [sum(original[i][j] for i in group) / len(group) for j in range(d)]
        distances = [
            sum(precisions[j] * (row[j] - q[j]) ** 2 for j in range(d) if precisions[j])
            for row in original
        ]
        levels = sorted(set(distances))[:2]
        for i in group:
            if distances[i] == levels[0]:
                nearest[i] = Fraction(1, distances.count(levels[0]))
            elif distances[i] == levels[1]:
                second[i] = Fraction(1, distances.count(levels[1]))
    return nearest, second


def means_of_groups(original: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    released = original.copy()
    for group in groups:
        released[group] = [
            math.fsum(original[group, j].tolist()) / len(group) for j in range(original.shape[1])
        ]
    return released


@pytest.mark.parametrize("seed", range(60))
def test_means_tie_as_they_do_without_rounding(seed):
    """Groups of two and more, near ones and any; whole numbers, decimals and numbers far from 0."""
    rng = np.random.default_rng([8, seed])
    d, k, n = 1 + seed % 4, 2 + seed // 4 % 3, 24
    table = rng.normal(size=(n, d)) * [1.0, 30.0, 1e-3, 7.0][:d]
    table = [table, np.round(table, 2), np.round(10.0 * table), table + 1e6][seed % 5 % 4]
    order = np.argsort(table[:, 0], kind="stable") if seed % 2 else rng.permutation(n)
    groups = [sorted(order[i : i + k].tolist()) for i in range(0, n, k)]
    nearest, second = exact_parts([[Fraction(x) for x in row] for row in table.tolist()], groups)
    linked = linked_parts(Pair(table, means_of_groups(table, groups), tuple("abcd"[:d])))
    assert linked[0].tolist() == [float(x) for x in nearest]
    assert linked[1].tolist() == [float(x) for x in second]


def test_two_records_are_equally_far_from_their_mean():
    """Rounding once made one of every two the nearest and the other the second nearest."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(400, 3))
    order = np.argsort(table[:, 0], kind="stable").reshape(-1, 2).tolist()
    pair = Pair(table, means_of_groups(table, order), ("a", "b", "c"))
    nearest, second = linked_parts(pair)
    for one, other in order:
        assert nearest[one] == nearest[other]
        assert second[one] == second[other]
    assert LINKAGE.compute(pair).details["second nearest"] < 10.0


def test_a_chain_of_ties_ends_where_the_first_does():
    """Rounding reaches from the lowest distance only, not from one tied original to the next."""
    # columns from 0 to 1 on their own scale: rounding moves a point by so much
    step = 4.0 * UNIT * 2.0
    original = np.array([[0.0], [0.6 * step], [1.2 * step], [1.8 * step], [1.0]])
    pair = Pair(original, np.zeros((5, 1)), ("a",))
    nearest, second = linked_parts(pair, scale="none")
    assert nearest.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]
    assert second.tolist() == [0.0, 0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_a_look_at_all_pairs(seed):
    pair = random_pair(seed)
    nearest, second = slow_parts(pair)
    linked = linked_parts(pair)
    assert linked[0].tolist() == nearest
    assert linked[1].tolist() == second
    figure = LINKAGE.compute(pair)
    agrees(figure, percent(nearest, weights_of(pair)))
    assert figure.details["second nearest"] == pytest.approx(
        percent(second, weights_of(pair)), abs=1e-9
    )


@pytest.mark.parametrize("seed", range(len(plain.KINDS)))
def test_larger_tables_of_every_kind(seed):
    """Several levels of the tree, whole and with ties by the dozen."""
    rng = np.random.default_rng(seed)
    original = np.ascontiguousarray(plain.KINDS[seed](rng, 700, 3))
    released = (
        original[np.argsort(original[:, 0])]
        .reshape(100, 7, 3)
        .mean(axis=1)[rng.integers(0, 100, 700)]
    )
    pair = Pair(original, np.ascontiguousarray(released), ("a", "b", "c"))
    for this in (pair, replace(pair, released=original + 0.3 * rng.normal(size=original.shape))):
        nearest, second = slow_parts(this)
        linked = linked_parts(this)
        assert linked[0].tolist() == nearest
        assert linked[1].tolist() == second


@pytest.mark.parametrize("seed", range(0, 100, 7))
def test_an_intruder_who_knows_some_columns(seed):
    pair = random_pair(seed)
    last = pair.original.shape[1] - 1
    known = sorted({0, last})
    nearest, _ = slow_parts(pair, known)
    figure = record_linkage(pair, columns=[pair.names[j] for j in known])
    agrees(figure, percent(nearest, weights_of(pair)))


def test_another_scale():
    original = np.array([[0.0, 0.0], [10.0, 1.0], [4.0, 0.6]])
    pair = Pair(original, np.array([[0.0, 0.0], [4.0, 0.9], [4.0, 0.6]]), ("a", "b"))
    assert linked_parts(pair, scale="none")[0].tolist() == [1.0, 0.0, 1.0]
    heavy = Pair(original, np.array([[0.0, 0.0], [7.2, 0.81], [4.0, 0.6]]), ("a", "b"))
    assert linked_parts(heavy, scale="minmax")[0].tolist() == [1.0, 1.0, 1.0]


def test_columns_that_are_not_there():
    pair = random_pair(1)
    with pytest.raises(InputError, match="'income' is not"):
        record_linkage(pair, columns=["income"])
    with pytest.raises(InputError, match="at least one"):
        record_linkage(pair, columns=[])


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = distinct_pair(weighted=weighted)
    assert LINKAGE.compute(pair).value == pytest.approx(LINKAGE.highest)
    assert LINKAGE.compute(pair).details["second nearest"] == LINKAGE.lowest
    one = linked_parts(collapsed(pair))[0]
    assert math.fsum(one.tolist()) == 1.0  # drawn blindly: one record
    far = replace(pair, released=pair.original[::-1].copy())
    assert LINKAGE.compute(far).value == LINKAGE.lowest


def test_equal_originals_share():
    """Four records at two places: of each two, one is linked by chance; collapsed, all four tie."""
    table = np.array([[0.0], [0.0], [2.0], [2.0]])
    assert LINKAGE.compute(Pair(table, table.copy(), ("a",))).value == 50.0
    middle = LINKAGE.compute(Pair(table, np.ones((4, 1)), ("a",)))
    assert (middle.value, middle.details["second nearest"]) == (25.0, 0.0)


def test_the_second_nearest_are_at_the_next_distance():
    """Nearest to 0.9 are two originals at 1; the next distance has one alone."""
    original = np.array([[0.0], [1.0], [1.0], [5.0]])
    released = np.array([[0.9], [0.9], [5.0], [5.0]])
    nearest, second = linked_parts(Pair(original, released, ("a",)))
    assert nearest.tolist() == [0.0, 0.5, 0.0, 1.0]
    assert second.tolist() == [1.0, 0.0, 0.5, 0.0]


def test_strange_tables():
    one = Pair(np.array([[3.0]]), np.array([[8.0]]), ("a",))
    assert LINKAGE.compute(one).value == 100.0
    empty = Pair(np.empty((0, 2)), np.empty((0, 2)), ("a", "b"))
    assert LINKAGE.compute(empty).value == 0.0
    beyond = Pair(np.array([[0.0], [1e-90], [3e-90]]), np.full((3, 1), 1e100), ("a",))
    assert LINKAGE.compute(beyond).value == pytest.approx(100.0 / 3.0)
    frozen = random_pair(2)
    frozen.original.setflags(write=False)
    frozen.released.setflags(write=False)
    agrees(LINKAGE.compute(frozen), percent(slow_parts(frozen)[0], weights_of(frozen)))
