"""Tables in containers other than data frames: dicts of lists, Series, record batches."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError

UNNAMED = "0"
"""The name of the column that a Series without a name becomes, as of the first column of a matrix.
"""
ONE_LENGTH = "the columns of a dict must be lists of one length; make them equally long."


def as_table(table: Any) -> Any:
    """Return a table that narwhals supports, made of a dict, a Series or a record batch if needed.

    Integer names of pandas become text; periods of pandas become the moments at which they begin.

    >>> as_table({"age": [30, 40]}).to_pydict()
    {'age': [30, 40]}
    """
    if isinstance(table, np.ndarray | pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, Mapping):
        return _table_of_columns(table)
    if nw.dependencies.is_pandas_dataframe(table):
        return _with_plain_columns(table)
    series = as_series(table)
    if series is None:
        return table
    frame = series.alias(name_of(series)).to_frame().to_native()
    return _with_plain_columns(frame) if nw.dependencies.is_pandas_dataframe(frame) else frame


def as_container(table: Any, source: Any) -> Any:
    """Return a released table in the container that was passed to `as_table`.

    >>> as_container(pa.table({"age": [35, 35]}), {"age": [30, 40]})
    {'age': [35, 35]}
    """
    if isinstance(source, pa.RecordBatch):
        (batch,) = table.combine_chunks().to_batches()
        return batch
    if isinstance(source, Mapping):
        return table.to_pydict()
    if nw.dependencies.is_pandas_dataframe(source):
        numbered = {str(name): name for name in source.columns if _is_whole_number(name)}
        return table.rename(columns=numbered) if numbered else table
    series = as_series(source)
    if series is None:
        return table
    (released,) = nw.from_native(table, eager_only=True).iter_columns()
    native: Any = released.to_native()
    kept = released.name == name_of(series)
    return native.rename(series.name) if kept and hasattr(native, "rename") else native


def as_series(table: Any) -> nw.Series[Any] | None:
    """Return a Series of pandas or polars, or an Arrow array, as one of narwhals; else None."""
    opened = nw.from_native(table, allow_series=True, pass_through=True)
    return opened if isinstance(opened, nw.Series) else None


def name_of(series: nw.Series[Any]) -> str:
    """Return the name of the column that a Series becomes.

    >>> name_of(nw.from_native(pa.chunked_array([[1]]), allow_series=True))
    '0'
    """
    name: Any = series.name
    return UNNAMED if name is None or name == "" else str(name)


def _table_of_columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise InputError(
                f"column {str(name)!r} of the dict is no list; give each column as a list."
            )
        try:
            arrays[str(name) if _is_whole_number(name) else name] = pa.array(values)
        # whose messages quote a value
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            raise InputError(
                f"column {str(name)!r} mixes values of several types, or holds values of "
                f"a type that cannot "
                "be released; make them one."
            ) from None
    if not all(isinstance(name, str) for name in arrays):
        raise InputError(
            "the names of columns in a dict must be text or whole numbers; rename them."
        )
    if len({len(array) for array in arrays.values()}) > 1:
        raise InputError(ONE_LENGTH)
    return pa.table(arrays)


def _with_plain_columns(frame: Any) -> Any:
    """Return a pandas table with text for integer names, and dates for periods."""
    names = [str(name) if _is_whole_number(name) else name for name in frame.columns]
    if names != list(frame.columns):
        frame = frame.set_axis(names, axis=1)
    periods = [index for index, kind in enumerate(frame.dtypes) if str(kind).startswith("period[")]
    if not periods or len(set(names)) < len(names):
        return frame
    return frame.assign(
        **{str(names[index]): frame.iloc[:, index].dt.to_timestamp() for index in periods}
    )


def _is_whole_number(name: Any) -> bool:
    return isinstance(name, numbers.Integral) and not isinstance(name, bool)
