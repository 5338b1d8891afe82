"""The command line as a function, and a folder with a table in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
from microagg.cli.commands import main
from running import Outcome

Microagg = Callable[..., Outcome]


@pytest.fixture(scope="session", autouse=True)
def _compiled_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile before any test looks at standard error, where the first compile is announced."""
    matrix = np.random.default_rng(0).normal(size=(100, 2))
    for method in ("mdav", "max-distance", "auto"):
        release = ma.anonymize(matrix, k=2, quasi=[0, 1], method=method)
        release.save(tmp_path_factory.mktemp("compiled") / "out.csv")


@pytest.fixture
def microagg(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Microagg:
    """Run a command in `tmp_path`, in this process."""

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["microagg", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ending.value.code or 0), captured.out, captured.err)

    return run
