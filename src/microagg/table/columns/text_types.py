"""Texts of a file without types that are numbers, or true and false: to the letter in text files,
values in files with types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import OURS, is_text
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.locale_numbers import Style, matching

TYPED_AS = OURS + b"-typed-as"
"""The mark of a text column whose cells have values in files with types."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
MOST_DIGITS, MOST_DIGITS_OF_WHOLE = 17, 15
"""Digits that float64 gives back, and those of whole numbers that every format holds."""
TRUTHS = (("TRUE", "FALSE"), ("True", "False"), ("true", "false"))
"""How programs write true and false."""
KINDS = {"whole": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


@dataclass(frozen=True)
class TextType:
    """What the texts of a column are in files with types.

    >>> TextType("float", ",").values(pa.chunked_array([["1,50", "NA", None]])).to_pylist()
    [1.5, None, None]
    """

    kind: str
    """One of `KINDS`."""
    decimal: str = "."
    thousands: str = ""

    @property
    def type(self) -> pa.DataType:
        """The type in Arrow."""
        return KINDS[self.kind]

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the values of texts; what is none means missing."""
        text = pc.utf8_trim_whitespace(column)
        if self.kind == "bool":
            lower = pc.utf8_lower(text)
            there = pc.is_in(lower, value_set=pa.array(["true", "false"], text.type))
            return pc.if_else(there, pc.equal(lower, "true"), pa.scalar(None, pa.bool_()))
        style = Style(self.decimal, self.thousands)
        plain = text if style.is_plain else style.plain(text)
        mine = matching(text, NUMBER if style.is_plain else style.pattern)
        plain = pc.replace_substring_regex(plain, r"^\+", "")
        return pc.cast(pc.if_else(mine, plain, pa.scalar(None, plain.type)), self.type)

    def as_mark(self) -> bytes:
        """Return what metadata hold."""
        return json.dumps([self.kind, self.decimal, self.thousands]).encode()


def text_type_of(field: pa.Field) -> TextType | None:
    """Return what the texts of a column are in files with types; None where they are texts."""
    mark = (field.metadata or {}).get(TYPED_AS)
    return TextType(*json.loads(mark)) if mark is not None and is_text(field.type) else None


def text_types_in(schema: pa.Schema) -> dict[str, TextType]:
    """Return the same of all columns that have such a mark."""
    return {field.name: kind for field in schema if (kind := text_type_of(field)) is not None}


def with_values(table: pa.Table, types: Mapping[str, TextType] | None = None) -> pa.Table:
    """Return the table that a file with types holds: values in place of texts that have some.

    `types` says which do, where the columns do not carry their marks.

    >>> field = pa.field("wage", pa.string(), metadata={TYPED_AS: TextType("float").as_mark()})
    >>> with_values(pa.table([["2.50", "NA"]], schema=pa.schema([field]))).to_pydict()
    {'wage': [2.5, None]}
    """
    types = text_types_in(table.schema) if types is None else types
    for name, kind in types.items():
        place = table.schema.get_field_index(name)
        if place >= 0 and is_text(table.schema.field(place).type):
            marks = dict(table.schema.field(place).metadata or {})
            marks.pop(TYPED_AS, None)
            field = pa.field(name, kind.type, metadata=marks or None)
            table = table.set_column(place, field, kind.values(table.column(place)))
    return table


def number_type(numbers: pa.ChunkedArray, *, one_spelling: bool) -> TextType | None:
    """Return what trimmed texts, all of them numbers or null, are in files with types.

    None where these could not hold all of their digits, or, with `one_spelling`, where a number is
    spelled in two ways: categories that differ must stay different.
    """
    digits = pc.replace_substring_regex(
        pc.replace_substring_regex(
            pc.replace_substring_regex(numbers, "[eE].*$", ""), r"[^\d]", ""
        ),
        "^0+",
        "",
    )
    longest = pc.max(pc.utf8_length(digits)).as_py()
    whole = pc.all(pc.match_substring_regex(numbers, r"^[+-]?\d+$")).as_py()
    if longest is None or longest > (MOST_DIGITS_OF_WHOLE if whole else MOST_DIGITS):
        return None
    found = TextType("whole" if whole else "float")
    values = found.values(numbers)
    if not whole and not pc.all(pc.is_finite(values)).as_py():
        return None
    if one_spelling and pc.count_distinct(values).as_py() != pc.count_distinct(numbers).as_py():
        return None
    return found


def is_truth(texts: pa.ChunkedArray) -> bool:
    """Return whether texts are true and false, all spelled in one way; null aside.

    >>> is_truth(pa.chunked_array([["True", None, "False"]])), is_truth(pa.chunked_array([["True", "FALSE"]]))
    (True, False)
    """
    first: Any = next((cell for cell in texts.slice(0, 100).to_pylist() if cell is not None), None)
    if first is not None and not any(first in words for words in TRUTHS):
        return False
    values = set(pc.unique(pc.drop_null(texts)).to_pylist())
    return bool(values) and any(values <= set(words) for words in TRUTHS)
