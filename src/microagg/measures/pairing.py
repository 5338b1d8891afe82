"""From two tables, record by record in the same order, to the numbers that measures work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.io.arrow import compute as pc
from microagg.io.frames import to_arrow, values_of
from microagg.measures.measure import Pair


def pair_of(
    original: nw.DataFrame[Any],
    release: nw.DataFrame[Any],
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    keep: Sequence[str] = (),
    weight: str | None = None,
    k: int | None = None,
) -> Pair:
    """The pair of a table and its release, whose rows must match; weights are the original's, all else is the release's.

    A confidential column counts as numbers if it holds nothing else, as ordered categories if its type says so (an
    ordered categorical), and as plain categories otherwise; what is missing is a category of its own.

    >>> before, after = pa.table({"age": [30, 32]}), pa.table({"age": [31, 31], "ill": ["no", "yes"]})
    >>> pair = pair_of(nw.from_native(before), nw.from_native(after), quasi=["age"], confidential=["ill"])
    >>> pair.released.tolist(), pair.confidential["ill"].tolist()
    ([[31.0], [31.0]], [0, 1])
    """
    numbers: dict[str, np.ndarray] = {}
    ordered: dict[str, np.ndarray] = {}
    columns = to_arrow(release.select(*confidential, *keep)) if confidential or keep else None
    for name in confidential:
        assert columns is not None
        column = columns.column(name)
        if _is_ordered(column):
            ordered[name] = _ranks(column)
        else:
            numbers[name] = _numbers(column) if _is_numeric(column) else _codes(column, name)
    kept = {name: _codes(columns.column(name), name) for name in keep} if columns is not None else {}
    return Pair(
        original=_values(original, quasi, "original"),
        released=_values(release, quasi, "release"),
        names=tuple(quasi),
        confidential=numbers,
        ordered=ordered,
        kept=kept,
        weights=None if weight is None else _weights(original, weight),
        k=k,
    )


def _values(frame: nw.DataFrame[Any], names: Sequence[str], which: str) -> np.ndarray:
    try:
        return values_of(frame, names)
    except InputError as error:
        raise InputError(f"in the {which}, {error}") from None


def _weights(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    try:
        weights = values_of(frame, [name])[:, 0].copy()
    except InputError as error:
        place = str(error).partition(";")[0]
        raise InputError(f"in the original, {place}; weights must be numbers without gaps.") from None
    if (weights <= 0.0).any():
        row = int(np.argmax(weights <= 0.0)) + 1
        raise InputError(
            f"the weight {name!r} is not greater than 0 in row {row} (header not counted); leave such records out."
        )
    return weights


def _is_numeric(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return False
    return bool(np.isfinite(_numbers(column)).all())  # what is missing has become NaN


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)


def _is_ordered(column: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(column.type) and column.type.ordered and column.null_count == 0


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    whole = column.unify_dictionaries().combine_chunks()
    return np.asarray(whole.indices).astype(np.int64)


def _codes(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Whole numbers that tell the values of a column apart, in the order in which they first appear."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"the values of column {name!r} cannot be told apart (lists or the like); leave the column out."
        ) from None
    return np.asarray(encoded.indices).astype(np.int64)
