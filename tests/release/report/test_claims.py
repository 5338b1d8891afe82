"""Each sentence of the first page against a table of which it is not true."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.release.effects import signed_percent
from microagg.release.release import Release
from microagg.release.report.building import build_document
from microagg.release.report.claims import on_all_columns, on_naming
from microagg.release.report.document import Document, Picture
from microagg.release.report.plain import to_json


def people(n: int = 60, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"age": rng.integers(18, 90, n), "income": rng.integers(0, 90_000, n), **more}


def protected(table: dict[str, Any], **settings: Any) -> Release:
    settings = {"quasi": ["age", "income"], "rest": "drop", "method": "mdav", "seed": 1, **settings}
    return ma.anonymize(pa.table(table), 5, **settings)


def page_one(release: Release, *, public: bool) -> str:
    document = build_document(
        manifest=release.manifest,
        public=public,
        pair=release.pair,
        class_sizes=release.anonymity.sizes,
        figures=[],
        notes=release.notes,
        lost=release.lost_categories,
    )
    content = json.loads(to_json(document))
    opening = [part for part in content["sections"] if part["title"].startswith("What was")]
    return json.dumps([content["first_page"], *opening], ensure_ascii=False)


def classes_by_hand(release: Release) -> tuple[int, int, int]:
    """Count the different rows of the release, how often the rarest occurs, and how many occur
    once.
    """
    rows = Counter(tuple(row.items()) for row in release.table.to_pylist())
    return len(rows), min(rows.values()), sum(count == 1 for count in rows.values())


@pytest.mark.parametrize("public", [False, True])
def test_who_stands_alone_once_other_columns_are_known(public: bool) -> None:
    rng = np.random.default_rng(4)
    release = protected(people(town=rng.integers(0, 9, 60)), keep=["town"])
    classes, smallest, unique = classes_by_hand(release)
    assert 0 < unique < 60
    manifest = release.public_manifest if public else release.manifest
    assert manifest["all_columns"] == {
        "columns": 3, "classes": classes, "smallest_class": smallest, "unique_records": unique,
    }  # fmt: skip
    text = page_one(release, public=public)
    assert f"every published column, {unique} of 60 records can be singled out" in text
    assert f"{unique} of 60" in text
    assert "by someone who knows all 3 released columns" in text


@pytest.mark.parametrize("public", [False, True])
def test_nobody_stands_alone_where_that_is_so(public: bool) -> None:
    release = protected(people(all_alike=np.ones(60, np.int64)), keep=["all_alike"])
    text = page_one(release, public=public)
    assert " records can be singled out" not in text
    alone = protected(people())
    assert "no record can be singled out" in on_all_columns(alone.public_manifest)
    assert alone.manifest["all_columns"]["smallest_class"] == 5


def test_gaps_are_alike_and_nothing_else_is() -> None:
    town = pa.array(["A", None] * 30)
    release = protected(people(town=town), confidential=["town"])
    assert classes_by_hand(release) == (
        release.manifest["all_columns"]["classes"],
        release.manifest["all_columns"]["smallest_class"],
        release.manifest["all_columns"]["unique_records"],
    )


def test_order_does_not_matter() -> None:
    table = people(town=np.arange(60) % 7)
    release = protected(table, keep=["town"])
    order = np.random.default_rng(0).permutation(60)
    again = protected({name: column[order] for name, column in table.items()}, keep=["town"])
    for released in (release, again):
        assert classes_by_hand(released)[2] == released.manifest["all_columns"]["unique_records"]


def test_summaries_say_it_too() -> None:
    release = protected(people(surname=np.arange(60) % 7), keep=["surname"])
    assert "can be singled out" in release.summary()
    assert on_naming(release.manifest) == "May name people, and is released unchanged: surname."
    older = {
        name: value
        for name, value in release.manifest.items()
        if name not in ("all_columns", "may_identify")
    }
    assert (on_all_columns(older), on_naming(older)) == ("", ""), (
        "what was not looked at is not claimed"
    )


@pytest.mark.parametrize("public", [False, True])
def test_columns_that_name_people(public: bool) -> None:
    texts = [f"text {i}" for i in range(60)]
    for name, values in {
        "remark": texts,
        "Nachname": ["a", "b", "c"] * 20,
        "case_id": np.arange(60) * 1_000,
    }.items():
        text = page_one(protected(people(**{name: values}), keep=[name]), public=public)
        assert f"May name people, and is released unchanged: {name}." in text
        assert "No released column" not in text
    innocent = protected(
        people(
            rent=np.random.default_rng(1).uniform(0, 1, 60),
            town=["a", "b", "c"] * 20,
            born=[1950 + i % 50 for i in range(60)],
        ),
        keep=["rent", "town", "born"],
    )
    text = page_one(innocent, public=public)
    assert "No released column has a name or pattern that suggests people" in text
    assert "May name" not in text


def percent(release: Release, table: dict[str, Any], name: str) -> float:
    """Return the change of a total in percent, by pandas."""
    before = pd.Series(pd.array(pa.array(table[name]).to_pandas())).astype(float).sum()
    after = release.to_arrow().column(name).to_pandas().astype(float).sum()
    return 100.0 * (after - before) / abs(before)


def test_the_data_holder_sees_how_totals_changed() -> None:
    """Item 1: totals were said to stay where they had changed by a third."""
    table = people(wealth=pa.array([None if i % 4 == 0 else 10.0 ** (i % 7) for i in range(60)]))
    release = protected(table, quasi=["age", "income", "wealth"])
    change = percent(release, table, "wealth")
    assert abs(change) > 1.0, "the counterexample is one"
    text = page_one(release, public=False)
    assert f"wealth {signed_percent(change)}" in text
    assert "stay, up to rounding" not in page_one(release, public=True)


def test_companies_and_free1_do_not_promise_totals() -> None:
    """Item 1: the table of the issue, in which gaps blank a third of the assets."""
    table = ma.datasets.companies(1000)
    quasi = ["sector", "region", "founded", "employees", "turnover", "assets", "exports"]
    release = ma.anonymize(
        table, 3, quasi=quasi, nominal=["sector"], confidential=["profit"],
        identifier=["company"], effort="quick", seed=1,
    )  # fmt: skip
    before, after = (data.column("assets").to_pandas().sum() for data in (table, release.table))
    assert before == 810190
    assert after < 0.7 * before
    note = next(note for note in release.notes if note.code == "totals-far-off")
    assert signed_percent(100 * (after / before - 1)) in note
    shown = page_one(release, public=True)
    assert "assets" in shown
    assert "where values were missing" in shown
    assert "stay, up to rounding" not in shown


def test_totals_stay_where_the_settings_say_so() -> None:
    table = people()
    release = protected(table, missing="error")
    text = page_one(release, public=True)
    assert "Totals and means of age and income stay, up to rounding." in text
    for name in ("age", "income"):
        assert abs(percent(release, table, name)) * sum(table[name]) / 100 <= 0.5 * 60
    assert "stay, up to rounding" not in page_one(protected(table), public=True)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"cap": {"income": "90%"}}, "values beyond a limit were cut to it"),
        ({"aggregate": {"income": "median"}}, "groups show one value for all their records"),
    ],
)
def test_totals_do_not_stay_as_asked(settings: dict[str, Any], why: str) -> None:
    table = people()
    release = protected(table, **settings)
    assert abs(percent(release, table, "income")) > 0.01, "the counterexample is one"
    assert f"Totals of income can differ from the original, because {why}" in page_one(
        release, public=True
    )
    change = signed_percent(percent(release, table, "income"))
    assert f"income {change}" in page_one(release, public=False)


def test_totals_do_not_stay_where_rounding_is_coarse() -> None:
    rng = np.random.default_rng(3)
    has_car = (rng.uniform(size=60) < 0.25).astype(np.int64)
    table = {"income": people()["income"], "has_car": has_car}
    release = protected(table, quasi=["income", "has_car"], importance={"has_car": 0.001})
    assert abs(percent(release, table, "has_car")) > 5.0, "the counterexample is one"
    text = page_one(release, public=True)
    assert "Totals of has_car can differ from the original, because values are rounded" in text
    change = signed_percent(percent(release, table, "has_car"))
    assert f"has_car {change}" in page_one(release, public=False)


def test_categories_that_vanish() -> None:
    """Item 5: rare categories vanished untold."""
    sex = [*["f", "m"] * 29, "d", "d"]
    release = protected({"sex": sex, "age": people()["age"]}, quasi=["sex", "age"])
    kept = set(release.table.column("sex").to_pylist())
    assert kept == {"f", "m"}
    assert release.lost_categories == {"sex": ("d",)}
    note = next(note for note in release.notes if note.code == "categories-lost")
    assert "'sex' 1 of 3 (2 records)" in note
    assert "Categories lost in sex: d." in page_one(release, public=False)
    shown = page_one(release, public=True)
    assert "rare ones may vanish" in shown
    assert "Categories lost" not in shown


def test_records_that_were_left_out_are_not_counted() -> None:
    table = people()
    income = pa.array([None, *table["income"][1:].tolist()])
    text = page_one(protected({**table, "income": income}, missing="drop"), public=True)
    assert "among the records that were not left out" in text


def test_records_of_strata_that_were_left_out_are_not_counted() -> None:
    """The public report knows by the settings only that a stratum may have been too small."""
    table = people(region=["n"] * 40 + ["s"] * 18 + ["w"] * 2)
    settings: dict[str, Any] = {"stratum": "region", "missing": "error"}
    release = protected(table, **settings, small_strata="drop")
    assert len(release.table) == 58
    assert abs(percent(release, table, "age")) > 1.0, "the counterexample is one"
    left_out = "stay, up to rounding, among the records that were not left out."
    assert left_out in page_one(release, public=True)
    large = {name: values[:58] for name, values in table.items()}
    for small_strata, says in (("drop", True), ("error", False)):
        release = protected(large, **settings, small_strata=small_strata)
        assert (left_out in page_one(release, public=True)) == says


@pytest.mark.parametrize("becomes", ["mean", "keep", "drop"])
def test_weighted_totals(becomes: str) -> None:
    """Totals are compared with the weights, so not where these are not released."""
    weights = (1.0 + people()["income"] / 3_000).round(2)
    release = protected(people(w=weights), weight="w", aggregate={"w": becomes}, missing="error")
    text, shown = page_one(release, public=False), page_one(release, public=True)
    after = np.asarray(release.table.column("income"), np.float64)
    before = people()["income"]
    if becomes == "drop":
        assert "the weights are not released" in shown
        assert "total" not in release.manifest["effects"]["income"]
        return
    theirs = np.asarray(release.table.column("w"))
    change = 100 * ((after * theirs).sum() / (before * weights).sum() - 1)
    effect = release.manifest["effects"]["income"]
    assert 100 * (effect["total"][1] / effect["total"][0] - 1) == pytest.approx(change, abs=1e-6)
    assert "Weighted totals" in text
    assert "Totals and means, weighted, of age and income stay" in shown


def test_nobody_claims_that_unique_amounts_are_none() -> None:
    """Item 4: "none is different for nearly everybody" was said of amounts that were."""
    amounts = np.random.default_rng(2).permutation(60) * 1_000_003
    release = protected(people(expend=amounts), keep=["expend"])
    assert len(set(release.table.column("expend").to_pylist())) == 60
    for public in (False, True):
        text = page_one(release, public=public)
        assert "different for nearly" not in text
        assert "no text column is unique to nearly everyone" in text
        assert "60 of 60 records can be singled out" in text


def test_correlations_count_columns_with_gaps() -> None:
    """Item 3: the largest change left out columns with gaps."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=80)
    y = [None if i % 3 == 0 else float(v) for i, v in enumerate(-x + 1.5 * rng.normal(size=80))]
    table = {"x": x, "y": pa.array(y)}
    release = protected(table, quasi=["x", "y"])
    document = build_document(
        manifest=release.manifest, public=False, pair=release.pair,
        class_sizes=release.anonymity.sizes, figures=[], notes=release.notes,
    )  # fmt: skip
    (section,) = [part for part in document.sections if part.title.startswith("Correlations")]
    before, after = pa.table(table).to_pandas(), release.table.to_pandas()
    matrices = [block for block in section.blocks if isinstance(block, Picture)]
    for frame, picture in zip((before, after), matrices, strict=True):
        expected = frame["x"].corr(frame["y"])
        assert picture.data.rows[0][2] == f"{expected:.2f}".replace("-", "−")
    pairs = int(before.notna().all(axis=1).sum())
    assert f"{pairs} complete pairs" in json.dumps(
        json.loads(to_json(Document("", "internal", (section,)))), ensure_ascii=False
    )


def test_units_are_not_in_the_table() -> None:
    roles = {"age": "quasi", "household": "unit", "name": "identifier", "town": "keep"}
    counts = {"columns": 2, "classes": 3, "smallest_class": 1, "unique_records": 1}
    assert on_all_columns({"records": 4, "roles": roles, "all_columns": counts}) == (
        "If someone knows every published column, 1 of 4 records can be singled out."
    )
