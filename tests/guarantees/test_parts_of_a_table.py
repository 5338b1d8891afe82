"""Findings on some classes of a table and on the others come to what is found on all of them;
nothing is verified unseen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.guarantees.promise import Guarantees
from microagg.guarantees.tally import tally, tally_of_part
from microagg.table.confidential import Attribute, numbered
from microagg.table.schema import Kind

ASKED: list[dict[str, Any]] = [
    {"l": 2},
    {"l": 2.5, "diversity": "entropy"},
    {"l": 2, "diversity": "recursive", "c": 1.5},
    {"t": 0.4},
    {"l": 2, "t": 0.4},
    {"l": 3, "diversity": "recursive", "c": 3.0, "t": 0.3},
]


@pytest.mark.parametrize("kind", [Kind.NOMINAL, Kind.ORDINAL, Kind.NUMERIC])
@pytest.mark.parametrize("guarantee", ASKED, ids=str)
def test_findings_of_two_parts_are_those_of_the_whole(
    guarantee: dict[str, Any], kind: Kind
) -> None:
    rng, seen = np.random.default_rng(7), set()
    for _ in range(40):
        n, classes = int(rng.integers(12, 60)), int(rng.integers(2, 6))
        labels = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
        values = rng.integers(0, 6, n).astype(np.float64 if kind is Kind.NUMERIC else np.int64)
        atoms = np.where(rng.random(n) < 0.1, 0, -1).astype(np.int16)
        promise = Guarantees.of(**guarantee)
        whole = promise.findings_on_values("x", kind, tally(values, labels, classes, atoms=atoms))
        cut, (codes, known) = int(rng.integers(1, classes)), numbered(values, atoms)
        overall = np.bincount(codes)
        parts = []
        for chosen, begin, count in ((labels < cut, 0, cut), (labels >= cut, cut, classes - cut)):
            part_tally = tally_of_part(codes[chosen], labels[chosen] - begin, count, overall, known)
            parts.append(promise.findings_on_values("x", kind, part_tally))
        for one, first, second in zip(whole, *parts, strict=True):
            both = promise.together(first, second)
            assert both.worst == pytest.approx(one.worst, rel=1e-12)
            assert both.failing.tolist() == one.failing.tolist()
            assert promise.together(second, first).worst == both.worst
            seen.add((one.guarantee, first.worst < second.worst))
    assert len(seen) == 2 * len({"l", "t"} & set(guarantee)), (
        "either part is the worse one at times"
    )


def test_units_of_two_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        n = int(rng.integers(10, 40))
        labels, units = rng.integers(0, 4, n), rng.integers(0, 9, n)
        labels[:4] = np.arange(4)
        promise = Guarantees.of(units=3)
        whole = promise.findings_on_units("home", tally(units, labels, 4))
        parts = [
            promise.findings_on_units("home", tally(units[chosen], labels[chosen] - begin, 2))
            for chosen, begin in ((labels < 2, 0), (labels >= 2, 2))
        ]
        for one, first, second in zip(whole, *parts, strict=True):
            both = promise.together(first, second)
            assert (both.guarantee, both.worst) == (one.guarantee, one.worst)
            assert both.failing.tolist() == one.failing.tolist()
        for group in range(4):
            counts = np.unique(units[labels == group], return_counts=True)[1]
            assert whole[0].failing[group] == (len(counts) < 3)
            assert whole[1].failing[group] == (2 * counts.max() > counts.sum())


def test_units_that_are_not_known_are_not_taken_for_kept() -> None:
    labels = np.array([0, 0, 1, 1])
    with pytest.raises(ma.GuaranteeError, match="units of the records are not known"):
        Guarantees.of(units=2).verify(labels, 2, ())
    home = Attribute("home", Kind.NOMINAL, np.array([0, 1, 0, 1]))
    assert all(finding.holds for finding in Guarantees.of(units=2).verify(labels, 2, (), home))


def test_a_marker_of_missing_units_is_no_unit() -> None:
    table = pa.table({"age": [30, 30, 40, 40], "home": ["a", "b", "a", "?"]})
    assert ma.check(table, ["age"], k=2, unit="home").holds
    with pytest.raises(ma.InputError, match=r"'home' .* is missing in 1 of 4, first in row 4"):
        ma.check(table, ["age"], k=2, unit="home", na=["?"])


def test_spellings_are_one_value_unless_exact() -> None:
    table = pa.table({"age": [30, 30, 40, 40], "ill": ["flu", "Flu ", "gout", "1.0"]})
    settings = {"quasi": ["age"], "k": 2, "confidential": ["ill"], "l": 2}
    assert not ma.check(table, **settings).holds
    assert ma.check(table, **settings, exact=True).holds
