"""Released columns as the types that came in: a round trip of every type of every library."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from every_type import all_tables
from microagg.table.columns.cells import cells_of
from microagg.table.columns.dtypes import restore_column
from microagg.table.columns.frames import column_like, open_frame, same_type, suggested_kind
from microagg.table.schema import Column, Kind, Role
from microagg.table.variable import Variable

COMPLETE, GAPPY = all_tables(gaps=False), all_tables(gaps=True)


def round_trip(table: Any, kind: Kind | None = None, *, whole: bool = True, **settings: Any) -> Any:
    """The column "x" after the way to cells and back."""
    frame = open_frame(table)
    column = Column("x", Role.QUASI, kind or suggested_kind(frame, "x"))
    cells = cells_of(frame, [column], **settings)
    atoms = cells.atoms_of(0)
    back = restore_column(frame["x"], cells.variables[0], cells.values[:, 0], atoms, whole=whole)
    assert back.name == "x"
    return back.to_native()


def assert_same(back: Any, original: Any) -> None:
    """Equal values of an equal type, categories without those of nobody aside."""
    if isinstance(original, pa.ChunkedArray):
        assert back.type == original.type
        assert back.to_pylist() == original.to_pylist()
    elif isinstance(original, pl.Series):
        if not isinstance(original.dtype, pl.Enum):
            assert back.dtype == original.dtype
        assert back.to_list() == original.to_list()
    else:
        if isinstance(original.dtype, pd.CategoricalDtype):
            original = original.cat.remove_unused_categories()
            if not original.cat.ordered:
                original = original.cat.reorder_categories(sorted(original.cat.categories))
        pd.testing.assert_series_equal(back, original)


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


def given_numbers(
    table: Any,
    numbers: list[float],
    atoms: list[int] | None = None,
    *,
    whole: bool = True,
    **settings: Any,
) -> Any:
    """The column "x" with other numbers in the place of its own."""
    frame = open_frame(table)
    cells = cells_of(frame, [Column("x", Role.QUASI, Kind.NUMERIC)], **settings)
    held = None if atoms is None else np.array(atoms, np.int16)
    back = restore_column(frame["x"], cells.variables[0], np.array(numbers), held, whole=whole)
    return back.to_native()


def listed(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


@pytest.mark.parametrize("name", GAPPY)
def test_cells_of_other_records(name: str) -> None:
    """A `draw` gives each record another one's cell."""
    frame, order = open_frame(GAPPY[name]), [3, 3, 1, 0, 5, 4]
    expected = [listed(GAPPY[name]["x"])[row] for row in order]
    for kind in {suggested_kind(frame, "x"), Kind.ORDINAL, Kind.NOMINAL}:
        cells = cells_of(frame, [Column("x", Role.QUASI, kind)])
        atoms = cells.atoms_of(0)
        numbers, held = cells.values[order, 0], None if atoms is None else atoms[order]
        back = listed(
            restore_column(frame["x"], cells.variables[0], numbers, held, whole=True).to_native()
        )
        assert [None if pd.isna(cell) else cell for cell in back] == [
            None if pd.isna(cell) else cell for cell in expected
        ]


PLAIN = [
    name
    for name, table in COMPLETE.items()
    if (kind := open_frame(table)["x"].dtype).is_integer() or kind in (nw.Float32, nw.Float64)
]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("whole", [False, True])
def test_plain_numbers_are_given_back_as_ever(name: str, whole: bool) -> None:
    frame = open_frame(COMPLETE[name])
    means = np.array([2.0, 2.0, 3.0, 3.0, 1.0, 1.0]) if whole else np.arange(6) / 7
    back = restore_column(frame["x"], Variable("x"), means, None, whole=whole).to_native()
    before = column_like(frame["x"], means, whole=whole).to_native()
    assert listed(back) == listed(before)
    assert getattr(back, "dtype", None) == getattr(before, "dtype", None)
    assert getattr(back, "type", None) == getattr(before, "type", None)


