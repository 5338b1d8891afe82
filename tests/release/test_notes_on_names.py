"""Columns that could name somebody are noted, whoever chose the roles; never by a value."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma

N = 40
AGES = [30 + i % 8 for i in range(N)]
NAMES = [f"Canary{i:02d}" for i in range(N)]


def notes(table: Any, **roles: Any) -> list[str]:
    release = ma.anonymize(table, k=2, quasi=["age"], method="mdav", seed=0, **roles)
    for note in release.notes:
        assert "anary" not in note, "a value was quoted"
    return [
        note for note in release.notes if "may name people" in note or "has its own value" in note
    ]


@pytest.mark.parametrize("role", ["confidential", "keep"])
@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("surname", [NAMES[i % 4] for i in range(N)], "called like a person's name"),
        (
            "reply_to",
            [f"{NAMES[i % 4]}@example.org" for i in range(N)],
            "look like e-mail addresses",
        ),
        ("where", [f"Canary Street {i % 4}" for i in range(N)], "look like street addresses"),
        ("passport", [f"C0{i % 20}" for i in range(N)], "called like a number of a person"),
        ("remark", NAMES, "nearly every record has its own value"),
        ("amount", [1.5 + i for i in range(N)], "nearly every record has its own value"),
    ],
)
def test_columns_that_are_released_as_they_are(
    role: str, column: str, values: list[Any], says: str
) -> None:
    (note,) = notes(pa.table({"age": AGES, column: values}), **{role: [column]})
    assert says in note
    assert repr(column) in note


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("disease", [f"canary {i % 4}" for i in range(N)]),
        ("has_phone", [i % 2 == 0 for i in range(N)]),
        ("phones", [i % 3 for i in range(N)]),
        ("born", pa.array([i % 9 for i in range(N)], pa.date32())),
    ],
)
def test_columns_that_name_nobody(column: str, values: Any) -> None:
    assert notes(pa.table({"age": AGES, column: values}), keep=[column]) == []


def test_what_is_dropped_or_grouped_is_not_told() -> None:
    assert notes(pa.table({"age": AGES, "surname": NAMES}), identifier=["surname"]) == []


@pytest.mark.parametrize(
    ("index", "noted"),
    [
        (pd.Index(NAMES), True),
        (pd.Index([NAMES[i % 3] for i in range(N)], name="Vorname"), True),
        (pd.Index(range(100, 100 + N), name="person_id"), True),
        (pd.MultiIndex.from_arrays([[i % 2 for i in range(N)], NAMES]), True),
        (pd.RangeIndex(N), False),
        (pd.Index([f"canary {i % 3}" for i in range(N)]), False),
        (pd.Index(range(100, 100 + N)), False),
        (pd.period_range("2020-01", periods=N, freq="M"), False),
        (pd.date_range("2020-01-01", periods=N), False),
    ],
)
def test_an_index_of_pandas(index: pd.Index, noted: bool) -> None:
    table = pd.DataFrame({"age": AGES}, index=index)
    assert ["the index of the table may name people" in note for note in notes(table)] == [
        True
    ] * noted
