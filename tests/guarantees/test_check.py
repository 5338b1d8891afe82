"""`check` as users call it."""

from __future__ import annotations

import inspect

import numpy as np
import pyarrow as pa

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
    assert [(each.k, each.sizes.tolist()) for each in calls] == [(2, [2, 3])] * len(calls)
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
