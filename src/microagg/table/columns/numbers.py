"""Numeric columns of any type as float64, with their atoms: numbers, text, Decimals, dates, times.

A column is read in two steps, so that it need not be in memory as a whole. First each part is
parsed: its atoms and the extent of its values (`parse_column`, `extent_of`). From the extent of all
parts (`terms_of`), each part gets its numbers (`numbers_in`).
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns import times
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.cell_errors import check_value
from microagg.table.columns.distinct import Finder, distinct, number_of
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY
from microagg.table.columns.frames import LARGEST, LARGEST_WHOLE
from microagg.table.columns.parsed_numbers import (
    DIGITS,
    Codes,
    Extent,
    Numbers,
    ParsedNumbers,
    extent_of,
)
from microagg.table.columns.text_masks import INFINITE, NUMBER, WHOLE
from microagg.table.variable import NO_ATOM


def numbers_of(column: pa.ChunkedArray, codes: Codes) -> Numbers:
    """Return the numbers of a numeric column of any type."""
    looked = parse_column(column, codes)
    facts = terms_of(column.type, extent_of(looked, codes), codes)
    return Numbers(numbers_in(looked, facts, codes), looked.special, looked.missing, facts)


def parse_column(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    """Parse a column, or a part of one."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_dictionary(kind):
        holds = "true and false" if pa.types.is_boolean(kind) else "categories"
        raise InputError(
            f"column {codes.name!r} holds {holds}, not numbers; make it nominal or "
            f"ordinal, or convert it."
        )
    if is_text(kind):
        return _look_at_text(column, codes)
    if times.is_time(kind):
        return _look_at_times(column, codes)
    if pa.types.is_decimal(kind):
        return _look_at_decimals(column, codes)
    return (
        _look_at_whole(column, codes)
        if pa.types.is_integer(kind)
        else _look_at_floats(column, codes)
    )


def terms_of(kind: Any, extent: Extent, codes: Codes) -> dict[str, Any]:
    """Return origin and unit of the numbers of a column, as `Variable` has them."""
    if times.is_time(kind):
        return _terms_of_times(kind, extent)
    if pa.types.is_floating(kind):
        return {"single": not pa.types.is_float64(kind)}
    if is_text(kind):
        if extent.whole and extent.long is not None:
            check_value(codes.name, extent.long, "a whole number of more than 15 digits")
        return {}
    if pa.types.is_decimal(kind):
        return {"origin": 0 if extent.long is None else extent.least}
    if extent.long is None:
        return {"origin": 0}
    if extent.most - extent.least >= LARGEST_WHOLE:
        check_value(codes.name, extent.long, "a whole number of more than 15 digits")
    return {"origin": extent.least}


def numbers_in(looked: ParsedNumbers, terms: dict[str, Any], codes: Codes) -> np.ndarray:
    """Return (n,) float64: the numbers of a part, by the terms of the whole; NaN for atoms."""
    kind, is_value, exact = looked.kind, looked.is_value, looked.exact
    if times.is_time(kind):
        ticks = looked.local if terms["wall"] and looked.local is not None else exact
        counts = ticks // (
            times.NANOSECONDS[terms["unit"]] // times.NANOSECONDS[times.unit_of(kind)]
        )
        values = times.since(counts, terms["origin"]).astype(np.float64)
        values[~is_value] = np.nan
        return values
    if pa.types.is_decimal(kind):
        origin = terms["origin"]
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            numbers = np.array(
                [
                    float(value - origin) if kept else np.nan
                    for value, kept in zip(exact, is_value, strict=True)
                ]
            )
        return numbers[looked.index]
    if is_text(kind):
        return _checked(codes, exact[looked.index], is_value[looked.index])
    if pa.types.is_integer(kind) and terms["origin"]:
        exact = exact - exact.dtype.type(terms["origin"])
    values = exact.astype(np.float64)
    return _checked(codes, values, is_value)


def number_codes(codes: Codes) -> tuple[list[Decimal], list[Decimal]]:
    """Return the special codes, and the markers that are numbers, as numbers."""
    special = [number_of(code) for code in codes.special]
    for index, code in enumerate(special):
        if code is None:
            codes.refuse(index, "number")
    markers = [number_of(text) for text in codes.na]
    return [code for code in special if code is not None], [
        mark for mark in markers if mark is not None
    ]


