"""In a real Jupyter kernel: progress is one output that fills up, and an interrupt leaves the
kernel usable.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg as ma
from microagg.problem import showing
from microagg.problem.watch import StopSearch
from running import run


@pytest.mark.slow
def test_progress_and_interrupts_in_a_real_kernel(tmp_path: Path) -> None:
    done = run(Path(__file__).parents[1] / "support" / "notebooks.py", folder=tmp_path)
    assert (done.code, done.out.strip()) == (0, "all is well"), done.err


class Lines:
    """A surface that remembers what was shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def show(self, text: str, share: float) -> None:
        self.lines.append(f"{text} {share:.0%}")

    def close(self) -> None:
        self.lines.append("closed")


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """Ctrl-C as in the foreground: a shell lets what it starts in the background ignore it, and so
    does what that starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_the_first_ctrl_c_keeps_the_best_and_the_second_ends_it(ctrl_c_raises: None) -> None:
    lines = Lines()
    before = signal.getsignal(signal.SIGINT)
    with showing.ShownBar("grouping", lines) as bar, bar.searching():
        os.kill(os.getpid(), signal.SIGINT)
        assert lines.lines[-1].startswith(f"grouping, {showing.STOPPING}")
        with pytest.raises(StopSearch):
            bar(1, 10)
        bar(2, 10)  # once is enough
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_when_all_is_done_takes_nothing_away() -> None:
    lines = Lines()
    with showing.ShownBar("grouping", lines) as bar:
        with bar.searching():
            os.kill(os.getpid(), signal.SIGINT)
        bar(10, 10)
    stopping = f"grouping, {showing.STOPPING}"
    assert lines.lines == ["grouping 0%", f"{stopping} 0%", f"{stopping} 100%", "closed"]


def test_a_bar_says_when_the_work_fails() -> None:
    lines = Lines()
    with pytest.raises(RuntimeError), showing.ShownBar("grouping", lines):
        raise RuntimeError
    assert lines.lines[-2:] == ["grouping, stopped 0%", "closed"]


def test_a_bar_in_a_terminal_is_one_line_and_goes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ma.partition(np.arange(40.0).reshape(-1, 1), 3, effort="quick", progress=True)
    output = capsys.readouterr().err
    assert "grouping 40 records" in output
    assert "100%" in output
    assert "\n" not in output
    assert output.endswith(" \r")


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    ma.partition(np.arange(40.0).reshape(-1, 1), 3, effort="quick", progress=True)
    ma.partition(np.arange(40.0).reshape(-1, 1), 3, effort="quick", progress=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("wrong", [1, "yes"])
def test_what_is_no_progress(wrong: Any) -> None:
    with pytest.raises(ma.InputError, match="progress must be True, or a function"):
        ma.partition([[1.0], [2.0]], 2, progress=wrong)
