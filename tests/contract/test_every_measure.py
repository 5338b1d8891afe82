"""All that is done with a measure and said of it comes from its entry."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg as ma
from microagg.errors import OnlyInMemoryError
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.registry import assess_pair, measures
from microagg.pipeline.memory_budget import check_out_of_core
from microagg.release.settings import Settings
from microagg.studies.assessment import figure_as_data

ROOT = Path(__file__).parents[2]
ENTRIES = measures()


def ids(entry: Measure) -> str:
    return entry.name


def fields_of(entry: Measure) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in dataclasses.fields(Measure)}


@pytest.mark.parametrize(
    "left_out",
    [
        field.name
        for field in dataclasses.fields(Measure)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ],
)
def test_a_property_left_out_is_an_error(left_out: str) -> None:
    fields = fields_of(ENTRIES[0])
    del fields[left_out]
    with pytest.raises(TypeError, match=left_out):
        Measure(**fields)


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_a_basis_without_its_formula_is_an_error(entry: Measure) -> None:
    others = [basis for basis in Basis if basis.is_exact is not entry.basis.is_exact]
    for basis in others:
        with pytest.raises(ValueError, match="go together"):
            Measure(**{**fields_of(entry), "basis": basis})
    wrong = Basis.SAMPLE if entry.basis is Basis.LOOKUP else Basis.LOOKUP
    with pytest.raises(ValueError, match="go together"):
        Measure(**{**fields_of(entry), "basis": wrong})


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_documentation_and_json_are_those_of_the_entry(entry: Measure) -> None:
    page = (ROOT / "docs" / "measures.md").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith(f"| `{entry.name}` |")]
    basis = "left out" if entry.basis is Basis.WHOLE_TABLE else f"from {entry.basis}"
    assert f" {entry.title} | {entry.unit} | " in line
    assert line.endswith(f"| {basis} |")
    data = figure_as_data(entry, Figure(0.5))
    for name in ("name", "title", "side", "unit", "lower_is_better", "zero_means", "source"):
        assert data[name] == getattr(entry, name)
    assert data["basis"] == entry.basis


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_who_may_see_a_measure_follows_the_entry(entry: Measure) -> None:
    options: dict[str, Any] = {"k": 3, "quasi": "age", "publish": entry.name}
    if entry.of != "pair":
        with pytest.raises(ma.InputError, match=r"anyone can compute|never published"):
            Settings.of(**options)
        return
    assert Settings.of(**options).publish == (entry.name,)
    for weight in (None, "w"):
        settings = Settings.of(**options, weight=weight)
        if entry.basis.is_exact and (weight is None or entry.exact_with_weights):
            check_out_of_core(settings)
        else:
            with pytest.raises(OnlyInMemoryError, match=f"publish={entry.name}"):
                check_out_of_core(settings)


# classes below k count as suppressed; without any relation there is none to be kept
AT_BOTH_ENDS = ("discernibility", "classification-kept")


def test_declared_directions_agree_with_the_two_extremes() -> None:
    """A table as it was loses nothing and protects nobody; one value for all does the opposite."""
    rng = np.random.default_rng(6)
    table = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    one = np.tile(table.max(axis=0), (60, 1))
    columns: dict[str, Any] = {
        "confidential": {"wage": rng.normal(size=60), "ill": rng.integers(0, 4, 60)},
        "kept": {"town": rng.integers(0, 5, 60)},
        "k": 3,
    }
    values = []
    for released in (table, one):
        pair = Pair(table, released, ("age", "rent", "size"), **columns)
        values.append({measure.name: figure.value for measure, figure in assess_pair(pair)})
    as_it_was, all_alike = values
    compared = [measure for measure in measures() if measure.name in as_it_was]
    assert len(compared) >= 35
    for measure in compared:
        better, worse = as_it_was[measure.name], all_alike[measure.name]
        if measure.side == "risk":
            better, worse = worse, better
        if not measure.lower_is_better:
            better, worse = -better, -worse
        assert better < worse or (better == worse and measure.name in AT_BOTH_ENDS), measure.name
