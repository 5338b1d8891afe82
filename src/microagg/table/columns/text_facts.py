"""Facts of a text column that decide its type."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from microagg.table.code_parameters import as_number
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.field_metadata import MARKER, field_metadata, missing_mark
from microagg.table.columns.text_masks import (
    CODE,
    DAY,
    MOMENT,
    NUMBER,
    any_of,
    both_of,
    either_of,
    floats_of,
    matches,
    without_cells,
)
from microagg.table.columns.text_options import cells_of_pattern
from microagg.table.columns.text_types import TextType, is_truth, number_type
from microagg.table.schema import ColumnSettings


def _coded(
    text: pa.ChunkedArray, numbers: pa.ChunkedArray, codes: Sequence[Any]
) -> pa.ChunkedArray:
    """Return the mask of cells that are one of these codes: to the letter, or the same number."""
    is_code = pc.is_in(text, value_set=pa.array([str(code) for code in codes], pa.string()))
    values = [float(code) for code in codes if not isinstance(code, str)]
    if values:
        is_code = either_of(
            is_code, pc.is_in(floats_of(text, numbers), value_set=pa.array(values, pa.float64()))
        )
    return is_code


@dataclass(frozen=True)
class TextFacts:
    """Masks of the cells of a text column by meaning; `text` is trimmed."""

    text: pa.ChunkedArray
    gaps: pa.ChunkedArray
    """Empty, or declared to mean missing: so in every column."""
    markers: pa.ChunkedArray
    """NA and the like: missing in columns that otherwise hold numbers or dates."""
    special: pa.ChunkedArray
    left: pa.ChunkedArray
    """Cells that are none of these."""
    numbers: pa.ChunkedArray
    """Cells that are written as numbers, whatever they stand for."""
    dates_pattern: str = ""
    """Declared pattern of dates, besides ISO 8601."""

    @functools.cached_property
    def dates(self) -> pa.ChunkedArray:
        """Mask of cells that are dates: all by ISO 8601, or all by the declared pattern."""
        by_pattern = (
            matches(self.text, cells_of_pattern(self.dates_pattern)) if self.dates_pattern else None
        )
        return (
            by_pattern
            if by_pattern is not None and any_of(by_pattern)
            else either_of(matches(self.text, DAY), matches(self.text, MOMENT))
        )

    @functools.cached_property
    def follows_pattern(self) -> bool:
        """True if dates are in the declared pattern."""
        return bool(self.dates_pattern) and any_of(
            matches(self.text, cells_of_pattern(self.dates_pattern))
        )

    @functools.cached_property
    def truths(self) -> bool:
        """True if the remaining cells are booleans, as programs write them."""
        return is_truth(pc.if_else(self.left, self.text, pa.scalar(None, self.text.type)))

    def text_type(self, *, one_spelling: bool) -> TextType | None:
        """Return what the texts are in files with types; None where they are texts there, too."""
        if any_of(
            both_of(self.special, pc.invert(self.numbers))
        ):  # codes that are no numbers need text
            return None
        if self.truths:
            return None if any_of(self.special) else TextType("bool")
        codes = both_of(self.numbers, matches(self.text, CODE))
        if not self.all_left(self.numbers) or any_of(codes):
            return None
        numbers = pc.if_else(self.numbers, self.text, pa.scalar(None, self.text.type))
        return number_type(numbers, one_spelling=one_spelling)

    def all_left(self, wanted: pa.ChunkedArray) -> bool:
        """Check if there are cells left, and all of them are in the mask."""
        return any_of(self.left) and not any_of(both_of(self.left, pc.invert(wanted)))


def facts_of_text(
    name: str, column: pa.ChunkedArray, settings: ColumnSettings, dates: str | None = None
) -> TextFacts:
    """Count numbers, dates, gaps and special codes in a column of text."""
    text = pc.utf8_trim_whitespace(column)
    numbers = matches(text, NUMBER)
    levels = pa.array([str(level) for level in settings.levels.get(name, ())], pa.string())
    special = _coded(text, numbers, settings.special.get(name, ()))
    gaps = either_of(
        pc.fill_null(pc.equal(text, ""), True),
        _coded(text, numbers, [as_number(na) for na in settings.na]),
    )
    apart = either_of(either_of(special, gaps), pc.is_in(text, value_set=levels))
    markers = both_of(matches(text, MARKER), pc.invert(apart))
    left = pc.invert(either_of(either_of(special, gaps), markers))
    return TextFacts(text, gaps, markers, special, left, numbers, dates or "")


def without_markers(column: pa.ChunkedArray, na: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of texts or numbers with null in place of these markers: to the letter, or
    the same number.

    >>> without_markers(pa.chunked_array([["30", "-9.0", "k.A."]]), ["-9", "k.A."]).to_pylist()
    ['30', None, None]
    """
    codes = [as_number(marker) for marker in na]
    if is_text(column.type):
        text = pc.utf8_trim_whitespace(column)
        gone = _coded(text, matches(text, NUMBER), codes)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = pa.array(
            [float(code) for code in codes if not isinstance(code, str)], pa.float64()
        )
        gone = pc.is_in(pc.cast(column, pa.float64(), safe=False), value_set=numbers)
    else:
        return column
    return without_cells(column, gone)


def missing_metadata(field: pa.Field) -> dict[bytes, bytes] | None:
    """Return the metadata of a field that name its marker of missing cells alone."""
    return field_metadata(missing=missing_mark(field))
