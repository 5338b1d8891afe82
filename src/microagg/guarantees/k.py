"""k-anonymity: every combination of quasi-identifying values is shared by at least k records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError
from microagg.formatting import html_table
from microagg.table.columns.arrow import comparable, release_unused_memory
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.canonical import exactly, has_other_forms

if TYPE_CHECKING:
    from microagg.guarantees.promise import Finding
    from microagg.guarantees.suppression import Suppression

LOST_RECORDS = (
    "the output has lost or gained records; nothing was written. This is a bug: report it."
)
TOO_SMALL = (
    "the output is not {}-anonymous: {} of its {} classes are too small; nothing was written."
)


@dataclass(frozen=True)
class Anonymity:
    """Equivalence classes of a table, and the result of checking k, l and t on them.

    A class holds the records that share all quasi-identifying values.
    """

    k: int
    sizes: np.ndarray
    """The size of each class."""
    first_rows: np.ndarray
    """A row number (from 1) of each class: a way to find it without telling its values."""
    labels: np.ndarray = field(repr=False)
    """(n,): the class of each record, a position among `sizes`; suppressed rows have none and are
    left out.
    """
    scope: str = "record"
    """record: k was promised for the combinations; column: for the values of each column alone."""
    findings: tuple[Finding, ...] = ()
    """The l and t reached, column by column, where they were asked for."""
    suppression: Suppression | None = None
    """Counts of suppressed rows and cells, where markers of them were named. Rows are in none of
    the classes.
    """
    notes: tuple[str, ...] = ()
    """What to know about the answer."""
    counted_by: str = "value"
    """bits: 0 and -0, or NaN and missing values, would be in one class by value, and are counted
    apart because some readers tell them apart; value: there is no such difference.
    """

    @property
    def holds(self) -> bool:
        """Return whether every class has at least k records and keeps l and t where these are
        required.
        """
        return not self._misses().any()

    def __bool__(self) -> bool:
        """Return `holds`, so that ``assert check(...)`` fails where the guarantee does."""
        return self.holds

    @property
    def failing(self) -> np.ndarray:
        """Return the positions of the classes that miss a guarantee, smallest class first."""
        order = np.lexsort((self.first_rows, self.sizes))
        return order[self._misses()[order]]

    @property
    def too_small(self) -> np.ndarray:
        """Return a mask (classes,) of the classes with fewer than k records."""
        return self.sizes < self.k

    def _repr_html_(self) -> str:
        rows = [
            ("guarantee", f"{self.k}-anonymous" if self.holds else "NOT kept"),
            ("classes", f"{len(self.sizes):,}"),
            ("smallest class", f"{int(self.sizes.min()):,}" if len(self.sizes) else "none"),
            ("records in classes below k", f"{int(self.sizes[self.too_small].sum()):,}"),
        ]
        rows += [
            (
                finding.requirement,
                f"{'yes' if finding.holds else 'NO'} (worst: {finding.worst:.4g})",
            )
            for finding in self.findings
        ]
        return html_table(("check", "result"), rows, " ".join(self.notes))

    def _misses(self) -> np.ndarray:
        misses = self.too_small
        for finding in self.findings:
            misses = misses | finding.failing
        return misses


def anonymity(table: pa.Table, quasi: Sequence[str], k: int) -> Anonymity:
    """Compute the classes of a table from the table alone, as the strictest reader counts them.

    >>> table = pa.table({"age": [30, 30, 40]})
    >>> anonymity(table, ["age"], 2).holds
    False
    >>> found = anonymity(pa.table({"age": [0.0, 0.0, -0.0, -0.0, -0.0]}), ["age"], 3)
    >>> found.holds, found.counted_by
    (False, 'bits')
    """
    labels, classes = class_labels(table, quasi)
    counted_by = "value"
    if any(has_other_forms(table.column(name)) for name in quasi):
        apart, more = class_labels(table, quasi, exact=True)
        if more > classes:
            labels, classes, counted_by = apart, more, "bits"
    first_rows = np.zeros(classes, np.int64)
    first_rows[labels[::-1]] = np.arange(len(labels), 0, -1)
    sizes = np.bincount(labels, minlength=classes)
    return Anonymity(k, sizes, first_rows, labels, counted_by=counted_by)


def class_labels(
    table: pa.Table,
    quasi: Sequence[str],
    within: tuple[np.ndarray, int] | None = None,
    *,
    exact: bool = False,
) -> tuple[np.ndarray, int]:
    """Return the class of each record, numbered by first occurrence, and the number of classes.

    `within` holds existing labels and their number of classes, which are split further. With
    `exact`, 0 and -0 are different, and so are NaN and a missing value.

    >>> class_labels(pa.table({"age": [40, 30, 40], "sex": [1, 1, 1]}), ["age", "sex"])[0].tolist()
    [0, 1, 0]
    """
    labels, classes = within or (np.zeros(table.num_rows, np.int32), min(table.num_rows, 1))
    for name in quasi:
        if classes == table.num_rows:  # all alone already
            break
        column = table.column(name)
        codes, values = _encoded(exactly(column) if exact else comparable(column))
        if classes <= 1:
            labels, classes = codes, values
        elif values > 1:
            pairs = labels * np.int64(values)
            pairs += codes
            labels, classes = _encoded(pa.chunked_array([pa.array(pairs)]))
    release_unused_memory()
    return labels, classes


def _encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, int]:
    """Return codes in order of first occurrence and their number; missing values are equal."""
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    return np.asarray(encoded.indices), len(encoded.dictionary)


def verify(
    table: pa.Table, quasi: Sequence[str], k: int, records: int, scope: str = "record"
) -> Anonymity:
    """Raise unless an output table has all its records and is k-anonymous. Last check before a
    release.

    With scope="column" it is enough that every value of each single column is shared by k records.
    The returned classes are those of the combinations.
    """
    if table.num_rows != records:
        raise GuaranteeError(LOST_RECORDS)
    combined = anonymity(table, quasi, k)
    promised = (anonymity(table, [name], k) for name in quasi) if scope == "column" else (combined,)
    for classes in promised:
        if not classes.holds:
            raise GuaranteeError(TOO_SMALL.format(k, len(classes.failing), len(classes.sizes)))
    return replace(combined, scope=scope)
