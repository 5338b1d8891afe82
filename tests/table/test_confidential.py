"""Confidential columns: numbers stay numbers, all else is told apart and put in order where it has one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.errors import InputError
from microagg.table.confidential import as_attributes, attributes_of
from microagg.table.schema import Kind


def test_kinds_are_read_from_the_table():
    grades = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1]), pa.array(["c", "b", "a"]), ordered=True)
    table = pa.table({"wage": [3, 1, 3], "ill": ["x", None, "x"], "grade": grades, "gap": [1.0, None, 2.0]})
    found = attributes_of(table, ["wage", "ill", "grade", "gap"])
    assert [attribute.kind for attribute in found] == [Kind.NUMERIC, Kind.NOMINAL, Kind.ORDINAL, Kind.NOMINAL]
    assert found[0].values.tolist() == [3.0, 1.0, 3.0]
    assert [attribute.distinct for attribute in found] == [2, 2, 3, 3]
    assert found[2].codes.tolist() == [2, 0, 1]


def test_a_matrix_of_floats_is_numbers_and_all_else_categories():
    assert as_attributes(np.array([1.5, 0.5]), 2)[0].kind is Kind.NUMERIC
    numbers = as_attributes(np.array([[1, 2], [1, 3]]), 2)
    assert [(a.kind, a.distinct) for a in numbers] == [(Kind.NOMINAL, 1), (Kind.NOMINAL, 2)]


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((4, 0)), np.array([0.0, np.nan, 1.0, 2.0])])
def test_what_does_not_fit_the_records_is_refused(wrong):
    with pytest.raises(InputError, match="confidential"):
        ma.partition(np.arange(4.0), k=2, method="mdav", confidential=wrong)
