"""Output of the command line on cells: unchanged, moved, filled and blanked, column by column."""

from __future__ import annotations

import pytest

from microagg.cli import show
from microagg.release.changes import Change, changes, unchanged_on_average
from microagg.table.schema import Kind
from mixed_tables import mixed_cells, mixed_groups, released_cells


def test_cells_are_told_by_column(capsys: pytest.CaptureFixture[str]) -> None:
    before = mixed_cells(3)
    changed = changes(before, released_cells(before, mixed_groups(3)))
    show.changes(changed)
    output = capsys.readouterr().out
    assert output.startswith(
        f"cells        {unchanged_on_average(changed):.1f} % of the cells are as they were"
    )
    lines = {line.split()[0]: line for line in output.splitlines()[2:]}
    for name, change in changed.items():
        assert f"{change.unchanged:.1f} %" in lines[name]
        assert (f"{change.filled} filled" in lines[name]) == (change.filled > 0)
        assert (f"{change.blanked} blanked" in lines[name]) == (change.blanked > 0)
    assert "days" in lines["born"]
    assert "levels" in lines["school"]


def test_very_many_columns_are_not_all_told(capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"q{j}": Change(f"q{j}", Kind.NOMINAL, 50.0, None, "", 0, 0) for j in range(200)}
    show.changes(many)
    output = capsys.readouterr().out
    assert len(output.splitlines()) < 40
    assert f"... and {200 - show.CHANGED} more columns" in output
