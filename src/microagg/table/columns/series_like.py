"""Series of the caller's library, made from Arrow arrays."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc


def with_index(original: nw.Series[Any], made: Any) -> nw.Series[Any]:
    """Return a new series with the index and the name of the original."""
    if original.implementation.is_pandas_like():
        made.index = original.to_native().index
    return nw.from_native(made, series_only=True).alias(original.name)


def series_like(original: nw.Series[Any], array: pa.Array) -> nw.Series[Any]:
    """Return an Arrow array as a column of the original's library and type."""
    native = original.to_native()
    if original.implementation.is_pyarrow():
        return nw.from_native(pa.chunked_array([array]), series_only=True).alias(original.name)
    library: Any = original.__native_namespace__()
    if original.implementation.is_polars():
        return nw.from_native(
            library.Series(original.name, array).cast(native.dtype), series_only=True
        )
    if isinstance(native.dtype, library.ArrowDtype):
        made = library.Series(library.arrays.ArrowExtensionArray(pa.chunked_array([array])))
    elif native.dtype == object:
        few = pc.dictionary_encode(array)  # objects of Python for different values only
        objects = np.array([*few.dictionary.to_pylist(), None], object)
        made = library.Series(objects[np.asarray(pc.fill_null(few.indices, -1))], dtype=object)
    else:
        made = library.Series(array.to_pandas())
    return with_index(original, made.astype(native.dtype))
