"""Columns as numbers: what counts as one, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microagg.errors import InputError
from microagg.table.ordering import numbers_of


def test_truth_values_and_nothing_at_all_are_numbers() -> None:
    flags = pa.chunked_array([[True, None], [False]])
    np.testing.assert_array_equal(numbers_of(flags, "flag"), [1.0, np.nan, 0.0])
    nothing = pa.chunked_array([pa.nulls(2)])
    np.testing.assert_array_equal(numbers_of(nothing, "nothing"), [np.nan, np.nan])


@pytest.mark.parametrize("cells", [[b"1", b"2"], [[1], [2]]], ids=["bytes", "lists"])
def test_what_is_no_number_is_refused(cells: list[object]) -> None:
    with pytest.raises(InputError, match="column 'odd' holds nothing that is a number"):
        numbers_of(pa.chunked_array([cells]), "odd")
