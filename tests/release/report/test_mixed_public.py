"""Mixed originals that lead to the same released rows give the same public files: nothing of kinds,
gaps, codes or clocks shows through.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.methods.method import Grouping
from microagg.release.publishing import NOT_TOLD
from microagg.release.release import Release
from release.report.test_what_is_public import public_files, without_loss

BERLIN = ZoneInfo("Europe/Berlin")
TOWNS = ["Ulm", "Bonn", "Kiel", "Rom", "Pisa"]
SCHOOL = ["none", "primary", "secondary", "university"]
TREE = {
    "Ulm": ["DE", "*"],
    "Bonn": ["DE", "*"],
    "Kiel": ["DE", "*"],
    "Rom": ["IT", "*"],
    "Pisa": ["IT", "*"],
}
K = 3


def towns(rng: np.random.Generator, n: int) -> pa.Array:
    return pa.array(rng.choice([*TOWNS, None], n).tolist(), pa.string())


def schools(rng: np.random.Generator, n: int) -> pa.Array:
    codes = [None if code == 4 else int(code) for code in rng.integers(0, 5, n)]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, pa.int8()), pa.array(SCHOOL), ordered=True
    )


def incomes(rng: np.random.Generator, n: int) -> pa.Array:
    return pa.array([None if x > 85 else 97 if x > 75 else int(x) for x in rng.integers(0, 100, n)])


def ages(rng: np.random.Generator, n: int) -> pa.Array:
    return pa.array(rng.integers(18, 90, n))


def days(rng: np.random.Generator, n: int) -> pa.Array:
    first = dt.date(2024, 1, 1)
    return pa.array([first + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, n)])


def midnights(rng: np.random.Generator, n: int) -> pa.Array:
    """Days on the clock of a zone, three in a row, so that the mean of each three is one of
    them.
    """
    middles = np.repeat(rng.integers(2, 60, n // 3), 3) + np.tile([-1, 0, 1], n // 3)
    stamps = [
        dt.datetime(2024, 5, 1, tzinfo=BERLIN) + dt.timedelta(days=int(day)) for day in middles
    ]
    return pa.array(stamps, pa.timestamp("ms", "Europe/Berlin"))


Make = Callable[[np.random.Generator, int], pa.Array]
CASES: dict[str, tuple[dict[str, Make], dict[str, Any]]] = {
    "nominal": ({"town": towns, "age": ages}, {}),
    "a tree": ({"town": towns, "age": ages}, {"hierarchy": {"town": TREE}}),
    "generalise": (
        {"town": towns, "age": ages},
        {"hierarchy": {"town": TREE}, "aggregate": {"town": "generalise"}},
    ),
    "ordinal": ({"school": schools, "age": ages}, {}),
    "codes": ({"income": incomes, "age": ages}, {"special": {"income": [97]}}),
    "gaps": ({"income": incomes, "age": ages}, {"na": ["97"]}),
    "range": (
        {"income": incomes, "school": schools},
        {"aggregate": {"income": "range", "school": "range"}, "special": {"income": [97]}},
    ),
    "median": (
        {"income": incomes, "born": days},
        {"aggregate": {"income": "median", "born": "median"}},
    ),
    "medoid": ({"town": towns, "age": ages}, {"aggregate": {"town": "medoid", "age": "medoid"}}),
    "dates": ({"born": days, "town": towns}, {}),
    "zones": ({"seen": midnights, "town": towns}, {}),
    "numbers as categories": ({"age": ages, "income": incomes}, {"nominal": ["income"]}),
}


def released(
    table: pa.Table, labels: np.ndarray, settings: dict[str, Any], patched: pytest.MonkeyPatch
) -> Release:
    """The release of a table whose groups are given."""
    patched.setattr("microagg.pipeline.in_memory.run_method", lambda *_, **__: Grouping(labels))
    return ma.anonymize(
        table,
        K,
        table.column_names,
        method="mdav",
        seed=1,
        accept_risk=["true-values"],
        date="2026-01-01",
        **settings,
    )


def moved(column: list[Any], rows: np.ndarray, rng: np.random.Generator) -> list[Any]:
    """Other cells for a group: those of other members, gaps, or two numbers moved apart by as
    much.
    """
    cells = [column[i] for i in rows]
    first, second = rng.choice(len(rows), 2, replace=False)
    known = cells[first] is not None and cells[second] is not None
    way = rng.integers(3)
    if way == 0 and known and isinstance(cells[first], int | dt.date):
        step: Any = int(rng.integers(1, 5))
        if isinstance(cells[first], dt.date):
            step = (
                dt.timedelta(hours=step)
                if isinstance(cells[first], dt.datetime)
                else dt.timedelta(days=step)
            )
        cells[first], cells[second] = cells[first] - step, cells[second] + step
    elif way == 1:
        cells[first] = None
    else:
        cells[first] = cells[second]
    return cells


def other_original(
    table: pa.Table,
    labels: np.ndarray,
    settings: dict[str, Any],
    seed: int,
    patched: pytest.MonkeyPatch,
) -> pa.Table:
    """Another table with the same release: whatever can be changed in a group without being seen is
    changed.
    """
    rng = np.random.default_rng(seed)
    wanted = released(table, labels, settings, patched).table.to_pydict()
    groups = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
    columns = table.to_pydict()
    for name in table.column_names:
        for _ in range(3):
            tried = list(columns[name])
            for rows in groups:
                for i, cell in zip(rows, moved(tried, rows, rng), strict=True):
                    tried[i] = cell
            for _ in range(4):  # what is seen is taken back, until nothing is
                made = _with(table, {**columns, name: tried})
                seen = released(made, labels, settings, patched).table.to_pydict()
                wrong = [
                    rows
                    for rows in groups
                    if any(seen[column][rows[0]] != wanted[column][rows[0]] for column in wanted)
                ]
                if not wrong:
                    columns[name] = tried
                    break
                for rows in wrong:
                    for i in rows:
                        tried[i] = columns[name][i]
    return _with(table, columns)


def _with(table: pa.Table, columns: dict[str, list[Any]]) -> pa.Table:
    made = []
    for name in table.column_names:
        kind: Any = table.schema.field(name).type
        if pa.types.is_dictionary(kind):
            codes = [None if cell is None else SCHOOL.index(cell) for cell in columns[name]]
            made.append(
                pa.DictionaryArray.from_arrays(
                    pa.array(codes, kind.index_type), pa.array(SCHOOL), ordered=True
                )
            )
        else:
            made.append(pa.array(columns[name], kind))
    return pa.table(made, names=table.column_names)


def the_same_files(
    case: str, number: int, records: int, folder: Path, patched: pytest.MonkeyPatch
) -> None:
    makers, settings = CASES[case]
    rng = np.random.default_rng([number, records])
    table = pa.table({name: make(rng, records) for name, make in makers.items()})
    labels = np.repeat(np.arange(records // K, dtype=np.int32), K)
    second_table = other_original(table, labels, settings, number, patched)
    assert not second_table.equals(table), "nothing could be changed: choose another seed"
    order = rng.permutation(records)
    first = released(table, labels, settings, patched)
    second = released(second_table.take(pa.array(order)), labels[order], settings, patched)
    assert sorted(map(repr, first.table.to_pylist())) == sorted(map(repr, second.table.to_pylist()))
    one, other = public_files(first, folder / "one"), public_files(second, folder / "other")
    losses = [json.loads(files["out.csv.public.json"])["loss"]["IL"] for files in (one, other)]
    for name, text in one.items():
        if set(losses) == {NOT_TOLD}:
            assert text == other[name], name
        else:
            assert without_loss(text) == without_loss(other[name]), name


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_other_mixed_originals_give_the_same_files(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_same_files(case, 1, 24, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(2, 8))
@pytest.mark.parametrize("case", CASES)
def test_more_mixed_originals_give_the_same_files(
    case: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_same_files(case, number, 24 if number % 2 else 120, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_clock_of_the_original_is_not_told(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Midnights of a zone are counted on its clock, hours on that of Greenwich: bins of the same
    release must not differ.
    """
    rng = np.random.default_rng(seed)
    table = pa.table({"seen": midnights(rng, 24), "age": ages(rng, 24)})
    labels = np.repeat(np.arange(8, dtype=np.int32), K)
    stamps = table.column("seen").to_pylist()
    for first in range(0, 24, K):
        stamps[first] -= dt.timedelta(hours=2)
        stamps[first + 2] += dt.timedelta(hours=2)
    by_the_hour = _with(table, {**table.to_pydict(), "seen": stamps})
    one, other = (released(source, labels, {}, monkeypatch) for source in (table, by_the_hour))
    assert one.table.equals(other.table)
    assert public_files(one, tmp_path / "one") == public_files(other, tmp_path / "other")
