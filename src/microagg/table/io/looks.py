"""A look at a column: what it holds by type, counts and patterns, with missing markers set aside. Nothing of single values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import comparable, is_text
from microagg.table.io.arrow import compute as pc
from microagg.table.io.frames import arrow_column
from microagg.table.io.labels import Understood, understood_in
from microagg.table.io.marks import MARKER
from microagg.table.io.text_columns import CODE, DAY, MOMENT, quasi_column
from microagg.table.schema import ColumnSettings, Kind

NEARLY = 0.95
"""From this share of different values on, a column is nearly unique."""
SHARE = 0.05
"""From this share of values that look like an e-mail address or the like, a column is taken for one of those."""
_E_MAIL = r"[^\s@]@[^\s@]+\.[^\s@]"
_ACCOUNT = r"(?i)^[a-z]{2}\d{2} ?([a-z0-9]{4} ?){2,7}[a-z0-9]{0,4}$"
_PHONE = r"^\+\d[\d ()/.\-]{6,}$|^\(?0\d{1,5}\)?[ /\-][\d /.\-]{4,}$|^\(?\d{3}\)?[ .\-]\d{3}[ .\-]\d{4}$|^\d{3}-\d{2}-\d{4}$"
_DATE = r"^\d{1,2}[./\-]\d{1,2}[./\-](\d{2}|\d{4})$|^\d{4}[./\-]\d{1,2}[./\-]\d{1,2}$"
_STREET = (
    r"(?i)(stra(ß|ss)e|str\.|street|\bst\.?\b|avenue|\bave\b|\broad\b|\brd\.?\b|\blane\b|\brue\b|\bcalle\b|\bvia\b|\brua\b|straat|gatan|"
    r"(platz|weg|gasse|allee)\b).*\d|^\d+[a-z]?,? .*(street|\bst\.?\b|avenue|\bave\b|\broad\b|\brd\.?\b|\blane\b|\brue\b|\bdrive\b)"
)
LIKE = {
    "e-mail addresses": _E_MAIL,
    "bank accounts": _ACCOUNT,
    "phone or identity numbers": _PHONE,
    "street addresses": _STREET,
}


@dataclass(frozen=True)
class Look:
    """What a look at a column tells. Counts are of cells that hold a value; numbers are counted by value, not by spelling."""

    name: str
    kind: Kind
    records: int
    values: int = 0
    """Cells that hold a value."""
    distinct: int = 0
    single: int = 0
    """Cells whose value no other cell has."""
    text: bool = False
    boolean: bool = False
    dates: bool = False
    whole: bool = False
    """Whether it holds whole numbers only."""
    positive: bool = False
    span: float = 0.0
    """Of numbers: how far the largest is from the smallest."""
    like: str = ""
    """What its texts look like, of `LIKE`."""
    said: Kind | None = None
    """The kind that must be said to make it so, where its type suggests another."""
    readable: bool = True
    """Whether it is of a type that a release can hold."""

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every record has a value of its own."""
        return self.values > 1 and self.distinct >= NEARLY * self.values

    @property
    def mostly_repeated(self) -> bool:
        """Whether at most one in twenty values occurs once."""
        return self.single <= (1.0 - NEARLY) * self.values


