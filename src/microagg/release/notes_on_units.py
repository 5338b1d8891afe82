"""A note on units: what is promised of them, and against whom it does not help. How many, never
which.
"""

from __future__ import annotations

import numpy as np

from microagg.table.confidential import Attribute


def notes_on_units(units: Attribute | None, k: int) -> tuple[str, ...]:
    """What a user who names a unit should know about it.

    >>> from microagg.table.schema import Kind
    >>> homes = Attribute("home", Kind.NOMINAL, np.array([0, 0, 1, 2]))
    >>> print(notes_on_units(homes, 2)[0][:68])
    units: 3 different ones in 'home', 1 of them with 2 or more records;
    """
    if units is None:
        return ()
    sizes = np.bincount(units.codes)
    whole = int((sizes >= k).sum())
    return (
        f"units: {len(sizes):,} different ones in {units.name!r}, {whole:,} of them with "
        f"{k} or more records; every class has {k} of them, "
        "but that does not protect against somebody who knows a whole household, company "
        "or patient",
    )
