"""Conversion of scikit-learn's input (matrices of numbers, text or objects, data frames) to a
table, and back.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.frames import open_frame, to_arrow


def is_frame(data: Any) -> bool:
    """Return whether the input is a data frame with a type for each column.

    >>> is_frame(np.zeros((2, 2))), is_frame(pa.table({"a": [1]}))
    (False, True)
    """
    frame = nw.from_native(data, pass_through=True)
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def open_input(data: Any) -> nw.DataFrame[Any]:
    """A table over a data frame or a matrix; columns without names in text are numbered from 0.

    >>> open_input(np.array([["a", 1.0], [None, 2.0]], object)).to_dict(as_series=False)
    {'0': ['a', None], '1': [1.0, 2.0]}
    """
    if is_frame(data):
        if hasattr(data, "set_axis") and not all(isinstance(name, str) for name in data.columns):
            data = data.set_axis([str(j) for j in range(data.shape[1])], axis=1)
        return open_frame(data)
    if data.dtype.kind in "iuf":
        return open_frame(data)
    return open_frame(pa.table({str(j): _of_objects(data[:, j]) for j in range(data.shape[1])}))


def _of_objects(column: np.ndarray) -> pa.Array:
    """Convert objects to numbers, text or truth values; mixed types become categories by their
    printed form.
    """
    objects = column.astype(object)
    missing = np.array([item is None or item != item for item in objects], bool)
    try:
        made = pa.array(
            [None if gone else item for item, gone in zip(objects, missing, strict=True)]
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
        made = None
    if made is not None and not pa.types.is_nested(made.type) and not pa.types.is_binary(made.type):
        return made
    try:
        return pa.array(
            [None if gone else str(item) for item, gone in zip(objects, missing, strict=True)]
        )
    except (pa.ArrowInvalid, UnicodeError):
        raise InputError(
            "a matrix of objects holds text that is not in UTF-8; correct it."
        ) from None


def container_like(table: Any, rows: np.ndarray, like: Any) -> Any:
    """These rows of a table as the library of another one, with its index and its names of columns.

    >>> container_like(pa.table({"0": [1.5, 2.5]}), np.array([1, 1]), np.zeros((2, 1))).tolist()
    [[2.5], [2.5]]
    """
    frame = nw.from_native(table, eager_only=True)[rows]
    if not is_frame(like):
        return _matrix(frame, like)
    wanted = nw.from_native(like).implementation
    if frame.implementation is not wanted:
        frame = nw.from_arrow(to_arrow(frame), backend=wanted)
    native = frame.to_native()
    if hasattr(like, "set_axis"):
        native = native.set_axis(like.index, axis=0).set_axis(like.columns, axis=1)
    return native


def _matrix(frame: nw.DataFrame[Any], like: np.ndarray) -> np.ndarray:
    columns = [frame[name] for name in frame.columns]
    if like.dtype.kind in "iuf" and all(column_data.dtype.is_numeric() for column_data in columns):
        return np.column_stack([column_data.to_numpy() for column_data in columns])
    made = np.empty((len(frame), len(columns)), object)
    for j, column_data in enumerate(columns):
        made[:, j] = [np.nan if value is None else value for value in column_data.to_list()]
    return made
