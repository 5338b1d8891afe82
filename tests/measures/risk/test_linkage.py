"""Distance-based record linkage, against a look at all pairs."""

from __future__ import annotations

import math
from dataclasses import replace

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


def slow_parts(pair: Pair, columns: list[int] | None = None) -> tuple[list[float], list[float]]:
    """Each record's part in the tie for the nearest original, and for the second nearest."""
    chosen = range(pair.original.shape[1]) if columns is None else columns
    before, after = [], []
    for j in chosen:
        x = pair.original[:, j].tolist()
        centre, unit = math.fsum(x) / len(x), deviation(x) or 1.0
        before.append([(a - centre) / unit for a in x])
        after.append([(b - centre) / unit for b in pair.released[:, j].tolist()])
    originals, everybody = np.array(before).T, range(len(pair.original))
    nearest, second = [], []
    for record, q in enumerate(np.array(after).T):
        distances = plain.squared_distances(originals, everybody, q).tolist()
        levels = sorted(set(distances))
        own = distances[record]
        nearest.append(1.0 / distances.count(own) if own == levels[0] else 0.0)
        second.append(1.0 / distances.count(own) if own in levels[1:2] else 0.0)
    return nearest, second


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_a_look_at_all_pairs(seed):
    pair = random_pair(seed)
    nearest, second = slow_parts(pair)
    found = linked_parts(pair)
    assert found[0].tolist() == nearest
    assert found[1].tolist() == second
    figure = LINKAGE.compute(pair)
    agrees(figure, percent(nearest, weights_of(pair)))
    assert figure.details["second nearest"] == pytest.approx(percent(second, weights_of(pair)), abs=1e-9)


@pytest.mark.parametrize("seed", range(len(plain.KINDS)))
def test_larger_tables_of_every_kind(seed):
    """Several levels of the tree, whole and with ties by the dozen."""
    rng = np.random.default_rng(seed)
    original = np.ascontiguousarray(plain.KINDS[seed](rng, 700, 3))
    released = original[np.argsort(original[:, 0])].reshape(100, 7, 3).mean(axis=1)[rng.integers(0, 100, 700)]
    pair = Pair(original, np.ascontiguousarray(released), ("a", "b", "c"))
    for this in (pair, replace(pair, released=original + 0.3 * rng.normal(size=original.shape))):
        nearest, second = slow_parts(this)
        found = linked_parts(this)
        assert found[0].tolist() == nearest
        assert found[1].tolist() == second


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
