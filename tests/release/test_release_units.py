"""Releases with units: withheld, kept on the written file, told, repeated, and refused where that
cannot be.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
import promised
from microagg.pipeline.files import anonymize_file
from microagg.release import saving
from microagg.studies.compare import compare
from microagg.studies.repeating import repeat_file

RNG = np.random.default_rng(61)
N = 150
HOME = np.sort(RNG.integers(0, 50, N))
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "rooms": RNG.integers(1, 9, 50)[HOME],
        "ill": RNG.choice(["a", "b", "c"], N),
        "home": [f"secret-home-{home}" for home in HOME],
    }
)
ASKED: dict[str, Any] = {
    "k": 4,
    "quasi": ["age", "rooms"],
    "confidential": ["ill"],
    "unit": "home",
    "method": "mdav",
    "seed": 1,
}


def fewest_and_largest(rows: pd.DataFrame, home: list[str]) -> tuple[int, float]:
    """The fewest units of a class, and the largest share of one."""
    counts = [
        pd.Series([home[i] for i in members]).value_counts()
        for members in rows.groupby(["age", "rooms"]).indices.values()
    ]
    return min(map(len, counts)), max(float(count.max() / count.sum()) for count in counts)


def test_every_class_has_k_units_and_the_column_is_withheld() -> None:
    release = ma.anonymize(TABLE, **ASKED)
    without = ma.anonymize(TABLE.drop(columns="home"), **{**ASKED, "unit": None})
    assert list(release.table.columns) == ["age", "rooms", "ill"]
    fewest, largest = fewest_and_largest(release.table, TABLE["home"].tolist())
    assert fewest >= 4
    assert largest <= 0.5
    assert fewest_and_largest(without.table, TABLE["home"].tolist())[0] < 4, (
        "so that there is something to keep"
    )
    findings = {finding.guarantee: finding for finding in release.anonymity.findings}
    assert (findings["units"].worst, findings["share"].worst) == (fewest, largest)


def test_without_units_nothing_changes() -> None:
    plain, settings = TABLE.drop(columns="home"), {**ASKED, "unit": None}
    named = ma.anonymize(TABLE, **{**settings, "identifier": ["home"]})
    assert np.array_equal(ma.anonymize(plain, **settings).labels, named.labels)
    assert "units" not in named.manifest["guarantee"]


def test_what_everybody_is_told_follows_from_the_settings(tmp_path: Path) -> None:
    release = ma.anonymize(TABLE, **ASKED)
    release.save(tmp_path / "out.csv")
    public = (tmp_path / "out.csv.public.json").read_text()
    inside = json.loads((tmp_path / "out.csv.internal.json").read_text())
    assert "home" not in public
    units = json.loads(public)["guarantee"]["units"]
    assert units == {
        "every_class": "has records of 4 or more different units and has no unit with more than "
        "half of "
        "its records"
    }
    assert inside["settings"]["unit"] == "home"
    assert (
        inside["guarantee"]["units"]["fewest"]
        == fewest_and_largest(release.table, TABLE["home"].tolist())[0]
    )
    assert "secret-home" not in json.dumps(inside)


@pytest.mark.slow
def test_reports_and_terminals_say_what_holds_and_what_does_not(tmp_path: Path) -> None:
    release = ma.anonymize(TABLE, **ASKED)
    for public in (True, False):
        text = release.report(tmp_path / "report.md", public=public).read_text()
        assert "Every class has records of 4 or more different units" in text
        assert "Someone who knows a whole household may still find it" in text
        assert ("'home'" in text or "| home |" in text) != public
        assert ("fewest in a class" in text) != public
        assert "secret-home" not in text
    assert "records of 4 or more different" in release._repr_html_()
    assert any("who knows all records of one may still find it" in note for note in release.notes)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_with_its_rows_in_another_order_is_never_written(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = ma.anonymize(TABLE, **ASKED)
    write = saving.write_table

    def write_turned(table: pa.Table, path: Path, **options: Any) -> None:
        write(table.take(np.arange(len(table))[::-1]), path, **options)

    monkeypatch.setattr(saving, "write_table", write_turned)
    with pytest.raises(ma.GuaranteeError, match="rows of the written file are in another order"):
        release.save(tmp_path / f"out{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_file_whose_classes_miss_it_is_never_written(tmp_path: Path, keep_order: bool) -> None:
    """All records of a class become one unit behind the release's back: what is verified is the
    file with its units.
    """
    release = ma.anonymize(TABLE, **ASKED)
    assert release._units is not None
    labels = release.anonymity.labels
    moved = release._units.values.copy()
    moved[labels == labels[0]] = moved[0]
    object.__setattr__(release, "_units", type(release._units)("home", release._units.kind, moved))
    with pytest.raises(
        ma.GuaranteeError, match=r"1 of its .* classes do not keep 4 different units"
    ):
        release.save(tmp_path / "out.csv", keep_order=keep_order)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_repeated_to_the_byte(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    TABLE.to_csv(source, index=False)
    anonymize_file(source, tmp_path / "out.csv", **{**ASKED, "method": "auto", "effort": 5})
    repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_compared_methods_keep_units() -> None:
    shared = {name: ASKED[name] for name in ("quasi", "confidential", "unit")}
    comparison = compare(TABLE, ks=[4], methods=["mdav", "individual-ranking"], **shared)
    kept, refused = comparison.rows
    (free,) = compare(
        TABLE, ks=[4], methods=["mdav"], quasi=shared["quasi"], confidential=["ill"]
    ).rows
    assert kept.figures["il"] > free.figures["il"]
    assert "units" in refused.error


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"unit": "age"}, "two roles, quasi and unit"),
    ({"unit": ["home", "ill"]}, "unit takes one column"),
    ({"unit": "house"}, "no column 'house'"),
    ({"k": 51}, "51 different units"),
    ({"kinds": {"home": "nominal"}}, "left out"),
    ({"method": "individual-ranking"}, "cannot guarantee l, t or units"),
]


@pytest.mark.parametrize(("settings", "expected"), WRONG)
def test_wrong_input_gets_its_sentence(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(ma.InputError, match=expected) as error:
        ma.anonymize(TABLE, **{**ASKED, **settings})
    assert "secret-home" not in str(error.value)


def test_missing_units_and_a_unit_with_most_records_are_refused_before_any_work() -> None:
    holed = TABLE.assign(home=TABLE["home"].where(TABLE.index % 50 != 7))
    with pytest.raises(ma.InputError, match=r"'home' .* missing in 3 of 150, first in row 8"):
        ma.anonymize(holed, **ASKED)
    one = TABLE.assign(home=np.where(TABLE.index < 76, "secret-home-0", TABLE["home"]))
    with pytest.raises(ma.InputError, match=r"'home' has .* of all 150") as error:
        ma.anonymize(one, **ASKED)
    assert "secret-home" not in str(error.value)


def test_records_left_out_for_gaps_leave_their_units_out() -> None:
    holed = TABLE.assign(age=TABLE["age"].where(RNG.random(N) < 0.8))
    release = ma.anonymize(holed, **ASKED, missing="drop")
    left = TABLE.loc[holed["age"].notna(), "home"].tolist()
    assert len(release.table) == len(left)
    assert promised.has_units(left, np.flatnonzero(release.anonymity.labels == 0).tolist(), 4)
    assert fewest_and_largest(release.table, left)[0] >= 4


def test_a_stratum_that_cannot_keep_units_is_refused_or_left_out() -> None:
    region = np.where(TABLE["home"].isin(sorted(set(TABLE["home"]))[:3]), "north", "south")
    table = TABLE.assign(region=region)
    few = int((region == "north").sum())
    assert few >= 4, "enough records, too few units"
    settings = {**ASKED, "stratum": ["region"]}
    with pytest.raises(
        ma.InputError,
        match=rf"1 of 2 strata \(with {few} records\) has records that cannot keep 4 different",
    ):
        ma.anonymize(table, **settings)
    release = ma.anonymize(table, **settings, small_strata="drop")
    left = TABLE.loc[region == "south", "home"].tolist()
    assert len(release.table) == len(left)
    assert fewest_and_largest(release.table, left)[0] >= 4


def test_check_counts_units_on_any_table() -> None:
    release = ma.anonymize(TABLE, **ASKED)
    checked = pd.DataFrame(release.table).assign(home=TABLE["home"])
    assert ma.check(checked, ["age", "rooms"], 4, unit="home").holds
    result = ma.check(checked.assign(home="one"), ["age", "rooms"], 4, ["ill"], l=2, unit="home")
    assert {f.guarantee: f.holds for f in result.findings}.items() >= {
        ("units", False),
        ("share", False),
    }
    assert len(result.failing) == len(result.sizes)
    assert result.sizes.min() >= 4
    for unit, expected in (("age", "two roles"), ("house", "no column 'house'")):
        with pytest.raises(ma.InputError, match=expected):
            ma.check(checked, ["age", "rooms"], 4, unit=unit)


@pytest.mark.reference
@pytest.mark.slow
def test_households_of_a_survey(tmp_path: Path, reference_data: Path) -> None:
    source = reference_data / "tables" / "testdata.csv"
    codes = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    quasi, settings = [*codes, "age"], {"k": 5, "nominal": codes, "rest": "drop", "seed": 1}
    release = anonymize_file(
        source,
        tmp_path / "out.csv",
        quasi=quasi,
        unit="ori_hid",
        keep_order=True,
        effort=20,
        **settings,
    )
    free = ma.anonymize(pd.read_csv(source), quasi=quasi, effort="quick", **settings)
    written, home = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(source)["ori_hid"]
    assert list(written.columns) == quasi
    for members in written.groupby(quasi).indices.values():
        counts = home.iloc[members].value_counts()
        assert len(members) >= len(counts) >= 5
        assert 2 * counts.max() <= len(members)
    assert free.loss["IL_within"] < release.loss["IL_within"] < 3.3
    alone = ma.anonymize(
        pd.read_csv(source), quasi=quasi, method="mdav", unit="ori_hid", **settings
    )
    assert release.loss["IL_within"] < alone.loss["IL_within"], "merging alone loses more"
