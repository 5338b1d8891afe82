"""DataFrames of any library, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import compute as pc
from microagg.table.io.reading import NUMBER, refuse_value
from microagg.table.schema import ColumnFacts, refuse_duplicates

LARGEST = 1e100
LARGEST_WHOLE = 2.0**53  # from here on float64 skips whole numbers


def open_frame(table: Any) -> nw.DataFrame[Any]:
    """A narwhals frame over a pandas, polars or Arrow table, or a NumPy matrix with columns named "0", "1", ..."""
    if isinstance(table, np.ndarray):
        return _open_matrix(table)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError("the table must be a pandas, polars or Arrow table, or a NumPy matrix.") from None
    except nw.exceptions.DuplicateError:
        refuse_duplicates(list(getattr(table, "column_names", table.columns)))
        raise
    if not isinstance(frame, nw.DataFrame) or not frame.columns:
        raise InputError("the table has no columns.")
    if not all(isinstance(name, str) for name in frame.columns):
        raise InputError("column names must be text; rename the columns whose names are not.")
    if len(frame) == 0:
        raise InputError("the table has no records; there is nothing to protect.")
    return frame


def _open_matrix(matrix: np.ndarray) -> nw.DataFrame[Any]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or 0 in matrix.shape:
        raise InputError("a NumPy table must be a matrix of numbers with records in rows.")
    if np.ma.is_masked(matrix):
        row, column = np.argwhere(np.ma.getmaskarray(matrix))[0]
        refuse_value(str(column), int(row), "missing value")
    plain = np.asarray(matrix)
    if plain.dtype.kind == "f" and plain.dtype.itemsize not in (4, 8):
        plain = plain.astype(np.float64)  # half and long double are no types of tables
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    columns = {str(j): pa.array(np.ascontiguousarray(plain[:, j])) for j in range(plain.shape[1])}
    return nw.from_native(pa.table(columns), eager_only=True)


def same_type(frame: nw.DataFrame[Any], given: Any) -> Any:
    """The frame as the type that was given."""
    if isinstance(given, np.ndarray):
        return np.column_stack([frame[name].to_numpy() for name in frame.columns])
    return frame.to_native()


def column_like(given: nw.Series[Any], values: np.ndarray, *, whole: bool) -> nw.Series[Any]:
    """A column of these values under the name of a given one, and of its type where that can hold them."""
    series = nw.new_series(given.name, values, backend=given.implementation)
    fits = (given.dtype.is_integer() and whole) or given.dtype in (nw.Float32, nw.Float64)
    if fits and given.implementation.is_pandas_like():
        # in pandas a number has several homes (int64, Int64, int64[pyarrow]) that narwhals does not tell apart
        return nw.from_native(series.to_native().astype(given.to_native().dtype), series_only=True)
    return series.cast(given.dtype) if fits else series


def to_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    """The frame's columns, and nothing else (no index), as an Arrow table."""
    try:
        return frame.to_arrow().select(list(frame.columns)).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # Arrow's own message would quote a value
        raise InputError(
            f"column {_odd_column(frame)!r} mixes values of several types; make them one."
        ) from None


def _odd_column(frame: nw.DataFrame[Any]) -> str:
    for name in frame.columns:
        try:
            frame.select(name).to_arrow()
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return name
    return frame.columns[0]


def column_facts(frame: nw.DataFrame[Any], *, count: bool = False) -> list[ColumnFacts]:
    """What a look at each column tells; its distinct values are counted only when asked, for that takes time."""
    return [
        ColumnFacts(
            name, _is_numeric(frame[name].dtype), _distinct(frame, name) if count else None, len(frame)
        )
        for name in frame.columns
    ]


def _distinct(frame: nw.DataFrame[Any], name: str) -> int | None:
    try:
        return pc.count_distinct(to_arrow(frame.select(name)).column(0), mode="all").as_py()
    except pa.ArrowNotImplementedError:  # lists and the like
        return None


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
        _refuse_type(frame, name)
    _refuse_where(name, series.is_null().to_numpy(), "missing value")
    whole = series.dtype.is_integer()
    values = (series if whole else series.cast(nw.Float64)).to_numpy().astype(np.float64)
    _refuse_where(name, np.isnan(values), "missing value")
    _refuse_where(name, np.isinf(values), "infinite value")
    if whole:
        _refuse_where(name, np.abs(values) >= LARGEST_WHOLE, "a whole number of more than 15 digits")
    _refuse_where(name, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _refuse_where(name: str, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        refuse_value(name, int(np.argmax(wrong)), what)


def _refuse_type(frame: nw.DataFrame[Any], name: str) -> NoReturn:
    column = to_arrow(frame.select(name)).column(0)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        number = pc.match_substring_regex(column, NUMBER)
        first = pc.index(pc.fill_null(number, False), False).as_py()
        refuse_value(name, max(first, 0), "text where a number is needed")
    raise InputError(
        f"column {name!r} does not hold numbers; convert it, or give it another role than quasi."
    )
