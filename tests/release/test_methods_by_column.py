"""Methods that group each column on its own: numbers and ordered levels without gaps only."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import microagg as ma

AGES = list(range(20, 32))
SCHOOLS = ["none", "primary", "secondary"] * 4


def anonymize_by_column(column: list[Any], **settings: Any) -> ma.Release:
    table = pa.table({"age": AGES, "other": column})
    return ma.anonymize(
        table,
        3,
        ["age", "other"],
        method="individual-ranking",
        accept_risk=["single-columns", "true-values"],
        **settings,
    )


@pytest.mark.parametrize(
    ("column", "settings"),
    [
        (SCHOOLS, {}),
        ([None, *AGES[1:]], {"missing": "group"}),
        ([-9, *AGES[1:]], {"special": {"other": [-9]}}),
    ],
    ids=["nominal", "missing", "special"],
)
def test_other_columns_are_refused(column: list[Any], settings: dict[str, Any]) -> None:
    with pytest.raises(ma.InputError, match="takes numbers and ordered levels without gaps only"):
        anonymize_by_column(column, **settings)


def test_numbers_and_levels_are_taken() -> None:
    assert anonymize_by_column(AGES[::-1]).table.num_rows == len(AGES)
    levels = {"other": ["none", "primary", "secondary"]}
    assert anonymize_by_column(SCHOOLS, ordinal=levels).table.num_rows == len(AGES)


def test_measures_take_classes_for_groups_unless_a_mixed_table_has_groups_of_records() -> None:
    levels = {"other": ["none", "primary", "secondary"]}
    by_column = anonymize_by_column(SCHOOLS, ordinal=levels)
    assert by_column.is_mixed
    assert by_column.labels.ndim == 2
    assert by_column.pair.groups.tolist() == by_column.pair.classes.labels.tolist()
    table = pa.table({"age": AGES, "other": SCHOOLS})
    mixed = ma.anonymize(table, 3, ["age", "other"], method="mdav", accept_risk="true-values")
    assert mixed.pair.groups.tolist() == mixed.labels.tolist()
    plain = ma.anonymize(table, 3, ["age"], keep=["other"], method="mdav")
    assert not plain.is_mixed
    assert plain.pair.labels is None
