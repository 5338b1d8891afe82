"""Detection of a missing header: checks if the first row of a file holds names or a record.

Names that no table can have are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from microagg.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

DATA = re.compile(  # a number, an amount, a date or a time
    r"\s*[+-]?[$€£]?\s*(\d[\d.,_' "
    r"]*|[.,]\d+)([eE][+-]?\d+)?\s*[%€$£]?\s*|\s*\d{1,4}([-./]\d{1,4}){2}([T "
    r"][\d:.+Z-]*)?\s*|\s*\d{1,2}(:\d\d)+\s*"
)
MISSING = re.compile(r"(?i)\s*(na|n/a|nan|null|\.|-)?\s*")
SAY_WHICH = (
    "say --no-header (in Python header=False) if it is a record, --header (header=True) if "
    "it holds names"
)
NO_HEADER = "or say --no-header (in Python header=False) if it is a record"
LOOKED_AT = 100
"""Cells below a name that are looked at for what the column holds."""
SHOWN = 3

UNCLEAR_HEADER = "the header of {!r} is not clear; put its column names in double quotes."


class FirstRow:
    """First row of a file without a declared header, to be judged by the rows below it.

    A name looks like a value if it is a number or a date, or occurs again in its column. A name
    that is none of these above a column of numbers or dates shows that the row is a header. Then
    the row is refused only if more than half of the names look like values. Without such a name,
    one number or date is enough, or half of the names occurring again.

    >>> row = FirstRow(["area", "urban"])
    >>> row.add([["1", "2"], ["urban", "rural"]])
    >>> row.looks_like_record()
    False
    """

    def __init__(self, names: Sequence[str], values: Iterable[int] = ()) -> None:
        """Take the names, and the places of those whose cells hold no text."""
        self.names = list(names)
        counted = any(self.names == [str(j + start) for j in range(len(names))] for start in (0, 1))
        # names that count the columns of a matrix from 0 or 1 are names
        self._data = {j for j, name in enumerate(names) if DATA.fullmatch(name) and not counted}
        self._data.update(values)
        self._recurring: set[int] = set()
        self._record = 0
        """The first record in which a name occurs again, counted from 1; 0 where none was looked
        for.
        """
        self._seen = 0
        self._heads: Sequence[Sequence[str | None]] | None = None

    @property
    def is_mostly_data(self) -> bool:
        """True if over half of the names are numbers or dates: no row below can change that."""
        return 2 * len(self._data) > self._named

    def add(self, heads: Sequence[Sequence[str | None]], recurring: Iterable[int] = ()) -> None:
        """Take in rows: the first cells of each column, and the columns in which their name
        occurs.
        """
        if self._heads is None:
            self._heads = heads
        self._recurring.update(recurring)

    def add_table(self, table: pa.Table) -> None:
        """Take in rows of a text file; of those that were not the first, only names that occur
        count.
        """
        columns = zip(self.names, table.columns, strict=True)
        recurring = [j for j, (name, column) in enumerate(columns) if _occurs(name, column)]
        if recurring and not self._record:
            places = [_first_place(self.names[j], table.column(j)) for j in recurring]
            self._record = self._seen + min(places) + 1
        self._seen += table.num_rows
        few = table.slice(0, LOOKED_AT) if self._heads is None else table.slice(0, 0)
        self.add([column.to_pylist() for column in few.columns], recurring)

    def looks_like_record(self) -> bool:
        """Return whether the row looks like one of the records below it."""
        alike = len(self._data | self._recurring)
        if alike == 0:
            return False
        if self._has_name_above_data():
            return 2 * alike > self._named
        return bool(self._data) or 2 * alike >= self._named

    def check_record(self, path: Path) -> None:
        """Raise if the row looks like a record; the sentence names columns by their places and
        quotes nothing.
        """
        if self.is_mostly_data or self.looks_like_record():
            self._refuse(path)

    @property
    def _named(self) -> int:
        return sum(map(bool, self.names))

    def _has_name_above_data(self) -> bool:
        alike = self._data | self._recurring
        return any(
            j not in alike and name and not DATA.fullmatch(name) and _holds_data(cells)
            for j, (name, cells) in enumerate(zip(self.names, self._heads or [], strict=False))
        )

    def _refuse(self, path: Path) -> NoReturn:
        reasons = []
        if self._data:
            reasons.append(f"a number or a date where a name should be ({_columns(self._data)})")
        if self._recurring - self._data:
            where = f", first in record {self._record:,}" if self._record else ""
            reasons.append(
                "a value that occurs again below it "
                f"({_columns(self._recurring - self._data)}{where})"
            )
        raise InputError(
            f"the first row of {str(path)!r} looks like a record: it has "
            f"{' and '.join(reasons)}; {SAY_WHICH}."
        )


def check_unclear_names(names: Sequence[str], path: Path) -> None:
    """Refuse several columns without a name, or with the same one; say where, not which: it may be
    a record.
    """
    nameless = [j for j, name in enumerate(names) if not name.strip()]
    if len(nameless) > 1:
        raise InputError(
            f"{_columns(nameless)} of {str(path)!r} have no name in the first row; write "
            f"names there, {NO_HEADER}."
        )
    first: dict[str, int] = {}
    for j, name in enumerate(names):
        if first.setdefault(name, j) != j:
            raise InputError(
                f"the first row of {str(path)!r} has the same name more than once, in "
                f"{_columns([first[name], j])}; "
                f"rename one of them, {NO_HEADER}."
            )


def _holds_data(cells: Iterable[str | None]) -> bool:
    """Return whether a column holds numbers, dates and gaps only, and not only gaps."""
    texts = [cell for cell in cells if cell is not None and not MISSING.fullmatch(cell)]
    return bool(texts) and all(DATA.fullmatch(text) for text in texts)


def _occurs(name: str, column: pa.ChunkedArray) -> bool:
    from microagg.table.columns.arrow import compute

    # faster than to look where
    return bool(name) and bool(compute.any(compute.equal(column, name)).as_py())


def _first_place(name: str, column: pa.ChunkedArray) -> int:
    from microagg.table.columns.arrow import compute

    return compute.index(column, name).as_py()


def _columns(places: Iterable[int]) -> str:
    """Name columns by their numbers, from 1.

    >>> _columns({1, 4}), _columns(range(9))
    ('columns 2 and 5', 'columns 1, 2, 3 and 6 more')
    """
    numbers = [str(index + 1) for index in sorted(places)]
    if len(numbers) == 1:
        return f"column {numbers[0]}"
    if len(numbers) > SHOWN + 1:
        return f"columns {', '.join(numbers[:SHOWN])} and {len(numbers) - SHOWN} more"
    return f"columns {', '.join(numbers[:-1])} and {numbers[-1]}"
