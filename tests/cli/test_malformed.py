"""Malformed binary files: one sentence, exit code 2, nothing written, no value told, within little
memory.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import malformed
from running import run

HERE = Path(__file__).parents[1] / "support"
MEGABYTES = 1500
"""What reading may take beyond the libraries: the files are small, and 128 MB are said to be free.
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="needs to know how much memory is in use"
)
def test_malformed_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    expected = {}
    for name, content, says in malformed.cases():
        (folder / name).write_bytes(content)
        expected[name] = says
    assert len(expected) >= 60
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = run(
        HERE / "reading_malformed.py",
        folder,
        str(MEGABYTES),
        folder=tmp_path,
        environment={"PYTHONPATH": path},
    )
    assert done.code == 0, done
    wrong = []
    for name, (code, output) in json.loads(done.out).items():
        lines = output.strip().splitlines()
        fine = (
            code == 2
            and len(lines) == 1
            and lines[0].startswith("error: ")
            and lines[0].endswith(".")
        )
        if not fine or expected[name] not in output or "canary" in output or "Traceback" in output:
            wrong.append((name, code, output, expected[name]))
    assert not wrong, wrong
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected), "nothing was written"
