"""Text that an encoding cannot hold: one sentence with the column and the encoding, never with a
letter of the data.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from beyond import WAYS, run_in

RECORDS = 40
PLACES = ("kept text", "categories", "released mode", "name of a column", "last record")


def table_with(where: str) -> pa.Table:
    towns = ["Kolno", "Ulm"] * (RECORDS // 2)
    name = "town"
    if where == "last record":
        towns[-1] = "Łódź"
    elif where == "name of a column":
        name = "Łódź"
    else:
        towns = ["Łódź" if town == "Ulm" else town for town in towns]
    column = pa.array(towns).dictionary_encode() if where == "categories" else pa.array(towns)
    return pa.table({"age": [20 + number % 7 for number in range(RECORDS)], name: column})


def settings_for(where: str) -> dict[str, Any]:
    shown = (
        {"quasi": ["age", "town"]}
        if where == "released mode"
        else {"quasi": ["age"], "rest": "keep"}
    )
    return {"k": 4, "seed": 1, "effort": "quick", **shown}


def refused(error: Exception, where: str, encoding: str) -> None:
    """The sentence, and nothing of the data in what a user could see."""
    shown = "".join(traceback.format_exception(error))
    if where != "name of a column":
        assert str(error).startswith(f"column 'town' has letters that {encoding} does not have")
        assert not set("Łź") & set(shown), "neither the letter nor the value is shown"
    assert f"letters that {encoding} does not have" in str(error)
    assert "utf-8" in str(error), "says what to do"


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_saved_from_memory(tmp_path: Path, where: str, encoding: str) -> None:
    release = ma.anonymize(table_with(where), **settings_for(where))
    with pytest.raises(ma.InputError) as refusal:
        release.save(tmp_path / "out.csv", encoding=encoding)
    refused(refusal.value, where, encoding)
    assert list(tmp_path.iterdir()) == []
    release.save(tmp_path / "out.csv", encoding="utf-16")
    assert "Łódź" in (tmp_path / "out.csv").read_bytes().decode("utf-16")


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_written_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, way: str
) -> None:
    pa.parquet.write_table(table_with(where), tmp_path / "in.parquet")
    settings = {**settings_for(where), "writing": {"encoding": "cp1252"}}
    with pytest.raises(ma.InputError) as refusal:
        run_in(way, monkeypatch, tmp_path / "in.parquet", tmp_path / "out.csv", **settings)
    refused(refusal.value, where, "cp1252")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
