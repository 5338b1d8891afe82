"""Suppressed rows and cells of a release are counted, and every other figure is of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from microagg.studies.assess import Assessment, assess, assess_files

N = 300
MEASURES = ["il", "associations", "marginals", "linkage", "unique", "k", "cells-unchanged"]


def original() -> pd.DataFrame:
    rng = np.random.default_rng(22)
    age = rng.integers(18, 80, N)
    return pd.DataFrame(
        {
            "age": age,
            "wage": 900 + 30 * age + rng.normal(0, 200, N).round(),
            "town": rng.choice(list("abc"), N),
        }
    )


def release(before: pd.DataFrame) -> pd.DataFrame:
    """Groups of five in the order of age."""
    after, groups = before.copy(), np.empty(N, np.int64)
    groups[np.argsort(before["age"], kind="stable")] = np.arange(N) // 5
    for name in ("age", "wage"):
        after[name] = before.groupby(groups)[name].transform("mean").round(2)
    after["town"] = before.groupby(groups)["town"].transform("min")
    return after


def starred(
    table: pd.DataFrame, rows: list[int], columns: list[str], marker: Any = "*"
) -> pd.DataFrame:
    table = table.copy() if marker is None else table.astype(str)
    table.loc[rows, columns] = marker
    return table


def values(assessment: Assessment) -> dict[str, float]:
    return {measure.name: figure.value for measure, figure in assessment.figures}


QUASI = ["age", "wage", "town"]
GONE = [7, 8, 120]


def measured(before: pd.DataFrame, after: pd.DataFrame, **options: Any) -> Assessment:
    return assess(before, after, quasi=QUASI, k=2, measures=MEASURES, **options)


@pytest.mark.parametrize("columns", [QUASI, ["age"], ["town", "wage"]])
@pytest.mark.parametrize("marker", ["*", "<suppressed>", None])
def test_three_suppressed_records_change_no_figure_of_the_others(
    columns: list[str], marker: str | None
) -> None:
    before = original()
    after = release(before)
    options = {} if marker == "*" else {"suppressed": marker or ""}
    one = measured(before, starred(after, GONE, columns, marker), **options)
    other = measured(before.drop(index=GONE), after.drop(index=GONE))
    assert values(one) == pytest.approx(values(other), rel=1e-9)
    assert len(one.pair.original) == N - 3
    assert one.suppressed is not None
    whole = columns == QUASI
    assert (one.suppressed.rows, one.suppressed.cells) == (
        (3, 0) if whole else (0, 3 * len(columns))
    )
    assert one.as_data()["suppressed"]["rows"] == one.suppressed.rows
    assert f"{N - 3} records" in one.notes[0]


def test_files_and_weights_and_units(tmp_path: Path) -> None:
    before = original().assign(weight=np.arange(N) + 1.0, home=np.arange(N) // 2)
    after = release(before)
    before.to_csv(tmp_path / "before.csv", index=False)
    starred(after[QUASI], GONE, QUASI).to_csv(tmp_path / "after.csv", index=False)
    options: dict[str, Any] = {
        "quasi": QUASI,
        "weight": "weight",
        "unit": "home",
        "k": 2,
        "measures": MEASURES,
    }
    one = assess_files(tmp_path / "before.csv", tmp_path / "after.csv", **options)
    other = assess(before.drop(index=GONE), after.drop(index=GONE)[QUASI], **options)
    assert values(one) == pytest.approx(values(other), rel=1e-9)
    assert one.notes[1:] == other.notes


def test_where_every_record_has_a_suppressed_cell_these_are_missing() -> None:
    before = original()
    after = release(before).astype(str)
    after.loc[after.index % 2 == 0, "age"] = "*"
    after.loc[after.index % 2 == 1, "town"] = "*"
    blank = after.replace("*", None).astype({"age": float, "wage": float})
    one, other = measured(before, after), measured(before, blank)
    assert values(one) == pytest.approx(values(other), rel=1e-9)
    assert (
        "with suppressed cells as missing values" in one.notes[0]
        or "figures are of all records" in one.notes[0]
    )


def test_what_was_missing_before_is_not_suppressed() -> None:
    before = original()
    before.loc[GONE, "town"] = None
    after = release(original())
    after.loc[GONE, "town"] = None
    assert measured(before, after, suppressed="").suppressed is None


def test_stars_of_a_hierarchy_are_values_unless_they_are_named() -> None:
    before, paths = original()[["town"]], [["a", "*"], ["b", "*"], ["c", "*"]]
    after = starred(before, GONE, ["town"])
    options: dict[str, Any] = {"quasi": ["town"], "hierarchy": {"town": paths}, "measures": ["il"]}
    assessment = assess(before, after, **options)
    assert assessment.suppressed is None
    assert any("suppressed='*' leaves them out" in note for note in assessment.notes)
    named = assess(before, after, **options, suppressed="*")
    assert named.suppressed is not None
    assert (named.suppressed.rows, named.figure("il").value) == (3, 0.0)


def test_both_readings_of_k_are_told() -> None:
    before = pa.table({"age": [30, 31, 32, 40, 41, 42], "sex": list("fffmmm")})
    after = pa.table({"age": ["31", "31", "*", "41", "41", "*"], "sex": list("fffmmm")})
    assessment = assess(before, after, quasi=["age", "sex"], k=2, measures=["k"])
    assert any(
        "the smallest class has 1 record " in note and "3 or more records fit each" in note
        for note in assessment.notes
    )
