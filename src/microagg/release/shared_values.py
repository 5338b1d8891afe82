"""Which groups of a release share one confidential value: told to the data holder, whatever the
method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.table.confidential import Attribute


def notes_on_shared_values(classes: np.ndarray, attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """A sentence for each confidential column in which groups share one value: how many groups, how
    many records.

    `classes` tells which records are alike in all that is released of their quasi-identifiers. What
    is known counts: beside one value, a missing one or a special code hides nothing.

    >>> from microagg.table.schema import Kind
    >>> ill = Attribute("ill", Kind.NOMINAL, np.array([4, 4, 4, 5]))
    >>> notes_on_shared_values(np.array([0, 0, 1, 1]), [ill])[0][:58]
    "1 of 2 groups (2 records) share one value of 'ill': whoeve"
    """
    notes = []
    groups = int(classes.max()) + 1
    sizes = np.bincount(classes, minlength=groups)
    for attribute in attributes:
        told = attribute.codes < attribute.known
        codes, holders = attribute.codes[told], classes[told]
        low, high = np.full(groups, attribute.known), np.full(groups, -1)
        np.minimum.at(low, holders, codes)
        np.maximum.at(high, holders, codes)
        sharing = low == high
        shared = int(sharing.sum()), int(sizes[sharing].sum())
        notes += note_on_shared(
            attribute.name, shared, groups, len(codes) if attribute.known == 1 else None
        )
    return tuple(notes)


def note_on_shared(
    name: str, shared: tuple[int, int], groups: int, known_of_one: int | None
) -> tuple[str, ...]:
    """The same of one column from counts: groups that share a value and their records, all groups;
    records with a value where it has one only.

    >>> note_on_shared("ill", (0, 0), 5, None)
    ()
    """
    sharing, records = shared
    if known_of_one is not None:
        return (
            "one value only in the whole table, so that everybody in a class shares it "
            "and nothing hides it, in all "
            f"{sharing:,} groups ({known_of_one:,} records): {name!r}",
        )
    if not sharing:
        return ()
    return (
        f"{sharing:,} of {groups:,} groups ({records:,} records) share one value of "
        f"{name!r}: whoever is known to be in one of them is known to have it; l=2 prevents that",
    )
