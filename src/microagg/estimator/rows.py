"""Rows that were seen before, known again by a salted hash: what they held is not kept."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.distinct import distinct
from microagg.table.columns.frames import LARGEST_WHOLE, arrow_column

UNKNOWN = -1
_WIDTH = 16  # bytes, of a cell and of a digest
_MISSING = b"\xff" * _WIDTH


@dataclass(frozen=True, repr=False)
class KnownRows:
    """The digests of some rows and the group of each; equal rows are in one group.

    The salt is drawn anew each time, whatever seed there is: digests of two tables cannot be
    compared, nor computed beforehand. It lies beside them, so whoever holds both can still try out
    rows: they tell whether a guess is one of the rows.

    >>> table = nw.from_native(pa.table({"age": [30, 40, 30]}), eager_only=True)
    >>> salt = new_salt()
    >>> known = KnownRows.of(salt, row_digests(table, salt), np.array([0, 1, 0]))
    >>> known.groups(nw.from_native(pa.table({"age": [40, 50]}), eager_only=True)).tolist()
    [1, -1]
    """

    salt: bytes = field(repr=False)
    digests: np.ndarray
    """Each once, ascending."""
    of_digest: np.ndarray
    """The group of each."""

    @staticmethod
    def of(salt: bytes, digests: np.ndarray, groups: np.ndarray) -> KnownRows:
        """Rows by their digests, and their groups."""
        once, first = np.unique(digests, return_index=True)
        return KnownRows(salt, once, groups[first])

    def groups(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """(n,): the group of each row; -1 for those that were never seen."""
        asked = row_digests(frame, self.salt)
        at = np.minimum(np.searchsorted(self.digests, asked), len(self.digests) - 1)
        return np.where(self.digests[at] == asked, self.of_digest[at], UNKNOWN)


def new_salt() -> bytes:
    """Sixteen bytes that nobody can guess."""
    return secrets.token_bytes(_WIDTH)


def row_digests(frame: nw.DataFrame[Any], salt: bytes) -> np.ndarray:
    """(n,): a salted digest of each row; equal values have equal ones, a number whether it is
    stored as 1 or as 1.0.

    >>> tables = (pa.table({"a": [1, 2]}), pa.table({"a": [1.0, 2.0]}))
    >>> one, other = (row_digests(nw.from_native(each, eager_only=True), b"salt") for each in tables)
    >>> bool((one == other).all())
    True
    """
    rows = np.hstack([_cell_bytes(frame, name) for name in frame.columns])
    digests = b"".join(
        hashlib.blake2b(row.tobytes(), digest_size=_WIDTH, key=salt).digest()
        for row in np.ascontiguousarray(rows)
    )
    return np.frombuffer(digests, f"S{_WIDTH}")


def _cell_bytes(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    """(n, 16): bytes that tell the values of a column apart; what is missing, in whichever way, has
    its own.
    """
    _, column = arrow_column(frame, name)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = _short_numbers(column)
        if numbers is not None:
            return _of_numbers(numbers)
    found = distinct(column)
    cells = np.frombuffer(b"".join([*map(_of_value, found.values), _MISSING]), np.uint8)
    return cells.reshape(-1, _WIDTH)[found.codes]


def _short_numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """The numbers of a column, NaN where they are missing; None where float64 cannot tell them
    apart.
    """
    if pa.types.is_integer(column.type):
        # whole numbers of Python: exact, whatever their size
        ends = pc.min_max(column).as_py().values()
        if any(end is not None and abs(end) >= LARGEST_WHOLE for end in ends):
            return None
    return np.asarray(pc.fill_null(pc.cast(column, pa.float64(), safe=False), np.nan), np.float64)


def _of_numbers(numbers: np.ndarray) -> np.ndarray:
    cells = np.zeros((len(numbers), _WIDTH), np.uint8)
    cells[:, :8] = (
        np.ascontiguousarray(numbers + 0.0, "<f8").view(np.uint8).reshape(-1, 8)
    )  # 0 and -0 are one
    cells[np.isnan(numbers)] = np.frombuffer(_MISSING, np.uint8)
    return cells


def _of_value(value: Any) -> bytes:
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < LARGEST_WHOLE
    ):
        return _of_numbers(np.array([float(value)])).tobytes()
    told = f"{type(value).__name__} {value}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=_WIDTH).digest()
