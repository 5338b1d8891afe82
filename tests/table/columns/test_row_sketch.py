"""Hashes of rows, and sketches of tables made from them: what they tell apart, and what not."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns import row_sketch
from microagg.table.columns.canonical import canonical, exactly, has_other_forms
from microagg.table.columns.row_hashes import bucket_of, class_hashes, row_hashes
from microagg.table.columns.row_sketch import is_mostly_shared, sampled_rows, sketch_of_table

NAN = float("nan")
DAY = datetime.date(2024, 1, 31)


def different(hashes: np.ndarray) -> int:
    """Count the rows of hashes that differ; one lane differs where the other does."""
    for lane in (0, 1):
        assert len(np.unique(hashes[:, lane])) == len(np.unique(hashes, axis=0))
    return len(np.unique(hashes, axis=0))


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, -1, 2**62, None],
        [0.0, -0.0, 1.0, 5e-324, None],
        ["", "a", "b", "ab", "ba", "a\0", None],
        [[1], [1, 2], [], None],
        [b"\xff", b"\xfe", b"a", None],
        [DAY, DAY + datetime.timedelta(days=1), None],
        [True, False, None],
    ],
)
def test_rows_with_other_values_have_other_hashes(values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values[:2]), pa.array(values[2:], pa.array(values).type)])
    table = pa.table({"a": column})
    hashes = row_hashes(table)
    assert different(hashes) == len(values)
    assert np.array_equal(row_hashes(pa.concat_tables([table, table])), np.tile(hashes, (2, 1)))
    assert np.array_equal(row_hashes(table.slice(1, 2)), hashes[1:3])
    assert row_hashes(table.slice(0, 0)).shape == (0, 2)


def test_a_value_counts_in_its_column() -> None:
    one = pa.table({"a": ["x", "y", "xy", "", "x"], "b": ["y", "x", "", "xy", None]})
    assert different(row_hashes(one)) == 5
    assert different(row_hashes(pa.table({"a": [0, 1, None], "b": [1, 0, 0]}))) == 3
    assert np.array_equal(
        row_hashes(pa.table({"a": [7, 8]})), row_hashes(pa.table({"other": [7, 8]}))
    )


def test_classes_are_by_value_or_by_every_bit() -> None:
    numbers = [0.0, -0.0, NAN, None, 1.0]
    for column in (pa.array(numbers), pa.array(numbers).dictionary_encode()):
        table = pa.table({"x": column, "other": range(5)})
        assert different(class_hashes(table, ["x"])) == 3
        assert different(class_hashes(table, ["x"], exact=True)) == 5
        assert different(class_hashes(table, [])) == 1
        assert different(class_hashes(table, ["other", "x"])) == 5


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("coded", [False, True])
def test_one_zero_and_one_missing_value(kind: pa.DataType, coded: bool) -> None:
    def column(values: list[float | None]) -> pa.ChunkedArray:
        array = pa.array(values, kind)
        return pa.chunked_array([array.dictionary_encode() if coded else array])

    for usual in ([0.0, 1.0, None], [None, None], []):
        assert not has_other_forms(column(usual))
        assert canonical(column(usual)).equals(column(usual))
    for unusual in ([-0.0, 1.0], [NAN, 1.0, None]):
        assert has_other_forms(column(unusual))
        tidy = canonical(column(unusual))
        assert tidy.type == column(unusual).type
        assert not has_other_forms(tidy)
        assert tidy.to_pylist() == [None if x != x else x for x in unusual]
    assert len(exactly(column([0.0, -0.0, NAN, -NAN, None])).unique()) == 4


def test_buckets_are_the_first_bits() -> None:
    hashes = np.array([[0, 9], [1 << 61, 9], [(1 << 64) - 1, 9], [1 << 63, 9]], np.uint64)
    assert bucket_of(hashes, 0).tolist() == [0, 0, 0, 0]
    assert bucket_of(hashes, 1).tolist() == [0, 0, 1, 1]
    assert bucket_of(hashes, 3).tolist() == [0, 1, 7, 4]


def people(first: int, last: int) -> pa.Table:
    numbers = range(first, last)
    return pa.table({"number": numbers, "name": [f"p{number}" for number in numbers]})


@pytest.mark.parametrize("count", [400, 10_000])
@pytest.mark.parametrize(("shared", "expected"), [(0.0, False), (0.25, False), (0.9, True)])
def test_tables_that_share_most_rows(count: int, shared: float, expected: bool) -> None:
    other = people(int(count * (1 - shared)), int(count * (2 - shared)))
    one, two = sketch_of_table(people(0, count)), sketch_of_table(other)
    assert is_mostly_shared(one, two) == is_mostly_shared(two, one) == expected
    assert is_mostly_shared(one, one)


def test_neither_the_order_of_rows_nor_of_columns_matters() -> None:
    table = people(0, 300)
    shuffled = table.take(np.random.default_rng(1).permutation(300)).select(["name", "number"])
    assert sketch_of_table(shuffled) == sketch_of_table(table)
    renamed = table.rename_columns(["a", "b"])
    assert sketch_of_table(renamed) != sketch_of_table(table)


def test_rows_that_occur_twice_are_left_out() -> None:
    table = people(0, 200)
    assert sketch_of_table(pa.concat_tables([table, table])) is None
    twice = pa.concat_tables([table, table.slice(150)])
    sketches = [sketch_of_table(one) for one in (twice, table.slice(0, 150))]
    assert sketches[0] is not None
    assert sketches[1] is not None
    assert sketches[0]["levels"] == sketches[1]["levels"]


@pytest.mark.parametrize(("count", "bits"), [(31, None), (32, 64), (90, 504), (91, 512)])
def test_a_sketch_has_fewer_bits_of_fewer_rows(count: int, bits: int | None) -> None:
    """So few that the row with the least hash moves fewer of them than chance does."""
    sketch = sketch_of_table(people(0, count))
    if bits is None:
        assert sketch is None
    else:
        assert sketch is not None
        assert sketch["records"] == count
        assert len(sketch["levels"]["0"]) * 4 == bits


def test_large_tables_are_sampled_by_their_hashes() -> None:
    table = people(0, 2 * row_sketch.SAMPLED)
    whole, part = (sampled_rows(table, count) for count in (table.num_rows - 1, table.num_rows))
    assert len(whole) == table.num_rows
    assert len(part) == pytest.approx(row_sketch.SAMPLED, rel=0.1)
    assert part[:, 1].max() < 2**63
    sketch = sketch_of_table(table)
    assert sketch is not None
    assert sorted(sketch["levels"]) == ["1", "2"]
    smaller = sketch_of_table(table.slice(1))
    assert smaller is not None
    assert sorted(smaller["levels"]) == ["0", "1"]
    assert is_mostly_shared(sketch, smaller), "they have one level in common"


def test_so_many_bits_must_agree() -> None:
    """Two thirds: rows that are not shared agree in half of them by chance."""

    def sketch(ones: int, bits: int = 1536) -> dict[str, Any]:
        packed = np.packbits(np.arange(bits) < ones)
        return {"records": 9, "levels": {"0": packed.tobytes().hex()}}

    assert is_mostly_shared(sketch(0), sketch(511))
    assert not is_mostly_shared(sketch(0), sketch(513))
    assert is_mostly_shared(sketch(0, 64), sketch(12, 64)), "five standard errors of 64 bits"
    assert not is_mostly_shared(sketch(0, 64), sketch(13, 64))
    assert not is_mostly_shared(sketch(0, 56), sketch(0, 56)), "too few to tell"
    assert is_mostly_shared(sketch(0, 64), sketch(0, 128))


@pytest.mark.parametrize(
    "odd", [None, 7, {}, {"levels": 3}, {"levels": {"0": "xyz"}}, {"levels": {"0": 5}}]
)
def test_what_is_no_sketch_shares_nothing(odd: Any) -> None:
    sketch = sketch_of_table(people(0, 100))
    assert not is_mostly_shared(sketch, odd)
    assert not is_mostly_shared(odd, sketch)
