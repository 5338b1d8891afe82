"""Exposure of a table before it is protected: records that are alone in their class, and why.

Everything is counted on the whole table: who is alone cannot be estimated from a sample. The values
of a column are hashed once. A class is known by the sum of the hashes of its columns, so that
leaving a column out is a subtraction, and counting is one sort of 64-bit numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import MicroaggError
from microagg.formatting import counted
from microagg.pipeline.preparation import TableInput, open_table
from microagg.pipeline.sources import is_open_file, is_path, read_source
from microagg.proposal.proposal import Proposal
from microagg.release.settings import Settings
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.row_hashes import class_hashes
from microagg.table.schema import Role

_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class ClassCounts:
    """Records alone in their class, and records in classes below k.

    >>> ClassCounts.of(np.array([7, 7, 9], np.uint64), k=3)
    ClassCounts(classes=2, alone=1, below_k=3)
    """

    classes: int
    alone: int
    below_k: int

    @staticmethod
    def of(hashes: np.ndarray, k: int) -> ClassCounts:
        """Count the classes of records, each given by the hash of its class."""
        ordered = np.sort(hashes)
        firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else []
        sizes = np.diff(np.r_[firsts, len(ordered)])
        return ClassCounts(len(sizes), int((sizes == 1).sum()), int(sizes[sizes < k].sum()))


@dataclass(frozen=True)
class Exposure:
    """Records of an original table that stand alone, or with fewer than k like them.

    It is computed from the original table, so it is for the data holder only.
    """

    records: int
    k: int
    columns: tuple[str, ...]
    """Columns that form classes: quasi-identifiers, then strata."""
    alone: int
    """Records whose values in these columns no other record has."""
    below_k: int
    """Records in classes of fewer than k, those that are alone included."""
    alone_without: dict[str, int]
    """Records that would still be alone if this column were not known."""
    released: tuple[str, ...]
    """All columns that are to be released."""
    alone_if_all_known: int
    """Records alone if somebody knows every column that is to be released."""
    below_k_if_all_known: int

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "records": self.records,
            "k": self.k,
            "columns": list(self.columns),
            "alone": self.alone,
            "below_k": self.below_k,
            "alone_without": dict(self.alone_without),
            "released": list(self.released),
            "alone_if_all_known": self.alone_if_all_known,
            "below_k_if_all_known": self.below_k_if_all_known,
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return it in words.

        >>> alone = {"age": 4, "zip": 1}
        >>> exposure = Exposure(9, 3, ("age", "zip"), 5, 7, alone, ("age", "zip", "pay"), 9, 9)
        >>> print(*exposure.sentences, sep="\\n")
        5 of 9 records stand alone; without 'zip' 1 would.
        7 are in classes of fewer than 3.
        If every released column is known, 9 stand alone.
        """
        stand = "stands" if self.alone == 1 else "stand"
        first = f"{self.alone:,} of {counted(self.records, 'record')} {stand} alone"
        if len(self.columns) > 1:
            name = min(self.alone_without, key=lambda column: self.alone_without[column])
            if self.alone_without[name] < self.alone:
                first += f"; without '{name}' {self.alone_without[name]:,} would"
        are = "is" if self.below_k == 1 else "are"
        sentences = [f"{first}.", f"{self.below_k:,} {are} in classes of fewer than {self.k}."]
        if len(self.released) > len(self.columns):
            known = self.alone_if_all_known
            sentences.append(
                f"If every released column is known, {known:,} "
                f"{'stands' if known == 1 else 'stand'} alone."
            )
        return tuple(sentences)


class ExposureCounter:
    """Counts the exposure of one table for changing roles; each column is hashed once.

    >>> counter = ExposureCounter(pa.table({"age": [30, 30, 41], "zip": [1, 2, 3]}))
    >>> counter.count(["age"], k=2).alone, counter.count(["age", "zip"], k=2).alone
    (1, 3)
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._hashes: dict[str, np.ndarray] = {}

    def count(
        self, columns: Sequence[str], k: int, released: Iterable[str] | None = None
    ) -> Exposure:
        """Count the classes of some columns, and those of all columns that are released."""
        columns = tuple(dict.fromkeys(columns))
        everything = tuple(dict.fromkeys((*columns, *(released or ()))))
        whole = self._together(columns)
        counts = ClassCounts.of(whole, k)
        without = {
            name: ClassCounts.of(whole - self._of(name), k).alone if counts.alone else 0
            for name in columns
        }
        known = counts
        if len(everything) > len(columns):
            known = ClassCounts.of(whole + self._together(everything[len(columns) :]), k)
        return Exposure(
            self._table.num_rows, k, columns, counts.alone, counts.below_k, without, everything,
            known.alone, known.below_k,
        )  # fmt: skip

    def _together(self, columns: Sequence[str]) -> np.ndarray:
        total = np.zeros(self._table.num_rows, np.uint64)
        for name in columns:
            total += self._of(name)
        return total

    def _of(self, name: str) -> np.ndarray:
        """(n,) uint64: the hash of the values of one column, other than that of another column."""
        if name not in self._hashes:
            first = class_hashes(self._table.select([name]), [name])[:, 0]
            number = np.uint64(self._table.schema.get_field_index(name) + 1)
            self._hashes[name] = _mix(first + _mix(np.array([number]) * _STEP))
        return self._hashes[name]


def exposure(table: Any, settings: Settings) -> Exposure:
    """Count the records of a table that stand alone before it is protected.

    Parameters
    ----------
    table : pandas, polars or Arrow table, 2-D NumPy array, path or open file
        The original table, one row per person or company.
    settings : Settings
        Roles and k of the planned release. Classes are formed by quasi-identifiers and strata.

    Returns
    -------
    Exposure
        Records alone and in classes below k, the same with each column left out in turn, and if
        all released columns are known. Missing values are one value. Counts rest on 64-bit hashes:
        for 1,000,000 records the chance of any error is below one in ten million.

    Raises
    ------
    InputError
        If a column of the settings is missing, or a column has no role.

    Examples
    --------
    >>> from microagg import Settings
    >>> people = pa.table({"age": [30, 30, 41], "zip": ["a", "a", "b"], "pay": [1, 2, 3]})
    >>> found = exposure(people, Settings.of(k=2, quasi=["age", "zip"], confidential=["pay"]))
    >>> found.alone, found.alone_without, found.alone_if_all_known
    (1, {'age': 1, 'zip': 1}, 3)
    """
    if is_path(table) or is_open_file(table):
        table, _ = read_source(table, settings)
    return exposure_of_table(open_table(table, settings))


def exposure_of_proposal(
    source: Any, proposed: Proposal, k: int, reading: Mapping[str, Any]
) -> Exposure | None:
    """Count the exposure of a file if its columns have the proposed roles.

    None where nothing is proposed as quasi-identifying, or the table cannot be counted as proposed:
    a proposal is shown all the same.
    """
    if not proposed.names(Role.QUASI):
        return None
    with contextlib.suppress(MicroaggError):
        return exposure(
            source, Settings.of(**proposed.settings(k), rest="drop", reading=dict(reading))
        )
    return None


def exposure_of_table(opened: TableInput) -> Exposure:
    """Count the exposure of a table whose columns have their roles."""
    schema = opened.schema
    columns = [*schema.names(Role.QUASI), *schema.names(Role.STRATUM)]
    counter = ExposureCounter(to_arrow(opened.frame, opened.withheld))
    return counter.count(columns, opened.settings.k, schema.released())


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Return the finaliser of SplitMix64 (Steele, Lea and Flood 2014) of each number."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