@pytest.mark.parametrize("name", GAPPY)
def test_special_codes_come_back_in_the_type(name: str) -> None:
    """The fifth value is declared special, in words of Python: it comes back as the column has
    it.
    """
    table = GAPPY[name]
    column = table["x"]
    code = listed(column)[4]
    if suggested_kind(open_frame(table), "x") is Kind.NUMERIC:
        assert_same(round_trip(table, special={"x": (code,)}), column)
    if isinstance(code, str | int | float | Decimal | bool):
        assert_same(round_trip(table, Kind.ORDINAL, special={"x": (code,)}), column)


@pytest.mark.parametrize(
    "name", [name for name in COMPLETE if name not in GAPPY and "bool" not in name]
)
def test_a_marker_comes_back_where_the_type_has_no_null(name: str) -> None:
    column = COMPLETE[name]["x"]
    for kind in Kind:
        assert_same(round_trip(COMPLETE[name], kind, na=["11"]), column)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"x": [1, -9, 3]}),
        pa.table({"x": [1, -9, 3]}),
        pd.DataFrame({"x": pd.Series([1, -9, 3], dtype="Int64")}),
    ],
    ids=["polars", "arrow", "pandas"],
)
def test_a_marker_becomes_null_where_the_type_has_one(table: Any) -> None:
    for kind in Kind:
        back = listed(round_trip(table, kind, na=["-9"]))
        assert [back[0], back[2], back[1] is None or back[1] is pd.NA] == [1, 3, True]


def test_gaps_are_written_as_the_column_writes_them() -> None:
    nan = pl.DataFrame({"x": [1.0, math.nan]})
    assert round_trip(nan).null_count() == 0
    assert round_trip(pl.DataFrame({"x": [1.0, math.nan, None]})).null_count() == 2
    assert listed(round_trip(pa.table({"x": ["1", "NA", "2.50", None, "NA"]}), Kind.NUMERIC)) == [
        "1", "NA", "2.50", "NA", "NA",
    ]  # fmt: skip
    assert listed(round_trip(pa.table({"x": ["a", "-9", None, "-9"]}), na=["-9"])) == [
        "a",
        "-9",
        "-9",
        "-9",
    ]
    mixed = pd.DataFrame({"x": pd.Series(["a", float("nan"), "a"], dtype=object)})
    assert isinstance(round_trip(mixed).iloc[1], float)


@pytest.mark.parametrize(
    ("texts", "number", "text"),
    [
        (["1.50", "2.00"], 1.75, "1.75"),
        (["1.50", "2.00"], 1.5, "1.50"),
        (["1.50", "2.00"], 3.0, "3.00"),
        (["1", "2"], 3.0, "3"),
        (["1", "2.5"], 3.0, "3"),
        (["1", "2.5"], 3.25, "3.25"),
        (["1.0", "1.0", "1"], 1.0, "1.0"),
        (["1e3", "2"], 0.1, "0.1"),
        (["1.0", "2.0"], -0.0, "0.0"),
    ],
)
def test_numbers_in_text_are_spelled_like_the_others(
    texts: list[str], number: float, text: str
) -> None:
    table = pa.table({"x": pa.array(texts, pa.large_string())})
    back = given_numbers(table, [number] * len(texts))
    assert (back.type, back.to_pylist()) == (pa.large_string(), [text] * len(texts))


@pytest.mark.parametrize(
    "name", [name for name in COMPLETE if "date" in name.lower() or "timestamp" in name]
)
def test_the_mean_of_two_stamps(name: str) -> None:
    """A mean that is no whole unit is rounded to what the type counts; to the column's own
    resolution before.
    """
    table = COMPLETE[name]
    frame = open_frame(table)
    cells = cells_of(frame, [Column("x", Role.QUASI, Kind.NUMERIC)])
    variable, numbers = cells.variables[0], cells.values[:, 0]
    mean = (numbers[0] + numbers[1]) / 2
    rounded = float(np.rint(mean / variable.step) * variable.step)
    back = restore_column(frame["x"], variable, np.full(6, rounded), None, whole=True)
    assert back.dtype == frame["x"].dtype
    first, second, middle = (
        _instant(stamp)
        for stamp in (listed(table["x"])[0], listed(table["x"])[1], back.to_list()[0])
    )
    unit = dt.timedelta(days=1) if variable.unit == "D" else dt.timedelta(seconds=variable.step)
    assert abs(middle - (first + (second - first) / 2)) <= unit / 2


