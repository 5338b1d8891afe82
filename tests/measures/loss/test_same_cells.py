"""Cells are compared by what they mean, whatever origin their numbers are counted from."""

from __future__ import annotations

import numpy as np

from microagg.measures.loss.unchanged import same_cells
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


def test_numbers_with_other_origins() -> None:
    before = Cells((Variable("day", Kind.NUMERIC, origin=100),), np.array([[1.0], [2.0], [3.0]]))
    after = Cells((Variable("day", Kind.NUMERIC, origin=101),), np.array([[0.0], [1.0], [3.0]]))
    assert same_cells(before, after, 0).tolist() == [True, True, False]
