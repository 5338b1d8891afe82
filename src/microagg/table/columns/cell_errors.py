"""Error for one unusable cell: names its column and row, never its value."""

from __future__ import annotations

from typing import NoReturn

from microagg.errors import InputError


def check_value(name: str, position: int, what: str) -> NoReturn:
    """Say that a quasi-identifying column cannot be used because of one record; never what the
    record holds.
    """
    raise InputError(
        f"column {name!r}, row {position + 1} (header not counted): {what}; "
        "quasi-identifiers must be numbers without gaps, so correct it or leave the record out."
    )
