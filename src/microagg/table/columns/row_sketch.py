"""Sketches of the rows of a table: tell whether two tables share most of their rows, and nothing of
any single row.

A sketch is a row of bits, each the last bit of the least of the hashes that one hash function gives
the rows ("b-bit minwise hashing", Li and König 2010, with b = 1). Tables that share all rows agree
in all bits, tables that share none in half of them, by chance. One bit of a least hash hardly says
whose hash it is: whoever guesses a row cannot tell from the bits, much better than by tossing a
coin, whether the table has it. The size does not depend on the number of records.

Only rows that occur once count: in a table of few different rows others would be alike without
being of the same people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.table.columns.digests import RUN
from microagg.table.columns.row_hashes import row_hashes

BITS = 512
LEAST_BITS = 64
LEAST_ROWS = 32
"""Rows that occur once, at least: of fewer a sketch would say too much, and too little."""
SAMPLED = 1 << 12
"""A sketch is of so many rows, up to twice as many, which are chosen by their hashes; smaller
tables are taken whole.
"""
SHARED = 1 / 3
"""Of the rows of both tables together: where two tables of one size share half of their rows."""
CERTAIN = 5.0
"""Standard errors above chance."""
_ONE, _SHIFTS = np.uint64(1), (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)


def sampled_rows(table: pa.Table, records: int) -> np.ndarray:
    """Return the (m, 2) hashes of those rows of a table, or of a part of one with `records` in all,
    that a sketch is made from.

    All copies of a row are chosen, or none; the order of the columns makes no difference.
    """
    names = sorted(table.column_names)
    most = np.uint64((1 << 64) - 1 >> _first_level(records))
    chosen = [np.empty((0, 2), np.uint64)]
    for first in range(0, table.num_rows, RUN):
        hashes = row_hashes(table.slice(first, RUN).select(names))
        chosen.append(hashes[hashes[:, 1] <= most])
    return np.concatenate(chosen)


def sketch_of(
    names: Sequence[str], records: int, sampled: Iterable[np.ndarray]
) -> dict[str, Any] | None:
    """Return the sketch of a table from its sampled rows, part by part; None where too few rows
    occur once.

    Two levels are kept, of which the second has half of the rows: tables whose numbers of records
    differ by less than a factor of two have one in common.
    """
    rows, counts = np.unique(np.concatenate(list(sampled)), axis=0, return_counts=True)
    rows = rows[counts == 1]
    key = hashlib.sha256("\0".join(sorted(names)).encode()).digest()
    start, level = int.from_bytes(key[:8], "little"), _first_level(records)
    levels = {}
    for own in (level, level + 1):
        chosen = rows[rows[:, 1] <= np.uint64((1 << 64) - 1 >> own), 0]
        if len(chosen) >= LEAST_ROWS:
            # so few that the row with the least hash, one of all, moves fewer bits than chance does
            bits = min(BITS, len(chosen) ** 2 // 16 // 8 * 8)
            levels[str(own)] = np.packbits(_least_bits(chosen, start, bits)).tobytes().hex()
    return {"records": records, "levels": levels} if levels else None


def sketch_of_table(table: pa.Table) -> dict[str, Any] | None:
    """Return the sketch of a table that is in memory.

    >>> people = pa.table({"number": list(range(500))})
    >>> is_mostly_shared(sketch_of_table(people), sketch_of_table(people.slice(1)))
    True
    >>> is_mostly_shared(sketch_of_table(people), sketch_of_table(pa.table({"number": list(range(500, 1000))})))
    False
    """
    return sketch_of(table.column_names, table.num_rows, [sampled_rows(table, table.num_rows)])


def is_mostly_shared(one: Any, other: Any) -> bool:
    """Return whether the tables of two sketches have most of their rows in common; False where one
    of them is no sketch.
    """
    try:
        levels = one["levels"], other["levels"]
        for level in sorted(set(levels[0]) & set(levels[1])):
            agreeing = [
                np.unpackbits(np.frombuffer(bytes.fromhex(each[level]), np.uint8))
                for each in levels
            ]
            count = min(map(len, agreeing))
            if count < LEAST_BITS:
                continue
            same = float((agreeing[0][:count] == agreeing[1][:count]).mean())
            # of rows that are not shared half of the bits agree
            return bool(2.0 * same - 1.0 >= max(SHARED, CERTAIN / np.sqrt(count)))
    except (TypeError, KeyError, ValueError):  # what lies there may be anything
        return False
    return False


def _first_level(records: int) -> int:
    """How many leading zeros the second lane of a hash must have, so that about `SAMPLED` rows, up
    to twice as many, do.

    >>> [_first_level(count) for count in (10, 8191, 8192, 10_000_000)]
    [0, 0, 1, 11]
    """
    return max(0, (records // SAMPLED).bit_length() - 1)


def _least_bits(rows: np.ndarray, start: int, count: int) -> np.ndarray:
    """(count,): the last bit of the least hash of these rows by each of so many hash functions."""
    bits = np.empty(count, np.uint8)
    functions = _mixed(np.uint64(start) + _STEP * np.arange(1, count + 1, dtype=np.uint64))
    for place, function in enumerate(functions):
        bits[place] = _mixed(rows ^ function).min() & _ONE
    return bits


def _mixed(words: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: every bit of a word moves every bit of the result."""
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return words ^ (words >> _SHIFTS[2])
