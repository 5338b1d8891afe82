"""`check` as users call it."""

from __future__ import annotations

import pyarrow as pa

import microagg as ma

TABLE = pa.table({"age": [30, 30, 40, 40, 40], "ill": ["no", "yes", "no", "no", "no"]})


def test_a_check_is_true_where_it_holds() -> None:
    assert ma.check(TABLE, ["age"], k=2)
    assert not ma.check(TABLE, ["age"], k=3)
    assert not ma.check(TABLE, ["age"], k=2, confidential=["ill"], l=2)
    assert not ma.check(pa.table({"age": [30]}), ["age"], k=2)
