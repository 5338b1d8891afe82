"""Mutated files and files by hand: success or one sentence, in little memory. A fixed sample each
time, all of them nightly.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import aborts, by_hand, mutations, reading

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs to know the peak of memory"
)


def test_findings_are_found() -> None:
    fine = reading.Outcome("in.csv", "check", 2, "note: a note.\nerror: a sentence.\n", 10.0, 0.1)
    assert fine.finding(100) == ""
    for change, why in (
        ({"code": -6}, "exit code -6"),
        ({"code": 1}, "exit code 1"),
        ({"errors": "error: a bug in microagg (KeyError)."}, "a bug"),
        ({"errors": "error: one.\nand two.\n"}, "not one sentence"),
        ({"errors": "error: canary 7."}, "a value of the data"),
        ({"megabytes": 1500.0}, "1500 MB"),
    ):
        assert reading.Outcome(**{**vars(fine), **change}).finding(100) == why
    assert reading.Outcome(**{**vars(fine), "megabytes": 1500.0}).finding(20_000_000) == ""


def test_a_number_makes_a_file_again() -> None:
    assert mutations.mutated(17) == mutations.mutated(17)
    assert {mutations.mutated(number)[0][5:] for number in range(40)} == set(mutations.ENDINGS)


def _judged(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "reading.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=7200,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_some_mutated_files(tmp_path: Path) -> None:
    _judged("--mutated", "90", "--folder", str(tmp_path))


@pytest.mark.nightly
def test_mutated_files(tmp_path: Path) -> None:
    _judged("--mutated", "3000", "--folder", str(tmp_path))


@pytest.mark.nightly
def test_files_by_hand(tmp_path: Path) -> None:
    assert (
        len(by_hand.odd_texts()) * len(by_hand.TEXT_ENDINGS) + 2 * len(by_hand.odd_columns()) >= 300
    )
    _judged("--by-hand", "--folder", str(tmp_path))


@pytest.mark.nightly
@pytest.mark.parametrize("name", aborts.paths())
def test_no_error_ends_in_an_abort(name: str) -> None:
    expected = aborts.paths()[name][3]
    assert [aborts.run(name, number)[1] for number in range(200)] == [expected] * 200
