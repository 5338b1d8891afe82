"""`check` as users call it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma

TABLE = pa.table({"age": [30, 30, 40, 40, 40], "ill": ["no", "yes", "no", "no", "no"]})


def test_a_check_is_true_where_it_holds() -> None:
    assert ma.check(TABLE, ["age"], k=2)
    assert not ma.check(TABLE, ["age"], k=3)
    assert not ma.check(TABLE, ["age"], k=2, confidential=["ill"], l=2)
    assert not ma.check(pa.table({"age": [30]}), ["age"], k=2)


def test_k_and_quasi_in_either_order() -> None:
    calls = (
        ma.check(TABLE, ["age"], 2),
        ma.check(TABLE, quasi=["age"], k=2),
        ma.check(TABLE, k=2, quasi=["age"]),
        ma.check(TABLE, 2, ["age"]),  # pyright: ignore[reportArgumentType]
        ma.check(TABLE, 2, quasi=["age"]),  # pyright: ignore[reportCallIssue]
        ma.check(TABLE, "age", k=2),
    )
    assert [(call.k, call.sizes.tolist()) for call in calls] == [(2, [2, 3])] * len(calls)
    assert list(inspect.signature(ma.check).parameters)[:3] == ["table", "quasi", "k"]


def test_what_follows_k_and_quasi_is_the_same_in_either_order() -> None:
    usual = ma.check(TABLE, ["age"], 2, ["ill"], l=2)
    turned = ma.check(TABLE, 2, ["age"], ["ill"], l=2)  # pyright: ignore[reportArgumentType]
    assert (usual.holds, turned.holds) == (False, False), "all of 40 are well"
    assert turned.sizes.tolist() == usual.sizes.tolist()


def test_columns_of_a_matrix_are_named_by_their_numbers() -> None:
    assert ma.check(np.array([[30, 1], [30, 2]]), ["0"], k=2)


def test_a_check_is_shown_without_the_classes_of_records() -> None:
    assert "labels" not in repr(ma.check(TABLE, ["age"], 2))


HOMES = TABLE.append_column("home", pa.array([1, 2, 1, 1, 2]))


def test_units_are_checked_where_they_are_named() -> None:
    """Two of the three records of 40 are of one home."""
    bare = ma.check(HOMES, ["age"], 2)
    assert bare.holds
    assert bare.findings == ()
    units = ma.check(HOMES, ["age"], 2, unit="home")
    assert not units.holds
    assert units.failing.tolist() == [1]
    assert ma.check(HOMES.slice(0, 2), ["age"], 2, unit="home").holds
    both = ma.check(HOMES, ["age"], 2, ["ill"], l=2, unit="home")
    assert len(both.findings) > len(units.findings)
    assert both.failing.tolist() == [1]


def test_only_what_is_named_makes_classes() -> None:
    assert ma.check(HOMES, ["age"], 2, stratum="home").sizes.tolist() == [1, 1, 2, 1]
    assert ma.check(HOMES, ["age", "age"], 2).sizes.tolist() == [2, 3]


def test_l_or_t_of_nothing_is_refused() -> None:
    alone: list[dict[str, Any]] = [{"l": 2}, {"t": 0.5}]
    for guarantee in alone:
        with pytest.raises(ma.InputError, match="confidential"):
            ma.check(HOMES, ["age"], 2, **guarantee)


def test_t_of_each_class() -> None:
    """One of two is ill in the class of 30, one of five in the table; nobody in that of 40."""
    assert ma.check(TABLE, ["age"], 2, ["ill"], t=0.3)
    failing = ma.check(TABLE, ["age"], 2, ["ill"], t=0.29)
    assert failing.failing.tolist() == [0]
    assert ma.check(TABLE, ["age"], 2, ["ill"], t=0.2).failing.tolist() == [0]
    assert ma.check(TABLE, ["age"], 2, ["ill"], t=0.19).failing.tolist() == [0, 1]
