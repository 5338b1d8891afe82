"""l and t on groups and on tables, against counting with fractions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import promised
from microagg.guarantees.promise import Guarantees
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

ASKED: list[dict[str, Any]] = [
    {"l": 2}, {"l": 4}, {"l": 1.7, "diversity": "entropy"}, {"l": 3, "diversity": "entropy"},
    {"l": 2, "diversity": "recursive", "c": 1.0}, {"l": 3, "diversity": "recursive", "c": 2.5},
    {"t": 0.1}, {"t": 0.25}, {"t": 0.5}, {"l": 3, "t": 0.3},
]  # fmt: skip
KINDS = (Kind.NUMERIC, Kind.ORDINAL, Kind.NOMINAL)


def random_column(rng: np.random.Generator, n: int) -> np.ndarray:
    """All different, few values, or one that nearly everybody has."""
    kind = int(rng.integers(4))
    if kind == 0:
        return rng.permutation(n)
    if kind == 1:
        return rng.integers(0, int(rng.integers(1, 8)), n)
    return (
        np.minimum(rng.geometric(0.6, n), 9)
        if kind == 2
        else (rng.random(n) < 0.1).astype(np.int64)
    )


@pytest.mark.parametrize("guarantee", ASKED, ids=str)
def test_groups_and_classes_are_judged_as_with_fractions(guarantee):
    rng = np.random.default_rng(sum(map(ord, str(guarantee))))
    seen = set()
    for _ in range(150):
        n = int(rng.integers(2, 60))
        values = random_column(rng, n)
        for kind in KINDS:
            column = values.astype(np.float64) if kind is Kind.NUMERIC else values.astype(np.int64)
            attribute = Attribute("x", kind, column)
            promise = Guarantees.of(**guarantee)
            members = rng.permutation(n)[: int(rng.integers(1, n + 1))]
            expected = promised.is_kept(
                values.tolist(), members.tolist(), nominal=kind is Kind.NOMINAL, **guarantee
            )
            accept = promise.accept((attribute,))
            assert accept is not None
            assert accept(members) == accept(np.sort(members)) == expected
            labels = np.ones(n, np.int64)
            labels[members] = 0
            rest = np.flatnonzero(labels == 1).tolist()
            count = 2 if rest else 1
            kept = expected and (
                not rest
                or promised.is_kept(
                    values.tolist(), rest, nominal=kind is Kind.NOMINAL, **guarantee
                )
            )
            assert (
                all(finding.holds for finding in promise.evaluate(labels, count, (attribute,)))
                == kept
            )
            seen.add((expected, kept))
    assert (True, True) in seen
    assert (False, False) in seen


def test_several_columns_must_all_keep_it():
    one, two = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    attributes = (Attribute("a", Kind.NOMINAL, one), Attribute("b", Kind.NOMINAL, two))
    accept = Guarantees.of(l=2).accept(attributes)
    assert accept is not None
    assert not accept(np.array([0, 1]))
    assert not accept(np.array([0, 2]))
    assert accept(np.array([0, 3]))
    findings = Guarantees.of(l=2).evaluate(np.array([0, 0, 1, 1]), 2, attributes)
    assert [(f.column, f.holds) for f in findings] == [("a", True), ("b", False)]


def test_a_group_at_the_limit_counts_and_never_fails_the_check():
    values = np.arange(10.0)  # groups of opposite values lie at simple fractions
    attribute = Attribute("x", Kind.NUMERIC, values)
    for first in range(9):
        for second in range(first + 1, 10):
            members = [first, second]
            limit = float(promised.distance(values.tolist(), members, nominal=False))
            accept = Guarantees.of(t=limit).accept((attribute,))
            assert accept is not None
            assert accept(np.array(members))
            labels = np.where(np.isin(np.arange(10), members), 0, 1)
            assert not Guarantees.of(t=limit).evaluate(labels, 2, (attribute,))[0].failing[0]


@pytest.mark.parametrize(
    ("guarantee", "says"),
    [
        ({"l": 1}, "at least 2"),
        ({"l": 2.5}, "whole number"),
        ({"l": "many"}, "whole number"),
        ({"l": True}, "whole number"),
        ({"l": 1.0, "diversity": "entropy"}, "greater than 1"),
        ({"l": 2, "diversity": "recursive"}, "give both or neither"),
        ({"l": 2, "c": 2.0}, "give both or neither"),
        ({"l": 2, "diversity": "recursive", "c": 0}, "greater than 0"),
        ({"l": 2, "diversity": "even"}, "one of distinct"),
        ({"diversity": "entropy"}, "give l"),
        ({"c": 1.0}, "give l"),
        ({"t": -0.1}, "from 0 to 1"),
        ({"t": 1.1}, "from 0 to 1"),
        ({"t": True}, "from 0 to 1"),
        ({"t": "near"}, "from 0 to 1"),
        ({"t": -5e-324}, "from 0 to 1"),
        ({"t": 1.0000000000000002}, "from 0 to 1"),
        ({"t": float("nan")}, "from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(guarantee, says):
    with pytest.raises(ma.InputError, match=says):
        Guarantees.of(**guarantee)


@pytest.mark.parametrize(
    "guarantee",
    [
        {"l": 2},
        {"l": "2"},
        {"l": 1.0000000000000002, "diversity": "entropy"},
        {"l": 2, "diversity": "recursive", "c": 5e-324},
        {"t": 0},
        {"t": 1},
        {"t": "0.5"},
    ],
)
def test_limits_themselves_may_be_asked_for(guarantee):
    promise = Guarantees.of(**guarantee)
    assert (promise.diversity is not None) == ("l" in guarantee)
    assert (promise.closeness is not None) == ("t" in guarantee)
    if promise.closeness is not None:
        assert promise.closeness.t == float(guarantee["t"])
    if promise.diversity is not None:
        assert promise.diversity.l == float(guarantee["l"])
        assert promise.diversity.c == guarantee.get("c")


TABLE = pa.table(
    {
        "age": [30, 30, 30, 40, 40, 40],
        "ill": ["a", "b", "c", "a", "a", "b"],
        "wage": [1, 2, 3, 4, 5, 6],
        "rank": pa.array(["low", "high", "low", "high", "low", "high"]).dictionary_encode(),
    }
)


def test_check_tells_of_l_and_t():
    result = ma.check(TABLE, ["age"], 3, ["ill", "wage"], l=3)
    assert not result.holds
    assert [(f.column, f.worst, f.failing.tolist()) for f in result.findings] == [
        ("ill", 2.0, [False, True]),
        ("wage", 3.0, [False, False]),
    ]
    assert result.failing.tolist() == [1]
    assert ma.check(TABLE, ["age"], 3, ["ill", "wage"], l=2).holds
    close = ma.check(TABLE, ["age"], 3, "wage", t=0.2)
    assert close.findings[0].worst == pytest.approx(
        float(promised.distance([1, 2, 3, 4, 5, 6], [0, 1, 2], nominal=False))
    )
    assert not close.holds


def test_check_refuses_what_it_cannot_look_at():
    with pytest.raises(ma.InputError, match="name at least one"):
        ma.check(TABLE, ["age"], 3, l=2)
    with pytest.raises(ma.InputError, match="no column 'wages'"):
        ma.check(TABLE, ["age"], 3, ["wages"], l=2)


@pytest.mark.parametrize("guarantee", [{"l": 2}, {"t": 0.5}], ids=str)
def test_l_and_t_need_a_confidential_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guarantee: dict[str, Any]
) -> None:
    """In memory and out of core."""
    table = pa.table({"age": np.arange(300), "ill": np.arange(300) % 7})
    with pytest.raises(ma.InputError, match="l and t apply to confidential columns; name"):
        ma.anonymize(table, k=3, quasi="age", keep="ill", **guarantee)
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    monkeypatch.setattr(MemoryBudget, "checked", lambda self, *_: MemoryBudget(10**8, 2, 64, 2))
    for memory in (None, 1):
        with pytest.raises(ma.InputError, match="l and t apply to confidential columns; name"):
            ma.anonymize_file(
                tmp_path / "in.parquet", tmp_path / "out.csv", 3, quasi="age", keep="ill",
                memory=memory, **guarantee,
            )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
