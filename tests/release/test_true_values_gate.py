"""Values of single records are released only after somebody accepted that: judged by the original,
for every way to write.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from beyond import WAYS, run_in

RECORDS = 30
HOW = ("median", "draw", "medoid", "range")


def table(times: int) -> pa.Table:
    """Wages that `times` records have each."""
    wages = np.repeat(1000 + 37 * np.arange(RECORDS // times), times)
    return pa.table(
        {"wage": np.random.default_rng(1).permutation(wages), "age": np.arange(RECORDS) % 5}
    )


def settings_for(how: str, **more: Any) -> dict[str, Any]:
    return {
        "k": 3,
        "quasi": ["wage", "age"],
        "aggregate": {"wage": how},
        "seed": 1,
        "effort": "quick",
        **more,
    }


@pytest.mark.parametrize("how", HOW)
def test_a_release_with_values_of_single_records_is_not_saved(tmp_path: Path, how: str) -> None:
    """Every released value is shared by three records, so that the release alone tells nothing of
    it.
    """
    release = ma.anonymize(table(1), **settings_for(how))
    for act in (
        lambda: release.save(tmp_path / "out.csv"),
        lambda: release.report(tmp_path / "r.md", public=True),
    ):
        with pytest.raises(ma.InputError, match="accept_risk='true-values'"):
            act()
    assert list(tmp_path.iterdir()) == []
    ma.anonymize(table(1), **settings_for(how, accept_risk=["true-values"])).save(
        tmp_path / "out.csv"
    )


@pytest.mark.parametrize("how", [*HOW, "mean"])
def test_values_of_several_records_are(tmp_path: Path, how: str) -> None:
    ma.anonymize(table(2), **settings_for(how)).save(tmp_path / "out.csv")
    if how == "mean":
        ma.anonymize(table(1), **settings_for(how)).save(tmp_path / "out.csv")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["median", "draw", "range"])
def test_from_file_to_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, way: str
) -> None:
    pa.parquet.write_table(table(1), tmp_path / "in.parquet")
    places = tmp_path / "in.parquet", tmp_path / "out.parquet"
    with pytest.raises(ma.InputError, match="accept_risk='true-values'"):
        run_in(way, monkeypatch, *places, **settings_for(how))
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("way", WAYS)
def test_one_value_of_one_record_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """All other wages are those of two records; 0 and -0 are one wage."""
    wages = np.append(table(2).column("wage").to_numpy().astype(float), [0.0, -0.0])
    ages = np.arange(len(wages)) % 5
    places = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pa.parquet.write_table(pa.table({"wage": wages, "age": ages}), places[0])
    run_in(way, monkeypatch, *places, **settings_for("median"))
    pa.parquet.write_table(
        pa.table({"wage": np.append(wages, 17.0), "age": np.append(ages, 2)}), places[0]
    )
    with pytest.raises(ma.InputError, match="accept_risk='true-values'"):
        run_in(way, monkeypatch, *places, **settings_for("median"))
