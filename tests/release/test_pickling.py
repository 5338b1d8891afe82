"""Releases go through pickle, so that a pool of processes or a notebook can keep them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import microagg as ma
import small_blocks
import tables
from beyond import in_passes, settings_for, table_of
from microagg.measures.registry import measures


def test_a_release_is_pickled_after_its_figures_were_computed() -> None:
    release = ma.anonymize(
        tables.people(40), 4, quasi=tables.QUASI, rest="drop", seed=1, method="mdav"
    )
    risk = release.risk
    again = pickle.loads(pickle.dumps(release))
    assert again.risk == risk
    assert again.figures == release.figures
    assert again.manifest == release.manifest
    assert repr(again) == repr(release)


def test_measures_come_back_as_those_of_the_registry() -> None:
    for measure in measures():
        assert pickle.loads(pickle.dumps(measure)) is measure


def test_a_release_on_disk_is_pickled_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    pq.write_table(table_of(1500, kinds="mixed"), tmp_path / "in.parquet", row_group_size=200)
    target = tmp_path / "out.parquet"
    release = in_passes(
        monkeypatch, tmp_path / "in.parquet", target, **settings_for("mixed", keep=["id", "w"])
    )
    risk = release.risk
    assert release.table is None
    assert pickle.loads(pickle.dumps(release)).risk == risk
