"""Tables of any library as cells, against plain lists of Python."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg as ma
from every_type import all_tables
from microagg.table.columns.arrow import NUMBERS_AS_TEXT
from microagg.table.columns.cells import cells_of
from microagg.table.columns.frames import open_frame, suggested_kind
from microagg.table.columns.matrix_values import values_of
from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Column, Kind, Role
from microagg.table.variable import Cells, Variable

LIBRARIES = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values)}),
    "object": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": values}, strict=False),
    "arrow": lambda values: pa.table({"x": values}),
}
each_library = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


def cells(table: Any, kind: Kind, levels: tuple[Any, ...] | None = None, **options: Any) -> Cells:
    return cells_of(open_frame(table), [Column("x", Role.QUASI, kind, levels)], **options)


def read(
    table: Any, kind: Kind, levels: tuple[Any, ...] | None = None, **options: Any
) -> list[Any]:
    """Return what each cell stands for: its number or level; an atom as a list of its mark."""
    encoded = cells(table, kind, levels, **options)
    variable, atoms = encoded.variables[0], encoded.atoms_of(0)
    result = []
    for row, value in enumerate(encoded.values[:, 0]):
        if atoms is not None and atoms[row] >= 0:
            assert math.isnan(value)
            result.append([variable.marks[atoms[row]]])
        else:
            result.append(value if variable.kind is Kind.NUMERIC else variable.levels[int(value)])
    return result


def variable_of(
    table: Any, kind: Kind, levels: tuple[Any, ...] | None = None, **options: Any
) -> Variable:
    return cells(table, kind, levels, **options).variables[0]


# ---------------------------------------------------------------- plain numbers


@pytest.mark.parametrize(
    "dtype", ["int8", "uint64", "Int64", "float32", "float64", "Float32", "int64[pyarrow]"]
)
def test_plain_numbers_are_those_of_ever(dtype: str) -> None:
    frame = open_frame(pd.DataFrame({"x": pd.Series([3, 1, 2], dtype=dtype)}))
    encoded = cells_of(frame, [Column("x", Role.QUASI, Kind.NUMERIC)], na=["NA", "-9"])
    assert encoded.is_plain
    assert encoded.variables == (Variable("x", single=dtype.lower() == "float32"),)
    assert np.array_equal(encoded.values, values_of(frame, ["x"]))
    assert encoded.values.flags.c_contiguous


@pytest.mark.parametrize("values", [[1.0, math.inf], [1.0, -1e101], [2**60, 1]])
@pytest.mark.parametrize("gap", [False, True])
@each_library
def test_numbers_that_no_release_can_hold(make: Any, values: list[Any], gap: bool) -> None:
    table = make([*values, None] if gap else values)
    if gap and isinstance(table, pd.DataFrame) and values[0] == 2**60:
        return  # pandas has made floats of them
    with pytest.raises(ma.InputError, match=r"column 'x', row [12] ") as refusal:
        cells(table, Kind.NUMERIC)
    if "pandas" not in str(type(table)):
        with pytest.raises(ma.InputError) as before:
            values_of(open_frame(make(values)), ["x"])
        assert str(refusal.value) == str(before.value)


def test_long_whole_numbers_are_differences() -> None:
    least = 2**62
    encoded = cells(pa.table({"x": [least + 5, None, least, least + 1]}), Kind.NUMERIC)
    assert encoded.variables[0].origin == least
    assert encoded.values[:, 0].tolist()[2:] == [0.0, 1.0]
    complete = cells(
        pl.DataFrame({"x": pl.Series([2**64 - 1, 2**64 - 8], dtype=pl.UInt64)}), Kind.NUMERIC
    )
    assert (complete.variables[0].origin, complete.values[:, 0].tolist()) == (2**64 - 8, [7.0, 0.0])
    below = cells(pa.table({"x": [-(2**62), -(2**62) + 3]}), Kind.NUMERIC)
    assert (below.variables[0].origin, below.values[:, 0].tolist()) == (-(2**62), [0.0, 3.0])


def test_a_long_special_code_makes_no_long_numbers() -> None:
    code = 2**62
    encoded = cells(pa.table({"x": [30, code, 40]}), Kind.NUMERIC, special={"x": (code,)})
    assert encoded.variables[0].origin == 0
    assert encoded.values[[0, 2], 0].tolist() == [30.0, 40.0]


def test_long_decimals_are_differences() -> None:
    amounts = [Decimal("12345678901234567890.12"), Decimal("12345678901234567890.62")]
    encoded = cells(pa.table({"x": pa.array(amounts, pa.decimal128(30, 2))}), Kind.NUMERIC)
    assert encoded.variables[0].origin == amounts[0]
    assert encoded.values[:, 0].tolist() == [0.0, 0.5]


# ---------------------------------------------------------------- atoms


@each_library
def test_gaps_and_codes_of_numbers(make: Any) -> None:
    values = [30.0, None, 97.0, float("nan"), -9.0, 98.0]
    expected = [30.0, [None], [97], [None], [None], [98]]
    table = make(values)
    result = read(table, Kind.NUMERIC, special={"x": (98, 97, 1)}, na=["-9", "none"])
    assert result == expected
    assert variable_of(table, Kind.NUMERIC, special={"x": (98, 97, 1)}, na=["-9"]).marks == (
        98,
        97,
        1,
        None,
    )


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.ORDINAL])
@pytest.mark.parametrize("code", [97, 97.0, "97", "97.0", Decimal("97.00")])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([30, 97]),
        pa.array([30.0, 97.0]),
        pa.array(["30", "97"]),
        pa.array([Decimal("30.0"), Decimal("97.0")]),
    ],
    ids=lambda column: str(column.type),
)
def test_codes_are_matched_by_value(column: pa.Array, code: Any, kind: Kind) -> None:
    encoded = cells(pa.table({"x": column}), kind, special={"x": (code,)})
    assert encoded.atoms is not None
    assert encoded.atoms[:, 0].tolist() == [-1, 0]
    assert encoded.variables[0].marks == (code,)


def test_marks_that_do_not_occur_are_kept() -> None:
    encoded = cells(pa.table({"x": [1, 2]}), Kind.NUMERIC, special={"x": (97,)})
    assert (encoded.variables[0].marks, encoded.atoms) == ((97,), None)


def test_codes_in_single_precision() -> None:
    column = pa.array([0.5, 0.1], pa.float32())
    assert read(pa.table({"x": column}), Kind.NUMERIC, special={"x": (0.1,)}) == [0.5, [0.1]]


@pytest.mark.parametrize("code", ["1900-01-01", dt.date(1900, 1, 1), dt.datetime(1900, 1, 1)])
@pytest.mark.parametrize("zone", [None, "Asia/Kolkata", "Europe/Berlin"])
def test_codes_among_stamps(zone: str | None, code: Any) -> None:
    stamps = [dt.datetime(2024, 5, 1), dt.datetime(1900, 1, 1), None, dt.datetime(2024, 5, 3)]
    column = pl.Series(stamps).dt.replace_time_zone(zone)
    values = read(pl.DataFrame({"x": column}), Kind.NUMERIC, special={"x": (code,)})
    assert values == [0.0, [code], [None], 2.0]


@pytest.mark.parametrize(
    "column", [pa.array([1, 2]), pa.array([dt.date(2024, 5, 1)])], ids=["numbers", "dates"]
)
def test_a_code_that_can_match_nothing(column: pa.Array) -> None:
    code = 97 if pa.types.is_integer(column.type) else "2024-01-01"
    with pytest.raises(ma.InputError, match="special code number 2 of column 'x'") as refusal:
        cells(pa.table({"x": column}), Kind.NUMERIC, special={"x": (code, "canary")})
    assert "canary" not in str(refusal.value)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "column", [pa.nulls(3), pa.nulls(3, pa.string()), pa.array([math.nan] * 3), pa.array([-9] * 3)]
)
def test_nothing_but_gaps_is_one_category(column: pa.Array, kind: Kind) -> None:
    encoded = cells(pa.table({"x": column}), kind, na=["-9"])
    assert (encoded.variables[0].kind, encoded.variables[0].levels) == (Kind.NOMINAL, (None,))
    assert (encoded.values[:, 0].tolist(), encoded.atoms) == ([0.0] * 3, None)


# ---------------------------------------------------------------- text that means numbers


@each_library
def test_text_as_numbers(make: Any) -> None:
    table = make(["30", " 30.0", "+1e2", None, "NA", ".", "97", "-9", "refused"])
    values = read(table, Kind.NUMERIC, special={"x": (97, "refused")}, na=["-9"])
    assert values == [30.0, 30.0, 100.0, [None], [None], [None], [97], [None], ["refused"]]


@pytest.mark.parametrize(
    ("text", "what"),
    [("canary", "text"), ("inf", "infinite"), ("1e999", "infinite"), ("9" * 17, "15 digits")],
)
def test_text_that_is_no_number(text: str, what: str) -> None:
    with pytest.raises(ma.InputError, match=rf"column 'x', row 3 .*{what}") as refusal:
        cells(pa.table({"x": ["1", "NA", text, "2"]}), Kind.NUMERIC)
    assert text not in str(refusal.value) or text == "inf"  # as in "infinite"


@pytest.mark.parametrize(
    ("texts", "gap"),
    [(["1", "NA", "NA", None], "NA"), (["1", None, "NA"], None), (["1", ".", "NA", "."], ".")],
)
def test_the_most_frequent_marker_is_remembered(texts: list[Any], gap: str | None) -> None:
    assert variable_of(pa.table({"x": texts}), Kind.NUMERIC).gap == gap


@pytest.mark.parametrize(
    ("dtype", "gap"),
    [("int64", -9), ("Int64", None), ("float64", None), ("int64[pyarrow]", None), ("object", None)],
)
def test_a_marker_stays_where_the_type_has_no_null(dtype: str, gap: Any) -> None:
    table = pd.DataFrame({"x": pd.Series([1, -9, 3], dtype=dtype)})
    for kind in Kind:
        assert variable_of(table, kind, na=["-9"]).gap == gap


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("stamps", "unit", "step"),
    [
        (["2024-05-01", "2024-05-03"], "D", 1),
        (["2024-05-01 03:00", "2024-05-03 07:00"], "s", 3600),
        (["2024-05-01 03:00", "2024-05-03 07:01"], "s", 60),
        (["2024-05-01 03:00", "2024-05-03 07:00:09"], "s", 1),
        (["2024-05-01", "2024-05-01 00:00:00.004"], "ms", 1),
        (["2024-05-01", "2024-05-01 00:00:00.000004"], "us", 1),
        (["2024-05-01", "2024-05-01 00:00:00.000000004"], "ns", 1),
    ],
)
@pytest.mark.parametrize(
    "zone", [None, "UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York", "+02:00"]
)
def test_resolution(stamps: list[str], unit: str, step: int, zone: str | None) -> None:
    column = pd.Series([pd.Timestamp(stamp, tz=zone) for stamp in stamps]).astype(
        f"datetime64[ns{'' if zone is None else ', ' + zone}]"
    )
    variable = variable_of(pd.DataFrame({"x": column}), Kind.NUMERIC)
    assert (variable.unit, variable.step) == (unit, step)


def test_days_are_counted_on_the_clock_of_the_zone() -> None:
    """The clocks change on 31 March: that day has 23 hours, but it is one day."""
    column = pd.Series(
        pd.to_datetime(["2024-03-30", "2024-03-31", "2024-04-01"]).tz_localize("Europe/Berlin")
    )
    encoded = cells(pd.DataFrame({"x": column}), Kind.NUMERIC)
    assert encoded.variables[0].wall
    assert encoded.values[:, 0].tolist() == [0.0, 1.0, 2.0]


def test_hours_that_come_twice_stay_apart() -> None:
    utc = pd.to_datetime(["2024-10-27 00:00", "2024-10-27 01:00", "2024-10-27 02:00"]).tz_localize(
        "UTC"
    )
    column = pd.Series(utc.tz_convert("Europe/Berlin"))
    assert cells(pd.DataFrame({"x": column}), Kind.NUMERIC).values[:, 0].tolist() == [
        0.0,
        3600.0,
        7200.0,
    ]


def test_a_midnight_that_comes_twice() -> None:
    """In Havana clocks go back from one to midnight: these two are an hour apart, though the clock
    shows one day.
    """
    utc = pd.to_datetime(["2024-11-03 04:00", "2024-11-03 05:00"]).tz_localize("UTC")
    encoded = cells(pd.DataFrame({"x": pd.Series(utc.tz_convert("America/Havana"))}), Kind.NUMERIC)
    assert (encoded.variables[0].wall, encoded.values[:, 0].tolist()) == (False, [0.0, 3600.0])


def test_stamps_are_exact_differences() -> None:
    start = pd.Timestamp("2024-05-01 00:00:00.000000001")
    column = pd.Series([start, start + pd.Timedelta(1, "ns"), start + pd.Timedelta(3, "ns")])
    encoded = cells(pd.DataFrame({"x": column}), Kind.NUMERIC)
    assert encoded.values[:, 0].tolist() == [0.0, 1.0, 3.0]
    assert encoded.variables[0].origin == start.value


# ---------------------------------------------------------------- levels


def test_levels_of_ordered_types_count_though_nobody_has_them() -> None:
    levels = ["low", "mid", "high"]
    for table in (
        pd.DataFrame({"x": pd.Categorical(["high", None, "low"], levels, ordered=True)}),
        pl.DataFrame({"x": pl.Series(["high", None, "low"], dtype=pl.Enum(levels))}),
        pa.table(
            {
                "x": pa.DictionaryArray.from_arrays(
                    pa.array([2, None, 0]), pa.array(levels), ordered=True
                )
            }
        ),
    ):
        assert suggested_kind(open_frame(table), "x") is Kind.ORDINAL
        encoded = cells(table, Kind.ORDINAL)
        assert encoded.variables[0].levels == ("low", "mid", "high")
        assert encoded.values[[0, 2], 0].tolist() == [2.0, 0.0]
        assert variable_of(table, Kind.NOMINAL).levels == ("low", "high", None)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["b", "a", "Z", "é"], ("Z", "a", "b", "é")),
        ([10, 9, 100], (9, 10, 100)),
        ([True, False], (False, True)),
        ([2.5, -1.0], (-1.0, 2.5)),
        ([dt.date(2024, 5, 2), dt.date(2024, 5, 1)], (dt.date(2024, 5, 1), dt.date(2024, 5, 2))),
    ],
)
@each_library
def test_levels_that_occur_are_sorted(
    make: Any, values: list[Any], levels: tuple[Any, ...]
) -> None:
    assert variable_of(make(values), Kind.ORDINAL).levels == levels
    assert variable_of(make(values), Kind.NOMINAL).levels == levels
    assert variable_of(make([*values, None]), Kind.NOMINAL).levels == (*levels, None)
    assert variable_of(make([*values, None]), Kind.ORDINAL).marks == (None,)


def test_unordered_categories_are_sorted() -> None:
    table = pd.DataFrame({"x": pd.Categorical(["b", "a", "c"], ["c", "x", "b", "a"])})
    assert variable_of(table, Kind.NOMINAL).levels == ("a", "b", "c")


def test_declared_levels() -> None:
    table = pa.table({"x": ["PS", "P", None, "NA", "refused"]})
    encoded = cells(table, Kind.ORDINAL, ("P", "S", "PS"), special={"x": ("refused",)}, na=["NA"])
    assert encoded.variables[0].levels == ("P", "S", "PS")
    assert encoded.values[:2, 0].tolist() == [2.0, 0.0]
    assert encoded.atoms is not None
    assert encoded.atoms[:, 0].tolist() == [-1, -1, 1, 1, 0]
    numbers = cells(pa.table({"x": [3, 1]}), Kind.ORDINAL, ("1", "2", "3"))
    assert numbers.values[:, 0].tolist() == [2.0, 0.0]
    assert numbers.variables[0].levels[::2] == (1, 3)


def test_declared_levels_lack_a_value() -> None:
    with pytest.raises(
        ma.InputError, match="column 'x' lacks values that 2 of its records"
    ) as refusal:
        cells(pa.table({"x": ["PS", "canary", "P", "canary", None]}), Kind.ORDINAL, ("P", "PS"))
    assert "canary" not in str(refusal.value)


def test_declared_text_is_taken_to_the_letter() -> None:
    with pytest.raises(ma.InputError, match="1 of its records"):
        cells(pa.table({"x": ["1", "1.0"]}), Kind.ORDINAL, ("1", "2"))


def test_special_codes_of_nominal_columns_are_refused() -> None:
    with pytest.raises(ma.InputError, match="column 'x' is nominal"):
        cells(pa.table({"x": ["a", "b"]}), Kind.NOMINAL, special={"x": ("a",)})


def test_special_codes_are_no_levels_of_an_ordered_type() -> None:
    table = pd.DataFrame(
        {"x": pd.Categorical(["b", "refused", "a"], ["a", "refused", "NA", "b"], ordered=True)}
    )
    encoded = cells(table, Kind.ORDINAL, special={"x": ("refused",)}, na=["NA"])
    assert encoded.variables[0].levels == ("a", "b")
    assert encoded.values[[0, 2], 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "column", [pa.array([1, -9]), pa.array([1.0, -9.0]), pa.array(["1", "-9"])]
)
def test_what_is_declared_missing_is_no_special_code(column: pa.Array) -> None:
    for kind in (Kind.NUMERIC, Kind.ORDINAL):
        values = read(pa.table({"x": column}), kind, special={"x": (-9,)}, na=["-9"])
        assert values[1] == [None]


def test_namibia_is_a_value() -> None:
    assert read(pa.table({"x": ["NA", "DE", "", None]}), Kind.NOMINAL) == ["NA", "DE", "", None]


# ---------------------------------------------------------------- types


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [[1], [2]]}), pa.table({"x": [{"a": 1}, {"a": 2}]}),
        pa.table({"x": [b"a", b"b"]}),
        pl.DataFrame({"x": pl.Series([object(), object()], dtype=pl.Object)}),
        pl.DataFrame({"x": pl.Series([2**100, 1], dtype=pl.Int128)}),
        pd.DataFrame({"x": [1j, 2j]}), pd.DataFrame({"x": [1, "a"]}, dtype=object),
        pd.DataFrame({"x": pd.interval_range(0, 2)}),
    ],
    ids=lambda table: f"{type(table).__module__.split('.')[0]}-"
    f"{getattr(table['x'], 'type', None) or table['x'].dtype}",
)  # fmt: skip
def test_odd_types_are_refused(table: Any, kind: Kind) -> None:
    with pytest.raises(ma.InputError, match="column 'x'") as refusal:
        cells(table, kind)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("values", [[True, False], pd.Categorical([1, 2])])
def test_no_numbers_of_truths_and_categories(values: Any) -> None:
    with pytest.raises(ma.InputError, match=r"column 'x' holds .*, not numbers"):
        cells(pd.DataFrame({"x": values}), Kind.NUMERIC)


def test_suggested_kinds() -> None:
    kinds = {
        name: suggested_kind(open_frame(table), "x").value
        for name, table in all_tables(gaps=True).items()
    }
    words = {
        "ordered=1": "ordinal",
        "Enum": "ordinal",
        "ordered=True": "ordinal",
        "dictionary": "nominal",
        "ategor": "nominal",
        "str": "nominal",
        "bool": "nominal",
        "Bool": "nominal",
        "String": "nominal",
    }
    for name, kind in kinds.items():
        assert kind == next(
            (expected for word, expected in words.items() if word in name), "numeric"
        ), name
    assert set(kinds.values()) == {"numeric", "ordinal", "nominal"}


def test_text_marked_as_numbers_is_numeric() -> None:
    field = pa.field("x", pa.string(), metadata=NUMBERS_AS_TEXT)
    table = pa.table([pa.array(["1.50", "2.50"])], schema=pa.schema([field]))
    assert suggested_kind(open_frame(table), "x") is Kind.NUMERIC
    assert suggested_kind(open_frame(pa.table({"x": ["1.50"]})), "x") is Kind.NOMINAL


def test_several_columns() -> None:
    tree = Hierarchy({"a": ("a", "*"), "b": ("b", "*")})
    frame = open_frame(pl.DataFrame({"n": [1, None, 3], "t": ["a", "b", None], "o": [1, 2, 97]}))
    columns = [
        Column("o", Role.QUASI, Kind.ORDINAL),
        Column("t", Role.QUASI, Kind.NOMINAL),
        Column("n", Role.QUASI, Kind.NUMERIC),
    ]
    encoded = cells_of(frame, columns, special={"o": (97,)}, hierarchies={"t": tree})
    assert encoded.names == ["o", "t", "n"]
    assert encoded.variables[1].hierarchy is tree
    assert encoded.atoms is not None
    assert encoded.atoms.dtype == np.int16
    assert encoded.atoms.tolist() == [[-1, -1, -1], [-1, -1, 0], [0, -1, -1]]
    assert np.isnan(encoded.values).tolist() == (encoded.atoms >= 0).tolist()


# ---------------------------------------------------------------- against plain lists


def oracle(values: list[Any], kind: Kind, special: list[Any], na: list[str]) -> list[Any]:
    """Return what each cell stands for, one after the other."""
    result: list[Any] = []
    for value in values:
        marker = value is None or any(value == text or value == _number(text) for text in na)
        if marker or (isinstance(value, float) and math.isnan(value)):
            result.append(None if kind is Kind.NOMINAL else [None])
        elif kind is not Kind.NOMINAL and value in special:
            result.append([value])
        else:
            result.append(value)
    return result


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


COLUMNS = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=12),
    st.lists(
        st.one_of(st.none(), st.sampled_from([-9.0, -0.5, 0.0, 1.0, 2.5, math.nan])),
        min_size=1,
        max_size=12,
    ),
    st.lists(
        st.one_of(st.none(), st.sampled_from(["a", "b", "-9", "B ", "é", "NA"])),
        min_size=1,
        max_size=12,
    ),
)


@given(
    COLUMNS,
    st.sampled_from(list(Kind)),
    st.lists(st.integers(-2, 2), unique=True, max_size=2),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_cells_against_plain_lists(
    values: list[Any], kind: Kind, special: list[int], marked: bool
) -> None:
    na = ["-9"] if marked else []
    if kind is Kind.NUMERIC and any(isinstance(value, str) for value in values):
        kind = Kind.ORDINAL
    codes = {} if kind is Kind.NOMINAL else {"x": tuple(special)}
    expected = oracle(values, kind, special, na)
    if all(cell in (None, [None]) for cell in expected):
        expected = [None] * len(values)
    for make in (LIBRARIES["arrow"], LIBRARIES["polars"]):
        assert read(make(values), kind, special=codes, na=na) == expected
