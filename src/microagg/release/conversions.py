"""A release in other shapes: tables of other libraries, a few lines of text, pictures."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.formatting import printable
from microagg.release.report.summary import headline_of, summary_of
from microagg.release.report.viewing import Pictures, pictures_of
from microagg.table.columns.arrow import strip_metadata
from microagg.table.columns.field_metadata import NOTES
from microagg.table.columns.labels import labels_of, with_labels

if TYPE_CHECKING:
    from microagg.guarantees.k import Anonymity
    from microagg.measures.measure import Pair


class Conversions:
    """What a release can be turned into; mixed into `Release`."""

    if TYPE_CHECKING:
        table: Any
        manifest: dict[str, Any]
        anonymity: Anonymity
        notes: tuple[str, ...]
        _arrow: pa.Table

        @functools.cached_property
        def pair(self) -> Pair: ...

    def to_arrow(self) -> pa.Table:
        """Return the released table as an Arrow table, rows in the order given.

        >>> import microagg as ma
        >>> ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0).to_arrow().column("age").to_pylist()
        [31, 31, 62, 62]
        """
        self._check_on_disk()
        return (
            self.table
            if isinstance(self.table, pa.Table)
            else labelled_like(strip_metadata(self._arrow), self._arrow)
        )

    def to_pandas(self) -> Any:
        """Return the released table as a pandas DataFrame, rows (and a pandas index) in the
        order given.

        >>> import microagg as ma
        >>> type(ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0).to_pandas()).__name__
        'DataFrame'
        """
        self._check_on_disk()
        if nw.dependencies.is_pandas_dataframe(self.table):
            return self.table
        return _by_library(self.to_arrow(), "pandas")

    def to_polars(self) -> Any:
        """Return the released table as a polars DataFrame, rows in the order given.

        >>> import microagg as ma
        >>> ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0).to_polars().height
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
        """How many records the released table has."""
        return int(self.manifest["records"])

    def summary(self) -> str:
        """Return the release in a few lines of text: guarantee, loss, method and notes.

        >>> import microagg as ma
        >>> print(ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0).summary().splitlines()[0])
        4 records in 2 classes of 2
        """
        sizes = self.anonymity.sizes
        rows = summary_of(self.manifest, sizes, self.notes)
        lines = [f"{name:<12}{printable(sentence)}" for name, sentence in rows]
        return "\n".join([headline_of(self.manifest, sizes), *lines])

    def plot(self, *columns: str) -> Pictures:
        """Draw quasi-identifying columns before and after; needs matplotlib (`pip install
        'microagg[plots]'`).

        Parameters
        ----------
        *columns : str
            The columns to draw; all (of very many, the first 30) if none is named.

        Returns
        -------
        Pictures
            A notebook shows them; `save("pictures.html")` writes them. They show the original: do
            not publish them.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> len(release.plot("age").pictures)
        1
        """
        return pictures_of(self.pair.before, self.pair.after, columns or None)


def labelled_like(table: Any, released: pa.Table) -> Any:
    """An Arrow table with the labels that are released, and nothing that was told of the file it
    came from.
    """
    if not isinstance(table, pa.Table):
        return table
    kept = {name: mark for name, mark in (table.schema.metadata or {}).items() if name != NOTES}
    labels = {field.name: labels_of(field) for field in released.schema}
    return with_labels(table, labels).replace_schema_metadata(kept or None)


def _by_library(table: pa.Table, library: str) -> Any:
    """An Arrow table as a data frame of pandas or polars."""
    try:
        if library == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ImportError:
        raise InputError(f"{library} is not there; pip install {library} installs it.") from None
