"""--unit: kept, told with what it does not protect against, checked on any table, refused in one
sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from running import Outcome

Microagg = Callable[..., Outcome]
ROLES = ("--quasi", "age,rooms", "--unit", "home", "--k", "3")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    home = np.sort(rng.integers(0, 30, 90))
    table = pd.DataFrame({"age": rng.integers(18, 90, 90), "rooms": rng.integers(1, 5, 30)[home]})
    table.assign(home=[f"secret-{number}" for number in home]).to_csv(
        tmp_path / "in.csv", index=False
    )
    return tmp_path / "in.csv"


@pytest.mark.slow
def test_kept_told_and_checked(microagg: Microagg, source: Path) -> None:
    done = microagg(
        "anonymize",
        source,
        "out.csv",
        *ROLES,
        "--numeric",
        "rooms",
        "--method",
        "mdav",
        "--seed",
        "1",
        "--keep-order",
    )
    assert done.code == 0, done
    assert "every class has records of 3 or more different units (home)" in done.out
    assert "someone who knows all records of one may still find it" in done.out
    assert "dropped      home" in done.out
    done.silent_about({"secret-"})
    written = pd.read_csv(source.parent / "out.csv")
    assert list(written.columns) == ["age", "rooms"]
    written.assign(home=pd.read_csv(source)["home"]).to_csv(source.parent / "both.csv", index=False)
    checked = microagg("check", "both.csv", *ROLES)
    assert checked.code == 0, checked
    assert checked.out.count("yes:") == 3
    original = microagg("check", source, *ROLES)
    assert original.code == 3
    assert "have no unit" not in original.out
    assert "units of home" in original.out, "the classes that fail are listed with what they fail"
    original.silent_about({"secret-"})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--unit", "age"), "two roles"),
        (("--unit", "home", "--unit", "rooms"), "unit takes one column"),
        (("--unit", "homes"), "no column 'homes'"),
    ],
)
def test_wrong_units_get_one_sentence(
    microagg: Microagg, source: Path, options: tuple[str, ...], expected: str
) -> None:
    done = microagg(
        "anonymize",
        source,
        "out.csv",
        "--quasi",
        "age,rooms",
        "--numeric",
        "rooms",
        "--k",
        "3",
        "--rest",
        "drop",
        *options,
    )
    assert done.code == 2
    assert expected in done.err
    done.silent_about({"secret-"})
    assert not (source.parent / "out.csv").exists()
