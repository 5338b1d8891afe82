"""Made-up persons, and the loader of the reference data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microagg as ma
from microagg.datasets.persons import DISEASES, persons
from microagg.datasets.reference import load_reference
from microagg.release.manifest import digest_of


def test_persons_repeat_and_differ_by_seed() -> None:
    assert persons(50).equals(persons(50))
    assert not persons(50, seed=2).equals(persons(50))


def test_persons_are_the_same_everywhere() -> None:
    """The demonstration and the docs rely on it: integers only decide what is drawn."""
    first = persons(3).to_pylist()
    assert [row["person"] for row in first] == ["P00001", "P00002", "P00003"]
    assert [(row["age"], row["schooling"], row["diagnosis"]) for row in first] == [
        (18, 10, "hypertension"),
        (34, 17, "diabetes"),
        (49, 20, "none"),
    ]


def test_persons_look_like_people() -> None:
    table = persons(400)
    age, income = table.column("age").to_numpy(), table.column("income").to_numpy()
    assert age.min() >= 18
    assert age.max() <= 95
    assert 40 < age.mean() < 52
    assert (income > 0).all()
    assert (income % 10 == 0).all()
    assert len(set(table.column("person").to_pylist())) == 400
    assert set(table.column("diagnosis").to_pylist()) <= set(DISEASES)
    assert all(column.null_count == 0 for column in table.columns)
    assert digest_of(table) != digest_of(persons(400, seed=3))


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "columns", "shape"),
    [
        ("Tarragona", "all", (834, 13)),
        ("Census", "all", (1080, 13)),
        ("EIA", "all", (4092, 11)),
        ("EIA", "10", (4092, 10)),
        ("EIA", "MONTH+10", (4092, 11)),
    ],
)
def test_reference_data(
    reference_data: Path, name: str, columns: str, shape: tuple[int, int]
) -> None:
    values = load_reference(name, columns, reference_data)
    assert values.shape == shape
    assert values.dtype == np.float64
    assert np.isfinite(values).all()


def test_without_the_reference_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MICROAGG_REFERENCE_DATA", raising=False)
    with pytest.raises(ma.InputError, match="set MICROAGG_REFERENCE_DATA"):
        load_reference("Census")
    with pytest.raises(ma.InputError, match="there is no file"):
        load_reference("Census", folder=tmp_path)
