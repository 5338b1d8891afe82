"""Columns that are renamed on their way into a release: in memory, and in files that are read piece
by piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.chunks import Source
from microagg.table.suggestions import describe_columns


def rename_columns(names: Sequence[str], rename: Mapping[str, str]) -> list[str]:
    """Return names of columns with new ones in place of old ones; columns that have their new names
    already keep them.

    >>> rename_columns(["net wage", "age"], {"net wage": "wage"})
    ['wage', 'age']
    """
    there = set(names)
    for old, new in rename.items():
        if old not in there and new not in there:
            raise InputError(
                f"rename names {old!r}, but there is no such column; "
                f"{describe_columns(old, list(names))}."
            )
        if old in there and new in there:
            raise InputError(
                f"column {old!r} cannot be renamed to {new!r}: the table has a column of "
                f"that name; choose another name."
            )
    return [rename.get(name, name) for name in names]


@dataclass(frozen=True)
class RenamedSource(Source):
    """A table in files whose columns have other names there."""

    inner: Source = field(kw_only=True)

    @property
    def original_names(self) -> list[str]:
        """The names that the columns have in the files."""
        return self.inner.original_names

    def read(self, first: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
        """Return the records first .. first + count - 1, of these columns or of all, under their
        new names.
        """
        wanted = self.schema.names if names is None else list(names)
        old = dict(zip(self.schema.names, self.inner.schema.names, strict=True))
        return self.inner.read(first, count, [old[name] for name in wanted]).rename_columns(wanted)


def renamed_source(source: Source, rename: Mapping[str, str]) -> Source:
    """Return the same table with other names of columns."""
    if not rename:
        return source
    names = rename_columns(source.schema.names, rename)
    schema = pa.schema(
        [each.with_name(name) for each, name in zip(source.schema, names, strict=True)],
        metadata=source.schema.metadata,
    )
    return RenamedSource(source.files, source.format, source.pieces, schema, inner=source)
