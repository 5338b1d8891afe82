"""Out of core, 0 and -0 are one value where values that one record alone has are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("zero", "refused"), [(-0.0, False), (0.5, True)])
def test_zero_and_minus_zero_are_two_records_with_one_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zero: float, refused: bool
) -> None:
    """Every value occurs twice; a median may be released unless one value occurs once."""
    small_blocks.make_small(monkeypatch.setattr)
    pairs = np.repeat(np.arange(1.0, 600.0), 2)
    values = np.concatenate([[0.0, zero], pairs])
    table = pa.table({"x": values, "y": np.arange(len(values)) // 2 % 40})
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    settings = {
        "quasi": ["x", "y"],
        "k": 3,
        "aggregate": {"x": "median"},
        "effort": "quick",
        "seed": 1,
    }
    if refused:
        with pytest.raises(ma.InputError, match="true-values"):
            in_passes(monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet", **settings)
    else:
        in_passes(monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet", **settings)
        assert pa.parquet.read_table(tmp_path / "out.parquet").num_rows == len(values)
