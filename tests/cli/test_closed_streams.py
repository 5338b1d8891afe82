"""A program that is started with closed standard streams (`>&-`), or with a home folder that cannot
be written to.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # processes of their own
TABLE = "age,town\n" + "".join(f"{30 + number % 3},x\n" for number in range(30))
MICROAGG = [sys.executable, "-m", "microagg"]


def _run(
    folder: Path, *arguments: str, closed: tuple[int, ...]
) -> subprocess.CompletedProcess[str]:
    (folder / "in.csv").write_text(TABLE)
    redirections = " ".join(f"{number}>&-" for number in closed)
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *MICROAGG, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_command_needs_no_standard_output(tmp_path: Path) -> None:
    done = _run(
        tmp_path,
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "age",
        "--rest",
        "drop",
        closed=(1,),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 31


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "in.csv", "--k", "3", "--quasi", "age", "--json"),
        ("anonymize", "in.csv", "-", "--k", "3", "--quasi", "age", "--rest", "drop"),
    ],
)
def test_what_a_program_reads_is_not_lost_in_silence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = _run(tmp_path, *arguments, closed=(1,))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_error_never_goes_to_standard_output(tmp_path: Path) -> None:
    done = _run(tmp_path, "check", "nowhere.csv", "--k", "3", "--quasi", "age", closed=(2,))
    assert (done.returncode, done.stdout) == (2, "")


def test_all_streams_closed(tmp_path: Path) -> None:
    done = _run(tmp_path, "check", "in.csv", "--k", "3", "--quasi", "age", closed=(0, 1, 2))
    assert done.returncode == 0


def test_a_home_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "in.csv").write_text(TABLE)
    arguments = ["anonymize", "in.csv", "out.csv", "--k", "3", "--quasi", "age", "--rest", "drop"]
    nowhere = {
        "HOME": str(tmp_path / "in.csv"),
        "XDG_CONFIG_HOME": "",
        "XDG_CACHE_HOME": "",
        "MPLCONFIGDIR": "",
    }
    environment = {**os.environ, **nowhere}
    for name, value in nowhere.items():
        if not value:
            environment.pop(name, None)
    done = subprocess.run(
        [*MICROAGG, *arguments, "--report", "out.html"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    reports = [path.read_text("utf-8") for path in tmp_path.glob("out*.html")]
    assert len(reports) == 2
    assert all("<svg" in report for report in reports)
