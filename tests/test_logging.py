"""Messages logged under the name microagg: steps, numbers and seconds, no value of the data."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import microagg as ma
import tables
from microagg.pipeline.files import anonymize_file
from running import run

TABLE = tables.people(60)
ROLES = {
    "quasi": tables.QUASI,
    "identifier": ["name"],
    "confidential": ["disease"],
    "keep": ["code"],
    "effort": "quick",
}


def runs(folder: Path) -> list[Callable[[], object]]:
    """Runs of every sort, some of which fail."""
    source = tables.write(TABLE, folder / "in.csv")
    (folder / "bad.csv").write_text('name,income\ncanary-1,x\n"canary-2,3\n')
    return [
        lambda: ma.anonymize(TABLE, 4, **ROLES),
        lambda: anonymize_file(source, folder / "out.csv", 4, **ROLES, report=folder / "r.html"),
        lambda: ma.anonymize(
            TABLE,
            4,
            **{**ROLES, "quasi": ["disease"], "keep": ["code", *tables.QUASI], "confidential": []},
        ),
        lambda: ma.anonymize(TABLE, 4, **ROLES, l=9),
        lambda: ma.anonymize(TABLE, 99, **ROLES),
        lambda: anonymize_file(folder / "bad.csv", folder / "no.csv", 4, **ROLES),
        lambda: ma.check(TABLE, tables.QUASI, 4, confidential=["disease"], l=2),
        lambda: ma.propose(TABLE),
        lambda: ma.lower_bound(TABLE.select(tables.QUASI).to_pandas().to_numpy(), 4, time_limit=1),
    ]


@pytest.mark.slow
def test_no_value_of_the_data_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="microagg")
    failed = 0
    for action in runs(tmp_path):
        try:
            action()
        except ma.MicroaggError:
            failed += 1
    assert failed == 3
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("microagg")]
    text = "\n".join(lines)
    for cell in tables.cells(TABLE):
        assert cell not in text
    for word in ("canary", "secret", "48151", "90210", *TABLE.column_names):
        assert word not in text
    assert any(
        line.startswith("grouping 60 records on 2 axes, k = 4, method auto") for line in lines
    )
    assert any(line.startswith("read 60 records of 5 columns in ") for line in lines)
    assert any("groups found in" in line for line in lines)
    assert any("written, read back and verified" in line for line in lines)


def test_nothing_is_said_unless_somebody_listens(tmp_path: Path) -> None:
    code = (
        "import microagg as ma, numpy as np; ma.anonymize(np.arange(40.0).reshape(20, 2), 3, "
        "quasi=[0, 1], effort='quick')"
    )
    done = run("-c", code, folder=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert done.err == ""
    assert any(
        isinstance(handler, logging.NullHandler)
        for handler in logging.getLogger("microagg").handlers
    )


@pytest.mark.slow
def test_the_command_line_tells_steps_on_standard_error(tmp_path: Path) -> None:
    tables.write(TABLE, tmp_path / "in.csv")
    command = [
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "4",
        *tables.ROLES,
        "--effort",
        "quick",
        "--json",
    ]
    done = run("-m", "microagg", "--log-level", "info", *command, folder=tmp_path)
    assert done.code == 0
    assert "microagg.pipeline.in_memory" in done.err
    assert "groups found in" in done.err
    done.silent_about({cell for cell in tables.cells(TABLE) if len(cell) > 5})
    quiet = run("-m", "microagg", *command, folder=tmp_path)
    assert quiet.err == ""
    run("-m", "microagg", "--log-level", "loud", *command, folder=tmp_path).refused(
        "must be one of"
    )
