"""Columns of numbers as a country writes them: read as numbers, or kept to the letter."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.text.dialect import Dialect
from microagg.files.text.locale_columns import in_plain_spelling, in_plain_terms, quasi_column_in
from microagg.table.columns.field_metadata import groups_digits
from microagg.table.schema import ColumnSettings, Kind

GERMAN = Dialect(decimal=",", thousands=".")
COMMA = Dialect(decimal=",")
POINT = Dialect(decimal=".")


def column(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


def settings(kind: Kind | None = None, **options: Any) -> ColumnSettings:
    return ColumnSettings(kinds={} if kind is None else {"x": kind}, **options)


@pytest.mark.parametrize(
    ("texts", "dialect", "plain", "grouped"),
    [
        (["1.200,50", "7"], GERMAN, ["1200.50", "7"], True),
        (["1200,50", "7"], GERMAN, ["1200.50", "7"], False),
        (["1.200,50", " 7,5 ", "NA"], GERMAN, ["1200.50", "7.5", "NA"], True),
        (["7", "8"], GERMAN, ["7", "8"], False),
        (["1,5", "k.A."], COMMA, ["1.5", "k.A."], False),
        (["Ulm", "a,b"], COMMA, ["Ulm", "a,b"], False),
        (["1.5", "2"], POINT, ["1.5", "2"], False),
        (
            ["31.12.2024", "1,5"],
            Dialect(decimal=",", dates="%d.%m.%Y"),
            ["31.12.2024", "1.5"],
            False,
        ),
    ],
)
def test_numbers_in_plain_spelling(
    texts: list[str], dialect: Dialect, plain: list[str], grouped: bool
) -> None:
    spelled = in_plain_spelling("x", column(*texts), dialect, settings())
    assert spelled.column.to_pylist() == plain
    assert (spelled.grouped, spelled.wrong) == (grouped, -1)
    if spelled.numbers is not None:
        assert spelled.numbers.to_pylist() == [float(text) for text in plain]


def test_levels_and_columns_in_another_style_are_left_alone() -> None:
    options = ColumnSettings(levels={"x": ("1,5", "2,5")})
    assert in_plain_spelling("x", column("1,5"), COMMA, options).column.to_pylist() == ["1,5"]
    spelled = in_plain_spelling("x", column("1,5", "2.5", "3.5"), COMMA, settings())
    assert (spelled.column.to_pylist(), spelled.wrong) == (["1,5", "2.5", "3.5"], 1)
    with pytest.raises(ma.InputError, match=r"row 2 .*a number that is not spelled as decimal"):
        quasi_column_in("x", column("1,5", "2.5"), settings(), COMMA)


@pytest.mark.parametrize("texts", [["7,5", "8,0"], ["07", "8"], ["7,50", "8"]])
def test_declared_categories_stay_to_the_letter(texts: list[str]) -> None:
    _, made = quasi_column_in("x", column(*texts), settings(Kind.NOMINAL), COMMA)
    assert made.to_pylist() == texts


@pytest.mark.parametrize("texts", [["7", "8"], ["7,5", "8,0"], ["7,5", "NA", "8"]])
def test_numbers_are_read_in_the_style_of_the_file(texts: list[str]) -> None:
    for kind in (None, Kind.NUMERIC):
        field, made = quasi_column_in("x", column(*texts), settings(kind), COMMA)
        assert pa.types.is_integer(made.type) or pa.types.is_floating(made.type)
        expected = [None if text == "NA" else float(text.replace(",", ".")) for text in texts]
        assert made.to_pylist() == expected
        assert field.type == made.type


def test_declared_markers_are_missing_also_among_plain_numbers() -> None:
    for texts in (["7,5", "9,0"], ["7", "9"]):
        _, made = quasi_column_in("x", column(*texts), settings(na=("9",)), COMMA)
        assert made.to_pylist() == [float(texts[0].replace(",", ".")), None]


def test_grouped_digits_are_remembered() -> None:
    field, made = quasi_column_in("x", column("1.200,5", None), settings(), GERMAN)
    assert made.to_pylist() == [1200.5, None]
    assert groups_digits(field) == groups_digits(
        quasi_column_in("x", column("1.200,5", "NA"), settings(), GERMAN)[0]
    )
    field, _ = quasi_column_in("x", column("1200,5", "NA"), settings(), GERMAN)
    assert not groups_digits(field)


@pytest.mark.parametrize(
    ("texts", "row"), [(["900", "1.200,50"], 2), (["1,200", "900"], 1), (["9", "8", "1'200"], 3)]
)
def test_signs_that_nobody_declared_are_refused(texts: list[str], row: int) -> None:
    unknown = rf"'x', row {row} .*a number with a sign of unknown meaning"
    with pytest.raises(ma.InputError, match=unknown):
        quasi_column_in("x", column(*texts), settings(), POINT)
    made = quasi_column_in("x", column(*texts), settings(Kind.NOMINAL), POINT)[1]
    assert made.to_pylist() == texts


def test_what_was_written_is_read_back_by_its_table() -> None:
    day = datetime.date(2024, 1, 31)
    table = pa.table(
        {
            "whole": [1200, None],
            "part": [1.5, 2.0],
            "town": ["1,5", "2,5"],
            "born": [day, None],
            "seen": pa.array([datetime.datetime(2024, 1, 31), None], pa.timestamp("s")),
        }
    )
    written = pa.table(
        {
            "whole": ["1.200", "NA"],
            "part": ["1,5", "2"],
            "town": ["1,5", "2,5"],
            "born": ["31.01.2024", None],
            "seen": ["2024-01-31", None],
        }
    )
    options = {"decimal": ",", "thousands": ".", "dates": "%d.%m.%Y"}
    result = in_plain_terms(written, table, options).to_pydict()
    assert result == {
        "whole": ["1200", "NA"],
        "part": ["1.5", "2"],
        "town": ["1,5", "2,5"],
        "born": [day, None],
        "seen": ["2024-01-31", None],
    }
    assert in_plain_terms(written, table, {}).equals(written)
