"""--suppressed of check and assess."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from running import Outcome

Microagg = Callable[..., Outcome]
ROWS = ["31,f", "31,f", "*,f", "41,m", "41,m", "*,m", "*,*"]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "release.csv"
    path.write_text("\n".join(["age,sex", *ROWS]) + "\n")
    return path


def test_check_answers_for_both_readings(microagg: Microagg, release: Path) -> None:
    plain = microagg("check", release, "--quasi", "age,sex", "--k", "2")
    assert "--suppressed '*'" in plain.out
    done = microagg("check", release, "--quasi", "age,sex", "--k", "2", "--suppressed", "*")
    assert done.code == 3
    assert "suppressed: 1 whole record, set aside; 2 cells of other records (age 2)." in done.out
    assert (
        "yes, if a suppressed cell fits any value: 3 or more records fit each record." in done.out
    )
    assert "no: 2 of 4 classes" in done.out
    data = json.loads(
        microagg(
            "check", release, "--quasi", "age,sex", "--k", "2", "--suppressed", "*", "--json"
        ).out
    )
    assert data["suppressed"] == {
        "rows": 1,
        "cells": 2,
        "columns": {"age": 2},
        "if_blanks_fit_anything": {"holds": True, "smallest": 3, "failing": 0},
    }
    assert (
        microagg("check", release, "--quasi", "age,sex", "--k", "4", "--suppressed", "*").out.count(
            "no"
        )
        >= 2
    )


def test_assess_measures_the_rest(microagg: Microagg, release: Path, tmp_path: Path) -> None:
    original = tmp_path / "original.csv"
    original.write_text("age,sex\n30,f\n32,f\n33,f\n40,m\n42,m\n43,m\n50,m\n")
    for marker in ((), ("--suppressed", "*")):
        data = json.loads(
            microagg(
                "assess", original, release, "--quasi", "age,sex", "--k", "2", *marker, "--json"
            ).out
        )
        assert (data["records"], data["suppressed"]["rows"], data["suppressed"]["cells"]) == (
            4,
            1,
            2,
        )
    shown = microagg("assess", original, release, "--quasi", "age,sex", "--k", "2").out
    assert "Every other figure is of the 4 records without suppressed cells." in " ".join(
        shown.split()
    )
