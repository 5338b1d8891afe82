"""k-anonymity: every combination of quasi-identifying values is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError, InputError
from microagg.io.arrow import compute as pc


@dataclass(frozen=True)
class Anonymity:
    """What a look at a table says about k: the classes of records that share all quasi-identifying values."""

    k: int
    sizes: np.ndarray
    """The size of each class."""
    first_rows: np.ndarray
    """A row number (from 1) of each class: a way to find it without telling its values."""

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
    chosen = table.select(list(quasi)).append_column("__row__", pa.array(np.arange(1, table.num_rows + 1)))
    grouped = chosen.group_by(list(quasi), use_threads=False).aggregate(
        [("__row__", "count"), ("__row__", "min")]
    )
    sizes = grouped.column("__row___count").to_numpy()
    return Anonymity(k, sizes, grouped.column("__row___min").to_numpy())


def verify(table: pa.Table, quasi: Sequence[str], k: int, records: int) -> Anonymity:
    """Raise unless an output table has all its records and is k-anonymous. This is the last word before a release."""
    if table.num_rows != records:
        raise GuaranteeError(
            "the output has lost or gained records; nothing was written. This is a bug: report it."
        )
    found = anonymity(table, quasi, k)
    if not found.holds:
        raise GuaranteeError(
            f"the output is not {k}-anonymous: {len(found.failing)} of its {len(found.sizes)} classes are too small; "
            "nothing was written."
        )
    return found


def check(table: Any, quasi: Sequence[str], k: int) -> Anonymity:
    """Is any table k-anonymous, and if not, where? Takes pandas, polars, Arrow.

    >>> check(pa.table({"age": [30, 30, 40, 40]}), ["age"], k=2).holds
    True
    """
    import narwhals as nw

    arrow = table if isinstance(table, pa.Table) else nw.from_native(table, eager_only=True).to_arrow()
    missing = [name for name in quasi if name not in arrow.column_names]
    if missing:
        raise InputError(
            f"there is no column {missing[0]!r}; the table has {', '.join(map(repr, arrow.column_names))}."
        )
    if not quasi:
        raise InputError("name at least one quasi-identifying column.")
    if k < 2:
        raise InputError(f"k is {k}, but a group protects nobody unless k is at least 2.")
    return anonymity(_comparable(arrow, quasi), quasi, k)


def _comparable(table: pa.Table, quasi: Sequence[str]) -> pa.Table:
    """Columns of types that Arrow cannot group by are compared by their text."""
    for name in quasi:
        column = table.column(name)
        if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
            table = table.set_column(table.column_names.index(name), name, pc.cast(column, pa.string()))
    return table
