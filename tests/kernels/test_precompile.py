"""Helper processes that compile ahead: what they are asked for is what a release uses, and none
is needed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from microagg.kernels import precompile, sums
from microagg.kernels.precompile import (
    HelperPool,
    compile_listed,
    describe,
    listed_kernels,
    stages_of,
)
from running import run

USED = """
import sys, tempfile
import numpy as np
import pyarrow as pa
from numba.core.dispatcher import Dispatcher
import microagg as ma
from microagg.kernels.precompile import describe
table = pa.table({f"c{j}": np.random.default_rng(j).lognormal(size=300) for j in range(3)})
table = table.append_column("kept", [["a", "b"][i % 2] for i in range(300)])
with tempfile.TemporaryDirectory() as folder:
    release = ma.anonymize(table, 3, ["c0", "c1", "c2"], keep=["kept"], effort=1, seed=1)
    release.save(folder + "/out.csv")
for name, module in list(sys.modules.items()):
    for value in vars(module).values() if name.startswith("microagg") else ():
        if isinstance(value, Dispatcher):
            for signature in value.signatures:
                print(describe(value.py_func, signature))
"""
SMALL = "microagg.kernels.sums:group_sizes(int32[::1], int64)"
OTHER = "microagg.kernels.sums:number_by_first_record(int32[::1])"


@pytest.mark.slow
@pytest.mark.parametrize(("records", "stages"), [(300, ()), (2100, ("paths",))])
def test_release_uses_every_listed_kernel(
    tmp_path: Path, records: int, stages: tuple[str, ...]
) -> None:
    program = USED.replace("300", str(records))
    used = set(run("-c", program, folder=tmp_path).out.splitlines())
    assert set(listed_kernels((*stages, *stages_of("balanced")))) <= used


def test_quick_run_expects_no_annealing() -> None:
    quick, balanced = listed_kernels(stages_of("quick")), listed_kernels(stages_of("balanced"))
    assert set(quick) < set(balanced)
    assert not any("anneal" in line or "lns" in line for line in quick)


def test_listed_kernel_is_compiled() -> None:
    compile_listed(SMALL)
    assert SMALL in {
        describe(sums.group_sizes.py_func, types) for types in sums.group_sizes.signatures
    }
    assert sums.group_sizes(np.zeros(3, np.int32), 1).tolist() == [3]


def test_first_kernel_is_for_the_caller_and_others_for_helpers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels: list[str] = []

    def feed(pool: HelperPool) -> None:
        while (kernel := pool._next()) is not None:
            kernels.append(kernel)
            pool._begun[kernel].set()

    monkeypatch.setattr(HelperPool, "_feed_helper", feed)
    pool = HelperPool(1)
    pool.add(["first", "second"])
    assert not pool.wait_for("first")
    assert pool.wait_for("second") or kernels == []
    assert not pool.wait_for("not listed")
    assert "first" not in kernels


def test_caller_compiles_what_it_took_and_is_not_asked_again() -> None:
    pool = HelperPool(0)
    pool.add(["one", "two"])
    assert not pool.wait_for("one")
    assert not pool.wait_for("two")
    pool.add(["one", "two", "three"])
    assert list(pool._waiting) == ["three"]


@pytest.mark.parametrize("program", ["/no/such/program", sys.executable])
def test_work_goes_on_without_a_helper(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """A program that cannot be started, and one that ends at once."""
    monkeypatch.setattr(precompile, "_HELPER", "pass")
    monkeypatch.setattr(sys, "executable", program)
    pool = HelperPool(1)
    pool.add(["one", OTHER])
    pool.wait_for("one")
    deadline = time.monotonic() + 20
    while pool._running and time.monotonic() < deadline:
        time.sleep(0.005)
    pool.wait_for(OTHER)
    assert pool._running == 0


@pytest.mark.slow
def test_helper_compiles_and_ends_with_its_input() -> None:
    folder = str(precompile.SIGNATURES.parents[2])
    done = subprocess.run(
        [sys.executable, "-P", "-c", precompile._HELPER, folder],
        input=f"{SMALL}\nno such kernel\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["done", "done"]
    assert done.stderr == ""


@pytest.mark.slow
def test_helper_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "_HELPER", "import time; time.sleep(600)")
    monkeypatch.setattr(precompile, "LONGEST_WAIT", 0.5)
    pool = HelperPool(1)
    pool.add(["one", OTHER, SMALL])
    assert not pool.wait_for("one")
    deadline = time.monotonic() + 60
    while OTHER not in pool._busy and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not pool.wait_for(OTHER)
    while pool._running and time.monotonic() < deadline:
        time.sleep(0.005)
    assert pool._running == 0
    assert not pool.wait_for(SMALL)
