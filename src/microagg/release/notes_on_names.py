"""Notes on what could name somebody in a release, whoever chose the roles: columns that are
released as they are, and the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from microagg.formatting import listed
from microagg.proposal.rules import names_somebody
from microagg.table.columns.profile import ColumnProfile, profile_column
from microagg.table.schema import Role, Schema

AS_THEY_ARE = (Role.CONFIDENTIAL, Role.KEEP, Role.STRATUM)


def notes_on_names(frame: nw.DataFrame[Any], schema: Schema) -> tuple[str, ...]:
    """Which columns that are released as they are could name somebody, or nearly do because
    every record has its own value. Quotes none.

    >>> import pyarrow as pa
    >>> from microagg.table.schema import ColumnFacts, assign_roles
    >>> frame = nw.from_native(pa.table({"age": [30, 40], "phone": ["+49 30 1234567", "+49 30 7654321"]}), eager_only=True)
    >>> facts = [ColumnFacts("age", True), ColumnFacts("phone", False)]
    >>> schema = assign_roles(facts, {Role.QUASI: ["age"], Role.KEEP: ["phone"]})
    >>> print(notes_on_names(frame, schema)[0])
    'phone' is released as it is and could name somebody (called like an e-mail, a phone or an address); make it an identifier to leave it out
    """
    return notes_on_looks(
        [
            profile_column(frame, column.name)
            for column in schema.columns
            if column.role in AS_THEY_ARE
        ]
    )


def notes_on_looks(looks: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """The same from looks at these columns.

    >>> notes_on_looks(())
    ()
    """
    notes, unique = [], []
    for look in looks:
        if why := names_somebody(look):
            notes.append(
                f"{look.name!r} is released as it is and could name somebody ({why}); "
                f"make it an identifier to leave it out"
            )
        elif look.nearly_unique:
            unique.append(look.name)
    if unique:
        notes.append(
            f"nearly every record has a value of its own, released as it is, by which "
            f"whoever knows it finds the record: "
            f"{listed([repr(name) for name in unique])}; make it quasi-identifying, or "
            f"an identifier to leave it out"
        )
    return tuple(notes)


def note_on_index(table: Any) -> tuple[str, ...]:
    """What to know of a pandas index that could name people: it is never saved, but a release in
    memory still has it.

    >>> import pyarrow as pa
    >>> note_on_index(pa.table({"age": [30, 40]}))
    ()
    """
    index = getattr(table, "index", None)
    if not hasattr(index, "get_level_values"):  # not of pandas
        return ()
    if not any(_could_name(look) for look in _levels(index)):
        return ()
    return (
        "the table's index could name people (each has its own text, or it is called "
        "so): it is never saved, but release.table still "
        "has it; drop it before handing that on",
    )


def _levels(index: Any) -> Sequence[ColumnProfile]:
    """A look at each level of an index of pandas, by itself and under its name."""
    looks = []
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        name = values.name if isinstance(values.name, str) else ""
        frame = nw.from_native(
            values.to_series(index=range(len(values))).to_frame(name or "index"), eager_only=True
        )
        looks.append(profile_column(frame, name or "index"))
    return looks


def _could_name(look: ColumnProfile) -> bool:
    return bool(names_somebody(look)) or (look.text and look.nearly_unique)
