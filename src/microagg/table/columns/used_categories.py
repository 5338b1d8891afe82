"""Categories of released columns, limited to those in use."""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import (
    of_used_categories,
    strip_metadata,
)

POLARS_WITHOUT_TRAIL = (1, 35, 1)
"""From here on a pickled Categorical of polars holds the categories that occur, and no others."""


def without_unused(frame: nw.DataFrame[Any]) -> Any:
    """Return the native table of a frame, without unused categories."""
    native = frame.to_native()
    if isinstance(native, pa.Table):
        made = strip_metadata(native, marked=True).replace_schema_metadata(native.schema.metadata)
        for index, field in enumerate(native.schema):
            if field.type == pa.string_view():  # which files do not have, but tables do
                made = made.set_column(
                    index,
                    made.schema.field(index).with_type(field.type),
                    made.column(index).cast(field.type),
                )
        return made
    # at once: a frame of pandas is copied with every call
    return frame.with_columns(*map(of_used_values, frame.iter_columns())).to_native()


def of_used_values(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column without unused categories: in the order of an ordered type, else sorted."""
    if series.dtype not in (nw.Categorical, nw.Enum):
        return series
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return nw.from_native(of_used_categories(native), series_only=True).alias(series.name)
    if series.implementation.is_pandas_like():
        return nw.from_native(_of_used_in_pandas(series), series_only=True)
    kind: Any = series.dtype
    if isinstance(kind, nw.Enum):
        used = set(series.drop_nulls().unique().to_list())
        return series.cast(nw.String).cast(
            nw.Enum([name for name in kind.categories if name in used])
        )
    return _of_used_in_polars(series)


def _of_used_in_polars(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a Categorical of polars unchanged, except in old versions.

    Its categories are held by polars, not by the table.
    """
    library: Any = series.__native_namespace__()
    version = tuple(int(part) for part in re.findall(r"\d+", library.__version__)[:3])
    if version < POLARS_WITHOUT_TRAIL:
        wanted = ".".join(map(str, POLARS_WITHOUT_TRAIL))
        raise InputError(
            f"column {series.name!r} is a Categorical of polars {library.__version__}, "
            f"which keeps categories that no released record has;"
            f" install polars {wanted} or newer, or make it text."
        )
    return series


def _of_used_in_pandas(series: nw.Series[Any]) -> Any:
    native = series.to_native()
    if hasattr(native, "cat"):
        used = native.cat.remove_unused_categories()
        return (
            used if used.cat.ordered else used.cat.reorder_categories(_sorted(used.cat.categories))
        )
    library: Any = series.__native_namespace__()  # over Arrow, it has no word for that
    column = native.array.__arrow_array__()
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kept = library.arrays.ArrowExtensionArray(of_used_categories(column))
    return library.Series(kept, index=native.index, name=native.name)


def _sorted(categories: Any) -> Any:
    """Categories of pandas in ascending order; that of their texts where they have none."""
    try:
        return categories.sort_values()
    except TypeError:
        return sorted(categories, key=repr)
