"""What the labels of a table told where nobody said otherwise: kinds, and codes that are no
values.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from microagg.files.columnar.parquet_folder import format_to_write
from microagg.formatting import listed
from microagg.release.settings import Settings
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.labels import Understood, labels_in, understood_in
from microagg.table.schema import Role, Schema

ROLES = (Role.QUASI, Role.CONFIDENTIAL)


def notes_on_labels(source: pa.Table, schema: Schema, settings: Settings) -> tuple[str, ...]:
    """What was taken from the labels of quasi-identifying and confidential columns; codes are
    counted and never named.
    """
    if not labels_in(source):
        return ()
    names = schema.names(*ROLES)
    said, told = settings.column_options, understood_in(source, names)
    notes = []
    for kind in ("nominal", "ordinal"):
        taken = [
            name for name, each in told.items() if each.kind == kind and name not in said.kinds
        ]
        if taken:
            notes.append(
                f"{listed(taken)}: taken for {kind}, as measure levels and labels say; "
                f"say kinds where that is wrong"
            )
    apart = [name for name, each in told.items() if _is_apart(name, each, settings)]
    if apart:
        notes.append(
            f"{listed(apart)}: codes that the file declares missing are kept apart from "
            f"values: no mean includes them"
        )
    medians = [
        name for name, how in settings.columns.aggregate.items() if said.aggregate.get(name) != how
    ]
    medians = [name for name in medians if name in schema.names(Role.QUASI)]
    if medians:
        notes.append(
            f"{listed(medians)}: all values are labelled codes, so groups release their "
            f"median, which is one of them"
        )
    partly = [
        name for name, each in told.items() if each.partly and name in schema.names(Role.QUASI)
    ]
    if partly:
        notes.append(
            f"{listed(partly)}: some values have labels and are taken for numbers all "
            f"the same; name those that are none with special"
        )
    return tuple(notes)


def _is_apart(name: str, told: Understood, settings: Settings) -> bool:
    codes = settings.columns.special.get(name, ())
    return any(
        code in codes
        for code in told.special
        if code not in settings.column_options.special.get(name, ())
    )


def notes_on_empty_texts(path: Path, table: pa.Table) -> tuple[str, ...]:
    """Columns in which a file of some formats cannot tell an empty text from a missing one."""
    format = format_to_write(path)
    if format.empties:
        return ()
    texts = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if is_text(column.type) and pc.any(pc.equal(column, "")).as_py()
    ]
    if not texts:
        return ()
    return (f"{listed(texts)}: {format.one_file} knows no empty text, so that it is missing there",)
