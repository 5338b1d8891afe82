"""Verification of written files: whatever is altered behind the release's back, nothing takes its
place.

Files are altered between writing and verifying, in memory and out of core, so that one rule alone
is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from beyond import WAYS, run_in
from microagg.pipeline import output_check, row_output
from microagg.release import saving

K = 3
Alter = Callable[[pd.DataFrame], pd.DataFrame]


def survey(records: int = 60) -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "age": rng.integers(20, 80, records),
            "pay": rng.integers(100, 900, records) * 10,
            "area": rng.choice(["N", "S"], records),
            "w": rng.integers(1, 40, records),
            "ill": rng.choice(["flu", "gout", "cold"], records),
            "home": np.arange(records) // 2,
        }
    )


ASKED: dict[str, Any] = {
    "k": K,
    "quasi": ["age", "pay"],
    "stratum": "area",
    "weight": "w",
    "keep": ["ill"],
    "rest": "drop",
    "seed": 1,
    "effort": "quick",
}
CLASS = ["age", "pay", "area", "w"]


def smallest_class(rows: pd.DataFrame) -> np.ndarray:
    """The rows of a class with exactly k records."""
    numbers = rows.groupby(CLASS).ngroup().to_numpy()
    sizes = np.bincount(numbers)
    return np.flatnonzero(numbers == np.flatnonzero(sizes == K)[0])


def same(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


def moved_to_another_class(rows: pd.DataFrame) -> pd.DataFrame:
    """One record takes all values of another class: its own class keeps k - 1."""
    members = smallest_class(rows)
    other = next(
        row for row in range(len(rows)) if rows.loc[row, "age"] != rows.loc[members[0], "age"]
    )
    rows.loc[members[0], CLASS] = rows.loc[other, CLASS]
    return rows


def other_stratum(rows: pd.DataFrame) -> pd.DataFrame:
    row = smallest_class(rows)[0]
    rows.loc[row, "area"] = "S" if rows.loc[row, "area"] == "N" else "N"
    return rows


def other_weight(rows: pd.DataFrame) -> pd.DataFrame:
    members = smallest_class(rows)
    row = next(row for row in range(len(rows)) if rows.loc[row, "w"] != rows.loc[members[0], "w"])
    rows.loc[members[0], "w"] = rows.loc[row, "w"]
    return rows


def fewer(rows: pd.DataFrame) -> pd.DataFrame:
    members = smallest_class(rows)
    return rows.drop(index=members)


def twice(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([rows, rows.iloc[:1]], ignore_index=True)


def other_names(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.rename(columns={"ill": "illness"})


def other_order(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["pay", "age", *rows.columns[2:]]]


def other_value(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[7, "ill"] = "gout" if rows.loc[7, "ill"] == "flu" else "flu"
    return rows


def turned(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.iloc[::-1].reset_index(drop=True)


def by_class(rows: pd.DataFrame) -> pd.DataFrame:
    """The same values of `ill`, but each class has one of them."""
    rows = rows.sort_values(["age", "pay"], ignore_index=True)
    rows["ill"] = sorted(rows["ill"])
    return rows


def never_seen(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[0, "ill"] = "plague"
    return rows


def one_more(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[0, "ill"] = "gout" if rows.loc[0, "ill"] == "cold" else "cold"
    return rows


def save(
    folder: Path, way: str, ending: str, monkeypatch: pytest.MonkeyPatch, alter: Alter, **more: Any
) -> Any:
    """Make a release whose file is altered before it is verified."""

    def rewrite(part: str | Path) -> None:
        if ending == ".parquet":
            rows = pa.parquet.read_table(part)
            altered = pa.Table.from_pandas(alter(rows.to_pandas()), preserve_index=False)
            pa.parquet.write_table(altered, part)
        else:
            alter(pd.read_csv(part, dtype=str)).to_csv(part, index=False)

    write_table, write_rows = saving.write_table, row_output.write_rows

    def table_written(table: pa.Table, part: Path, **options: Any) -> None:
        write_table(table, part, **options)
        rewrite(part)

    def rows_written(threads: Any, tell: Any, part: str, *more: Any) -> str:
        digest = write_rows(threads, tell, part, *more)
        rewrite(part)
        return digest

    monkeypatch.setattr(saving, "write_table", table_written)
    monkeypatch.setattr(row_output, "write_rows", rows_written)
    source = folder / "in.parquet"
    pa.parquet.write_table(survey(), source)
    return run_in(way, monkeypatch, source, folder / f"out{ending}", **{**ASKED, **more})


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (moved_to_another_class, rf"the output is not {K}-anonymous: 1 of its \d+ classes"),
        (other_stratum, rf"the output is not {K}-anonymous: \d of its"),
        (other_weight, rf"the output is not {K}-anonymous: \d of its"),
        (fewer, "lost or gained records"),
        (twice, "lost or gained records"),
        (other_names, "differ from those of the release"),
        (other_order, "differ from those of the release"),
    ],
)
def test_a_file_that_misses_its_guarantee_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alter: Alter, says: str, way: str, ending: str
) -> None:
    with pytest.raises(ma.GuaranteeError, match=says):
        save(tmp_path, way, ending, monkeypatch, alter)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("alter", "more", "says"),
    [
        (turned, {"unit": "home"}, "rows of the written file are in another order"),
        (
            by_class,
            {"l": 2},
            r"misses its guarantee: \d+ of its \d+ classes do not keep distinct 2-diversity",
        ),
        (never_seen, {"l": 2}, "holds values of column 'ill' that the table does not have"),
        (
            one_more,
            {"t": 0.9},
            "does not hold the values of column 'ill' as often as the table does",
        ),
    ],
)
def test_what_is_promised_of_values_and_units_is_verified_out_of_core(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    alter: Alter,
    more: dict[str, Any],
    says: str,
    ending: str,
) -> None:
    settings = {"stratum": (), "weight": None, "keep": (), "confidential": ["ill"], **more}
    with pytest.raises(ma.GuaranteeError, match=says):
        save(tmp_path, "beyond", ending, monkeypatch, alter, **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_file_written_by_another_program_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, ending: str
) -> None:
    save(tmp_path, way, ending, monkeypatch, same)
    assert (tmp_path / f"out{ending}").exists()


@pytest.mark.parametrize("keep_order", [False, True])
def test_values_read_back_from_a_typed_file_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_order: bool
) -> None:
    """A kept column makes no class, so that comparing alone can tell."""
    release = ma.anonymize(survey(), **ASKED)
    write = saving.write_table

    def altered(table: pa.Table, part: Path, **options: Any) -> None:
        write(
            pa.Table.from_pandas(
                other_value(table.to_pandas()), preserve_index=False, schema=table.schema
            ),
            part,
            **options,
        )

    monkeypatch.setattr(saving, "write_table", altered)
    with pytest.raises(ma.GuaranteeError, match="does not give back the values of column 'ill'"):
        release.save(tmp_path / "out.parquet", keep_order=keep_order)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("lost", "says"), [("records", "not 3-anonymous: 0 of"), ("findings", "were not checked")]
)
def test_buckets_that_nobody_counted_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str, says: str
) -> None:
    """A task that comes back with nothing is not taken for one that found nothing wrong."""
    count = output_check.count_bucket

    def forgetful(*args: Any) -> Any:
        counted = count(*args)
        if lost == "findings":
            return replace(counted, findings=())
        return type(counted)() if forgotten.pop() else counted

    forgotten = [False, True]
    monkeypatch.setattr(output_check, "count_bucket", forgetful)
    settings = {"keep": (), "confidential": ["ill"], "l": 2} if lost == "findings" else {}
    with pytest.raises(ma.GuaranteeError, match=says):
        save(tmp_path, "beyond", ".parquet", monkeypatch, same, **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
