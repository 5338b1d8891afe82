"""Gaps, codes and kinds at their ends: what is left out or refused, columns with one value or none,
as many levels or codes as records.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.pipeline.files import anonymize_file
from microagg.release.settings import Settings
from microagg.studies.repeating import repeat_file

AGES = [30, None, 32, 33, 50, 51, None, 53]
TOWNS = ["a", "a", None, "b", "b", "b", None, "a"]
TABLES = {
    "pandas": pd.DataFrame({"age": AGES, "town": TOWNS}, index=list("hgfedcba")),
    "polars": pl.DataFrame({"age": AGES, "town": TOWNS}),
    "arrow": pa.table({"age": AGES, "town": TOWNS}),
}
COMPLETE = [0, 3, 4, 5, 7]


def classes(table: Any, names: list[str]) -> Counter[tuple[Any, ...]]:
    """Count how many records share their values, what is missing being one."""
    arrow = (
        table
        if isinstance(table, pa.Table)
        else pa.table({name: pa.array(table[name]) for name in names})
    )
    return Counter(zip(*(arrow.column(name).to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("library", TABLES)
def test_records_with_gaps_are_left_out(library: str) -> None:
    release = ma.anonymize(
        TABLES[library], 2, ["age", "town"], missing="drop", method="mdav", seed=1
    )
    assert len(release.labels) == len(release.table) == len(COMPLETE)
    assert release.manifest["records"] == len(COMPLETE)
    assert release.manifest["cells"]["records_left_out"] == len(AGES) - len(COMPLETE)
    assert min(classes(release.table, ["age", "town"]).values()) >= 2
    if library == "pandas":
        assert list(release.table.index) == [TABLES["pandas"].index[i] for i in COMPLETE]
    assert "records_left_out" not in str(release.public_manifest)


@pytest.mark.parametrize("library", TABLES)
def test_gaps_are_refused(library: str) -> None:
    with pytest.raises(ma.InputError, match="missing: 2 in 'age', 2 in 'town'"):
        ma.anonymize(TABLES[library], 2, ["age", "town"], missing="error")
    with pytest.raises(ma.InputError, match="leaves 5 of 8 records, fewer than k"):
        ma.anonymize(TABLES[library], 6, ["age", "town"], missing="drop")


@pytest.mark.parametrize("missing", ["group", "drop", "error"])
@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.float64(), pa.string(), pa.null(), pa.date32(), pa.bool_()]
)
def test_a_column_of_nothing(kind: pa.DataType, missing: str) -> None:
    table = pa.table({"gone": pa.nulls(6, kind), "age": [1, 2, 3, 4, 5, 6]})
    if missing != "group":
        with pytest.raises(ma.InputError, match=r"missing: 6 in 'gone'|leaves 0 of 6"):
            ma.anonymize(table, 3, ["gone", "age"], missing=missing)
        return
    release = ma.anonymize(table, 3, ["gone", "age"], method="mdav", seed=1)
    assert release.table.schema.field("gone").type == kind
    assert release.table.column("gone").null_count == 6
    assert min(classes(release.table, ["gone", "age"]).values()) >= 3
    alone = ma.anonymize(table, 3, ["gone"], rest="drop", method="mdav", seed=1)
    assert alone.table.column("gone").null_count == 6


@pytest.mark.parametrize("value", [7, 7.5, "x", True])
@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "rank", "none"])
def test_one_value_and_gaps(value: Any, scale: str) -> None:
    table = pa.table({"x": [value, None, value, None, value, None, None, value]})
    release = ma.anonymize(table, 3, ["x"], scale=scale, effort="quick", seed=1)
    assert classes(release.table, ["x"]) == {(value,): 4, (None,): 4}
    assert release.loss["IL"] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mdav", "auto"])
def test_as_many_codes_as_there_are(method: str) -> None:
    """Two hundred special codes, each of its own; values beside them."""
    rng = np.random.default_rng(1)
    cells = np.where(rng.random(300) < 0.7, rng.integers(1000, 1200, 300), rng.integers(0, 50, 300))
    params = {"effort": "quick"} if method == "auto" else {}
    release = ma.anonymize(
        pa.table({"x": cells}),
        3,
        ["x"],
        special={"x": list(range(1000, 1200))},
        method=method,
        seed=1,
        **params,
    )
    values = release.table.column("x").to_pylist()
    assert min(Counter(values).values()) >= 3
    for group in range(int(release.labels.max()) + 1):
        rows = np.flatnonzero(release.labels == group)
        known = cells[rows][cells[rows] < 1000]
        if len(known) == len(rows) or (2 * len(known) > len(rows) and len(known) >= 3):
            assert values[rows[0]] == round(float(known.mean()))
        else:
            often = Counter(cells[rows][cells[rows] >= 1000].tolist())
            assert often[values[rows[0]]] == max(often.values())


@pytest.mark.parametrize("how", [{"ordinal": ["x"]}, {"nominal": ["x"]}])
@pytest.mark.parametrize("n", [3, 5, 90])
def test_a_level_for_each_record(how: dict[str, Any], n: int) -> None:
    table = pa.table({"x": [f"level {i:03d}" for i in range(n)]})
    release = ma.anonymize(table, 3, ["x"], method="mdav", seed=1, accept_risk="true-values", **how)
    cells = release.table.column("x").to_pylist()
    assert set(cells) <= set(table.column("x").to_pylist())
    assert min(Counter(cells).values()) >= 3


@pytest.mark.parametrize("library", TABLES)
def test_as_many_records_as_k(library: str) -> None:
    release = ma.anonymize(TABLES[library], len(AGES), ["age", "town"], method="mdav", seed=1)
    assert len(classes(release.table, ["age", "town"])) == 1
    with pytest.raises(ma.InputError, match="k is 9, but there are only 8 records"):
        ma.anonymize(TABLES[library], len(AGES) + 1, ["age", "town"])


SAID: dict[str, dict[str, Any]] = {
    "nothing": {},
    "kinds": {"kinds": {"code": "nominal", "grade": "ordinal"}},
    "nominal": {"nominal": ["code"]},
    "ordinal": {"ordinal": {"grade": ["low", "mid", "high"], "code": None}},
    "importance": {"importance": {"town": 3, "age": 0.5}},
    "aggregate": {
        "aggregate": {"age": "median", "town": "draw", "grade": "mode", "code": "medoid"}
    },
    "range": {"aggregate": {"age": "range", "born": "range"}},
    "hierarchy": {"hierarchy": {"town": {"A": ["x", "*"], "B": ["x", "*"], "NA": ["y", "*"]}}},
    "generalise": {
        "hierarchy": {"town": [["A", "x", "*"], ["B", "x", "*"], ["NA", "y", "*"]]},
        "aggregate": {"town": "generalise"},
    },
    "drop": {"missing": "drop"},
    "special": {"special": {"age": [97], "code": [9]}},
    "na": {"na": ["97", "NA"]},
    "cap": {"cap": {"age": "95%"}},
    "full": {"precision": "full", "scale": "minmax"},
}


def written(path: Path) -> Path:
    rng = np.random.default_rng(3)
    lines = ["age,town,grade,code,born"]
    for i in range(60):
        age = rng.choice(["", "NA", "97", *map(str, rng.integers(18, 90, 7))])
        lines.append(
            f"{age},{rng.choice(['A', 'B', 'NA', ''])},{rng.choice(['low', 'mid', 'high', ''])},"
            f"{rng.integers(1, 10)},2001-03-{1 + i % 28:02d}"
        )
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("case", SAID)
def test_repeated_to_the_byte_on_any_number_of_threads(case: str, tmp_path: Path) -> None:
    source, target = written(tmp_path / "in.csv"), tmp_path / "out.csv"
    quasi = ["age", "town", "grade", "code", "born"]
    arguments = {
        "k": 3,
        "quasi": quasi,
        "effort": "quick",
        "seed": 5,
        "accept_risk": ["true-values", "full-precision"],
    }
    settings = Settings.of(**arguments, **SAID[case])
    anonymize_file(source, target, settings=settings, threads=1)
    repeat_file(f"{target}.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == target.read_bytes()
    turned = {
        name: dict(reversed(value.items())) if isinstance(value, dict) else value
        for name, value in SAID[case].items()
    }
    other = Settings.of(**{**arguments, "quasi": quasi[::-1]}, **turned)
    anonymize_file(source, tmp_path / "other.csv", settings=other, threads=2)
    assert (tmp_path / "other.csv").read_bytes() == target.read_bytes()
