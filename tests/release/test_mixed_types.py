"""A column of mixed types that is not released stops no release, and its digest is the same every
time.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import microagg as ma


class Odd:
    """A value whose text has its address in it."""


def notes() -> list[Any]:
    return [1, "a", None, 2.5, datetime.date(2024, 1, 31), Odd()] * 3


def pandas_frame() -> pd.DataFrame:
    ages = pd.DataFrame({"age": range(20, 38)})
    return ages.assign(
        note=pd.Series(notes(), dtype=object), root=pd.Series([1j] * 18), sex=["f", "m"] * 9
    )


def polars_frame() -> pl.DataFrame:
    note = pl.Series("note", notes(), dtype=pl.Object)
    return pl.DataFrame({"age": range(20, 38), "note": note, "sex": ["f", "m"] * 9})


@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
@pytest.mark.parametrize("roles", [{"identifier": "note"}, {}])
def test_a_withheld_column_may_mix_types(make: Callable[[], Any], roles: dict[str, Any]) -> None:
    settings = {
        "k": 3,
        "quasi": "age",
        "keep": "sex",
        "rest": "drop",
        "seed": 1,
        "effort": "quick",
        **roles,
    }
    releases = [ma.anonymize(make(), **settings) for _ in range(2)]
    assert list(releases[0].table.columns) == ["age", "sex"]
    first, second = (release.manifest["input"]["digest"] for release in releases)
    assert first == second
    changed = make()
    changed = (
        changed.assign(note=[*notes()[1:], 7])
        if isinstance(changed, pd.DataFrame)
        else changed.reverse()
    )
    assert ma.anonymize(changed, **settings).manifest["input"]["digest"] != first


@pytest.mark.parametrize("role", ["quasi", "keep", "confidential", "unit", "stratum"])
def test_a_column_that_is_used_may_not(role: str) -> None:
    settings: dict[str, Any] = {
        "k": 3,
        "quasi": ["age"],
        "rest": "drop",
        "seed": 1,
        "effort": "quick",
    }
    settings[role] = "note" if role == "unit" else ["note"]
    with pytest.raises(ma.InputError, match="'note' mixes values of several types"):
        ma.anonymize(pandas_frame(), **settings)