def _instant(value: Any) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return value


def test_a_day_of_the_zone_is_given_back_as_one() -> None:
    days = pd.Series(
        pd.to_datetime(["2024-03-30", "2024-04-01", "2024-04-01"]).tz_localize("Europe/Berlin")
    )
    back = given_numbers(pd.DataFrame({"x": days}), [1.0, 1.0, 2.0])
    assert list(back) == [
        pd.Timestamp(f"2024-{day}", tz="Europe/Berlin") for day in ("03-31", "03-31", "04-01")
    ]
    assert back.dtype == days.dtype


def test_a_midnight_that_the_zone_skips() -> None:
    """In São Paulo 4 November 2018 began at one o'clock."""
    days = pd.Series(pd.to_datetime(["2018-11-03", "2018-11-05"]).tz_localize("America/Sao_Paulo"))
    back = given_numbers(pd.DataFrame({"x": days}), [1.0, 1.0])
    assert back[0] == pd.Timestamp("2018-11-04 01:00", tz="America/Sao_Paulo")


def test_parts_of_a_day() -> None:
    stamps = pd.Series(pd.to_datetime(["2024-05-01", "2024-05-04"])).astype("datetime64[ns]")
    assert list(given_numbers(pd.DataFrame({"x": stamps}), [1.5, 0.25])) == [
        pd.Timestamp("2024-05-02 12:00"), pd.Timestamp("2024-05-01 06:00"),
    ]  # fmt: skip
    dates = pa.table({"x": [dt.date(2024, 5, 1), dt.date(2024, 5, 4)]})
    assert listed(given_numbers(dates, [1.6, 0.25])) == [dt.date(2024, 5, 3), dt.date(2024, 5, 1)]


def test_nanoseconds_of_a_century() -> None:
    """More than float64 tells apart: values of the column are given back to the last of them."""
    ticks = [0, 1, 3_155_760_000_000_000_001, 3_155_760_000_000_000_777]
    assert float(ticks[2]) != ticks[2]
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "Asia/Kolkata"), pa.duration("ns")):
        column = pa.chunked_array([pa.array(ticks, pa.int64()).cast(kind)])
        assert round_trip(pa.table({"x": column})).equals(column)


def test_all_the_time_there_is() -> None:
    column = pa.chunked_array([pa.array([2**63 - 1, None, 1 - 2**63, 5]).cast(pa.timestamp("ns"))])
    cells = cells_of(open_frame(pa.table({"x": column})), [Column("x", Role.QUASI, Kind.NUMERIC)])
    assert cells.values[[0, 2], 0].tolist() == [2.0**64, 0.0]
    assert round_trip(pa.table({"x": column})).equals(column)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_zone_that_nobody_knows(kind: Kind) -> None:
    column = pa.chunked_array([pa.array([3600, 0, None]).cast(pa.timestamp("s", "Mars/Base"))])
    assert round_trip(pa.table({"x": column}), kind).equals(column)


def test_long_numbers() -> None:
    for kind, values in (
        (pa.int64(), [2**62 + 1, 2**62 + 9]),
        (pa.uint64(), [2**64 - 1, 2**64 - 7]),
        (pa.int64(), [-(2**63), 1 - 2**63]),
    ):
        for gap in ([], [None]):
            column = pa.chunked_array([pa.array(values + gap, kind)])
            assert round_trip(pa.table({"x": column})).equals(column)
    amounts = [Decimal("12345678901234567890.12"), Decimal("92345678901234567890.63"), None]
    column = pa.chunked_array([pa.array(amounts, pa.decimal128(30, 2))])
    assert round_trip(pa.table({"x": column})).equals(column)
    back = given_numbers(pa.table({"x": column}), [0.5, 0.125, math.nan], [-1, -1, 0])
    assert back.to_pylist() == [amounts[0] + Decimal("0.50"), amounts[0] + Decimal("0.12"), None]


