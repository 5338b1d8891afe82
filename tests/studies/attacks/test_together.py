"""Two releases of the same people: the intersection of classes, by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

import microagg as ma
from microagg.studies.attacks.together import compose


def tables() -> tuple[pa.Table, pa.Table, pa.Table]:
    original = pa.table({"age": [20, 21, 60, 61], "illness": ["flu", "gout", "flu", "lupus"]})
    first = pa.table({"age": [20, 20, 61, 61], "illness": ["flu", "gout", "flu", "lupus"]})
    second = pa.table({"age": [20, 60, 21, 61], "illness": ["flu", "flu", "gout", "lupus"]})
    return original, first, second


def settings(**options: object) -> ma.Settings:
    return ma.Settings.of(k=2, quasi=["age"], confidential=["illness"], seed=1, **options)


def test_intersection_of_classes() -> None:
    original, first, second = tables()
    result = compose(original, first, second, settings())[0]
    assert (result.first.value, result.second.value, result.both.value) == (0.0, 1.0, 1.0)
    assert compose(original, first, first, settings())[0].both.value == 0.0


def test_two_classes_that_share_one_value_give_it() -> None:
    original = pa.table({"age": [1, 2, 3], "illness": ["flu", "gout", "lupus"]})
    first = pa.table({"age": [1, 1, 9, 9], "illness": ["flu", "gout", "x", "y"]})
    second = pa.table({"age": [1, 1, 9, 9], "illness": ["flu", "lupus", "x", "y"]})
    result = compose(original, first, second, settings())[0]
    assert result.first.value == 0.0
    assert result.both.value == pytest.approx(1 / 3)


def test_totals_of_two_years() -> None:
    original = pa.table({"age": [20, 21, 22, 60], "wage": [1.0, 2.0, 3.0, 4.0]})
    chosen = ma.Settings.of(k=2, quasi=["age"], confidential=["wage"], seed=1)
    result = compose(original, original, original.slice(0, 3), chosen)[0]
    assert result.total_difference == 4.0
    assert result.as_data()["totals_disclose"] is True
    assert "4.0" not in repr(result)
    assert compose(original, original, original, chosen)[0].total_difference is None


def test_missing_columns_and_roles() -> None:
    original, first, second = tables()
    with pytest.raises(ma.InputError, match="the second release has no column 'illness'"):
        compose(original, first, second.select(["age"]), settings())
    with pytest.raises(ma.InputError, match="confidential column"):
        compose(original, first, second, ma.Settings.of(k=2, quasi=["age"], rest="drop"))
