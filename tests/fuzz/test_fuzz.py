"""Hostile inputs, seeded: nothing but success or one sentence, in ten seconds, without a warning,
and no confidential value told.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import cases, judging

BLOCK = 25


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    cases.warm()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_hostile_inputs(block: int, tmp_path: Path) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            cases.play(seed, folder)
        except judging.Finding as finding:
            raise AssertionError(
                f"python tests/fuzz/run.py --seed {seed} shows: {finding}"
            ) from None


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12, 100))
def test_more_hostile_inputs(block: int, tmp_path: Path) -> None:
    test_hostile_inputs(block, tmp_path)


def test_findings_are_found(tmp_path: Path) -> None:
    with pytest.raises(judging.Finding, match="ZeroDivisionError"), judging.judged():
        _ = 1 / 0
    with pytest.raises(judging.Finding, match="a confidential value"):
        judging.check_canaries("column 'age' holds canary-17", "in an error")
    with pytest.raises(judging.Finding, match="control"):
        judging.check_escapes("a\x1b[31mb")
    with pytest.raises(judging.Finding, match="not one sentence"), judging.judged():
        judging.call(_two_lines)
    (tmp_path / ".x.part").write_text("")
    with pytest.raises(judging.Finding, match="left behind"):
        judging.check_leftovers(tmp_path)


def _two_lines() -> None:
    from microagg.errors import InputError

    raise InputError("one\ntwo")
