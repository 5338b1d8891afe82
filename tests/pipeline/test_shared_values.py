"""Notes on groups that share one confidential value are the same in memory and out of core, gaps
included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from beyond import WAYS, run_in


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("second", "shared"),
    [("flu", True), (None, True), ("cold", False)],
    ids=["same", "gap", "other"],
)
def test_a_gap_is_no_second_value(
    way: str, second: Any, shared: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ill = ["flu", "flu", second, "flu", "cold", "flu"]
    table = pa.table({"age": [20, 20, 20, 60, 60, 60], "ill": ill})
    parquet.write_table(table, tmp_path / "in.parquet")
    settings: dict[str, Any] = {
        "k": 3,
        "quasi": ["age"],
        "confidential": ["ill"],
        "seed": 1,
        "effort": "quick",
    }
    release = run_in(
        way, monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet", **settings
    )
    notes = [
        note for note in release.notes if "membership reveals it" in note or "reveal it" in note
    ]
    assert bool(notes) is shared
