"""The processes that tests start: they hear Ctrl-C, they end with their test, one that hangs is
ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import running

WAIT = "import time; print('ready', flush=True); time.sleep(600)"
WAIT_WITH_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def _in_the_background() -> Iterator[None]:
    """As a shell starts a job in the background: Ctrl-C is ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_in_the_background")
def test_ctrl_c_is_heard_though_the_tests_run_in_the_background(tmp_path: Path) -> None:
    process = running.start("-c", WAIT, folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in running.finish(process).err
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN, (
        "the tests themselves go on ignoring it"
    )


@pytest.mark.parametrize("leader_has_ended", [False, True])
def test_a_process_is_ended_with_those_it_started(tmp_path: Path, leader_has_ended: bool) -> None:
    process = running.start("-c", WAIT_WITH_A_CHILD, folder=tmp_path)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    os.kill(child, 0)
    if leader_has_ended:
        process.kill()
        process.wait()
    running.end_all()
    assert process.returncode == -signal.SIGKILL
    ends = time.monotonic() + running.PATIENCE
    while _is_running(child):
        assert time.monotonic() < ends, "it outlived its test"
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        # a zombie waits for init to take note
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_one_that_hangs_fails_its_test(tmp_path: Path) -> None:
    process = running.start("-c", WAIT, folder=tmp_path, patience=0.01)
    with pytest.raises(AssertionError, match="did not end by itself"):
        running.finish(process)
