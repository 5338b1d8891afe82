"""One form for each value: readers differ in whether 0 and -0, or NaN and a missing value, are the
same.

pandas groups NaN with missing values; polars, DuckDB and Arrow do not. So columns that make classes
are released with one zero and one missing value, and classes are counted by the strictest of these
readers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import comparable, of_used_categories, with_one_dictionary
from microagg.table.columns.arrow import compute as pc

NAN = np.array([np.nan]).view(np.int64)[0]


def canonical(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with one zero and one missing value: -0 becomes 0, and NaN becomes null.

    >>> canonical(pa.chunked_array([[-0.0, 0.0, float("nan"), None]])).to_pylist()
    [0.0, 0.0, None, None]
    """
    if not has_other_forms(column):
        return column
    kind: Any = column.type
    if not pa.types.is_dictionary(kind):
        return pc.cast(comparable(column), kind)
    whole = with_one_dictionary(column)
    values = canonical(pa.chunked_array([whole.dictionary])).chunk(0)
    tidy = pa.DictionaryArray.from_arrays(whole.indices, values, ordered=kind.ordered)
    return of_used_categories(pa.chunked_array([tidy], kind))


def has_other_forms(column: pa.ChunkedArray) -> bool:
    """Whether a column holds NaN, or a zero with a sign.

    >>> has_other_forms(pa.chunked_array([[0.0, None]])), has_other_forms(pa.chunked_array([[-0.0]]))
    (False, True)
    """
    if pa.types.is_dictionary(column.type):
        return any(has_other_forms(pa.chunked_array([chunk.dictionary])) for chunk in column.chunks)
    if not pa.types.is_floating(column.type):
        return False
    values = pc.cast(column, pa.float64()).fill_null(0.0).to_numpy()
    return bool(np.isnan(values).any() or (np.signbit(values) & (values == 0.0)).any())


def exactly(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that Arrow can group by, in which 0 and -0, and NaN and a missing value, are
    different; all NaN are one.

    >>> pc.count_distinct(exactly(pa.chunked_array([[0.0, -0.0, float("nan"), None]])), mode="all").as_py()
    4
    """
    kind: Any = column.type
    if pa.types.is_dictionary(kind):
        return exactly(pc.cast(column, kind.value_type))
    if not pa.types.is_floating(kind):
        return comparable(column)
    missing = column.is_null().to_numpy()
    values = pc.cast(column, pa.float64()).fill_null(0.0).to_numpy()
    words = np.where(np.isnan(values), NAN, np.ascontiguousarray(values).view(np.int64))
    return pa.chunked_array([pa.array(words, mask=missing)])
