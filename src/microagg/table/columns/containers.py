"""Tables in other containers than data frames: dicts of lists, Series, record batches, pandas with
unusual columns.
"""

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


def as_table(given: Any) -> Any:
    """Return a table that narwhals knows: the same, or a table made of a dict, a Series or a record
    batch.

    Integer names of pandas become text; periods of pandas become the moments at which they begin.

    >>> as_table({"age": [30, 40]}).to_pydict()
    {'age': [30, 40]}
    """
    if isinstance(given, np.ndarray | pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if isinstance(given, Mapping):
        return _table_of_columns(given)
    if nw.dependencies.is_pandas_dataframe(given):
        return _with_plain_columns(given)
    series = as_series(given)
    if series is None:
        return given
    frame = series.alias(name_of(series)).to_frame().to_native()
    return _with_plain_columns(frame) if nw.dependencies.is_pandas_dataframe(frame) else frame


def as_container(table: Any, given: Any) -> Any:
    """Return a released table in the container that was given to `as_table`.

    >>> as_container(pa.table({"age": [35, 35]}), {"age": [30, 40]})
    {'age': [35, 35]}
    """
    if isinstance(given, pa.RecordBatch):
        (batch,) = table.combine_chunks().to_batches()
        return batch
    if isinstance(given, Mapping):
        return table.to_pydict()
    if nw.dependencies.is_pandas_dataframe(given):
        numbered = {str(name): name for name in given.columns if _is_whole_number(name)}
        return table.rename(columns=numbered) if numbered else table
    series = as_series(given)
    if series is None:
        return table
    (released,) = nw.from_native(table, eager_only=True).iter_columns()
    native: Any = released.to_native()
    kept = released.name == name_of(series)
    return native.rename(series.name) if kept and hasattr(native, "rename") else native


def as_series(given: Any) -> nw.Series[Any] | None:
    """Return a Series of pandas or polars, or a chunked array of Arrow, as one of narwhals; None
    for anything else.
    """
    opened = nw.from_native(given, allow_series=True, pass_through=True)
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
    """Return a pandas table with text for integer names, and dates for periods; the same if it has
    neither.
    """
    names = [str(name) if _is_whole_number(name) else name for name in frame.columns]
    if names != list(frame.columns):
        frame = frame.set_axis(names, axis=1)
    periods = [place for place, kind in enumerate(frame.dtypes) if str(kind).startswith("period[")]
    if not periods or len(set(names)) < len(names):
        return frame
    return frame.assign(
        **{str(names[place]): frame.iloc[:, place].dt.to_timestamp() for place in periods}
    )


def _is_whole_number(name: Any) -> bool:
    return isinstance(name, numbers.Integral) and not isinstance(name, bool)
