"""Quick looks say what the slow rules say, to the letter, on columns made to be odd."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files import reading
from microagg.files.text.dialect import Dialect
from microagg.table.columns import fast_inference, text_inference
from microagg.table.columns.fast_inference import are_shortest, has_codes, plain_numbers
from microagg.table.schema import ColumnSettings, Kind

WHOLE = ["7", "31", "-4", "0", "1200", "999999999999999999", "123456789012345678"]
ODD_WHOLE = [
    "07",
    "-0",
    "+5",
    " 5",
    "5 ",
    "0x1F",
    "0XFF",
    "0xFFFFFFFF",
    "1234567890123456789",
    "00",
    "000000000000000000001",
]
PARTS = ["1.5", "-0.25", "0.001", "3.14159", "100.01", "12345678901234.5", "20"]
ODD_PARTS = [
    "1.50",
    "2.0",
    "5.",
    ".5",
    "-.5",
    "1e3",
    "1E-7",
    "+1.5",
    "0.00001",
    "00.5",
    "1000000000000000.5",
    "1e999",
    "inf",
    "nan",
    "-nan",
    "0.1234567890123456",
]
DAYS = ["2024-01-31", "1999-12-01", "2000-02-29"]
ODD_DAYS = [
    "2024-13-01",
    "2024-02-30",
    "2024-01-31T10:00",
    "2024-01-31 10:00:05.25",
    " 2024-01-31",
    "0001-01-01",
]
GAPS = [None, "", "NA", ".", "n/a", "null", "NaN", "none", "-", "--", "?", " "]
TEXTS = ["Ulm", "Köln", "a,b", "x", "e5", "1 2", "infinity war", "Inf"]
POOLS = [WHOLE, ODD_WHOLE, PARTS, ODD_PARTS, DAYS, ODD_DAYS, GAPS, TEXTS]
ASKED = [
    ColumnSettings(),
    ColumnSettings(na=("-9", "x")),
    ColumnSettings(special={"a": ("Ulm", 7)}),
    ColumnSettings(kinds={"a": Kind.NOMINAL}),
    ColumnSettings(kinds={"a": Kind.ORDINAL}),
    ColumnSettings(kinds={"a": Kind.NUMERIC}),
]


def made_up(rng: random.Random) -> list[str | None]:
    """Cells of one sort mostly, now and then with some of others."""
    pools = rng.sample(POOLS, rng.choice([1, 1, 1, 2, 2, 3]))
    return [rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 6))]


def outcome(make: Any, *arguments: Any) -> Any:
    try:
        field, column = make(*arguments)
    except ma.InputError as error:
        return str(error)
    return field.type, field.metadata, [repr(value) for value in column.to_pylist()]


def without_quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow rules alone."""
    for name, answer in (
        ("plain_numbers", None),
        ("_plain_days", None),
        ("is_mere_text", False),
        ("are_shortest", False),
    ):
        monkeypatch.setattr(text_inference, name, lambda *arguments, answer=answer: answer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_columns_become_what_the_slow_rules_make_of_them(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    cases = [(made_up(rng), rng.choice(ASKED)) for _ in range(120)]
    columns = [
        (pa.chunked_array([cells[:2], cells[2:]], pa.string()), settings)
        for cells, settings in cases
    ]

    def all_of() -> list[Any]:
        quasi = [
            outcome(text_inference.quasi_column, "a", column, settings)
            for column, settings in columns
        ]
        return quasi + [
            outcome(reading._settle, "a", column, settings, Dialect())
            for column, settings in columns
        ]

    quick = all_of()
    without_quick_looks(monkeypatch)
    assert quick == all_of()
    assert len({str(entry)[:12] for entry in quick}) > 4, "of many sorts"


def as_arrow_writes(value: float) -> str:
    return pa.scalar(value).cast(pa.string()).as_py()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_to_come_back_does(seed: int) -> None:
    rng = random.Random(seed)
    certain = 0
    for _ in range(3000):
        digits = rng.randint(1, 14)
        text = f"{rng.choice(['', '-'])}{rng.randint(0, 10**digits)}"
        if rng.random() < 0.7:
            text += f".{rng.randint(0, 10 ** rng.randint(1, 8)):0{rng.randint(1, 8)}d}"
        column = pa.chunked_array([[text]])
        if are_shortest(column, column.cast(pa.float64())):
            certain += 1
            assert as_arrow_writes(float(text)) == text
    assert certain > 1000


def test_plain_numbers_are_those_of_the_pattern() -> None:
    for text in [*WHOLE, *ODD_WHOLE, *PARTS, *ODD_PARTS]:
        numbers = plain_numbers(pa.chunked_array([[text, None]]))
        if numbers is not None:
            assert re.match(text_inference.NUMBER, text), text
            assert numbers[0].as_py() == (float if "." in text else int)(text), text


def test_chunks_and_slices() -> None:
    texts = pa.chunked_array([["0x10", "1.5"], [], ["2.25", None, "-3"]], pa.string()).slice(1)
    numbers = texts.cast(pa.float64())
    assert are_shortest(texts, numbers)
    assert text_inference.as_same_numbers(texts).to_pylist() == [1.5, 2.25, None, -3.0]
    assert not are_shortest(pa.chunked_array([["1.5", "2.50"]]), pa.chunked_array([[1.5, 2.5]]))
    assert has_codes(pa.chunked_array([["1"] * 2000 + ["-05"]]))
    assert not has_codes(pa.chunked_array([["-5", "0", "0.5"]]))


def test_many_records_are_typed_on_all_cores(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{i},{i / 4},{i:05d},t{i % 7},2024-01-{1 + i % 28:02d}" for i in range(300)]
    (tmp_path / "in.csv").write_text("\n".join(["a,b,c,d,e", *rows, ""]))
    alone = reading.read_table(tmp_path / "in.csv", quasi=["a", "b", "e"])
    monkeypatch.setattr(fast_inference, "RECORDS_FOR_THREADS", 1)
    together = reading.read_table(tmp_path / "in.csv", quasi=["a", "b", "e"])
    assert together.equals(alone, check_metadata=True)
    assert [str(kind) for kind in together.schema.types] == [
        "int64",
        "double",
        "string",
        "string",
        "date32[day]",
    ]
