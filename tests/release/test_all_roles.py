"""Weights, strata, units, l and t together: everything promised is counted by pandas on the written
file, from the original's columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microagg as ma

QUASI = ["age", "income", "town"]


def survey(rng: np.random.Generator) -> pd.DataFrame:
    """Persons in households: numbers, one of them with gaps, a category, strata, weights, and two
    confidential columns.
    """
    n = int(rng.integers(40, 130))
    household = np.repeat(np.arange(n), rng.integers(1, 5, n))[:n]
    income = np.round(rng.lognormal(7, 1, n), 2)
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "household": [f"h{number}" for number in household],
            "region": rng.choice(["north", "south", "east"][: int(rng.integers(1, 4))], n),
            "w": np.round(rng.uniform(0.5, 200.0, n), 1),
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, income),
            "town": rng.choice(["Bonn", "Kiel", "Ulm", "Jena"], n),
            "ill": rng.choice(["flu", "cold", "none", None], n, p=[0.3, 0.3, 0.3, 0.1]),
            "debt": rng.integers(0, 12, n) * 100,
        }
    )


def asked_for(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "k": int(rng.integers(2, 5)),
        "l": 2 if rng.random() < 0.5 else None,
        "t": 0.6 if rng.random() < 0.3 else None,
        "weight": "w",
        "stratum": "region",
        "unit": "household",
        "small_strata": "drop",
        "precision": "full" if rng.random() < 0.5 else "column",
        "accept_risk": "full-precision",
        "method": str(rng.choice(["auto", "mdav", "v-mdav", "kc"])),
        "seed": int(rng.integers(1000)),
    }


def nominal_distance(part: pd.Series, whole: pd.Series) -> float:
    shares, overall = (
        column.fillna("missing").value_counts(normalize=True)
        for column in (part.astype(object), whole.astype(object))
    )
    return float((shares.reindex(overall.index, fill_value=0.0) - overall).abs().sum() / 2.0)


def ordered_distance(part: pd.Series, whole: pd.Series) -> float:
    values = np.sort(whole.unique())
    if len(values) == 1:
        return 0.0
    below = [abs((part <= value).mean() - (whole <= value).mean()) for value in values]
    return float(sum(below) / (len(values) - 1))


def count_everything(written: pd.DataFrame, before: pd.DataFrame, settings: dict[str, Any]) -> None:
    """`before` has the rows of the original in the order of the file."""
    key = written[[*QUASI, "region", "w"]].astype(object).where(written.notna(), "missing")
    for _, rows in written.groupby([key[name] for name in key.columns]).groups.items():
        originals, records = before.loc[rows], written.loc[rows]
        assert len(rows) >= settings["k"]
        units = originals["household"].value_counts()
        assert len(units) >= settings["k"]
        assert units.max() * 2 <= len(rows)
        if settings["l"]:
            assert records["ill"].nunique() >= settings["l"]
            assert records["debt"].nunique() >= settings["l"]
        if settings["t"]:
            assert nominal_distance(records["ill"], written["ill"]) <= settings["t"] + 1e-8
            assert ordered_distance(records["debt"], written["debt"]) <= settings["t"] + 1e-8
    assert (written["region"].to_numpy() == before["region"].to_numpy()).all()
    assert set(written["town"]) <= set(before["town"])


@pytest.mark.parametrize(
    "seed", [*(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12)), *(
        pytest.param(seed, marks=pytest.mark.nightly) for seed in range(12, 200)
    )],
)  # fmt: skip
def test_what_is_promised_holds_on_the_file(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([16, seed])
    table, settings = survey(rng), asked_for(rng)
    roles = {"quasi": QUASI, "confidential": ["ill", "debt"], "keep": "row"}
    options = {"effort": "quick"} if settings["method"] == "auto" else {}
    target = tmp_path / ("out.csv" if seed % 2 else "out.parquet")
    try:
        release = ma.anonymize(table, **roles, **settings, **options)
    except ma.InputError as refused:
        message = str(refused)
        assert any(character.isdigit() for character in message), message
        assert not any(
            value in message for value in ("north", "south", "east", "Bonn", "h1", "flu")
        )
        return
    release.save(target)
    written = pd.read_csv(target) if seed % 2 else pd.read_parquet(target)
    assert "household" not in written
    before = table.set_index("row").loc[written["row"]].reset_index()
    count_everything(written, before, settings)
    kept = table.set_index("row").loc[np.sort(written["row"])]
    assert (
        not pd.DataFrame({"group": release.labels, "region": kept["region"].to_numpy()})
        .groupby("group")["region"]
        .nunique()
        .gt(1)
        .any()
    )
    if settings["precision"] == "full":
        assert written["w"].sum() == pytest.approx(before["w"].sum(), rel=1e-12)
        total = (before["w"] * before["age"]).sum()
        assert (written["w"] * written["age"]).sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.slow
def test_most_of_these_tables_can_be_protected() -> None:
    """A test that every table is refused would hold as well."""
    released = 0
    for seed in range(12):
        rng = np.random.default_rng([16, seed])
        table, settings = survey(rng), asked_for(rng)
        settings["method"] = "mdav"
        try:
            ma.anonymize(table, quasi=QUASI, confidential=["ill", "debt"], keep="row", **settings)
            released += 1
        except ma.InputError:
            continue
    assert released >= 8


@pytest.mark.reference
@pytest.mark.slow
def test_a_household_survey_with_all_roles(reference_data: Path, tmp_path: Path) -> None:
    table = pd.read_csv(reference_data / "tables" / "testdata.csv")
    table["row"] = np.arange(len(table))
    names = ["roof", "walls", "water", "electcon", "relat", "sex", "age"]
    release = ma.anonymize(
        table,
        5,
        quasi=names,
        nominal=names[:-1],
        unit="ori_hid",
        weight="sampling_weight",
        stratum="urbrur",
        keep="row",
        rest="drop",
        precision="full",
        accept_risk="full-precision",
        effort="quick",
        seed=1,
    )
    release.save(tmp_path / "out.parquet")
    written = pd.read_parquet(tmp_path / "out.parquet")
    before = table.set_index("row").loc[written["row"]].reset_index()
    for _, rows in written.groupby(
        [*names, "urbrur", "sampling_weight"], dropna=False
    ).groups.items():
        units = before.loc[rows, "ori_hid"].value_counts()
        assert len(rows) >= 5 <= len(units)
        assert 2 * units.max() <= len(rows)
    assert (written["urbrur"] == before["urbrur"]).all()
    groups = pd.DataFrame({"group": release.labels, "urbrur": table["urbrur"]})
    assert groups.groupby("group")["urbrur"].nunique().max() == 1
    for weights, values in ((written["sampling_weight"], before["sampling_weight"]),):
        assert weights.sum() == pytest.approx(values.sum(), rel=1e-12)
    total = (before["sampling_weight"] * before["age"]).sum()
    assert (written["sampling_weight"] * written["age"]).sum() == pytest.approx(total, rel=1e-12)
