"""--l and --t: enforced, told, repeated, checked on any table, and refused in one sentence where
impossible.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import tables
from running import Outcome

Microagg = Callable[..., Outcome]


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    ma.partition(
        np.random.default_rng(0).normal(size=(60, 2)),
        3,
        confidential=np.arange(60.0),
        l=2,
        t=0.2,
        effort=1,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tables.write(tables.people(60), tmp_path / "in.csv")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_asked_for_kept_told_and_repeated(microagg: Microagg, source: Path, ending: str) -> None:
    done = microagg(
        "anonymize",
        source,
        f"out{ending}",
        "--k",
        "4",
        *tables.ROLES,
        "--l",
        "3",
        "--t",
        "0.3",
        "--effort",
        "3",
        "--seed",
        "5",
        "--report",
        "report.md",
    )
    assert done.code == 0, done
    assert "every class has 3 or more different values of disease (worst class: 3)" in done.out
    assert "by at most 0.3 (0 to 1) in the distribution of the values of disease" in done.out
    done.silent_about({"secret-"})
    public = json.loads((source.parent / f"out{ending}.public.json").read_text())
    assert [public["settings"][name] for name in ("l", "t", "diversity", "c")] == [
        3,
        0.3,
        "distinct",
        None,
    ]
    assert public["guarantee"]["l"]["worst"] == {"disease": 3.0}
    assert public["guarantee"]["t"]["worst"]["disease"] <= 0.3
    for kind in ("public", "internal"):
        report = (source.parent / f"report.{kind}.md").read_text()
        assert "Every class has 3 or more different values of disease" in report
        assert "t-closeness" in report
    options = (
        "--quasi",
        "income,debt",
        "--confidential",
        "disease",
        "--k",
        "4",
        "--l",
        "3",
        "--t",
        "0.3",
    )
    checked = microagg("check", f"out{ending}", *options)
    assert checked.code == 0
    assert checked.out.count("yes:") == 3
    first = (source.parent / f"out{ending}").read_bytes()
    again = microagg("repeat", f"out{ending}.internal.json", source, f"again{ending}")
    assert again.code == 0
    assert "the same release" in again.out
    assert (source.parent / f"again{ending}").read_bytes() == first


def test_check_says_where_it_is_missed(microagg: Microagg, source: Path) -> None:
    done = microagg(
        "check",
        source,
        "--quasi",
        "code",
        "--confidential",
        "disease",
        "--k",
        "2",
        "--l",
        "2",
        "--t",
        "0.1",
    )
    assert done.code == 3
    lines = done.out.splitlines()
    assert lines[0].startswith("no: 60 of 60 classes")
    assert (
        lines[1] == "no: 60 of 60 classes fail the requirement that every class has 2 or more "
        "different values of disease (worst class: 1)."
    )
    assert lines[2].startswith("no: 60 of 60 classes fail the requirement that every class differs")
    assert "k, l of disease, t of disease" in done.out
    done.silent_about({"secret-", "canary"})


def test_other_readings_of_diversity(microagg: Microagg, source: Path) -> None:
    for options in (
        ["--l", "2.5", "--diversity", "entropy"],
        ["--l", "2", "--diversity", "recursive", "--c", "1.5"],
    ):
        done = microagg(
            "anonymize", source, "out.csv", "--k", "3", *tables.ROLES, "--method", "mdav", *options
        )
        assert done.code == 0, done
        arguments = ("--quasi", "income,debt", "--confidential", "disease", "--k", "3")
        assert microagg("check", "out.csv", *arguments, *options).code == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--l", "4"],
            "distinct 4-diversity cannot be reached: in the whole table, column "
            "'disease' has only 3",
        ),
        (["--l", "1"], "at least 2"),
        (["--l", "x"], "whole number"),
        (["--t", "2"], "from 0 to 1"),
        (["--c", "2"], "give l"),
        (["--l", "2", "--diversity", "some"], "one of distinct, entropy, recursive"),
        (
            ["--l", "2", "--method", "individual-ranking", "--accept-risk", "single-columns"],
            "cannot guarantee l, t or units",
        ),
    ],
)
def test_refused_in_one_sentence(
    microagg: Microagg, source: Path, options: list[str], says: str
) -> None:
    done = microagg("anonymize", source, "out.csv", "--k", "3", *tables.ROLES, *options)
    done.refused(says)
    done.silent_about({"secret-"})
    assert not (source.parent / "out.csv").exists()


def test_without_confidential_columns(microagg: Microagg, source: Path) -> None:
    roles = ("--quasi", "income,debt", "--rest", "drop", "--k", "3")
    microagg("anonymize", source, "out.csv", *roles, "--t", "0.2").refused(
        "name at least one with confidential"
    )
    microagg("check", source, "--quasi", "income", "--k", "2", "--l", "2").refused(
        "name at least one with confidential"
    )
