"""Suppressed rows and cells: both readings of a blank, against comparing all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma


def made(seed: int, marker: str | None = "*", n: int = 60) -> dict[str, list[Any]]:
    """A table with one cell in six suppressed, and some rows as a whole."""
    rng = np.random.default_rng([22, seed])
    columns = {
        name: rng.integers(1, 4, n).astype(str).tolist() for name in ("age", "town", "school")
    }
    for name, values in columns.items():
        gone = (rng.random(n) < 1 / 6) | (np.arange(n) % 19 == 0)
        columns[name] = [
            marker if lost else value for value, lost in zip(values, gone, strict=True)
        ]
    return columns


def slow(table: dict[str, list[Any]], k: int, marker: str | None) -> tuple[int, bool, bool]:
    """Count suppressed rows, and check both readings, one record after the other."""
    rows = [row for row in zip(*table.values(), strict=True) if any(cell != marker for cell in row)]
    holds = all(rows.count(row) >= k for row in rows)
    fits = [
        sum(
            all(marker in (a, b) or a == b for a, b in zip(one, other, strict=True))
            for other in rows
        )
        for one in rows
    ]
    return len(next(iter(table.values()))) - len(rows), holds, min(fits) >= k


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_both_readings(seed: int, k: int) -> None:
    table = made(seed)
    result = ma.check(pa.table(table), list(table), k=k, suppressed="*")
    assert result.suppression is not None
    assert (result.suppression.rows, result.holds, result.suppression.holds) == slow(table, k, "*")
    cells = {name: values.count("*") - result.suppression.rows for name, values in table.items()}
    assert dict(result.suppression.columns) == cells
    assert int(result.sizes.sum()) == 60 - result.suppression.rows == len(result.labels)


def test_the_two_readings_differ() -> None:
    table = pa.table(
        {"age": ["30", "30", "*", "40", "40", "*"], "sex": ["f", "f", "f", "m", "m", "m"]}
    )
    result = ma.check(table, ["age", "sex"], k=2, suppressed="*")
    assert result.suppression is not None
    assert (bool(result), result.suppression.holds, result.suppression.smallest) == (False, True, 3)


@pytest.mark.parametrize("marker", ["", "NA"])
def test_blank_cells_as_other_tools_leave_them(marker: str) -> None:
    table = made(3, None)
    for data in (pa.table(table), pd.DataFrame(table)):
        result = ma.check(data, list(table), k=3, suppressed=marker)
        assert result.suppression is not None
        assert (result.suppression.rows, result.holds, result.suppression.holds) == slow(
            table, 3, None
        )
    numbers = pd.DataFrame({"age": [30.0, 30.0, np.nan], "sex": [1, 1, 1]})
    result = ma.check(numbers, ["age", "sex"], k=2, suppressed=marker)
    assert result.suppression is not None
    assert (result.suppression.cells, result.holds, result.suppression.holds) == (1, False, True)


def test_suppressed_rows_are_no_class_and_rows_are_found_by_their_number() -> None:
    table = pa.table({"age": ["*", "30", "30", "50", "*"], "ill": ["a", "a", "b", "c", "c"]})
    plain = ma.check(table, ["age"], k=2)
    assert len(plain.sizes) == 3
    assert "suppressed='*'" in plain.notes[0]
    result = ma.check(table, ["age"], k=2, suppressed="*")
    assert result.notes == ()
    assert result.sizes.tolist() == [2, 1]
    assert result.first_rows[result.failing].tolist() == [4]
    assert ma.check(table.slice(0, 3), ["age"], k=2, confidential=["ill"], l=2, suppressed="*")
    assert not ma.check(table.slice(0, 3), ["age"], k=2, confidential=["ill"], l=3, suppressed="*")


def test_a_table_of_nothing_but_suppressed_rows() -> None:
    result = ma.check(pa.table({"age": ["*"] * 3}), ["age"], k=2, suppressed="*")
    assert result.suppression is not None
    assert (result.suppression.rows, len(result.sizes), result.suppression.smallest) == (3, 0, None)
    with pytest.raises(ma.InputError, match="suppressed"):
        ma.check(pa.table({"age": ["*"]}), ["age"], k=2, suppressed=[7])  # pyright: ignore[reportArgumentType]


def test_strata_are_never_suppressed_and_make_classes() -> None:
    table = pa.table(
        {"age": ["30", "30", "*", "*"], "sex": ["f", "f", "f", "f"], "region": ["n", "n", "n", "s"]}
    )
    result = ma.check(table, ["age", "sex"], k=2, stratum="region", suppressed="*")
    assert result.suppression is not None
    assert result.suppression.fitting.tolist() == [3, 3, 1]


def test_a_marker_in_a_stratum_is_a_value() -> None:
    """Strata are released as they are: a star there is no cell that could have been any value, and
    a row of stars is suppressed whatever its stratum.
    """
    table = pa.table({"age": ["30", "30", "30", "*", "*"], "region": ["n", "n", "*", "n", "*"]})
    result = ma.check(table, ["age"], k=2, stratum="region", suppressed="*")
    assert result.suppression is not None
    assert (result.suppression.rows, result.suppression.cells) == (2, 0)
    assert result.suppression.columns == {}
    assert sorted(result.suppression.fitting.tolist()) == [1, 2], "the star fits itself only"
    assert not result.suppression.holds
    assert sorted(result.sizes.tolist()) == [1, 2]
