"""Strata and weights as a user types them: kept, checked, reported, repeated, refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Microagg


def survey(n: int = 120) -> pd.DataFrame:
    """Numbers, a stratum with gaps, a weight with one decimal, a diagnosis."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(7, 1, n), 2),
            "region": [("north", "south", None, "east")[i % 4] for i in range(n)],
            "w": np.round(rng.uniform(1.0, 50.0, n), 1),
            "ill": [("flu", "cold", "none")[(i // 4) % 3] for i in range(n)],
        }
    )


@pytest.mark.slow
def test_the_command_line(microagg: Microagg, tmp_path: Path) -> None:
    table = survey()
    table.to_csv(tmp_path / "in.csv", index=False)
    done = microagg(
        *(
            "anonymize",
            "in.csv",
            "out.csv",
            "--k",
            "4",
            "--quasi",
            "age,income",
            "--stratum",
            "region",
        ),
        *("--weight", "w", "--confidential", "ill", "--effort", "quick", "--report", "told.html"),
    )
    assert done.code == 0
    assert "age, income, region, w" in done.out
    checked = microagg(
        *("check", "out.csv", "--k", "4", "--quasi", "age,income", "--stratum", "region")
    )
    assert checked.code == 0
    report = (tmp_path / "told.public.html").read_text("utf-8")
    assert "released unchanged; no group crosses it" in report
    assert "the quasi-identifying columns, the strata, the weight" in report
    assert "Totals and means, weighted," in report
    again = microagg("repeat", "out.csv.internal.json", "in.csv", "again.csv")
    assert again.code == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    measured = microagg(
        *(
            "assess",
            "in.csv",
            "out.csv",
            "--quasi",
            "age,income",
            "--weight",
            "w",
            "--stratum",
            "region",
            "--json",
        )
    )
    assert measured.code == 2  # shuffled, and nothing to match the rows by


@pytest.mark.slow
def test_wrong_input_gets_its_sentence(microagg: Microagg, tmp_path: Path) -> None:
    table = survey()
    table["v"] = table.w
    table.to_csv(tmp_path / "in.csv", index=False)
    table.assign(w=table.w.where(table.index != 6)).to_csv(tmp_path / "gap.csv", index=False)
    table.assign(w=[f"{w:.1f}" if i != 8 else "heavy" for i, w in enumerate(table.w)]).to_csv(
        tmp_path / "text.csv", index=False
    )
    usual = ("--k", "4", "--quasi", "age,income", "--rest", "drop", "--effort", "quick")
    wrong = {
        ("in.csv", "--weight", "w,v"): "weight takes one column, but 2 were named",
        ("in.csv", "--weight", "w", "--weight", "v"): "weight takes one column, but 2 were named",
        ("in.csv", "--weight", "age"): "column 'age' was given two roles",
        ("in.csv", "--unit", "age"): "column 'age' was given two roles",
        ("in.csv", "--stratum", "income"): "column 'income' was given two roles",
        ("in.csv", "--weight", "z"): "there is no column 'z'",
        ("gap.csv", "--weight", "w"): "the weight 'w' is missing in row 7",
        (
            "text.csv",
            "--weight",
            "w",
        ): "column 'w', row 9 (header not counted): text where a number is needed",
        (
            "in.csv",
            "--weight",
            "w",
            "--aggregate",
            "w=median",
        ): "'w' is the weight, of which median cannot be released",
        ("in.csv", "--aggregate", "age=keep"): "give it the role keep instead",
        ("in.csv", "--aggregate", "age=drop"): "give it the role identifier instead",
        (
            "in.csv",
            "--stratum",
            "ill,region",
            "--small-strata",
            "merge",
        ): "small_strata must be one of error, drop",
        ("in.csv", "--stratum", "w"): "say --small-strata drop to leave these records out",
    }
    for (source, *arguments), says in wrong.items():
        microagg("anonymize", source, "out.csv", *usual, *arguments).refused(says)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_small_strata_are_dropped_if_asked(microagg: Microagg, tmp_path: Path) -> None:
    table = survey()
    table.loc[:2, "region"] = "Canaryville"
    table.to_csv(tmp_path / "in.csv", index=False)
    usual = (
        "--k",
        "4",
        "--quasi",
        "age,income",
        "--rest",
        "drop",
        "--effort",
        "quick",
        "--stratum",
        "region",
    )
    done = microagg("anonymize", "in.csv", "out.csv", *usual, "--small-strata", "drop")
    assert done.code == 0
    assert "3 records in 1 strata" in done.out
    assert len(pd.read_csv(tmp_path / "out.csv")) == 117
    assert microagg("repeat", "out.csv.internal.json", "in.csv", "again.csv").code == 0
    for name in ("out.csv", "out.csv.public.json", "out.csv.internal.json"):
        assert "Canaryville" not in (tmp_path / name).read_text("utf-8")
