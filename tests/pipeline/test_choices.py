"""Sentences on settings, against counts of the very release."""

from __future__ import annotations

import re

import pytest

import microagg as ma
from microagg.pipeline.choices import choice_sentences

ROLES = {"quasi": ["age", "income"], "confidential": ["illness"], "rest": "drop"}


@pytest.fixture(scope="module")
def table():
    people = ma.datasets.persons(300).to_pandas()
    illness = ["flu", "flu", "flu", "cold", "asthma"] * 60
    return people.assign(illness=illness)


def settings_for(**more) -> ma.Settings:
    return ma.Settings.of(**{"k": 4, "seed": 1, "effort": "quick", **ROLES, **more})


def test_confidential_values_are_those_of_the_same_groups(table) -> None:
    settings = settings_for()
    shown = ma.preview(table, settings)
    release = ma.anonymize(table, settings=settings)
    values = table.groupby(release.labels)["illness"]
    assert shown.fewest_values == {"illness": values.nunique().min()}
    overall = table["illness"].value_counts(normalize=True)
    distances = [
        0.5 * group.value_counts(normalize=True).sub(overall, fill_value=0).abs().sum()
        for _, group in values
    ]
    assert shown.largest_distance["illness"] == pytest.approx(max(distances))


def test_l_prevents_what_the_sentence_says(table) -> None:
    settings = settings_for()
    without = choice_sentences(ma.preview(table, settings), settings)["l"]
    assert "everybody in some group has the same 'illness'" in without
    assert "l = 2 prevents that" in without
    kept = settings_for(l=2)
    within = choice_sentences(ma.preview(table, kept), kept)["l"]
    assert re.search(r"at least [23] values of 'illness'", within)


def test_k_speaks_of_this_table(table) -> None:
    settings = settings_for(k=7)
    exposed = ma.exposure(table, settings)
    sentence = choice_sentences(ma.preview(table, settings), settings, exposed.below_k)["k"]
    assert sentence.startswith(f"{exposed.below_k} of 300 records have fewer than 6 others")
    assert "at most 42 groups" in sentence


def test_times_are_those_of_the_preview(table) -> None:
    settings = settings_for()
    plain = choice_sentences(ma.preview(table, settings), settings)
    assert "effort" not in plain
    timed = choice_sentences(ma.preview(table, settings, timed=True), settings)
    assert timed["effort"].startswith("Expected time for this table: quick ")
    assert "expected time" in timed["method"]


def test_without_confidential_columns_l_and_t_protect_nothing(table) -> None:
    settings = settings_for(confidential=[])
    sentences = choice_sentences(ma.preview(table, settings), settings)
    assert "No column is confidential" in sentences["l"]
    assert "No column is confidential" in sentences["t"]