def _marked(
    values: np.ndarray, missing: np.ndarray, special: Sequence[Any], na: Sequence[Any]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the special code of each cell, and the mask of missing ones, compared by value."""
    for mark in na:
        missing = missing | (values == mark)
    special_index = None
    for index, code in enumerate(special):
        hit = (values == code) & ~missing
        if hit.any():
            special_index = (
                np.full(len(values), NO_ATOM, np.int16) if special_index is None else special_index
            )
            special_index[hit & (special_index == NO_ATOM)] = index
    return special_index, missing


def _values_among(special: np.ndarray | None, missing: np.ndarray) -> np.ndarray:
    return ~missing if special is None else ~missing & (special == NO_ATOM)


def _check_where(codes: Codes, wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        check_value(codes.name, codes.first + int(np.argmax(wrong)), what)


def _checked(codes: Codes, values: np.ndarray, is_value: np.ndarray) -> np.ndarray:
    """Return the values with NaN for atoms; refuse values that no release can hold."""
    values[~is_value] = np.nan
    _check_where(codes, np.isinf(values), "infinite value")
    _check_where(codes, np.abs(values) > LARGEST, f"a number beyond {LARGEST:g}")
    return values


def _nulls(column: pa.ChunkedArray) -> np.ndarray:
    return pc.is_null(column).to_numpy()


def _look_at_floats(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    values = pc.fill_null(pc.cast(column, pa.float64()), np.nan).to_numpy().astype(np.float64)
    # a code is stored like the values: 0.1 in single precision is another number
    precision: Any = {"halffloat": np.float16, "float": np.float32}.get(
        str(column.type), np.float64
    )
    special, na = (
        [float(precision(code)) for code in codes_of_kind] for codes_of_kind in number_codes(codes)
    )
    special_codes, missing = _marked(values, np.isnan(values), special, na)
    return ParsedNumbers(
        column.type, values, special_codes, missing, _values_among(special_codes, missing)
    )


def _look_at_whole(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    exact = pc.fill_null(column, 0).to_numpy()
    special, na = number_codes(codes)
    special_codes, missing = _marked(
        exact, _nulls(column), *(_whole_within(numbers, exact.dtype) for numbers in (special, na))
    )
    return ParsedNumbers(
        column.type, exact, special_codes, missing, _values_among(special_codes, missing)
    )


def _whole_within(marks: Sequence[Decimal], dtype: np.dtype) -> list[Any]:
    """Codes as whole numbers of a type; what is none of these equals nothing."""
    span = np.iinfo(dtype)
    fits = [mark == mark.to_integral_value() and span.min <= mark <= span.max for mark in marks]
    return [dtype.type(int(mark)) if fit else np.nan for mark, fit in zip(marks, fits, strict=True)]


def _look_at_decimals(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    distinct_values = distinct(column)
    marks, na = number_codes(codes)
    values = np.array([*distinct_values.values, None], object)
    special, missing = _marked(
        values, np.array([*(False for _ in distinct_values.values), True]), marks, na
    )
    index = distinct_values.codes
    is_value = _values_among(special, missing)
    return ParsedNumbers(
        column.type,
        values,
        None if special is None else special[index],
        missing[index],
        is_value,
        index,
    )


def _look_at_times(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    kind: Any = column.type
    ticks = times.ticks_of(column)
    special = [times.tick_of(code, kind) for code in codes.special]
    for index, code in enumerate(special):
        if code is None:
            codes.refuse(index, "date or time")
    markers = [tick for text in codes.na if (tick := times.tick_of(text, kind)) is not None]
    special_codes, missing = _marked(ticks, _nulls(column), special, markers)
    local = None
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        local = times.on_the_wall(column)
    shown = None if local is None else times.ticks_of(local)
    return ParsedNumbers(
        kind, ticks, special_codes, missing, _values_among(special_codes, missing), local=shown
    )


def _terms_of_times(kind: Any, extent: Extent) -> dict[str, Any]:
    native = times.unit_of(kind)
    fine, wall = times.resolution_by(extent.common if extent.count else None, native), False
    least = extent.least
    if extent.wall and pa.types.is_timestamp(kind) and kind.tz is not None:
        coarse = times.resolution_by(extent.wall_common if extent.count else None, native)
        if coarse.nanoseconds > fine.nanoseconds:
            least, fine, wall = extent.wall_least, coarse, True
    factor = times.NANOSECONDS[fine.unit] // times.NANOSECONDS[native]
    span = not (pa.types.is_date(kind) or pa.types.is_timestamp(kind))
    origin = 0 if least is None else least // factor
    return {"origin": origin, "unit": fine.unit, "step": fine.step, "wall": wall, "span": span}


def _look_at_text(column: pa.ChunkedArray, codes: Codes) -> ParsedNumbers:
    """Parse text that spells numbers; refuse cells that are neither numbers nor atoms."""
    distinct_values = distinct(column)
    texts = pa.array([*distinct_values.values, None], pa.large_string())
    numbers = spelled_numbers(texts)
    spells = ~np.isnan(numbers)
    finder = Finder([*(text.strip() for text in distinct_values.values), ""])
    missing = pc.fill_null(pc.match_substring_regex(texts, MARKER_OR_EMPTY), True).to_numpy(
        zero_copy_only=False
    )
    for text in codes.na:
        missing[finder.places(text.strip())] = True
        missing |= numbers == _float_of(text)
    special = np.full(len(texts), NO_ATOM, np.int16)
    for position, code in enumerate(codes.special):
        hit = numbers == _float_of(code)
        hit[finder.places(code.strip() if isinstance(code, str) else code)] = True
        special[hit & ~missing & (special == NO_ATOM)] = position
    is_value = _values_among(special, missing)
    index = distinct_values.codes
    infinite = pc.fill_null(pc.match_substring_regex(texts, INFINITE), False).to_numpy(
        zero_copy_only=False
    )
    _check_where(codes, (is_value & infinite)[index], "infinite value")
    _check_where(codes, (is_value & ~spells)[index], "text where a number is needed")
    whole = pc.fill_null(pc.match_substring_regex(texts, WHOLE), False).to_numpy(
        zero_copy_only=False
    )
    held = special[index] if (special[index] != NO_ATOM).any() else None
    return ParsedNumbers(
        column.type,
        numbers,
        held,
        missing[index],
        is_value,
        index,
        whole=bool(whole[is_value].all()),
    )


def spelled_numbers(texts: pa.Array) -> np.ndarray:
    """Return the numbers that texts spell; NaN for other texts."""
    spells = pc.match_substring_regex(texts, NUMBER)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "")
    numbers = pc.cast(pc.if_else(spells, plain, pa.scalar(None, plain.type)), pa.float64())
    return pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False).copy()


def _float_of(code: Any) -> float:
    number = number_of(code)
    return np.nan if number is None else float(number)