@pytest.mark.parametrize(
    "name",
    [
        "arrow-int64",
        "polars-Int64",
        "pandas-'int64'-int",
        "arrow-decimal128(12, 2)",
        "polars-Decimal(precision=12, scale=2)",
    ],
)
def test_exact_means_of_whole_numbers_are_floats(name: str) -> None:
    assert listed(given_numbers(COMPLETE[name], [1 / 3] * 6, whole=False)) == [1 / 3] * 6


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (pa.array([30, 2**62 + 1, 40]), 2**62 + 1),
        (pa.array([2**62, -1, 2**62 + 9, None]), -1),
        (pa.array([2**64 - 1, 0, 2**64 - 9, None], pa.uint64()), 0),
        (pa.array([Decimal("1.50"), Decimal("97.00"), Decimal("2.50")]), 97),
        (pa.array([Decimal("1.50"), Decimal("2.50")]), 9797),
        (
            pa.array(
                [
                    Decimal("12345678901234567890.12"),
                    Decimal("-1.00"),
                    Decimal("12345678901234567890.62"),
                ]
            ),
            "-1",
        ),
        (pa.array(np.array([1.5, 2.5, 9.25], np.float16)), 9.25),
    ],
    ids=str,
)
def test_codes_far_from_the_values(values: pa.Array, code: Any) -> None:
    column = pa.chunked_array([values])
    assert round_trip(pa.table({"x": column}), special={"x": (code,)}).equals(column)
    over_arrow = pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(column))})
    assert_same(round_trip(over_arrow, special={"x": (code,)}), over_arrow["x"])


def test_half_precision_of_pandas() -> None:
    table = pd.DataFrame({"x": pd.Series([1.5, math.nan, 2.5], dtype="float16")})
    assert_same(round_trip(table), table["x"])


def test_full_precision_with_gaps_and_codes() -> None:
    back = given_numbers(
        pl.DataFrame({"x": [1, None, 97]}),
        [0.5, math.nan, math.nan],
        [-1, 1, 0],
        whole=False,
        special={"x": (97,)},
    )
    assert (back.dtype, back.to_list()) == (pl.Float64, [0.5, None, 97.0])


@pytest.mark.parametrize("name", GAPPY)
def test_ranges_and_ancestors_are_text(name: str) -> None:
    frame = open_frame(GAPPY[name])
    released = Variable("x", Kind.NUMERIC, levels=("1..3", "*"), marks=(97, None), coarse=True)
    numbers = np.array([0, math.nan, 1, 0, math.nan, 1])
    back = restore_column(
        frame["x"], released, numbers, np.array([-1, 1, -1, -1, 0, -1], np.int16), whole=True
    )
    expected = ["1..3", None, "*", "1..3", "97", "*"]
    assert [
        None if value != value or value is pd.NA else value for value in back.to_list()
    ] == expected


def test_released_categories_are_those_that_occur() -> None:
    for name in COMPLETE:
        frame = open_frame(COMPLETE[name])
        if not any(
            word in name for word in ("dictionary", "Enum", "CategoricalDtype")
        ) or "Ulm" not in listed(COMPLETE[name]["x"]):
            continue
        cells = cells_of(frame, [Column("x", Role.QUASI, suggested_kind(frame, "x"))])
        variable = cells.variables[0]
        positions = [
            float(variable.levels.index(town))
            for town in ("Bonn", "Bonn", "Bonn", "Kiel", "Kiel", "Kiel")
        ]
        back = restore_column(frame["x"], variable, np.array(positions), None, whole=True)
        table = same_type(frame.with_columns(back), COMPLETE[name])
        held = open_frame(table).to_arrow().column("x").unify_dictionaries().chunk(0)
        ordered = "ordered=True" in name or "ordered=1" in name or "Enum" in name
        assert held.dictionary.to_pylist() == (["Kiel", "Bonn"] if ordered else ["Bonn", "Kiel"]), (
            name
        )
        assert held.to_pylist() == ["Bonn"] * 3 + ["Kiel"] * 3


def test_a_level_that_the_column_never_had() -> None:
    frame = open_frame(pa.table({"x": ["a", "b"]}))
    with pytest.raises(ma.GuaranteeError, match="column 'x'") as refusal:
        restore_column(
            frame["x"], Variable("x", Kind.NOMINAL, ("canary",)), np.zeros(2), None, whole=True
        )
    assert "canary" not in str(refusal.value)
