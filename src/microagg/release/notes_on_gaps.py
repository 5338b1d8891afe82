"""A note on gaps in confidential columns: for l a missing value is none. How many, never whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from microagg.guarantees.promise import Guarantees
from microagg.table.confidential import Attribute


def notes_on_gaps(promise: Guarantees, attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """What a user who asks for l should know about missing values and special codes of confidential
    columns.

    >>> from microagg.table.confidential import attributes_of
    >>> import pyarrow as pa
    >>> ill = attributes_of(pa.table({"ill": ["flu", None, "cold"]}), ["ill"])
    >>> print(notes_on_gaps(Guarantees.of(l=2), ill)[0][:59])
    l counts known values only: 1 of 3 records have none in 'il
    """
    if promise.diversity is None:
        return ()
    unknown = {each.name: int((each.codes >= each.known).sum()) for each in attributes}
    return notes_on_unknown(unknown, len(attributes[0].values) if attributes else 0)


def notes_on_unknown(unknown: Mapping[str, int], records: int) -> tuple[str, ...]:
    """The same from how many records have no value in each column.

    >>> notes_on_unknown({"ill": 0}, 3)
    ()
    """
    return tuple(
        f"l counts known values only: {count:,} of {records:,} records have none in "
        f"{name!r}, where "
        "it is missing or a special code; where a gap is an answer (such as no "
        "diagnosis), fill it in before"
        for name, count in unknown.items()
        if count
    )
