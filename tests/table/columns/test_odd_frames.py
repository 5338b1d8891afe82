"""Tables of other libraries, and parameters, that used to end in those libraries' errors: one
sentence each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import microagg as ma

AGES = [float(i) for i in range(12)]
ODD: dict[str, Any] = {
    "sparse": pd.DataFrame({"age": AGES, "x": pd.arrays.SparseArray([0, 1] * 6)}),
    "complex": pd.DataFrame({"age": AGES, "x": [1j] * 12}),
    "beyond-64-bits": pd.DataFrame({"age": AGES, "x": [2**70 + i for i in range(12)]}),
    "interval": pd.DataFrame({"age": AGES, "x": pd.interval_range(0, 12)}),
    "int128": pl.DataFrame({"age": AGES, "x": pl.Series([2**100] * 12, dtype=pl.Int128)}),
    "object": pl.DataFrame({"age": AGES, "x": pl.Series([object()] * 12, dtype=pl.Object)}),
}


@pytest.mark.parametrize("role", ["quasi", "confidential", "keep"])
@pytest.mark.parametrize("name", ODD)
def test_columns_that_cannot_be_released(name: str, role: str) -> None:
    roles: dict[str, list[str]] = {"quasi": ["age"]}
    roles[role] = [*roles.get(role, []), "x"]
    with pytest.raises(ma.InputError, match="column 'x'") as refusal:
        ma.anonymize(ODD[name], 3, **roles, method="mdav")
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"confidential": None}, "confidential must be"),
        ({"keep": None}, "keep must be"),
        ({"threads": math.inf}, "threads"),
        ({"threads": 1.5}, "threads"),
        ({"threads": "many"}, "threads"),
        ({"refine": "no"}, "refine must be"),
        ({"refine": 0}, "refine must be"),
        ({"exact": "no"}, "exact must be"),
        ({"progress": 5}, "progress must be"),
        ({"progress": "bar"}, "progress must be"),
    ],
)
def test_parameters(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        ma.anonymize(
            np.arange(24.0).reshape(12, 2),
            3,
            **{"quasi": [0], "rest": "drop", "method": "mdav", **options},
        )
    if not {"confidential", "keep", "exact"} & set(options):
        with pytest.raises(ma.InputError, match=says):
            ma.partition(np.arange(24.0).reshape(12, 2), 3, method="mdav", **options)


@pytest.mark.parametrize("name", ["a\0b", None, ("a", 1)])
def test_names_that_no_file_can_hold(name: Any) -> None:
    with pytest.raises(ma.InputError, match="column names must be text"):
        ma.anonymize(
            pd.DataFrame({"age": AGES, name: AGES}), 3, ["age"], rest="keep", method="mdav"
        )
    if name == "a\0b":
        with pytest.raises(ma.InputError, match="column names must be text"):
            ma.anonymize(
                pl.DataFrame({"age": AGES, name: AGES}), 3, ["age"], rest="keep", method="mdav"
            )
