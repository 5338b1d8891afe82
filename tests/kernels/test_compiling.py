"""Compiled once, cached where that can be, noticed when edited, announced the first time, its time
counted.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from numba.core import caching

import microagg
import tables
from microagg.kernels import compiling
from microagg.kernels.compiling import kernel
from running import Outcome, run

PROBE = """
import sys
from microagg.kernels.compiling import on_first_compile
on_first_compile(lambda: print("announced"))
from microagg.kernels.caller import other, outer
used = other if "other" in sys.argv else outer
print(used(1), used(1.5))
print("compiled" if sum(used.stats.cache_misses.values()) else "cached")
"""
CALLEE = (
    "from microagg.kernels.compiling import kernel\n\n\n"
    "@kernel\ndef inner(x):\n    return x + {added}\n"
)
CALLER = (
    "from microagg.kernels.callee import inner\nfrom microagg.kernels.compiling import kernel\n\n\n"
    "@kernel\ndef outer(x):\n    return 10 * inner(x)\n\n\n"
    "@kernel\ndef other(x):\n    return 3 * x\n"
)


PREPARED = """
import numpy as np
from numba.core.registry import cpu_target
from microagg.kernels import sums
context = cpu_target.target_context
prepare = context.refresh
context.refresh = lambda: (print("compiler prepared"), prepare())
sums.column_moments(np.arange(6.0).reshape(3, 2))
assert sums.column_moments.stats.cache_hits, "it was to be compiled before"
import numba
print(numba.njit(lambda x: x + 1)(1))
"""


@pytest.fixture
def _fresh_folder() -> Iterator[None]:
    compiling._cache_folder.cache_clear()
    yield
    compiling._cache_folder.cache_clear()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with one kernel that calls another in another file."""
    home = tmp_path / "site" / "microagg"
    shutil.copytree(
        Path(microagg.__file__).parent, home, ignore=shutil.ignore_patterns("__pycache__")
    )
    (home / "kernels" / "callee.py").write_text(CALLEE.format(added=1))
    (home / "kernels" / "caller.py").write_text(CALLER)
    return home


