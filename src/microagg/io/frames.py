"""DataFrames of any library, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.io.arrow import compute as pc
from microagg.io.reading import refuse_value
from microagg.schema import ColumnFacts, refuse_duplicates

LARGEST = 1e100


def open_frame(table: Any) -> nw.DataFrame[Any]:
    """A narwhals frame over a pandas, polars or Arrow table, or a NumPy matrix with columns named "0", "1", ..."""
    if isinstance(table, np.ndarray):
        return _open_matrix(table)
    names = list(getattr(table, "column_names", getattr(table, "columns", [])))
    if not all(isinstance(name, str) for name in names):
        raise InputError("column names must be text; rename the columns whose names are not.")
    refuse_duplicates(names)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError("the table must be a pandas, polars or Arrow table, or a NumPy matrix.") from None
    if not isinstance(frame, nw.DataFrame) or not frame.columns:
        raise InputError("the table has no columns.")
    if len(frame) == 0:
        raise InputError("the table has no records; there is nothing to protect.")
    return frame


def _open_matrix(matrix: np.ndarray) -> nw.DataFrame[Any]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or 0 in matrix.shape:
        raise InputError("a NumPy table must be a matrix of numbers with records in rows.")
    columns = {str(j): pa.array(np.ascontiguousarray(matrix[:, j])) for j in range(matrix.shape[1])}
    return nw.from_native(pa.table(columns), eager_only=True)


def same_type(frame: nw.DataFrame[Any], given: Any) -> Any:
    """The frame as the type that was given."""
    if isinstance(given, np.ndarray):
        return np.column_stack([frame[name].to_numpy() for name in frame.columns])
    return frame.to_native()


def to_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    """The frame's columns, and nothing else (no index), as an Arrow table."""
    return frame.to_arrow().select(list(frame.columns)).replace_schema_metadata(None)


def column_facts(frame: nw.DataFrame[Any]) -> list[ColumnFacts]:
    """What a look at each column tells."""
    return [
        ColumnFacts(name, _is_numeric(frame[name].dtype), frame[name].n_unique(), len(frame))
        for name in frame.columns
    ]


def _is_numeric(dtype: Any) -> bool:
    return dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Decimal)


def values_of(frame: nw.DataFrame[Any], names: Sequence[str]) -> np.ndarray:
    """(n, d) float64: the values of numeric columns; anything else is an error that names column and row."""
    values = np.empty((len(frame), len(names)))
    for j, name in enumerate(names):
        values[:, j] = _numeric_values(frame, name)
    return values


def _numeric_values(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    series = frame[name]
    if not _is_numeric(series.dtype):
        refuse_value(
            name, _first_non_number(to_arrow(frame.select(name)).column(0)), "text where a number is needed"
        )
    missing = series.is_null().to_numpy()
    if missing.any():
        refuse_value(name, int(np.argmax(missing)), "missing value")
    values = series.cast(nw.Float64).to_numpy()
    if np.isnan(values).any():
        refuse_value(name, int(np.argmax(np.isnan(values))), "missing value")
    if not np.isfinite(values).all():
        refuse_value(name, int(np.argmax(~np.isfinite(values))), "infinite value")
    if np.abs(values).max() > LARGEST:
        refuse_value(name, int(np.argmax(np.abs(values) > LARGEST)), f"a number beyond {LARGEST:g}")
    return values


def _first_non_number(column: pa.ChunkedArray) -> int:
    """The first row whose text is not a number; 0 where all are, or where it is no text at all."""
    from microagg.io.reading import NUMBER

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return 0
    wrong = pc.invert(pc.fill_null(pc.match_substring_regex(column, NUMBER), False))
    return max(pc.index(wrong, True).as_py(), 0)
