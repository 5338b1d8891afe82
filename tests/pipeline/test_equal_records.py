"""Equal records are never cut apart: out of core they are refused where they do not fit into memory
together.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "support"
# In a process of its own: what other tests set small or large must not decide this.
RUN = """
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import microagg as ma
import small_blocks

small_blocks.make_small()
folder = Path(sys.argv[1])
ages = np.random.default_rng(1).integers(0, 5000, 5000)
settings = dict(k=3, quasi=["age"], seed=1, effort="quick", memory="400KB", threads=1)
parquet.write_table(pa.table({"age": ages}), folder / "different.parquet")
ma.anonymize_file(folder / "different.parquet", folder / "first.parquet", **settings)
equal = np.where(np.arange(5000) < 3000, 31, ages)
parquet.write_table(pa.table({"age": equal}), folder / "equal.parquet")
try:
    ma.anonymize_file(folder / "equal.parquet", folder / "second.parquet", **settings)
except ma.InputError as error:
    print(error)
"""


@pytest.mark.slow
def test_equal_records_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "records with equal or nearly equal" in done.stdout
    assert "needs about 1 MB" in done.stdout
    assert (tmp_path / "first.parquet").exists()
    assert not (tmp_path / "second.parquet").exists()
