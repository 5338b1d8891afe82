"""Equal records are never cut apart: out of core they are refused where they do not fit into memory together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import microagg as ma
import small_blocks
from microagg.release.files import anonymize_file


@pytest.mark.slow
def test_equal_records_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    ages = np.random.default_rng(1).integers(0, 5000, 5000)
    parquet.write_table(pa.table({"age": ages}), source)
    anonymize_file(source, target, 3, quasi=["age"], seed=1, effort="quick", memory="400KB", threads=1)
    target.unlink()
    parquet.write_table(pa.table({"age": np.where(np.arange(5000) < 3000, 31, ages)}), source)
    with pytest.raises(
        ma.InputError, match=r"some 3,\d+ records with equal or nearly equal .* needs about 1 MB"
    ):
        anonymize_file(source, target, 3, quasi=["age"], seed=1, effort="quick", memory="400KB", threads=1)
    assert not target.exists()
