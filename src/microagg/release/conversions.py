"""A release in other shapes: tables of other libraries, a few lines of text, pictures."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.release.report.viewing import Pictures, pictures_of
from microagg.table.columns.arrow import strip_metadata
from microagg.table.columns.field_metadata import NOTES
from microagg.table.columns.labels import labels_of, with_labels

if TYPE_CHECKING:
    from microagg.guarantees.k import Anonymity
    from microagg.measures.measure import Pair
    from microagg.release.note import Note


class Conversions:
    """Conversions of a release to tables, text and pictures; mixed into `Release`."""

    if TYPE_CHECKING:
        table: Any
        manifest: dict[str, Any]
        anonymity: Anonymity
        notes: tuple[Note, ...]
        _arrow: pa.Table

        @functools.cached_property
        def pair(self) -> Pair: ...

    def to_arrow(self) -> pa.Table:
        """Return the released table as an Arrow table, rows in the order of the original.

        Returns
        -------
        pyarrow.Table
            The released columns with their labels.

        Raises
        ------
        InputError
            If the release was made out of core: its table is in the written file only.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> release.to_arrow().column("age").to_pylist()
        [31, 31, 62, 62]
        """
        self._check_on_disk()
        return (
            self.table
            if isinstance(self.table, pa.Table)
            else labelled_like(strip_metadata(self._arrow), self._arrow)
        )

    def to_pandas(self) -> Any:
        """Return the released table as a pandas DataFrame, rows in the order of the original.

        Returns
        -------
        pandas.DataFrame
            The released columns. The index of a pandas table is kept.

        Raises
        ------
        InputError
            If the release was made out of core, or pandas is not installed.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> type(release.to_pandas()).__name__
        'DataFrame'
        """
        self._check_on_disk()
        if nw.dependencies.is_pandas_dataframe(self.table):
            return self.table
        return _by_library(self.to_arrow(), "pandas")

    def to_polars(self) -> Any:
        """Return the released table as a polars DataFrame, rows in the order of the original.

        Returns
        -------
        polars.DataFrame
            The released columns.

        Raises
        ------
        InputError
            If the release was made out of core, or polars is not installed.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> release.to_polars().height
        4
        """
        self._check_on_disk()
        if nw.dependencies.is_polars_dataframe(self.table):
            return self.table
        return _by_library(self.to_arrow(), "polars")

    def _check_on_disk(self) -> None:
        if self.table is None:
            raise InputError(
                "this release was made out of core: its table is in the file that was "
                "written; read that file."
            )

    def __len__(self) -> int:
        """Return the number of records of the released table."""
        return int(self.manifest["records"])

    def plot(self, *columns: str) -> Pictures:
        """Draw quasi-identifying columns before and after.

        Parameters
        ----------
        *columns : str
            The columns to draw; all (of very many, the first 30) if none is named.

        Returns
        -------
        Pictures
            A notebook shows them; `save("pictures.html")` writes them. They show the original: do
            not publish them.

        Raises
        ------
        InputError
            If a column is no quasi-identifier.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> len(release.plot("age").pictures)
        1
        """
        return pictures_of(self.pair.before, self.pair.after, columns or None)


def labelled_like(table: Any, released: pa.Table) -> Any:
    """Return an Arrow table with the released labels, and without notes on the file it was read
    from.
    """
    if not isinstance(table, pa.Table):
        return table
    kept = {name: mark for name, mark in (table.schema.metadata or {}).items() if name != NOTES}
    labels = {field.name: labels_of(field) for field in released.schema}
    return with_labels(table, labels).replace_schema_metadata(kept or None)


def _by_library(table: pa.Table, library: str) -> Any:
    """Return an Arrow table as a data frame of pandas or polars."""
    try:
        if library == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ImportError:
        raise InputError(f"{library} is not there; pip install {library} installs it.") from None
