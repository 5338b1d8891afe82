"""Compiled once, cached where that can be, noticed when edited, announced the first time."""

from __future__ import annotations

import shutil
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
from microagg.kernels.compiling import on_first_compile
on_first_compile(lambda: print("compiling"))
from microagg.kernels.caller import outer
print(outer(1), outer(1.5))
"""
CALLEE = "from microagg.kernels.compiling import kernel\n\n\n@kernel\ndef inner(x):\n    return x + {added}\n"
CALLER = (
    "from microagg.kernels.callee import inner\nfrom microagg.kernels.compiling import kernel\n\n\n"
    "@kernel\ndef outer(x):\n    return 10 * inner(x)\n"
)


@pytest.fixture
def _fresh_folder() -> Iterator[None]:
    compiling._cache_folder.cache_clear()
    yield
    compiling._cache_folder.cache_clear()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with one kernel that calls another in another file."""
    home = tmp_path / "site" / "microagg"
    shutil.copytree(Path(microagg.__file__).parent, home, ignore=shutil.ignore_patterns("__pycache__"))
    (home / "kernels" / "callee.py").write_text(CALLEE.format(added=1))
    (home / "kernels" / "caller.py").write_text(CALLER)
    return home


def probe(package: Path, cache: str | Path) -> list[str]:
    """Run the two kernels of the copy in a process of its own."""
    environment = {
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = run("-c", PROBE, folder=package.parent, environment=environment)
    assert done.code == 0, done.err
    assert done.err == ""
    return done.out.split("\n")[:-1]


@pytest.mark.slow
def test_an_edit_in_a_callee_is_noticed(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert probe(package, cache) == ["compiling", "20 25.0"]
    assert probe(package, cache) == ["20 25.0"], "the cache was not used"
    (package / "kernels" / "callee.py").write_text(CALLEE.format(added=2))
    assert probe(package, cache) == ["compiling", "30 35.0"], "stale code from the cache"
    (package / "errors.py").write_text((package / "errors.py").read_text() + "\n# no kernel here\n")
    assert probe(package, cache) == ["30 35.0"], "an edit that concerns no kernel"


@pytest.mark.slow
def test_a_broken_cache_is_compiled_anew(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    probe(package, cache)
    for index in cache.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:7])
    assert probe(package, cache) == ["compiling", "20 25.0"]
    assert probe(package, cache) == ["20 25.0"], "the cache was not mended"


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["/proc/nowhere", "a-file"])
def test_a_cache_that_cannot_be_written(package: Path, tmp_path: Path, cache: str) -> None:
    (tmp_path / "a-file").write_text("")
    for _ in range(2):
        assert probe(package, tmp_path / cache) == ["compiling", "20 25.0"]
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

    def test_the_one_that_was_asked_for(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
