"""The confidential columns of a table, as what guarantees and methods work on: numbers, or numbers for categories.

What counts as one value: numbers go by their value, and so do texts that are numbers ("100" and "100.0"); other texts by what is left
of them after NFKC, case folding and collapsing of white space ("HIV", "hiv" and "HIV "). With `exact`, texts go by the letter.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import comparable, is_text, means_numbers
from microagg.table.io.arrow import compute as pc
from microagg.table.io.text_columns import NUMBER
from microagg.table.schema import Kind

# "007" is a code, no number
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
# columns with more texts than this hold no categories that somebody could have misspelled
MOST_COMPARED = 10_000


@dataclass(frozen=True)
class Attribute:
    """One confidential column.

    >>> Attribute("wage", Kind.NUMERIC, np.array([9.0, 7.0, 9.0])).codes.tolist()
    [1, 0, 1]
    """

    name: str
    kind: Kind
    values: np.ndarray
    """(n,): float64 where numeric; else int64, in the order of the categories where they have one."""
    spellings: int = 0
    """How many texts mean the same as another one of the column."""
    similar: int = 0
    """How many values differ from another one in accents, marks and blanks only, and count as values of their own."""

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """(n,) int64: the number of each value among the distinct ones, in ascending order."""
        return np.unique(self.values, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return int(self.codes.max(initial=-1)) + 1


def attributes_of(table: pa.Table, names: Sequence[str], *, exact: bool = False) -> tuple[Attribute, ...]:
    """Confidential columns from a table.

    A column counts as numbers if it holds nothing else, as ordered categories if its type says so (an ordered
    categorical), and as plain categories otherwise; what is missing is a category of its own. Texts that mean the same are one
    category, unless they are to be taken `exact`.

    >>> attributes_of(pa.table({"ill": ["no", "yes", "No "]}), ["ill"])[0].values.tolist()
    [0, 1, 0]
    """
    found = []
    for name in names:
        column = table.column(name)
        if means_numbers(table.schema.field(name)) and is_text(column.type):
            column = pc.if_else(pc.match_substring_regex(column, NUMBER), column, None)  # all else is a gap
            column = pc.cast(
                pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", ""), pa.float64()
            )
        if _is_ordered(column):
            found.append(_ordered(name, column, exact=exact))
        elif _is_numeric(column):
            found.append(Attribute(name, Kind.NUMERIC, _numbers(column)))
        else:
            found.append(_nominal(name, column, exact=exact))
    return tuple(found)


def meaning_of(text: str) -> str | Decimal:
    """What a text is compared by: its value where it is a number, else what case, width and blanks leave of it.

    >>> meaning_of("100.0") == meaning_of("1e2"), meaning_of("  H I V"), meaning_of("007")
    (True, 'h i v', '007')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = " ".join(text.lower().split())
    return Decimal(plain) if _NUMBER.fullmatch(plain) else plain


def _outline_of(text: str) -> str | Decimal:
    """What is left of a text without accents, marks and blanks; the meaning where that is nothing."""
    meaning = meaning_of(text)
    if not isinstance(meaning, str):
        return meaning
    return (
        "".join(mark for mark in unicodedata.normalize("NFKD", meaning) if mark.isalnum() or mark in "+-<=>%")
        or meaning
    )


def _nominal(name: str, column: pa.ChunkedArray, *, exact: bool) -> Attribute:
    codes, texts = _encoded(column)
    if texts is None:
        return Attribute(name, Kind.NOMINAL, codes)
    merged, spellings = _merged(texts, meaning_of)
    few = len(texts) <= MOST_COMPARED
    similar = _merged(texts, _outline_of)[1] - (0 if exact else spellings) if few else 0
    if exact:
        return Attribute(name, Kind.NOMINAL, codes, 0, similar)
    return Attribute(name, Kind.NOMINAL, merged[codes], spellings, similar)


