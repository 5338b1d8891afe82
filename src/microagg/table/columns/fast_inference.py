"""Quick looks at columns of text that spare most of them the closer one of `text_columns.py`: each
says what that would say, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.arrow import compute as pc

RECORDS_FOR_THREADS = 20_000
LONGEST_WHOLE = 18
"""Digits of whole numbers that int64 holds whatever they are."""
MOST_DIGITS = 15
"""A decimal number of so many digits comes back from float64 as it was."""
LEAST_PLAIN, FIRST_WITH_EXPONENT = 1e-3, 1e9
"""Arrow writes numbers between these without an exponent; some beyond them, too."""
MINUS, POINT, ZERO, NINE = b"-.09"


def at_once(look: Callable[[Any], Any], things: Iterable[Any], records: int) -> list[Any]:
    """What a look at each of some columns gives, on all cores where there are many records: Arrow's
    functions let others run.

    >>> at_once(len, [[1, 2], [3]], records=2)
    [2, 1]
    """
    if records < RECORDS_FOR_THREADS:
        return [look(thing) for thing in things]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(look, things))


def plain_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """What `parsed_numbers` gives for texts that are spelled as programs do, in a fraction of
    the time; None where it takes a closer look.

    Arrow's own cast tells: it takes digits, a sign and a point, and besides them hexadecimal
    numbers, infinity and what is no number.

    >>> plain_numbers(pa.chunked_array([["7", None]])).to_pylist(), plain_numbers(pa.chunked_array([["7", "NA"]]))
    ([7, None], None)
    """
    if column.null_count == len(column):
        return None
    numbers = cast_or_none(column, pa.int64())
    if numbers is not None:
        longest = pc.max(pc.binary_length(column)).as_py()
        return numbers if longest <= LONGEST_WHOLE and not _has_letters(column) else None
    numbers = cast_or_none(column, pa.float64())
    if numbers is None or not has_sign(column, "."):
        return None
    return numbers if pc.all(pc.is_finite(numbers)).as_py() else None


def has_sign(column: pa.ChunkedArray, sign: str) -> bool:
    """Whether some cell has a sign: mostly one of the first does.

    >>> has_sign(pa.chunked_array([["1.5"]]), "."), has_sign(pa.chunked_array([["15"]]), ".")
    (True, False)
    """
    return any(_any(pc.match_substring(some, sign)) for some in (column.slice(0, 1000), column))


def cast_or_none(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """A column as this type; None where some cell is none of it, which one of the first mostly
    shows.
    """
    try:
        pc.cast(column.slice(0, 100), kind)
        return pc.cast(column, kind)
    except pa.ArrowInvalid:
        return None


def are_shortest(column: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    """Whether it is certain that writing these numbers gives the very texts that they were cast
    from; False where it may or may not.

    So it is for digits with no zero to spare at either end, written without an exponent; with
    decimals, up to fifteen of them.

    >>> texts = pa.chunked_array([["1.5", "-20", "0.25"]])
    >>> are_shortest(texts, texts.cast(pa.float64())), are_shortest(pa.chunked_array([["1.50"]]), pa.chunked_array([[1.5]]))
    (True, False)
    """
    if column.null_count:
        column, numbers = pc.drop_null(column), pc.drop_null(numbers)
    if len(column) == 0:
        return False
    if pa.types.is_integer(numbers.type):
        return all(_are_plain_wholes(*texts) for texts in _bytes_of(column))
    values = iter(
        np.split(numbers.to_numpy(), np.cumsum([len(chunk) for chunk in column.chunks])[:-1])
    )
    return all(_are_plain_decimals(*texts, next(values)) for texts in _bytes_of(column))


def _are_plain_wholes(starts: np.ndarray, ends: np.ndarray, data: np.ndarray) -> bool:
    if len(starts) == 0:
        return True
    if data[starts[0] : ends[-1]].max() > NINE:  # hexadecimal
        return False
    minus = data[starts] == MINUS
    first = starts + minus
    return bool(((data[first] > ZERO) | ((ends - first == 1) & ~minus)).all())


def _are_plain_decimals(
    starts: np.ndarray, ends: np.ndarray, data: np.ndarray, values: np.ndarray
) -> bool:
    if len(values) == 0:
        return True
    letters = data[starts[0] : ends[-1]]
    if letters.min() < MINUS or letters.max() > NINE:  # an exponent, a plus, no number
        return False
    size = np.abs(values)
    if not ((size < FIRST_WITH_EXPONENT) & ((size >= LEAST_PLAIN) | (size == 0.0))).all():
        return False
    parts = values != np.floor(values)
    if np.count_nonzero(letters == POINT) != np.count_nonzero(parts):  # "2.0", "2."
        return False
    minus = data[starts] == MINUS
    first = starts + minus
    digits = ends - first - parts
    leading = data[first]
    after = data[np.minimum(first + 1, len(data) - 1)]
    begun = (leading > ZERO) | np.where(
        parts, (leading == ZERO) & (after == POINT), (digits == 1) & ~minus
    )
    ended = ~parts | (data[ends - 1] > ZERO)
    return bool((begun & ended & (digits <= MOST_DIGITS)).all())


def _bytes_of(column: pa.ChunkedArray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Where the texts of each chunk begin and end, and all their letters."""
    for chunk in column.chunks:
        _, offsets, letters = chunk.buffers()
        places = (
            np.frombuffer(offsets, np.int32, len(chunk) + 1, 4 * chunk.offset)
            if len(chunk)
            else np.zeros(1, np.int32)
        )
        data = (
            np.frombuffer(letters, np.uint8)
            if letters is not None and letters.size
            else np.zeros(1, np.uint8)
        )
        yield places[:-1], places[1:], data


def _has_letters(column: pa.ChunkedArray) -> bool:
    """Whether there is an x, as hexadecimal numbers have; of a part of a column, perhaps in another
    part.
    """
    return any(
        letters is not None and int(np.frombuffer(letters, np.uint8).max(initial=0)) > NINE
        for letters in (chunk.buffers()[2] for chunk in column.chunks)
    )


def is_mere_text(column: pa.ChunkedArray, pattern: str, apart: frozenset[str]) -> bool:
    """Whether no text of a column, without blanks around it, matches a pattern or is one of those
    set apart: by its different values.
    """
    values = pc.utf8_trim_whitespace(pc.drop_null(pc.unique(column)))
    if len(values) == 0 or _any(pc.is_in(values, value_set=pa.array(sorted(apart), pa.string()))):
        return False
    return not _any(pc.match_substring_regex(values, pattern))


def has_codes(column: pa.ChunkedArray) -> bool:
    """Whether some of the numbers of a column begin with a zero that they do not need, such as 007.

    >>> has_codes(pa.chunked_array([["007"]])), has_codes(pa.chunked_array([["0.7", "0"]]))
    (True, False)
    """
    for some in (column.slice(0, 1000), column):
        may_be = any(_any(pc.starts_with(some, sign)) for sign in ("0", "-", "+"))
        if may_be and _any(pc.match_substring_regex(some, r"^[+-]?0\d")):
            return True
    return False


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(pc.any(mask).as_py())
