"""A look at a column: counts by value, with missing markers set aside."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import every_type
from microagg.errors import InputError
from microagg.table.columns import profile
from microagg.table.columns.frames import open_frame, suggested_kind
from microagg.table.columns.profile import ColumnProfile, ProfileStats, profile_column
from microagg.table.schema import Kind

GAPS = ("", "NA", "n/a", ".", "NaN", "null", None)


def look(values: Any, *, typed: bool = True) -> ColumnProfile:
    return profile_column(
        nw.from_native(pa.table({"x": values}), eager_only=True), "x", typed=typed
    )


def counted(cells: list[str | None]) -> tuple[int, int, int]:
    """The slow way: cells with a value, different values, those of one cell alone."""
    values = [cell.strip() for cell in cells if cell is not None]
    present = [
        value for value in values if value.lower() not in ("", "na", "n/a", ".", "nan", "null")
    ]
    try:
        counts = Counter(map(float, present))
    except ValueError:
        counts = Counter(present)
    return len(present), len(counts), sum(count == 1 for count in counts.values())


@pytest.mark.parametrize("seed", range(20))
def test_counts_by_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = (
        ["30", "30.0", "30 ", " 31", "3.2e1", "33.50", "33.5"]
        if seed % 2
        else ["a", "b", " b", "A", "c d"]
    )
    cells = [
        *rng.choice([*words, *(gap for gap in GAPS if gap is not None)], 40).tolist(),
        None,
        words[0],
    ]
    column_profile = look(pa.array(cells), typed=bool(seed % 3))
    assert (column_profile.values, column_profile.distinct, column_profile.single) == counted(cells)
    assert column_profile.kind is (Kind.NUMERIC if seed % 2 else Kind.NOMINAL)
    assert column_profile.text is not bool(seed % 2)


@pytest.mark.parametrize(
    ("values", "kind", "whole"),
    [
        ([1.0, 2.0, None], Kind.NUMERIC, True),
        ([1.0, 2.5], Kind.NUMERIC, False),
        ([float("nan"), 2.0], Kind.NUMERIC, True),
        ([True, False], Kind.NOMINAL, False),
        (pa.array([None, None]), Kind.NOMINAL, False),
        (pa.array([1, 2]).dictionary_encode(), Kind.NOMINAL, False),
        (pa.array([10**17, 10**17 + 1]), Kind.NUMERIC, True),
        (pa.array([0, 5], pa.date32()), Kind.NUMERIC, False),
        (["007", "008"], Kind.NOMINAL, False),
        (["1", "x"], Kind.NOMINAL, False),
    ],
)
def test_kinds(values: Any, kind: Kind, whole: bool) -> None:
    column_profile = look(values)
    assert (column_profile.kind, column_profile.whole) == (kind, whole)


def test_what_has_to_be_said() -> None:
    assert look(["1", "2"]).declared_kind is Kind.NUMERIC, "text is nominal by type"
    assert look(["1", "2"], typed=False).declared_kind is None, (
        "a file without types is read as numbers"
    )
    assert look(["007", "008"], typed=False).declared_kind is Kind.NOMINAL, (
        "it would be read as numbers"
    )
    assert look(["1", "2", "many"], typed=False).declared_kind is Kind.NOMINAL, (
        "it would be refused"
    )


def test_lists_cannot_be_released() -> None:
    assert not look([[1], [2]]).readable


def test_other_libraries() -> None:
    for frame in (pd.DataFrame({"x": [1.0, None, 1.0]}), pl.DataFrame({"x": [1, None, 1]})):
        column_profile = profile_column(nw.from_native(frame, eager_only=True), "x")
        assert (column_profile.values, column_profile.distinct, column_profile.whole) == (
            2,
            1,
            True,
        )
    ordered = pd.DataFrame({"x": pd.Categorical(["lo", "hi", None], ["lo", "hi"], ordered=True)})
    assert profile_column(nw.from_native(ordered, eager_only=True), "x").kind is Kind.ORDINAL


@pytest.mark.parametrize(
    ("texts", "like"),
    [
        (["ann@example.org", "no mail"], "e-mail addresses"),
        (["DE02 1203 0000 0000 2020 51", "gb33bukb20201555555555"], "bank accounts"),
        (["+49 170 1234567", "0170/1234567", "(030) 123-4567"], "phone or identity numbers"),
        (["123-45-6789", "987-65-4321"], "phone or identity numbers"),
        (["12 Main Street", "4 Hill Rd"], "street addresses"),
        (["Lange Straße 7", "Am Weg 4", "Ringstr. 12b"], "street addresses"),
        (["rue de la Paix 3", "calle Mayor 4"], "street addresses"),
        (["01.02.2024", "03-04-2024", "2024-01-31"], ""),
        (["flu", "cold", "Grade 10", "Company 12"], ""),
        (["05315000", "01234"], ""),
        ([], ""),
    ],
)
def test_what_texts_look_like(texts: list[str], like: str) -> None:
    assert look(pa.array(texts or [None], pa.string())).like == like


def test_one_in_twenty_is_enough() -> None:
    assert look(["ann@example.org", *["none"] * 19]).like == "e-mail addresses"
    assert look(["ann@example.org", *["none"] * 20]).like == ""


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
def test_every_type_is_what_a_release_takes_it_for(gaps: bool) -> None:
    for name, table in every_type.all_tables(gaps=gaps).items():
        frame = open_frame(table)
        (column,) = frame.columns
        column_profile = profile_column(frame, column)
        assert column_profile.readable, name
        assert (column_profile.declared_kind or column_profile.kind) is column_profile.kind, name
        if column_profile.declared_kind is None:
            assert column_profile.kind is suggested_kind(frame, column), name
        assert column_profile.values == len(frame) - 2 * gaps, name


def test_more_texts_than_are_counted_in_chunks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "MOST_TEXTS", 3)
    chunks = [pa.chunked_array([names]) for names in (["a", "b"], ["b", "c"], ["c", "d"])]
    first, second, third = (ProfileStats.of_chunk("town", chunk) for chunk in chunks)
    assert first.combine(second).texts == {"a": 1, "b": 2, "c": 1}
    with pytest.raises(InputError, match=r"'town' has more than 3 different texts.*identifier"):
        first.combine(third)
