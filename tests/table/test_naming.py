"""Columns that may name people: by their names in several languages, and by their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.naming import may_name_people, naming_in_index


@pytest.mark.parametrize(
    "name",
    ["name", "Last Name", "lastName", "E-Mail", "Straße", "prénom", "apellido_1", "IBAN", "passport.no", "Nazwisko", "Telefon"],
)  # fmt: skip
def test_names_that_say_so_whatever_the_values(name: str) -> None:
    assert may_name_people(pa.table({name: [1, 1, 1]}), [name]) == [name]


@pytest.mark.parametrize(
    "name", ["filename_count", "unnamed", "gender", "region", "education", "rent", "diagnosis"]
)
def test_names_that_do_not(name: str) -> None:
    assert may_name_people(pa.table({name: ["a", "a", "b"]}), [name]) == []


def test_values_that_nearly_everybody_has_alone() -> None:
    n = 100
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "text": [f"t{i}" for i in range(n)],
            "category": pa.array([f"t{i}" for i in range(n)]).dictionary_encode(),
            "some_alike": [f"t{i % 90}" for i in range(n)],
            "running": rng.permutation(n) + 4_000,
            "amount": rng.permutation(10**6)[:n],
            "share": rng.uniform(size=n),
            "member": rng.permutation(10**6)[:n],
            "code": np.arange(n) % 10,
            "gaps": [f"t{i}" if i < 30 else None for i in range(n)],
            "nothing": pa.nulls(n, pa.string()),
        }
    )
    assert may_name_people(table, table.column_names) == ["text", "category", "running", "member", "gaps"]
    assert may_name_people(table, ["amount"]) == []
    assert may_name_people(table.slice(0, 0), table.column_names) == []


def test_an_index_that_names_people(tmp_path: Path) -> None:
    ages = pd.DataFrame({"age": np.arange(20, 40)})
    people = ages.set_index(pd.Index([f"person {i}" for i in range(20)]))
    release = ma.anonymize(people, 5, quasi=["age"], method="mdav", seed=1)
    assert any(note.startswith("the index may name people (index)") for note in release.notes)
    assert not any("person" in note for note in release.notes)
    assert "person" not in release.save(tmp_path / "out.csv")[0].read_text()
    assert naming_in_index(ages) == naming_in_index(ages.iloc[::2]) == []
    assert naming_in_index(ages.set_index(pd.Index(["a", "b"] * 10))) == []
    assert naming_in_index(ages.set_index(pd.Index([7] * 20, name="Passport"))) == ["Passport"]
    several = pd.MultiIndex.from_arrays([range(20), [f"p{i}" for i in range(20)]], names=["row", "who"])
    assert naming_in_index(ages.set_index(several)) == ["who"]
    assert naming_in_index(pl.DataFrame({"age": [1, 2]})) == naming_in_index(np.ones((2, 2))) == []
