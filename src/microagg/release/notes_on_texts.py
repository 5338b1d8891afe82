"""Notes on the texts of a release: values spelled in several ways, cells that a spreadsheet would
run. How many, never which.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from microagg.files.text.csv_format import formulas_in
from microagg.table.confidential import Attribute


def notes_on_texts(attributes: Sequence[Attribute], table: pa.Table) -> tuple[str, ...]:
    """What a user should know about the texts of a released table and its confidential columns.

    >>> print(notes_on_texts((), pa.table({"remark": ["=1+1"]}))[0][:46])
    a spreadsheet may run texts of 'remark' as for
    """
    notes = []
    for attribute in attributes:
        if attribute.spellings:
            notes.append(
                f"{attribute.name!r} spells values in several ways: "
                f"{attribute.spellings} of its texts count as another one, because "
                "case, width, white space and how a number is written make no difference "
                "(exact=True counts letters)"
            )
        if attribute.similar:
            notes.append(
                f"{attribute.name!r} has {attribute.similar} texts that are much like "
                f"another one and count as values of their own; "
                "if they mean the same, mend them"
            )
    return (*notes, *note_on_formulas(columns_of_formulas(table)))


def columns_of_formulas(table: pa.Table) -> list[str]:
    """The columns in which a spreadsheet would run a text.

    >>> columns_of_formulas(pa.table({"remark": ["=1+1"], "note": ["fine"]}))
    ['remark']
    """
    return [name for name in table.column_names if formulas_in(table.column(name))]


def note_on_formulas(names: Sequence[str]) -> tuple[str, ...]:
    """What should be known of such columns.

    >>> note_on_formulas(())
    ()
    """
    if not names:
        return ()
    return (
        f"a spreadsheet may run texts of {', '.join(map(repr, names))} as formulas (they "
        f"begin with =, +, - or @); for csv files that go to "
        "one, escape_formulas=True puts an apostrophe before them",
    )
