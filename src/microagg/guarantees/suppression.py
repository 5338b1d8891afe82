"""Suppressed rows and cells: what they are, and k-anonymity under both readings of a blank.

Other tools replace values that they could not protect by a marker such as ``*``. A row with nothing
but markers tells nothing and is set aside. A row with some of them has two readings: the marker is
a value of its own, or it fits any value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.k import Anonymity, anonymity, class_labels
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.field_metadata import MARKER_OR_EMPTY

STAR = "*"
"""What most tools write in the place of a suppressed value."""


@dataclass(frozen=True)
class Suppression:
    """Counts of suppressed rows and cells, and k-anonymity if a blank fits any value."""

    rows: int
    """Records of which every quasi-identifier is suppressed; no other figure counts them."""
    cells: int
    """Suppressed cells of all other records."""
    columns: Mapping[str, int]
    """The number of these cells by column, for columns that have some."""
    k: int = 0
    fitting: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """(classes,): how many records fit the records of a class if a blank fits any value."""

    @property
    def holds(self) -> bool:
        """Whether at least k records fit every record, if a blank fits any value."""
        return not self.failing

    @property
    def failing(self) -> int:
        """The number of classes that fewer than k records fit."""
        return int((self.fitting < self.k).sum())

    @property
    def smallest(self) -> int | None:
        """The smallest number of records that fit one; None where there are none."""
        return int(self.fitting.min()) if len(self.fitting) else None


def parse_markers(markers: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the markers of suppressed cells as a tuple; an empty text stands for blank cells.

    >>> parse_markers("*"), parse_markers(["*", ""]), parse_markers(None)
    (('*',), ('*', ''), ())
    """
    if markers is None:
        return ()
    listed = [markers] if isinstance(markers, str) else list(markers)
    if not all(isinstance(marker, str) for marker in listed):
        raise InputError("suppressed takes one or more texts, such as '*'.")
    return tuple(dict.fromkeys(marker.strip() for marker in listed))


def find_suppressed(table: pa.Table, names: Sequence[str], markers: Sequence[str]) -> np.ndarray:
    """Return which cells of some columns are suppressed: (records, columns) of bool.

    A blank cell is suppressed where a marker is blank itself, or NA or the like.

    >>> find_suppressed(pa.table({"age": ["30", "*"], "sex": ["*", None]}), ["age", "sex"], ["*"]).tolist()
    [[False, True], [True, False]]
    """
    blanks = any(
        pc.match_substring_regex(pa.array([marker]), MARKER_OR_EMPTY)[0].as_py()
        for marker in markers
    )
    cells = np.zeros((table.num_rows, len(names)), bool)
    for place, name in enumerate(names):
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if is_text(column.type):
            text = pc.utf8_trim_whitespace(pc.cast(column, pa.large_string()))
            hits = pc.is_in(text, value_set=pa.array(markers, pa.large_string()), skip_nulls=True)
            cells[:, place] = np.asarray(hits)
        if blanks:
            cells[:, place] |= np.asarray(
                pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
            )
    return cells


def has_stars(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Return the columns that have ``*`` as a value.

    >>> has_stars(pa.table({"age": ["30", "*"], "sex": ["f", "m"]}), ["age", "sex"])
    ['age']
    """
    hits = np.asarray(find_suppressed(table, names, [STAR]).any(axis=0))
    return [name for name, hit in zip(names, hits, strict=True) if hit]


def check_suppressed(
    table: pa.Table, quasi: Sequence[str], others: Sequence[str], k: int, cells: np.ndarray
) -> tuple[Anonymity, np.ndarray]:
    """Return the classes of all records that are not suppressed as a whole, and which records these
    are.

    `quasi` are the columns of `cells`; `others` (strata) make classes too, and are never
    suppressed.

    >>> table = pa.table({"age": ["30", "30", "*", "*"], "sex": ["f", "f", "f", "*"]})
    >>> cells = find_suppressed(table, ["age", "sex"], ["*"])
    >>> result, rest = check_suppressed(table, ["age", "sex"], [], 2, cells)
    >>> result.holds, result.suppression.holds, result.suppression.rows, rest.tolist()
    (False, True, 1, [0, 1, 2])
    """
    rest = np.flatnonzero(~cells.all(axis=1))
    kept, blank = table.take(pa.array(rest)), cells[rest]
    found = anonymity(kept, [*quasi, *others], k)
    firsts = found.first_rows - 1
    codes = np.empty((len(firsts), len(quasi) + len(others)), np.int64)
    for place, name in enumerate([*quasi, *others]):
        codes[:, place] = class_labels(kept, [name], exact=found.counted_by == "bits")[0][firsts]
    free = np.zeros(codes.shape, bool)
    free[:, : len(quasi)] = blank[firsts]
    suppression = Suppression(
        rows=len(cells) - len(rest),
        cells=int(blank.sum()),
        columns={
            name: int(count) for name, count in zip(quasi, blank.sum(axis=0), strict=True) if count
        },
        k=k,
        fitting=count_fitting(codes, free, found.sizes),
    )
    first_rows = rest[firsts] + 1 if len(firsts) else found.first_rows
    return replace(found, first_rows=first_rows, suppression=suppression), rest


def count_fitting(codes: np.ndarray, free: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return how many records fit each class if a free cell fits any value.

    Two classes fit each other if their codes agree wherever neither is free. Classes are compared
    pattern of free cells by pattern, so that the work grows with the patterns, not with the pairs.

    >>> count_fitting(np.array([[1, 5], [2, 5], [0, 5]]), np.array([[False, False], [False, False], [True, False]]), np.array([3, 4, 1]))
    array([4, 5, 8])
    """
    fitting = np.zeros(len(codes), np.int64)
    patterns, members = np.unique(free, axis=0, return_inverse=True)
    members = members.reshape(-1)
    places = [np.flatnonzero(members == pattern) for pattern in range(len(patterns))]
    for one, ours in enumerate(places):
        for other, theirs in enumerate(places):
            shared = ~(patterns[one] | patterns[other])
            keys = _joint_codes(codes[np.concatenate([ours, theirs])][:, shared])
            totals = np.bincount(
                keys[len(ours) :], weights=sizes[theirs], minlength=int(keys.max()) + 1
            )
            fitting[ours] += totals[keys[: len(ours)]].astype(np.int64)
    return fitting


def _joint_codes(codes: np.ndarray) -> np.ndarray:
    """Return one number for each combination of codes in a row."""
    joint = np.zeros(len(codes), np.int64)
    for column in codes.T:
        joint = np.unique(joint * (int(column.max()) + 1) + column, return_inverse=True)[1].reshape(
            -1
        )
    return joint


def as_data(suppression: Suppression) -> dict[str, Any]:
    """Return the counts as plain data."""
    return {
        "rows": suppression.rows,
        "cells": suppression.cells,
        "columns": dict(suppression.columns),
        "if_blanks_fit_anything": {
            "holds": suppression.holds,
            "smallest": suppression.smallest,
            "failing": suppression.failing,
        },
    }
