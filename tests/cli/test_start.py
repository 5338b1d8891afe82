"""The program's start: Python looks for cycles of objects seldom, and not at all at the end."""

from __future__ import annotations

from pathlib import Path

from running import run

PROGRAM = """
import atexit, gc, sys
from microagg.cli import start
kept = []
atexit.register = kept.append
sys.argv = ["microagg", "--version"]
try:
    start.start()
except SystemExit:
    pass
print(gc.isenabled(), gc.get_threshold()[0] == start.OBJECTS, gc.freeze in kept)
"""


def test_cycles_are_looked_for_seldom(tmp_path: Path) -> None:
    assert run("-c", PROGRAM, folder=tmp_path).out.splitlines()[-1] == "True True True"


def test_numba_does_not_import_scipy(tmp_path: Path) -> None:
    """Where scipy is installed; numba's other functions are not in need of it."""
    program = PROGRAM + "from numba.np import arraymath\nprint('scipy.linalg' in sys.modules)\n"
    assert run("-c", program, folder=tmp_path).out.splitlines()[-1] == "False"