def probe(package: Path, cache: str | Path, *which: str) -> list[str]:
    """Run a kernel of the copy in a process of its own."""
    environment = {
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = run("-c", PROBE, *which, folder=package.parent, environment=environment)
    assert done.code == 0, done.err
    assert done.err == ""
    return done.out.split("\n")[:-1]


@pytest.mark.slow
def test_an_edit_in_a_callee_is_noticed(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert probe(package, cache) == ["announced", "20 25.0", "compiled"]
    assert probe(package, cache) == ["20 25.0", "cached"], "the cache was not used"
    (package / "kernels" / "callee.py").write_text(CALLEE.format(added=2))
    assert probe(package, cache) == ["announced", "30 35.0", "compiled"], (
        "stale code from the cache"
    )
    for source in (package / "errors.py", package / "studies" / "compare_cells.py"):
        source.write_text(source.read_text() + "\n# no kernel here\n")
    assert probe(package, cache) == ["30 35.0", "cached"], "an edit that concerns no kernel"


@pytest.mark.slow
def test_a_broken_cache_is_compiled_anew(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    probe(package, cache)
    for index in cache.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:7])
    assert probe(package, cache) == ["20 25.0", "compiled"]
    assert probe(package, cache) == ["20 25.0", "cached"], "the cache was not mended"


@pytest.mark.slow
def test_the_next_command_compiles_other_kernels_and_is_silent(
    package: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    assert probe(package, cache) == ["announced", "20 25.0", "compiled"]
    assert probe(package, cache, "other") == ["3 4.5", "compiled"]
    (cache / compiling.ANNOUNCED).write_bytes(b"\xff not ours")
    (package / "kernels" / "callee.py").write_text(CALLEE.format(added=2))
    assert probe(package, cache, "other") == ["announced", "3 4.5", "compiled"]


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["/proc/nowhere", "a-file"])
def test_a_cache_that_cannot_be_written(package: Path, tmp_path: Path, cache: str) -> None:
    (tmp_path / "a-file").write_text("")
    for _ in range(2):
        assert probe(package, tmp_path / cache) == ["announced", "20 25.0", "compiled"]
    assert (tmp_path / "a-file").read_text() == ""


@pytest.mark.usefixtures("_fresh_folder")
class TestTheFolder:
    """Where compiled code is kept."""

    def test_beside_the_source_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("numba.config.CACHE_DIR", "")
        monkeypatch.setattr(compiling, "_can_write", lambda folder: True)
        assert compiling._cache_folder() == Path(compiling.__file__).parent / "__pycache__"

    def test_the_users_own_where_the_install_is_read_only(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("numba.config.CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(compiling, "_can_write", lambda folder: tmp_path in folder.parents)
        assert compiling._cache_folder() == tmp_path / "microagg"

    def test_nowhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compiling, "_can_write", lambda folder: False)

        def thrice(x):
            return 3 * x

        assert compiling._cache_folder() is None
        assert kernel(thrice)(14) == 42

    def test_the_one_that_was_asked_for(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "new"))
        assert compiling._cache_folder() == tmp_path / "new"
        assert list((tmp_path / "new").iterdir()) == [], "the trial left something"

    def test_a_full_disk_costs_nothing_but_time(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(caching.FunctionCache, "save_overload", fail)

        def fourfold(x):
            return 4 * x

        assert kernel(fourfold)(3) == 12


def test_time_is_counted_while_kernels_compile_and_only_then() -> None:
    def fivefold(x):
        return 5 * x

    compiled = kernel(fivefold)
    start, before = time.perf_counter(), compiling.seconds_compiling()
    # numba compiles for one thread at a time; the others wait, and that time must not count again
    threads = [threading.Thread(target=compiled, args=(value,)) for value in (1, 1.5, 1j, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = compiling.seconds_compiling() - before
    assert 0.0 < spent <= time.perf_counter() - start
    assert compiled(2) == 10
    assert compiling.seconds_compiling() == before + spent


def anonymize_a_few(folder: Path, cache: str | Path | None) -> tuple[Outcome, bytes]:
    """Run the command line with that cache; what it said, and what it wrote."""
    folder.mkdir()
    tables.write(tables.people(40), folder / "in.csv")
    arguments = ("anonymize", "in.csv", "out.csv", "--k", "3", *tables.ROLES, "--seed", "5")
    environment = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    done = run("-m", "microagg", *arguments, folder=folder, environment=environment)
    assert done.code == 0, done.err
    return done, (folder / "out.csv").read_bytes()


@pytest.mark.slow
def test_the_first_compile_is_announced_once_and_changes_nothing(tmp_path: Path) -> None:
    first, written = anonymize_a_few(tmp_path / "first", tmp_path / "cache")
    second, written_again = anonymize_a_few(tmp_path / "second", tmp_path / "cache")
    assert len(first.err.splitlines()) == 1
    assert "compiling" in first.err
    assert second.err == ""
    assert first.out == second.out
    assert written == written_again


@pytest.mark.slow
@pytest.mark.nightly
def test_compiling_each_time_changes_nothing(tmp_path: Path) -> None:
    usual, written = anonymize_a_few(tmp_path / "usual", None)
    nowhere, written_again = anonymize_a_few(tmp_path / "nowhere", "/proc/nowhere")
    assert len(nowhere.err.splitlines()) == 1
    assert "compiling" in nowhere.err
    assert usual.out == nowhere.out
    assert written == written_again


def test_loading_from_the_cache_does_not_prepare_the_compiler(tmp_path: Path) -> None:
    """Compiling after that prepares it."""
    loaded, _, compiled = PREPARED.partition("import numba\n")
    run("-c", loaded.replace("assert", "# "), folder=tmp_path)  # compiles, if nothing else has
    assert run("-c", loaded, folder=tmp_path).out == ""
    lines = run("-c", f"{loaded}import numba\n{compiled}", folder=tmp_path).out.splitlines()
    assert set(lines[:-1]) == {"compiler prepared"}
    assert lines[-1] == "2"