def look_at(frame: nw.DataFrame[Any], name: str, *, typed: bool = True) -> Look:
    """A look at a column; `typed` is False for files in which everything is text, where numbers are found when they are read.

    >>> look = look_at(nw.from_native(pa.table({"age": ["30", "30.0", "NA"]}), eager_only=True), "age")
    >>> look.kind.value, look.values, look.distinct, look.whole
    ('numeric', 2, 1, True)
    """
    try:
        _, column = arrow_column(frame, name)
    except InputError:
        return Look(name, Kind.NOMINAL, len(frame), readable=False)
    kind, said, like = None, None, ""
    told = understood_in(frame.to_native(), [name]).get(name, Understood())
    if told.kind is not None:
        kind = told.kind
        if told.special and kind is not Kind.NOMINAL:
            column = _without_codes(column, told.special)
    elif told.special and not is_text(column.type):  # codes that are no numbers
        column = _without_codes(column, told.special)
    if pa.types.is_dictionary(column.type):  # categories of numbers are categories
        kind = kind or (Kind.ORDINAL if column.type.ordered else Kind.NOMINAL)
        column = pc.cast(column, column.type.value_type)
    elif is_text(column.type):
        column, said = _read_text(name, column, typed=typed)
    if is_text(column.type):
        column = _without_markers(pc.cast(column, pa.large_string()))
        like = _like(column)
    if kind is None:
        plain = is_text(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)
        kind = Kind.NOMINAL if plain else Kind.NUMERIC
    values = pc.drop_null(comparable(column))
    counts = pc.value_counts(values).field("counts") if len(values) else pa.array([], pa.int64())
    return Look(
        name, kind, len(frame), len(values), len(counts), int(pc.sum(pc.equal(counts, 1)).as_py() or 0), like=like,
        said=said, text=is_text(column.type), boolean=pa.types.is_boolean(column.type),
        dates=pa.types.is_temporal(column.type), **_of_numbers(values, kind),
    )  # fmt: skip


def _without_codes(column: pa.ChunkedArray, codes: Sequence[Any]) -> pa.ChunkedArray:
    """A column without codes that its labels declare missing."""
    if is_text(column.type):
        gone = pc.is_in(column, value_set=pa.array(map(str, codes), column.type))
    else:
        gone = pc.is_in(pc.cast(column, pa.float64()), value_set=pa.array(map(float, codes), pa.float64()))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _of_numbers(values: pa.ChunkedArray, kind: Kind) -> dict[str, Any]:
    """Whether numbers are whole and positive, and how far they reach; nothing for all else."""
    plain = (
        pa.types.is_integer(values.type)
        or pa.types.is_floating(values.type)
        or pa.types.is_decimal(values.type)
    )
    if kind is not Kind.NUMERIC or not plain or len(values) == 0:
        return {}
    numbers = pc.cast(values, pa.float64(), safe=False)
    ends = pc.min_max(numbers).as_py()
    whole = pa.types.is_integer(values.type) or bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())
    return {"whole": whole, "positive": ends["min"] > 0.0, "span": ends["max"] - ends["min"]}


def _read_text(name: str, column: pa.ChunkedArray, *, typed: bool) -> tuple[pa.ChunkedArray, Kind | None]:
    """Text as the numbers or dates that it spells, or as it is; and the kind that must be said to have it so."""
    text = pc.utf8_trim_whitespace(pc.cast(column, pa.string()))
    try:
        read = quasi_column(name, text, ColumnSettings())[1]
    except InputError:  # numbers or dates with other text among them: categories, if anything
        return text, None if typed else Kind.NOMINAL
    if is_text(read.type):
        return text, None
    if pa.types.is_temporal(read.type):  # in a table with types, text is never a date
        return (text, None) if typed else (read, None)
    if pc.any(pc.match_substring_regex(text, CODE)).as_py():  # "007" is a code
        return text, None if typed else Kind.NOMINAL
    return read, Kind.NUMERIC if typed else None


def _without_markers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """What means missing in columns of numbers is no value here either: that changes no release, but would change what is proposed."""
    trimmed = pc.utf8_trim_whitespace(text)
    gone = pc.or_(pc.equal(trimmed, ""), pc.match_substring_regex(trimmed, MARKER))
    return pc.if_else(gone, pa.scalar(None, trimmed.type), trimmed)


def _like(text: pa.ChunkedArray) -> str:
    """What a share of the texts look like, if they do."""
    there = len(text) - text.null_count
    dates = pc.match_substring_regex(text, f"{_DATE}|{DAY}|{MOMENT}")
    found = {
        what: pc.sum(pc.and_not(pc.match_substring_regex(text, pattern), dates)).as_py() or 0
        for what, pattern in LIKE.items()
    }
    most = max(found, key=lambda what: found[what])
    return most if there and found[most] >= SHARE * there else ""
