"""Matching of the records of a release with those of the original: by a key column, or by row
order.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.frames import to_arrow

CHANCE = 1e-6  # an agreement that shuffled rows would show more often than this proves nothing
FEWEST = 20  # with fewer records, chance alone can look like order or disorder


def in_order_of(
    original: nw.DataFrame[Any], release: nw.DataFrame[Any], key: str | None
) -> nw.DataFrame[Any]:
    """The release with its rows in the order of the original. Without a key they are taken to be so
    already.

    >>> before = nw.from_native(pa.table({"id": [7, 8]}), eager_only=True)
    >>> after = nw.from_native(pa.table({"id": [8, 7], "age": [30, 40]}), eager_only=True)
    >>> in_order_of(before, after, "id")["age"].to_list()
    [40, 30]
    """
    if len(original) != len(release):
        raise InputError(
            f"the original has {len(original)} records and the release {len(release)}; "
            f"measures compare record by record, "
            "so remove the records that only one of them has."
        )
    if key is None:
        return release
    ours, theirs = _comparable(_keys(original, key), _keys(release, key))
    _check_repeated(ours, "original", key)
    _check_repeated(theirs, "release", key)
    rows = pc.index_in(ours, value_set=theirs)
    if rows.null_count:
        raise InputError(
            f"{rows.null_count} records of the original have no match in the release by "
            f"the key {key!r}; "
            "check that both tables use the same keys."
        )
    return release[rows.to_numpy().tolist(), :]


def _keys(frame: nw.DataFrame[Any], key: str) -> pa.ChunkedArray:
    column = to_arrow(frame.select(key)).column(0)
    return (
        pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
    )


def _comparable(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Both columns in one type: numbers as numbers, anything else as text."""
    kinds = (ours.type, theirs.type)
    if all(pa.types.is_integer(kind) for kind in kinds):
        target = pa.int64()
    elif all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        target = pa.float64()
    else:
        target = pa.large_string()
    try:
        whole = [pc.cast(column, target, safe=False).combine_chunks() for column in (ours, theirs)]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise InputError(
            "the key columns cannot be compared; use whole numbers or texts."
        ) from None
    return whole[0], whole[1]


def _check_repeated(keys: pa.Array, which: str, key: str) -> None:
    if keys.null_count:
        raise InputError(
            f"{keys.null_count} records of the {which} have no value in the key column "
            f"{key!r}; fill them in."
        )
    repeated = len(keys) - pc.count_distinct(keys).as_py()
    if repeated:
        raise InputError(
            f"the key column {key!r} is not unique in the {which}: {repeated} of "
            f"{len(keys)} values repeat an earlier "
            "one; choose another column."
        )


class RowOrder(enum.Enum):
    """Result of checking the row order of a release by its unchanged columns."""

    SAME = "the same"
    OTHER = "another"
    UNKNOWN = "unknown"


def row_order(
    original: nw.DataFrame[Any], release: nw.DataFrame[Any], columns: Sequence[str]
) -> tuple[RowOrder, str]:
    """Compare the row order of two tables by these columns; return the result and the deciding
    column.

    A column is a witness if it holds the same values in both tables, each equally often. A witness
    that agrees in every record shows that the order is the same, unless that could be chance.
    Otherwise a witness that disagrees shows that the order differs.

    >>> before = nw.from_native(pa.table({"town": list("abcdefghijkl")}), eager_only=True)
    >>> (
    ...     row_order(before, before, ["town"]),
    ...     row_order(before, before.sort("town", descending=True), ["town"]),
    ... )
    ((<RowOrder.SAME: 'the same'>, 'town'), (<RowOrder.OTHER: 'another'>, 'town'))
    """
    disagrees = ""
    for column in columns:
        codes = _codes(original, release, column)
        if codes is None:
            continue
        ours, theirs = codes
        counts = np.bincount(ours, minlength=int(theirs.max()) + 1)
        if not np.array_equal(counts, np.bincount(theirs, minlength=len(counts))):
            continue  # changed on purpose: it says nothing about the order
        if not np.array_equal(ours, theirs):
            disagrees = disagrees or column
        elif _log_chance(counts) < math.log(CHANCE):
            return RowOrder.SAME, column
    return (RowOrder.OTHER if disagrees else RowOrder.UNKNOWN), disagrees


def order_by_witnesses(
    original: nw.DataFrame[Any], release: nw.DataFrame[Any], quasi: Sequence[str]
) -> RowOrder:
    """Check the row order by columns that both tables have besides the quasi-identifiers."""
    shared = [name for name in original.columns if name in release.columns and name not in quasi]
    order, column = row_order(original, release, shared)
    if order is RowOrder.OTHER:
        raise in_another_order(f"column {column!r} has the same values in both, but in other rows")
    return order


def in_another_order(why: str) -> InputError:
    """Return the error on tables whose records are not in the same order."""
    return InputError(
        f"the records of the two tables are not in the same order ({why}), so nothing was "
        "measured; match them by a column that tells them apart (--key), or save the release with "
        "--keep-order."
    )


def _codes(
    original: nw.DataFrame[Any], release: nw.DataFrame[Any], column: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Both columns as the numbers of their values, gaps being a value; None for what cannot be
    compared.
    """
    try:
        ours, theirs = _comparable(_keys(original, column), _keys(release, column))
        both = pa.concat_arrays([ours, theirs]).dictionary_encode(null_encoding="encode")
    except (InputError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    codes = both.indices.to_numpy(zero_copy_only=False)
    return codes[: len(ours)], codes[len(ours) :]


def _log_chance(counts: np.ndarray) -> float:
    """The logarithm of the chance that shuffled values, each this often, all end up where they
    were.
    """
    return sum(math.lgamma(count + 1) for count in counts.tolist()) - math.lgamma(
        int(counts.sum()) + 1
    )


def out_of_order(original: np.ndarray, released: np.ndarray) -> bool:
    """Return whether the columns of two matrices agree as a whole while their records do not:
    shuffled rows.

    Group means correlate with the original values by the ratio of their standard deviations, and
    noise by its inverse. Shuffled rows have a correlation near zero. The mean over the columns must
    reach a quarter of the expected correlation.

    >>> values = np.arange(40.0).reshape(-1, 1)
    >>> (
    ...     out_of_order(values, values),
    ...     out_of_order(values, np.random.default_rng(0).permutation(values)),
    ... )
    (False, True)
    """
    if len(original) < FEWEST:
        return False
    correlations, due = [], []
    for before, after in zip(original.T, released.T, strict=True):
        spread, spread_after = float(before.std()), float(after.std())
        if not spread > 0.0 or not 0.25 < spread_after / spread < 4.0:
            continue  # nothing to go by: constant, collapsed or another scale
        if abs(after.mean() - before.mean()) > spread:
            continue
        products = (before - before.mean()) / spread * ((after - after.mean()) / spread_after)
        correlations.append(float(products.mean()))
        due.append(min(spread_after / spread, spread / spread_after))
    return bool(correlations) and float(np.mean(correlations)) < 0.25 * float(np.mean(due))
