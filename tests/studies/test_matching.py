"""Records of two tables brought into one order, and what their columns say about it."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.studies.column_roles import check_two_parts, checked_k, names_of, shared_numbers
from microagg.studies.matching import (
    FEWEST,
    RowOrder,
    _log_chance,
    in_order_of,
    out_of_order,
    row_order,
)


def frame(**columns: Any) -> nw.DataFrame[Any]:
    return nw.from_native(pa.table(columns), eager_only=True)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([3, 1, 2], [1, 2, 3]),
        ([3, 1, 2], pa.array([1.0, 2.0, 3.0])),
        (pa.array([3, 1, 2], pa.uint8()), pa.array([2, 1, 3], pa.int32())),
        (["c", "a", "b"], pa.array(["b", "c", "a"]).dictionary_encode()),
        (["3", "1", "2"], [2, 3, 1]),
        ([0.5, 1.5, 2.5], pa.array([2.5, 0.5, 1.5], pa.float32())),
    ],
)
def test_a_key_orders_the_release_as_the_original(ours: Any, theirs: Any) -> None:
    released = frame(id=theirs, row=[10, 11, 12])
    result = in_order_of(frame(id=ours), released, "id")
    texts = [
        [str(key).removesuffix(".0") for key in table["id"].to_list()]
        for table in (frame(id=ours), released)
    ]
    assert result["row"].to_list() == [10 + texts[1].index(key) for key in texts[0]]
    assert in_order_of(frame(id=ours), released, None)["row"].to_list() == [10, 11, 12]


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ([1, 2], [1, 2, 3], "has 2 records and the release 3"),
        ([1, 2, 2], [1, 2, 3], "not unique in the original: 1 of 3"),
        ([1, 2, 3], [1, 1, 1], "not unique in the release: 2 of 3"),
        ([1, 2, None], [1, 2, 3], "1 records of the original have no value"),
        ([1, 2, 3], [None, None, 3], "2 records of the release have no value"),
        ([1, 2, 3], [1, 4, 5], "2 records of the original have no match"),
        ([[1], [2]], [[1], [2]], "cannot be compared"),
    ],
)
def test_keys_that_match_nothing(ours: list[Any], theirs: list[Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        in_order_of(frame(id=ours), frame(id=theirs), "id")


@pytest.mark.parametrize("counts", [[1], [3], [1, 1], [2, 1, 4], [5, 5], [1] * 9])
def test_the_chance_that_shuffled_values_stay_where_they_were(counts: list[int]) -> None:
    orders = math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)
    assert _log_chance(np.array(counts)) == pytest.approx(-math.log(orders), abs=1e-9)


@pytest.mark.parametrize(("records", "order"), [(9, RowOrder.UNKNOWN), (10, RowOrder.SAME)])
def test_an_order_that_chance_would_show_proves_nothing(records: int, order: RowOrder) -> None:
    """Of 9 different values one order in 362,880 is the same; of 10 it is one in 3,628,800."""
    table = frame(a=list(range(records)))
    assert row_order(table, table, ["a"]) == (order, "a" if order is RowOrder.SAME else "")


def test_the_first_column_in_another_order_is_named() -> None:
    before = frame(same=["x", "y"] * 5, a=list(range(10)), b=list(range(10)))
    after = frame(same=["x", "y"] * 5, a=list(range(10))[::-1], b=list(range(10))[::-1])
    assert row_order(before, after, ["same", "b", "a"]) == (RowOrder.OTHER, "b")
    assert row_order(before, after, ["same"]) == (RowOrder.UNKNOWN, "")
    larger = frame(same=["x", "z"] * 5, a=[*range(9), 77], b=list(range(10)))
    assert row_order(before, larger, ["same", "a"]) == (RowOrder.UNKNOWN, ""), "changed values"
    assert row_order(larger, before, ["same", "a"]) == (RowOrder.UNKNOWN, ""), "changed values"


def test_disorder_shows_from_so_many_records_on() -> None:
    values = np.arange(float(FEWEST)).reshape(-1, 1)
    mixed = np.random.default_rng(3).permutation(values)
    assert out_of_order(values, mixed)
    assert not out_of_order(values[:-1], mixed[mixed[:, 0] < FEWEST - 1].reshape(-1, 1))


def disorder(scale: float = 1.0, shift: float = 0.0, share: float = 0.0) -> bool:
    """Return True if 2,000 shuffled records count as shuffled although values are also changed, and
    `share` of them stay.
    """
    rng = np.random.default_rng(8)
    before = rng.normal(size=(2000, 2))
    after = before.copy()
    moved = int(2000 * (1 - share))
    after[:moved] = rng.permutation(after[:moved])
    return out_of_order(before, after * scale + shift)


def test_columns_on_another_scale_say_nothing_about_order() -> None:
    assert disorder()
    assert disorder(scale=0.3)
    assert disorder(scale=3.8)
    assert not disorder(scale=0.2)
    assert not disorder(scale=4.2)
    assert disorder(shift=0.9)
    assert disorder(shift=-0.9)
    assert not disorder(shift=1.1)
    assert not disorder(shift=-1.1)
    assert disorder(share=0.2)
    assert not disorder(share=0.3)


def test_group_means_in_order_are_not_taken_for_shuffled_rows() -> None:
    """They correlate by the ratio of the spreads, and so does noise by its inverse."""
    rng = np.random.default_rng(4)
    before = rng.normal(size=(900, 1))
    means = np.repeat(before.reshape(-1, 6).mean(axis=1), 6).reshape(-1, 1)
    noisy = before + 3.0 * rng.normal(size=before.shape)
    for after in (means, noisy):
        assert not out_of_order(before, after)
        assert out_of_order(before, rng.permutation(after))
    constant = np.ones_like(before)
    assert not out_of_order(constant, constant)
    assert out_of_order(
        np.hstack([constant, before]), np.hstack([constant, rng.permutation(before)])
    )


def test_roles_of_columns() -> None:
    assert names_of(7) == ["7"]
    assert names_of(["b", "a", "b", 1]) == ["b", "a", "1"]
    before = frame(a=[1], b=["x"], c=[1.5], d=[2])
    after = frame(d=[2], c=["x"], a=[1])
    assert shared_numbers(before, after, []) == ["a", "d"]
    assert shared_numbers(before, after, ["a"]) == ["d"]
    with pytest.raises(ma.InputError, match="share no numeric column"):
        shared_numbers(before, after, ["a", "d"])
    check_two_parts(["a"], ["b"])
    for parts in ((["a"], ["b", "a"]), ([], ["a", "a"]), (["a", "a"], [])):
        with pytest.raises(ma.InputError, match="'a' was given two roles"):
            check_two_parts(*parts)
    assert [checked_k(k) for k in (None, 2, np.int64(7))] == [None, 2, 7]
    for k in (1, 0, -3, True, 2.0, "3"):
        with pytest.raises(ma.InputError, match="at least 2"):
            checked_k(k)
