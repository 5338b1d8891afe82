"""Preparation of a table in memory before its search."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.methods.method import Grouping
from microagg.pipeline.preparation import open_table, prepare, select_records
from microagg.release.settings import Settings
from microagg.table.encoder import Space
from microagg.table.schema import Role

RECORDS = 24


def table() -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(RECORDS)],
            "age": rng.integers(20, 80, RECORDS),
            "rent": pa.array(
                np.round(rng.lognormal(6, 1, RECORDS), 2), mask=np.arange(RECORDS) == 5
            ),
            "town": [f"t{i % 4}" for i in range(RECORDS)],
            "region": [f"r{i % 2}" for i in range(RECORDS)],
            "home": [i // 2 for i in range(RECORDS)],
            "ill": [f"i{i % 5}" for i in range(RECORDS)],
            "w": np.round(rng.uniform(1, 3, RECORDS), 1),
            "code": list(range(RECORDS)),
        }
    )


def settings(**more: Any) -> Settings:
    return Settings.of(**{"k": 3, "quasi": ["age"], "rest": "drop", "seed": 1, **more})


def test_plain_numbers_are_the_points_and_are_read_again_after_the_search() -> None:
    prepared = prepare(open_table(table(), settings(quasi=["age", "code"])), threads=1)
    columns = np.column_stack([table()["age"].to_numpy(), table()["code"].to_numpy()]) * 1.0
    assert prepared.problem.columns is None
    assert prepared.plan.cells is None
    assert prepared.problem.points.tolist() == Space.fit(columns).points(columns).tolist()
    after = prepared.plan.after_search(
        Grouping(np.zeros(RECORDS, np.int32), params={"effort": "quick"})
    )
    assert after.cells is not None
    assert after.cells.values.tolist() == columns.tolist()
    assert after.settings.params == {**prepared.plan.settings.params, "effort": "quick"}


def test_mixed_cells_are_kept_and_the_problem_says_of_how_many_columns() -> None:
    prepared = prepare(open_table(table(), settings(quasi=["age", "rent", "town"])), threads=1)
    assert prepared.problem.columns == 3
    assert prepared.problem.points.shape[1] > 3
    cells = prepared.plan.cells
    assert cells is not None
    assert cells.names == ["age", "rent", "town"]
    assert prepared.plan.after_search(Grouping(np.zeros(RECORDS, np.int32))).cells is cells
    assert prepared.plan.dropped == 0


def test_groups_are_formed_of_capped_values_and_cells_stay_as_they_are() -> None:
    opened = open_table(table(), settings(quasi=["age", "code"], cap="age=40"))
    prepared = prepare(opened, threads=1)
    columns = np.column_stack([table()["age"].to_numpy(), table()["code"].to_numpy()]) * 1.0
    capped = np.column_stack([np.minimum(columns[:, 0], 40.0), columns[:, 1]])
    assert capped.tolist() != columns.tolist()
    assert prepared.problem.points.tolist() == Space.fit(capped).points(capped).tolist()
    assert set(prepared.plan.capped) == {"age"}
    after = prepared.plan.after_search(Grouping(np.zeros(RECORDS, np.int32)))
    assert after.cells is not None
    assert after.cells.values.tolist() == columns.tolist()


def test_everything_but_identifiers_and_columns_that_are_dropped_goes_on() -> None:
    opened = open_table(table(), settings(identifier=["name"], confidential=["ill"], weight="w"))
    assert opened.withheld == ["name", "rent", "town", "region", "home", "code"]
    assert opened.schema.names(Role.QUASI) == ["age"]


def test_a_renamed_column_is_known_by_both_names() -> None:
    opened = open_table(table(), settings(rename="age=years"))
    assert opened.names[1] == "age"
    assert opened.frame.columns[1] == "years"
    assert opened.schema.names(Role.QUASI) == ["years"]


def test_records_with_gaps_and_in_small_strata_are_left_out_and_counted() -> None:
    one = table()
    regions = one["region"].to_pylist()
    regions[0], regions[1] = "alone", "alone"
    one = one.set_column(4, "region", pa.array(regions))
    opened = open_table(
        one,
        settings(quasi=["age", "rent"], missing="drop", stratum=["region"], small_strata="drop"),
    )
    frame, dropped, strata = select_records(opened)
    assert (len(frame), dropped) == (RECORDS - 3, 1)
    assert strata is not None
    assert (strata.strata_left_out, strata.records_left_out) == (1, 2)
    assert strata.sizes.tolist() == [11, 10]
    prepared = prepare(opened, threads=1)
    assert len(prepared.problem.points) == RECORDS - 3
    assert prepared.plan.dropped == 1
    assert prepared.plan.source.num_rows == RECORDS


def test_guarantees_are_asked_of_the_records_that_take_part() -> None:
    opened = open_table(
        table(),
        settings(quasi=["age", "rent"], missing="drop", confidential=["ill"], unit="home", l=2),
    )
    prepared = prepare(opened, threads=1)
    assert prepared.problem.accept is not None
    (illness,) = prepared.plan.attributes
    assert len(illness.values) == RECORDS - 1
    assert prepared.plan.units is not None
    assert len(prepared.plan.units.values) == RECORDS - 1
    one = np.zeros(RECORDS - 1, np.int64)
    assert prepared.problem.accept.shortfalls(one).tolist() == [0.0]
    pairs = np.arange(RECORDS - 1) // 2
    assert (prepared.problem.accept.shortfalls(pairs) > 0.0).any()


def test_a_table_of_fewer_than_k_records_is_refused() -> None:
    assert len(prepare(open_table(table(), settings(k=RECORDS)), 1).problem.points) == RECORDS
    with pytest.raises(ma.InputError):
        prepare(open_table(table(), settings(k=RECORDS + 1)), 1)
    with pytest.raises(ma.InputError):  # of those that take part
        prepare(open_table(table(), settings(k=RECORDS, quasi=["age", "rent"], missing="drop")), 1)


def test_paths_and_open_files_are_read(tmp_path: Path) -> None:
    """The name of a file stands in the internal manifest; a table has none."""
    path = tmp_path / "people.csv"
    path.write_text("age,rent\n" + "".join(f"{20 + i},{3 * i}\n" for i in range(6)))
    options: dict[str, Any] = {"k": 3, "quasi": ["age", "rent"], "seed": 0, "date": "2031-01-01"}
    expected = ma.anonymize({"age": range(20, 26), "rent": range(0, 18, 3)}, **options)
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        release = ma.anonymize(source, **options)
        assert release.table.to_pydict() == expected.to_arrow().to_pydict()
        name = release.manifest["input"].get("file")
        assert name == ("open file.csv" if isinstance(source, io.BytesIO) else "people.csv")
    assert expected.manifest["input"].get("file") is None