def _ordered(name: str, column: pa.ChunkedArray, *, exact: bool) -> Attribute:
    """Ordered categories by their places; one that means the same as an earlier one has its place."""
    whole = column.unify_dictionaries().combine_chunks()
    ranks = np.asarray(whole.indices).astype(np.int64)
    if exact or not is_text(whole.dictionary.type):
        return Attribute(name, Kind.ORDINAL, ranks)
    texts = whole.dictionary.to_pylist()
    first = _merged(texts, meaning_of)[0]
    used = np.unique(ranks)
    return Attribute(name, Kind.ORDINAL, first[ranks], len(used) - len(np.unique(first[used])))


def _merged(texts: Sequence[str | None], key: Callable[[str], Any]) -> tuple[np.ndarray, int]:
    """For each text the place of the first one with the same key, and how many are not the first; gaps stay by themselves."""
    places: dict[Any, int] = {}
    first = [
        places.setdefault(None if text is None else (key(text),), place) for place, text in enumerate(texts)
    ]
    return np.array(first, np.int64), len(first) - len(places)


def typed_like(written: pa.Table, table: pa.Table) -> pa.Table:
    """Columns of a file that may hold everything as text, with the types that those of this table have.

    >>> typed_like(pa.table({"wage": ["1.5", None]}), pa.table({"wage": [1.5, None]})).column("wage").to_pylist()
    [1.5, None]
    """
    for position, name in enumerate(written.column_names):
        column, kind = written.column(name), table.schema.field(name).type
        if _is_ordered(table.column(name)):
            values = table.column(name).unify_dictionaries().chunk(0).dictionary
            places = pc.index_in(pc.cast(column, values.type), value_set=values)
            column = pa.chunked_array(
                [pa.DictionaryArray.from_arrays(places.combine_chunks(), values, ordered=True)]
            )
        elif pa.types.is_string(column.type) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            column = pc.cast(column, pa.float64())
        field = pa.field(name, column.type, metadata=table.schema.field(name).metadata)
        written = written.set_column(position, field, column)
    return written


def as_attributes(confidential: Any, records: int) -> tuple[Attribute, ...]:
    """Confidential columns from a matrix or a column of anything: floats are numbers, all else is categories.

    >>> [attribute.kind.value for attribute in as_attributes(np.array([["a"], ["b"]]), 2)]
    ['nominal']
    """
    matrix = np.asarray(confidential)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or len(matrix) != records or matrix.shape[1] == 0:
        raise InputError(f"confidential must hold one row for each of the {records} records.")
    found = []
    for j, column in enumerate(matrix.T):
        if matrix.dtype.kind == "f":
            if not np.isfinite(column).all():
                row = int(np.argmin(np.isfinite(column))) + 1
                raise InputError(f"confidential holds a missing or infinite value in row {row}.")
            found.append(Attribute(str(j), Kind.NUMERIC, np.ascontiguousarray(column, np.float64)))
        else:
            found.append(_nominal(str(j), _as_column(column), exact=False))
    return tuple(found)


def _as_column(values: np.ndarray) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(values.tolist())])
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise InputError(
            "confidential mixes values of several types, or holds odd ones; make them one."
        ) from None


def codes_of(column: pa.ChunkedArray) -> np.ndarray:
    """Whole numbers that tell the values of a column apart to the letter, in the order in which they first appear."""
    return _encoded(column)[0]


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str | None] | None]:
    """Codes to the letter and, if the column holds texts, what each of them stands for."""
    plain = comparable(column)
    encoded = pc.dictionary_encode(plain, null_encoding="encode").combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = np.asarray(encoded.indices).astype(np.int64)
    told = is_text(plain.type) and not pa.types.is_nested(column.type)
    return codes, encoded.dictionary.to_pylist() if told else None


def _is_numeric(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return False
    return bool(np.isfinite(_numbers(column)).all())  # what is missing has become NaN


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)


def _is_ordered(column: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(column.type) and column.type.ordered and column.null_count == 0
