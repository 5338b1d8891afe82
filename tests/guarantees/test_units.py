"""Units: k of them in every class, none with more than half, against counting with fractions."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import promised
from microagg.guarantees.promise import Guarantees
from microagg.table.confidential import Attribute, units_of
from microagg.table.schema import Kind


def random_units(rng: np.random.Generator, n: int) -> np.ndarray:
    """Households of a few records, one large company among small ones, or everybody alone."""
    kind = int(rng.integers(3))
    if kind == 0:
        return rng.integers(0, max(1, n // 3), n)
    return (
        np.where(rng.random(n) < 0.4, 0, rng.integers(0, n, n)) if kind == 1 else rng.permutation(n)
    )


def column(units: np.ndarray) -> Attribute:
    return Attribute("household", Kind.NOMINAL, units.astype(np.int64))


def test_groups_and_classes_are_judged_as_with_fractions():
    rng, seen = np.random.default_rng(16), set()
    for _ in range(400):
        n, k = int(rng.integers(2, 40)), int(rng.integers(2, 6))
        units = random_units(rng, n)
        promise = Guarantees.of(units=k)
        members = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        expected = promised.has_units(units.tolist(), members.tolist(), k)
        accept = promise.accept((), column(units))
        assert accept is not None
        assert accept(members) == accept(np.sort(members)) == expected
        labels = np.isin(np.arange(n), members, invert=True).astype(np.int64)
        groups = [
            np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)
        ]
        fewest, largest = promise.evaluate(labels, len(groups), (), column(units))
        for g, group in enumerate(groups):
            counts = promised.Counter(units[group].tolist())
            assert fewest.failing[g] == (len(counts) < k)
            assert largest.failing[g] == (2 * max(counts.values()) > len(group))
        assert fewest.worst == min(len(set(units[group].tolist())) for group in groups)
        seen.add((expected, bool(fewest.failing[0]), bool(largest.failing[0])))
    assert len(seen) == 4  # kept; too few units, one of them too large, both


def test_two_classes_that_keep_it_keep_it_together():
    rng, tried = np.random.default_rng(3), 0
    for _ in range(600):
        n, k = int(rng.integers(8, 30)), int(rng.integers(2, 4))
        units = random_units(rng, n)
        order = rng.permutation(n)
        one, two = order[: n // 2].tolist(), order[n // 2 :].tolist()
        accept = Guarantees.of(units=k).accept((), column(units))
        assert accept is not None
        if accept(np.array(one)) and accept(np.array(two)):
            tried += 1
            assert accept(order)
            assert promised.has_units(units.tolist(), order.tolist(), k)
    assert tried > 100


def test_each_column_has_thresholds_of_its_own():
    ill, household = np.array([0, 1, 0, 1, 0, 1, 2, 2]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    guarantees = Guarantees.of(l=2, t=0.6, units=3)
    accept = guarantees.accept((Attribute("ill", Kind.NOMINAL, ill),), column(household))
    assert accept is not None
    seen = set()
    for size in range(2, 9):
        for members in itertools.combinations(range(8), size):
            values = promised.is_kept(ill.tolist(), members, nominal=True, l=2, t=0.6)
            units = promised.has_units(household.tolist(), members, 3)
            assert accept(np.array(members)) == (values and units)
            seen.add((values, units))
    assert len(seen) == 4


def test_searches_see_less_shortfall_the_nearer_a_group_is():
    accept = Guarantees.of(units=3).accept((), column(np.array([0, 0, 0, 0, 1, 2, 3])))
    assert accept is not None
    lacking = [accept.shortfall(np.arange(size)) for size in (4, 5, 6, 7)]
    assert lacking == sorted(lacking, reverse=True)
    assert lacking[0] > lacking[1] > lacking[2] > 0.0
    assert accept(np.array([0, 1, 4, 5, 6]))


def test_what_the_whole_table_misses_is_refused():
    few = column(np.array([0, 1, 0, 1, 1, 0]))
    with pytest.raises(
        ma.InputError, match=r"needs 3 different units.*only 2 in column 'household'"
    ):
        Guarantees.of(units=3).check_impossible((), few)
    with pytest.raises(ma.InputError, match=r"more than half.*has 5 of all 8"):
        Guarantees.of(units=2).check_impossible((), column(np.array([0, 0, 0, 0, 0, 1, 2, 3])))
    Guarantees.of(units=2).check_impossible((), few)


def test_units_are_told_apart_by_meaning_and_none_may_be_missing():
    assert units_of(pa.table({"h": ["A1", "a1 ", "B", "7", "7.0"]}), "h").codes.tolist() == [
        0,
        0,
        1,
        2,
        2,
    ]
    assert units_of(pa.table({"h": [3, 1, 3]}), "h").known == 2
    for gap in (None, "", "none"):
        with pytest.raises(ma.InputError, match="missing in 1 of 3, first in row 2") as error:
            units_of(pa.table({"h": ["secret", gap, "secret"]}), "h", na=["none"])
        assert "secret" not in str(error.value)
    with pytest.raises(ma.InputError, match="missing in 2 of 3, first in row 1"):
        units_of(pa.table({"h": [float("nan"), None, 4.0]}), "h")
