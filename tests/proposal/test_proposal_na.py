"""A proposal for a table whose missing values have markers of their own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv as pacsv

import microagg as ma
from microagg.proposal.proposal import propose_for_file


def test_named_markers_are_missing_and_kept(tmp_path: Path) -> None:
    heights = ["1.70", "1.80", "k.A.", "1.90", "-9"] * 8
    table = pa.table({"height": heights, "size": [*[3, 4, -9, 5, 6] * 8]})
    pacsv.write_csv(table, tmp_path / "in.csv")
    for proposal in (
        ma.propose(table, na=["k.A.", -9]),
        propose_for_file(tmp_path / "in.csv", na=["k.A.", "-9"]),
    ):
        assert proposal.kinds["height"] == "numeric"
        assert [column.distinct for column in proposal.columns] == [3, 4]
        assert proposal.settings(5)["na"] == ["k.A.", "-9"]
        assert proposal.command("a.csv", "b.csv", 5).endswith("--na=k.A.,-9")
        path = tmp_path / "settings.toml"
        path.write_text(proposal.to_toml(5))
        assert ma.Settings.from_file(path, as_proposed=True).na == ("k.A.", "-9")
    without = ma.propose(table.select(["size"])).columns[0]
    assert without.distinct == 5
