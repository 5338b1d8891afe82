"""Means of columns without a precision of their own are rounded, and a note tells."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import small_blocks
from passes import both_ways

RNG = np.random.default_rng(4)
AGES = RNG.integers(18, 90, 300).astype(float)


def released(table: dict[str, Any], **more: Any) -> ma.Release:
    return ma.anonymize(pa.table(table), k=3, quasi=list(table), seed=1, effort="quick", **more)


@pytest.mark.parametrize("cell", [1 / 3, 0.25, 0.123456789])
def test_one_odd_cell_does_not_make_means_exact(cell: float) -> None:
    release = released({"age": np.append(AGES, cell)})
    values = release.table.column("age").to_numpy()
    assert (values == np.rint(values)).all()
    assert "'age' to steps of 1" in next(
        note for note in release.notes if "like most values" in note
    )


def test_raw_floats_are_rounded_by_their_spread() -> None:
    release = released({"height": RNG.normal(1.7, 0.1, 200), "income": RNG.normal(1e5, 4e4, 200)})
    heights, incomes = (release.table.column(name).to_numpy() for name in ("height", "income"))
    assert (heights == np.round(heights, 4)).all()
    assert (incomes == 100.0 * np.rint(incomes / 100.0)).all()
    sentence = next(note for note in release.notes if "spread" in note)
    assert sentence.endswith("'height' to steps of 0.0001, 'income' to steps of 100")
    assert release.manifest["scaling"]["income"]["decimals"] == -2
    exact = released({"height": [1.5, 1.7, 2.0] * 60})
    assert not any("steps of" in note for note in exact.notes)


def test_full_precision_is_left_as_it_is() -> None:
    column = RNG.normal(size=9)
    release = released({"x": column}, precision="full", accept_risk=["full-precision"])
    groups = [column[release.labels == label] for label in range(release.labels.max() + 1)]
    values = release.table.column("x").to_numpy()
    assert sorted(set(values)) == pytest.approx(sorted(group.mean() for group in groups), rel=1e-15)
    assert not any("steps of" in note for note in release.notes)


def test_loss_is_that_of_what_is_released() -> None:
    column = RNG.normal(size=300)
    release = released({"x": column})
    errors = column - release.table.column("x").to_numpy()
    expected = 100.0 * (errors**2).sum() / ((column - column.mean()) ** 2).sum()
    assert release.loss["IL"] == pytest.approx(expected, rel=1e-9)


def test_raw_weights_are_rounded() -> None:
    weights = RNG.lognormal(3.0, 0.5, 300)
    table = pa.table({"age": AGES, "w": weights})
    release = ma.anonymize(table, k=3, quasi=["age"], weight="w", seed=1, effort="quick")
    released_weights = release.table.column("w").to_numpy()
    assert (released_weights == np.round(released_weights, 2)).all()
    assert released_weights.sum() == pytest.approx(weights.sum(), rel=1e-3)


@pytest.mark.slow
def test_all_ways_round_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    records = 1600
    raw = RNG.standard_normal(records)
    table = pa.table({
        "odd": np.append(RNG.integers(18, 90, records - 1).astype(float), 1 / 3),
        "raw": np.exp(2.0 * raw),
        "gaps": pa.array(1e5 * raw, mask=RNG.random(records) < 0.2),
        "zeros": np.where(RNG.random(records) < 0.8, 0.0, raw),
        "single": pa.array(raw.astype(np.float32)),
        "noise": np.round(raw, 2) + 1.1 - 1.1,
        "deep": pa.array([Decimal(f"{number:.12f}") for number in raw], pa.decimal128(30, 12)),
        "w": RNG.lognormal(1.0, 0.3, records),
    })  # fmt: skip
    quasi = [name for name in table.column_names if name != "w"]
    memory, beyond, manifest = both_ways(
        tmp_path,
        monkeypatch,
        table,
        k=4,
        quasi=quasi,
        weight="w",
        seed=3,
        effort="quick",
        date="2026-01-01",
    )
    assert memory == beyond
    decimals = {name: entry["decimals"] for name, entry in manifest["scaling"].items()}
    assert decimals == {
        "odd": 0,
        "raw": 3,
        "gaps": -2,
        "zeros": 3,
        "single": 3,
        "noise": 2,
        "deep": 3,
    }
