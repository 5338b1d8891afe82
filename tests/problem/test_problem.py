"""A part of a problem: its own records, measured against the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import promised
from microagg.guarantees.promise import Guarantees
from microagg.problem.problem import Problem
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

ASKED: list[dict[str, Any]] = [
    {"l": 2},
    {"l": 1.7, "diversity": "entropy"},
    {"l": 2, "diversity": "recursive", "c": 2.0},
    {"t": 0.2},
    {"l": 2, "t": 0.35},
]


@pytest.mark.parametrize("guarantee", ASKED, ids=str)
def test_groups_of_a_part_are_judged_against_the_whole_table(guarantee: dict[str, Any]) -> None:
    rng = np.random.default_rng(sum(map(ord, str(guarantee))))
    verdicts, differs = set(), 0
    for _ in range(120):
        n = int(rng.integers(6, 50))
        wage, ill = np.round(rng.lognormal(size=n), 1), rng.integers(0, 4, n)
        attributes = (Attribute("wage", Kind.NUMERIC, wage), Attribute("ill", Kind.NOMINAL, ill))
        whole = Problem.of(
            rng.normal(size=(n, 2)),
            2,
            confidential=attributes,
            accept=Guarantees.of(**guarantee).accept(attributes),
        )
        records = rng.permutation(n)[: int(rng.integers(2, n + 1))]
        part = whole.part(records)
        group = rng.permutation(len(records))[: int(rng.integers(1, len(records) + 1))]
        members = records[group].tolist()
        expected = all(
            promised.is_kept(
                column.values.tolist(), members, nominal=column.kind is Kind.NOMINAL, **guarantee
            )
            for column in attributes
        )
        assert part.accept is not None
        assert part.accept(group) == expected
        labels = np.ones(len(records), np.int64)
        labels[group] = 0
        assert (part.accept.shortfalls(labels)[0] == 0.0) == expected
        twice = part.part(np.arange(len(records))[::-1])
        assert twice.accept is not None
        assert twice.accept(len(records) - 1 - group) == expected
        alone = Guarantees.of(**guarantee).accept(part.confidential)
        assert alone is not None
        verdicts.add(expected)
        differs += alone(group) != expected
    assert verdicts == {True, False}
    assert (differs > 0) == ("t" in guarantee), "only t looks beyond the group"


def test_a_part_has_its_own_records_and_nothing_of_the_whole_changes() -> None:
    points, weights = np.arange(12.0).reshape(6, 2), np.arange(1.0, 7.0)
    ill = Attribute("ill", Kind.NOMINAL, np.array([3, 1, 3, 2, 1, 3]))
    whole = Problem.of(points, 2, weights=weights, confidential=(ill,), threads=3)
    part = whole.part(np.array([4, 0, 2]))
    assert part.points.tolist() == [[8.0, 9.0], [0.0, 1.0], [4.0, 5.0]]
    assert part.weights is not None
    assert part.weights.tolist() == [5.0, 1.0, 3.0]
    assert part.confidential[0].values.tolist() == [1, 3, 3]
    assert (part.confidential[0].name, part.confidential[0].kind) == ("ill", Kind.NOMINAL)
    assert (part.k, part.threads, part.accept) == (2, 3, None)
    part.points[:] = -1.0
    assert points.tolist() == np.arange(12.0).reshape(6, 2).tolist()
