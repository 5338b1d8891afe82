"""Digests tell tables apart by every value, name and gap, and by nothing else."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.columns import digests

DIGESTS = (digests.digest_of, digests.digest_of_rows, digests.digest_of_whole_columns)


def different_tables() -> list[pa.Table]:
    columns: list[dict[str, Any]] = [
        {"a": [1, 2], "b": [3, 4]},
        {"a": [1, 2], "c": [3, 4]},
        {"a": [1, 2]},
        {"a": [1, 2, 2]},
        {"a": [1, 4], "b": [3, 2]},
        {"a": [1, None], "b": [3, 4]},
        {"a": [1, 0], "b": [3, 4]},
        {"a": [1.0, 2.0], "b": [3, 4]},
        {"a": ["1", "2"], "b": [3, 4]},
        {"a": ["12", ""], "b": [3, 4]},
        {"a": ["12", None], "b": [3, 4]},
        {"a": ["", "12"], "b": [3, 4]},
        {"a": [[1], [2]]},
        {"a": [[1, 2], []]},
    ]
    return [pa.table(column) for column in columns]


@pytest.mark.parametrize("digest", DIGESTS)
def test_other_tables_have_other_digests(digest: Any) -> None:
    made = [digest(table) for table in different_tables()]
    for (i, one), (j, other) in itertools.combinations(enumerate(made), 2):
        assert one != other, (i, j)


def test_only_digests_of_rows_forget_the_order() -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    other = table.take([2, 0, 1])
    assert digests.digest_of(table) != digests.digest_of(other)
    assert digests.digest_of_whole_columns(table) != digests.digest_of_whole_columns(other)
    assert digests.digest_of_rows(table) == digests.digest_of_rows(other)
    swapped = pa.table({"a": [1, 2, 3], "b": ["y", "x", "x"]})
    assert digests.digest_of_rows(table) != digests.digest_of_rows(swapped), (
        "the same columns, other rows"
    )
    assert digests.digest_of_rows(pa.concat_tables([table, table])) != digests.digest_of_rows(table)


@pytest.mark.parametrize("digest", DIGESTS)
def test_chunks_and_widths_make_no_difference(digest: Any) -> None:
    table = pa.table({"a": [1, 2, None], "t": ["x", None, "yy"], "f": [0.5, None, -1.5]})
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    narrow = table.set_column(0, "a", table.column("a").cast(pa.int8()))
    narrow = narrow.set_column(1, "t", table.column("t").dictionary_encode())
    narrow = narrow.set_column(2, "f", table.column("f").cast(pa.float32()))
    longer = pa.concat_tables([table, table]).slice(3)
    assert {digest(table), digest(parts), digest(narrow), digest(longer)} == {digest(table)}


@pytest.mark.parametrize("run", [1, 4, 7])
def test_digests_are_put_together_from_runs(monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    table = pa.table({"a": np.arange(40), "b": [f"t{row % 3}" for row in range(40)]})
    whole = digests.digest_of_rows(table)
    monkeypatch.setattr(digests, "RUN", run)
    runs = digests.digests_of_runs(table)
    assert len(runs) == -(-40 // run)
    assert runs == [digests._digest_of_run(table.slice(s, run)) for s in range(0, 40, run)]
    cut = 4 * run
    assert (
        digests.digests_of_runs(table.slice(0, cut)) + digests.digests_of_runs(table.slice(cut))
        == runs
    )
    assert digests.digest_of(table) == digests.digest_of_runs(["a", "b"], 40, iter(runs))
    assert digests.digest_of(table) != digests.digest_of_runs(["a", "b"], 41, runs)
    assert digests.digest_of(table) != digests.digest_of_runs(["a", "c"], 40, runs)
    assert digests.digest_of(table) != digests.digest_of_runs(["a", "b"], 40, runs[::-1])
    assert digests.digest_of_rows(table) == whole


def test_sums_of_rows_are_added_up_in_any_order() -> None:
    table = pa.table({"a": np.arange(30), "b": np.arange(30) / 7})
    parts = [digests.RowSums.of_chunk(table.slice(first, 7)) for first in range(0, 30, 7)]
    whole = digests.RowSums.of_chunk(table)
    for order in (parts, parts[::-1]):
        total = digests.RowSums()
        for part in order:
            total = total.combine(part)
        assert (total.records, total.totals) == (whole.records, whole.totals)
        assert all(0 <= number < 2**64 for number in total.totals)
        assert total.digest(table.schema) == digests.digest_of_rows(table)
    assert digests.RowSums(1, (2**64 - 1, 5)).combine(digests.RowSums(2, (3, 6))).totals == (2, 11)
