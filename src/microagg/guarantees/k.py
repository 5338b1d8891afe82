"""k-anonymity: every combination of quasi-identifying values is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError, InputError
from microagg.io.arrow import compute as pc
from microagg.io.frames import open_frame, to_arrow


@dataclass(frozen=True)
class Anonymity:
    """What a look at a table says about k: the classes of records that share all quasi-identifying values."""

    k: int
    sizes: np.ndarray
    """The size of each class."""
    first_rows: np.ndarray
    """A row number (from 1) of each class: a way to find it without telling its values."""
    scope: str = "record"
    """record: k was promised for the combinations; column: for the values of each column alone."""

    @property
    def holds(self) -> bool:
        """Whether every class has at least k records."""
        return len(self.sizes) == 0 or int(self.sizes.min()) >= self.k

    @property
    def failing(self) -> np.ndarray:
        """The positions of the classes with fewer than k records, smallest class first."""
        order = np.lexsort((self.first_rows, self.sizes))
        return order[self.sizes[order] < self.k]


def anonymity(table: pa.Table, quasi: Sequence[str], k: int) -> Anonymity:
    """The classes of a table, from the table alone.

    >>> table = pa.table({"age": [30, 30, 40]})
    >>> anonymity(table, ["age"], 2).holds
    False
    """
    # the table's own names may be any, even that of the row number
    keys = [str(j) for j in range(len(quasi))]
    chosen = pa.table([_comparable(table.column(name)) for name in quasi], names=keys)
    chosen = chosen.append_column("row", pa.array(np.arange(1, table.num_rows + 1)))
    grouped = chosen.group_by(keys, use_threads=False).aggregate([("row", "count"), ("row", "min")])
    return Anonymity(k, grouped.column("row_count").to_numpy(), grouped.column("row_min").to_numpy())


def verify(table: pa.Table, quasi: Sequence[str], k: int, records: int, scope: str = "record") -> Anonymity:
    """Raise unless an output table has all its records and is k-anonymous. This is the last word before a release.

    With scope="column" it is enough that every value of each single column is shared by k records; what that gives for
    the combinations is in the classes that are returned.
    """
    if table.num_rows != records:
        raise GuaranteeError(
            "the output has lost or gained records; nothing was written. This is a bug: report it."
        )
    for names in [[name] for name in quasi] if scope == "column" else [quasi]:
        found = anonymity(table, names, k)
        if not found.holds:
            raise GuaranteeError(
                f"the output is not {k}-anonymous: {len(found.failing)} of its {len(found.sizes)} classes are too "
                "small; nothing was written."
            )
    return replace(anonymity(table, quasi, k), scope=scope)


def check(table: Any, quasi: Sequence[str] | str, k: int) -> Anonymity:
    """Is any table k-anonymous, and if not, where? Takes pandas, polars, Arrow, NumPy. Missing values are alike.

    >>> check(pa.table({"age": [30, 30, 40, 40]}), ["age"], k=2).holds
    True
    """
    frame = open_frame(table)
    names = list(dict.fromkeys([quasi] if isinstance(quasi, str) else quasi))
    for name in names:
        if name not in frame.columns:
            raise InputError(
                f"there is no column {name!r}; the table has {', '.join(map(repr, frame.columns))}."
            )
    if not names:
        raise InputError("name at least one quasi-identifying column.")
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise InputError("k must be a whole number, at least 2.")
    if k < 2:
        raise InputError(f"k is {k}, but a group protects nobody unless k is at least 2.")
    return anonymity(to_arrow(frame.select(*names)), names, int(k))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that Arrow can group by, with equal values where the given one has them."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.add(pc.cast(column, pa.float64()), 0.0)  # 0 and -0 are one number
    if pa.types.is_dictionary(kind):
        return _comparable(pc.cast(column, kind.value_type))
    if pa.types.is_nested(kind):
        return pa.chunked_array(
            [[None if value is None else repr(value) for value in column.to_pylist()]], pa.string()
        )
    return pc.cast(column, pa.string()) if kind == pa.string_view() else column
