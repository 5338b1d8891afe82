"""A confidential column in which all records have the same value takes no part."""

from __future__ import annotations

import numpy as np

from microagg.methods.hybrid.one_valued import columns_that_differ
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


def test_columns_of_one_value_are_left_out() -> None:
    same = Attribute("ill", Kind.NOMINAL, np.array(["a", "a", "a"]))
    other = Attribute("job", Kind.NOMINAL, np.array(["a", "b", "a"]))
    assert [column.tolist() for column in columns_that_differ([same, other])] == [[0, 1, 0]]
