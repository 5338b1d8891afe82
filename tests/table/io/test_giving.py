"""Released columns as the types that came in: a round trip of every type of every library."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from every_type import all_tables
from microagg.table.io.cells import cells_of, suggested_kind
from microagg.table.io.frames import open_frame
from microagg.table.io.giving import given_back
from microagg.table.schema import Column, Kind, Role

COMPLETE, GAPPY = all_tables(gaps=False), all_tables(gaps=True)


def round_trip(table: Any, kind: Kind | None = None, *, whole: bool = True, **settings: Any) -> Any:
    """The column "x" after the way to cells and back."""
    frame = open_frame(table)
    column = Column("x", Role.QUASI, kind or suggested_kind(frame, "x"))
    cells = cells_of(frame, [column], **settings)
    atoms = cells.atoms_of(0)
    back = given_back(frame["x"], cells.variables[0], cells.values[:, 0], atoms, whole=whole)
    assert back.name == "x"
    return back.to_native()


def assert_same(back: Any, given: Any) -> None:
    """Equal values of an equal type, categories without those of nobody aside."""
    if isinstance(given, pa.ChunkedArray):
        assert back.type == given.type
        assert back.to_pylist() == given.to_pylist()
    elif isinstance(given, pl.Series):
        if not isinstance(given.dtype, pl.Enum):
            assert back.dtype == given.dtype
        assert back.to_list() == given.to_list()
    else:
        if isinstance(given.dtype, pd.CategoricalDtype):
            given = given.cat.remove_unused_categories()
        pd.testing.assert_series_equal(back, given)


@pytest.mark.parametrize("name", COMPLETE)
def test_round_trip(name: str) -> None:
    assert_same(round_trip(COMPLETE[name]), COMPLETE[name]["x"])


@pytest.mark.parametrize("name", GAPPY)
def test_round_trip_with_gaps(name: str) -> None:
    assert_same(round_trip(GAPPY[name]), GAPPY[name]["x"])


@pytest.mark.parametrize("kind", [Kind.NOMINAL, Kind.ORDINAL])
@pytest.mark.parametrize("name", GAPPY)
def test_round_trip_of_levels(name: str, kind: Kind) -> None:
    assert_same(round_trip(GAPPY[name], kind), GAPPY[name]["x"])
    if name in COMPLETE:
        assert_same(round_trip(COMPLETE[name], kind), COMPLETE[name]["x"])
