"""All that is done with an aggregate and said of it comes from its entry."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.estimator.microaggregator import Microaggregator
from microagg.release.report.markdown import to_markdown
from microagg.release.risks import RISKS
from microagg.table.aggregates import AGGREGATES, Aggregate, default_aggregate
from microagg.table.columns.labels import Labels, with_labels
from microagg.table.kind_parameters import AGGREGATE
from microagg.table.schema import Kind

ROOT = Path(__file__).parents[2]
ENTRIES = list(AGGREGATES.values())
NUMERIC = [entry for entry in ENTRIES if Kind.NUMERIC in entry.kinds]
TREE = {str(value): [str(value), "all"] for value in range(1000)}


def amounts() -> pa.Table:
    """Groups of three, each with one value that is far larger than the others."""
    rng = np.random.default_rng(1)
    value = rng.permutation(np.arange(30))
    value[::3] += 900
    return pa.table({"amount": value, "size": np.repeat(np.arange(10) * 50, 3)})


def released(entry: Aggregate, **more: Any) -> ma.Release:
    settings: dict[str, Any] = {
        "accept_risk": ["true-values"],
        "quasi": ["amount", "size"],
        "importance": {"size": 1000.0},  # which decides the groups
        **more,
    }
    if entry.needs_hierarchy:
        settings["hierarchy"] = {"amount": TREE}
    return ma.anonymize(
        amounts(), 3, aggregate={"amount": entry.name}, effort="quick", seed=1, **settings
    )


def ids(entry: Aggregate) -> str:
    return entry.name


@pytest.mark.parametrize(
    "left_out",
    [
        field.name
        for field in dataclasses.fields(Aggregate)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ],
)
def test_a_property_left_out_is_an_error(left_out: str) -> None:
    fields = {
        field.name: getattr(ENTRIES[0], field.name) for field in dataclasses.fields(Aggregate)
    }
    assert dataclasses.replace(ENTRIES[0]) == Aggregate(**fields)
    del fields[left_out]
    with pytest.raises(TypeError, match=left_out):
        Aggregate(**fields)


def test_an_entry_that_contradicts_itself_is_an_error() -> None:
    median = AGGREGATES["median"]
    with pytest.raises(ValueError, match="does not fit"):
        dataclasses.replace(median, true_values_in=(Kind.NOMINAL,))
    with pytest.raises(ValueError, match="either values or member"):
        dataclasses.replace(median, values=None)


def test_every_kind_has_one_default() -> None:
    for kind in Kind:
        assert [entry for entry in ENTRIES if kind in entry.default_for] == [
            default_aggregate(kind)
        ]
        assert default_aggregate(kind).name in AGGREGATE.help


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_names_and_sentences_are_those_of_the_entry(entry: Aggregate) -> None:
    assert entry.name in AGGREGATE.choices  # the command line, its completion, settings files
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    assert f"| `{entry.name}` | " in page
    assert f" | {entry.help} |" in page
    true_values = next(risk for risk in RISKS if risk.name == "true-values")
    sentence = true_values.meaning().partition("(by ")[2].partition(", or as")[0]
    names = sentence.replace(" or ", ", ").split(", ")
    assert (entry.name in names) is bool(entry.true_values_in)


@pytest.mark.slow
@pytest.mark.parametrize("entry", NUMERIC, ids=ids)
def test_report_manifests_and_notes_follow_the_entry(entry: Aggregate) -> None:
    release = released(entry)
    for public in (True, False):
        text = to_markdown(release._document(public=public))
        assert f"replaced by {entry.phrase}" in text
        singles = "| true values of single records | Amount: groups show" in text
        assert singles is (Kind.NUMERIC in entry.true_values_in)
    assert release.manifest["settings"]["aggregate"] == {"amount": entry.name}
    assert release.public_manifest["settings"]["aggregate"] == {"amount": entry.name}
    dominated = [note for note in map(str, release.notes) if "one record is so large" in note]
    assert any("'amount'" in note for note in dominated) is entry.dominance_applies
    decimals = release.manifest["scaling"]["amount"]["decimals"]
    assert (decimals is not None) is entry.rounds


@pytest.mark.parametrize("entry", NUMERIC, ids=ids)
def test_true_values_are_accepted_before_they_are_saved(entry: Aggregate, tmp_path: Path) -> None:
    release = released(entry, accept_risk=[])
    if Kind.NUMERIC in entry.true_values_in:
        with pytest.raises(ma.InputError, match="accept_risk='true-values'"):
            release.save(tmp_path / "out.csv")
    else:
        release.save(tmp_path / "out.csv")
        assert (tmp_path / "out.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("entry", NUMERIC, ids=ids)
def test_totals_stay_where_the_entry_says_so(entry: Aggregate) -> None:
    text = to_markdown(released(entry, precision="full")._document(public=True))
    moved = "groups show one value for all their records, not the mean" in text
    assert moved is not entry.keeps_totals
    table = amounts().append_column("total", pa.array(np.arange(30) * 2 + 1))
    rule = {"rules": ["total = amount + size"], "quasi": ["amount", "size", "total"]}
    if not entry.keeps_totals and not entry.needs_hierarchy:
        with pytest.raises(ma.InputError, match="cannot be kept"):
            ma.anonymize(table, 3, aggregate={"amount": entry.name}, effort="quick", **rule)


@pytest.mark.parametrize("entry", NUMERIC, ids=ids)
def test_the_estimator_takes_values_only(entry: Aggregate) -> None:
    hierarchy = {"amount": TREE} if entry.needs_hierarchy else None
    estimator = Microaggregator(
        k=3, aggregate={"amount": entry.name}, hierarchy=hierarchy, accept_risk=["true-values"]
    )
    if entry.is_coarse:
        with pytest.raises(ma.InputError, match="choose another aggregate"):
            estimator.fit(amounts())
    else:
        assert len(estimator.fit(amounts()).transform(amounts())) == 30


@pytest.mark.parametrize("entry", NUMERIC, ids=ids)
def test_labelled_codes_stay_codes(entry: Aggregate) -> None:
    codes = {value: f"label {value}" for value in amounts().column("amount").to_pylist()}
    table = with_labels(amounts(), {"amount": Labels("", codes)})
    options: dict[str, Any] = {"kinds": {"amount": "numeric"}, "quasi": ["amount", "size"]}
    options |= {"hierarchy": {"amount": TREE}} if entry.needs_hierarchy else {}
    if entry.rounds:
        with pytest.raises(ma.InputError, match="may have none"):
            ma.anonymize(table, 3, aggregate={"amount": entry.name}, effort="quick", **options)
    else:
        ma.anonymize(table, 3, aggregate={"amount": entry.name}, effort="quick", **options)
