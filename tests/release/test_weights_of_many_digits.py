"""Weights beyond the whole numbers that a float holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma

LARGE = 2**60


@pytest.mark.parametrize("sign", [1, -1])
def test_weights_of_many_digits_are_what_they_are(sign: int) -> None:
    weights = sign * (LARGE + 4096 * np.arange(12))
    table = pa.table({"age": np.repeat([20, 30, 40], 4), "w": weights})
    if sign < 0:
        with pytest.raises(ma.InputError, match=r"'w'.* is not above 0"):
            ma.anonymize(table, 3, ["age"], weight="w", effort="quick", seed=1)
        return
    release = ma.anonymize(table, 3, ["age"], weight="w", effort="quick", seed=1)
    released = release.table.column("w").to_numpy()
    assert sorted(set(released)) == [LARGE + 4096 * (4 * g) + 6144 for g in range(3)]
    totals = release.to_pandas().groupby("age")["w"].count()
    assert totals.to_dict() == {20: 4, 30: 4, 40: 4}
