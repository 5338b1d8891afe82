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
from microagg.release.release import Release
from microagg.release.report.building import build_document
from microagg.release.report.claims import on_all_columns, on_naming
from microagg.release.report.plain import to_json
from microagg.release.report.summary import summary_of

STAY = "Totals and means of {} stay what they were"


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest."""
    monkeypatch.setattr("microagg.drawing.pictures._drawn", lambda draw, inches, salt: "")


def people(n: int = 60, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"age": rng.integers(18, 90, n), "income": rng.integers(0, 90_000, n), **more}


def protected(table: dict[str, Any], **asked: Any) -> Release:
    asked = {"quasi": ["age", "income"], "rest": "drop", "method": "mdav", "seed": 1, **asked}
    return ma.anonymize(pa.table(table), 5, **asked)


def page_one(release: Release, *, public: bool) -> str:
    document = build_document(
        manifest=release.manifest,
        public=public,
        pair=release.pair,
        class_sizes=release.anonymity.sizes,
        figures=release.figures,
        notes=release.notes,
    )
    return json.dumps(json.loads(to_json(document))["sections"][0], ensure_ascii=False)


def classes_by_hand(release: Release) -> tuple[int, int, int]:
    """How many different rows the release has, how often the rarest occurs, and how many occur
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
    told = page_one(release, public=public)
    assert f"all 3 released columns, town included: {unique} of 60 records are unique" in told
    assert "no record stands alone in these columns" in told
    assert "no record stands alone any more" not in told


@pytest.mark.parametrize("public", [False, True])
def test_nobody_stands_alone_where_that_is_so(public: bool) -> None:
    release = protected(people(all_alike=np.ones(60, np.int64)), keep=["all_alike"])
    told = page_one(release, public=public)
    assert "no record is unique, the smallest class has 5 records" in told
    alone = protected(people())
    assert "no other columns are released" in on_all_columns(alone.public_manifest)
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
    for each in (release, again):
        assert classes_by_hand(each)[2] == each.manifest["all_columns"]["unique_records"]


def test_summaries_say_it_too() -> None:
    release = protected(people(surname=np.arange(60) % 7), keep=["surname"])
    rows = dict(summary_of(release.manifest, release.anonymity.sizes))
    assert "surname included" in rows[""]
    assert rows["names"] == "May name people, and is in the table as it was: surname."
    older = {
        name: value
        for name, value in release.manifest.items()
        if name not in ("all_columns", "may_identify")
    }
    assert (on_all_columns(older), on_naming(older)) == ("", ""), (
        "what was not looked at is not told"
    )


@pytest.mark.parametrize("public", [False, True])
def test_columns_that_name_people(public: bool) -> None:
    texts = [f"text {i}" for i in range(60)]
    for name, values in {
        "remark": texts,
        "Nachname": ["a", "b", "c"] * 20,
        "case_id": np.arange(60) * 1_000,
    }.items():
        told = page_one(protected(people(**{name: values}), keep=[name]), public=public)
        assert f"May name people, and is in the table as it was: {name}." in told
        assert "No released column" not in told
    innocent = protected(
        people(
            rent=np.random.default_rng(1).uniform(0, 1, 60),
            town=["a", "b", "c"] * 20,
            born=[1950 + i % 50 for i in range(60)],
        ),
        keep=["rent", "town", "born"],
    )
    told = page_one(innocent, public=public)
    assert "No released column sounds as if it named people" in told
    assert "May name" not in told


@pytest.mark.parametrize("public", [False, True])
def test_totals_stay_where_they_do(public: bool) -> None:
    release = protected(people())
    before, after = (
        np.asarray(column) for column in (people()["income"], release.table.column("income"))
    )
    assert abs(before.mean() - after.mean()) < 0.01 * before.std()
    told = page_one(release, public=public)
    assert STAY.format("these columns") in told
    assert ("as far as no values were missing" in told) == public
    assert "as far as" not in page_one(protected(people(), missing="error"), public=public)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"cap": {"income": "90%"}}, "Not so in income: values were capped"),
        ({"aggregate": {"income": "median"}}, "Not so in income: what a group releases is no mean"),
    ],
)
def test_totals_do_not_stay_as_asked(asked: dict[str, Any], why: str, public: bool) -> None:
    release = protected(people(), **asked)
    before, after = (
        np.asarray(column) for column in (people()["income"], release.table.column("income"))
    )
    assert abs(before.mean() - after.mean()) > 100.0, "the counterexample is one"
    told = page_one(release, public=public)
    assert STAY.format("age") in told
    assert why in told


@pytest.mark.parametrize("public", [False, True])
def test_totals_do_not_stay_where_rounding_is_coarse(public: bool) -> None:
    rng = np.random.default_rng(3)
    has_car = (rng.uniform(size=60) < 0.25).astype(np.int64)
    table = {"income": people()["income"], "has_car": has_car}
    release = protected(table, quasi=["income", "has_car"], importance={"has_car": 0.001})
    after = np.asarray(release.table.column("has_car"))
    assert abs(after.mean() - has_car.mean()) > 0.05, "the counterexample is one"
    told = page_one(release, public=public)
    assert STAY.format("income") in told
    assert "Not so in has_car: values are rounded" in told
    exact = protected(
        table, quasi=["income", "has_car"], importance={"has_car": 0.001}, precision="full"
    )
    assert STAY.format("these columns") in page_one(exact, public=public)


def test_totals_do_not_stay_where_gaps_are_filled() -> None:
    rng = np.random.default_rng(5)
    table = people()
    gaps = pd.array(table["income"], dtype="Int64")
    gaps[rng.permutation(60)[:10]] = pd.NA
    release = protected({**table, "income": pa.array(gaps)})
    change = release.changes["income"]
    assert change.filled + change.blanked > 0
    told = page_one(release, public=False)
    assert STAY.format("age") in told
    assert "Not so in income: gaps were filled" in told
    shown = page_one(release, public=True)
    assert "filled" not in shown, "only the data holder knows"
    assert "as far as no values were missing" in shown


@pytest.mark.parametrize("public", [False, True])
def test_categories_have_no_totals(public: bool) -> None:
    release = protected({"sex": ["f", "m", "f"] * 20}, quasi=["sex"])
    told = page_one(release, public=public)
    assert "Totals and means do not stay what they were." in told
    assert "How often categories and gaps occur changes" in told


def test_records_that_were_left_out_are_not_counted() -> None:
    table = people()
    income = pa.array([None, *table["income"][1:].tolist()])
    told = page_one(protected({**table, "income": income}, missing="drop"), public=True)
    assert "among the records that were not left out" in told


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("becomes", ["mean", "keep", "drop"])
def test_weighted_totals(becomes: str, public: bool) -> None:
    """Totals stay as far as anybody can compute them: with the weights, so not where these are not
    released.
    """
    weights = (1.0 + people()["income"] / 3_000).round(2)
    release = protected(people(w=weights), weight="w", aggregate={"w": becomes})
    told = page_one(release, public=public)
    after = np.asarray(release.table.column("income"), np.float64)
    before = people()["income"]
    assert abs(after.mean() - before.mean()) > 0.01 * before.std(), "the plain mean moves"
    if becomes == "drop":
        assert (
            "Totals and means do not stay what they were: in age and income, means are weighted"
            in told
        )
        assert on_all_columns(release.manifest).startswith("no other columns are released"), (
            "the weight is not"
        )
        return
    theirs = np.asarray(release.table.column("w"))
    assert np.average(after, weights=theirs) == pytest.approx(
        np.average(before, weights=weights), rel=1e-3
    )
    assert "Totals and means, weighted, of these columns stay what they were" in told
    # an averaged weight is one of the columns that the guarantee counts
    all_known = (
        "all 3 released columns, w included"
        if becomes == "keep"
        else "No other columns are released"
    )
    assert all_known in told


def test_weighted_totals_do_not_stay_where_gaps_are_filled() -> None:
    table = people(w=np.linspace(1.0, 9.0, 60).round(2))
    income = [None if i % 6 == 0 else x for i, x in enumerate(table["income"].tolist())]
    release = protected({**table, "income": pa.array(income)}, weight="w")
    assert release.changes["income"].filled + release.changes["income"].blanked > 0
    assert "Not so in income: gaps were filled" in page_one(release, public=False)


def test_units_are_not_in_the_table() -> None:
    roles = {"age": "quasi", "household": "unit", "name": "identifier", "town": "keep"}
    found = {"columns": 2, "classes": 3, "smallest_class": 1, "unique_records": 1}
    told = on_all_columns({"records": 4, "roles": roles, "all_columns": found})
    assert (
        told == "whoever knows all 2 released columns, town included: 1 of 4 records is unique, "
        "the smallest class has 1 record"
    )
