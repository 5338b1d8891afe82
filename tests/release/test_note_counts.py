"""Counts behind notes, against counting record by record."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from microagg.release.note_counts import (
    approximated_columns,
    columns_with_gaps,
    equal_columns,
    numbers_as_text,
    records_without_value,
    rounded_columns,
    shared_value_columns,
    strata_facts,
    unit_facts,
)
from microagg.release.note_facts import RoundedColumn, UnitFacts
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable
from mixed_tables import mixed_cells


@pytest.mark.parametrize("seed", range(20))
def test_groups_that_share_a_value_against_sets(seed: int) -> None:
    """Codes from `known` on are gaps and special codes: not known, whatever stands beside them."""
    rng = np.random.default_rng(seed)
    known = int(rng.integers(1, 4))
    values = rng.integers(0, known + 2, 30).astype(float)
    classes = np.unique(rng.integers(0, 12, 30), return_inverse=True)[1]
    atoms = np.where(values >= known, values - known, -1).astype(np.int16)
    ill = Attribute("ill", Kind.NOMINAL, np.where(atoms >= 0, np.nan, values), atoms=atoms)
    of_class = defaultdict(set)
    for label, value in zip(classes.tolist(), values.tolist(), strict=True):
        if value < known:
            of_class[label].add(value)
    shared = [label for label, distinct in of_class.items() if len(distinct) == 1]
    (fact,) = shared_value_columns(classes, [ill])
    assert fact.column == "ill"
    assert fact.groups == len(shared)
    assert fact.records == int(np.isin(classes, shared).sum())
    assert fact.all_groups == classes.max() + 1
    different = len({value for value in values if value < known})
    assert fact.records_of_only_value == (int((values < known).sum()) if different == 1 else None)
    assert records_without_value([ill]) == {"ill": int((values >= known).sum())}


def test_units_of_k_records_are_large() -> None:
    homes = Attribute("home", Kind.NOMINAL, np.array([7, 7, 7, 8, 8, 9]))
    for k, large in ((1, 3), (2, 2), (3, 1), (4, 0)):
        assert unit_facts(homes, k) == UnitFacts("home", 3, large)
    assert unit_facts(None, 3) is None


def test_strata_are_told_by_their_median() -> None:
    facts = strata_facts(np.array([3, 5, 8, 100]), 2, 7)
    assert (facts.strata, facts.median_size) == (4, 6.5)
    assert (facts.strata_left_out, facts.records_left_out) == (2, 7)


@pytest.mark.parametrize("seed", range(5))
def test_gaps_are_those_of_numbers_and_ordered_columns(seed: int) -> None:
    cells = mixed_cells(seed)
    assert cells.atoms is not None
    assert columns_with_gaps(cells) == ["income", "school"]
    atoms = cells.atoms.copy()
    atoms[:, 0] = NO_ATOM
    assert columns_with_gaps(replace(cells, atoms=atoms)) == ["school"]
    atoms[3, 0] = 0
    assert columns_with_gaps(replace(cells, atoms=atoms)) == ["income", "school"]
    assert columns_with_gaps(Cells.plain(np.ones((2, 1)), ["age"])) == []


@pytest.mark.parametrize("records", [2, 16, 17, 200])
def test_equal_columns_are_equal_in_every_record(records: int) -> None:
    rng = np.random.default_rng(records)
    age, rent = rng.normal(size=(2, records))
    almost = age.copy()
    almost[1] += 1.0  # of 200 records, one that is not among the first compared
    columns = [age, rent, age, almost, np.ones(records), np.ones(records), rent, age]
    names = ["a", "b", "a2", "near", "one", "one2", "b2", "a3"]
    cells = Cells.plain(np.column_stack(columns), names)
    assert equal_columns(cells) == [["a", "a2", "a3"], ["b", "b2"]]


def test_columns_of_other_codes_or_kinds_are_not_equal() -> None:
    values = np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, np.nan]])
    number = Variable("a", marks=(97.0, None))
    both = (number, replace(number, name="b"))
    same = np.array([[-1, -1], [-1, -1], [0, 0]], np.int16)
    assert equal_columns(Cells(both, values, same)) == [["a", "b"]]
    other = same.copy()
    other[2, 1] = 1
    assert equal_columns(Cells(both, values, other)) == []
    ordered = Variable("b", Kind.ORDINAL, levels=("x", "y"), marks=(97.0, None))
    assert equal_columns(Cells((number, ordered), values, same)) == []


def town(levels: int, *more: object) -> Variable:
    return Variable("town", Kind.NOMINAL, levels=(*(str(i) for i in range(levels)), *more))


def test_more_than_twenty_texts_that_are_numbers() -> None:
    assert numbers_as_text([town(20)], {}) == []
    assert numbers_as_text([town(20, None)], {}) == []
    assert numbers_as_text([town(21)], {}) == ["town"]
    assert numbers_as_text([town(21, None)], {}) == ["town"]
    assert numbers_as_text([town(30, "Ulm")], {}) == []
    assert numbers_as_text([town(30, 7)], {}) == []  # a number is no text
    assert numbers_as_text([town(21)], {"town": "nominal"}) == []
    assert numbers_as_text([replace(town(21), kind=Kind.ORDINAL)], {}) == []


def test_columns_of_lists_of_facts() -> None:
    assert rounded_columns(["a", "b"], [2, None], ["spread", ""]) == [
        RoundedColumn("a", 2, "spread"),
        RoundedColumn("b", None, ""),
    ]
    space = Space.fit(mixed_cells(0))
    inexact = [
        name for name, column in zip(mixed_cells(0).names, space.columns, strict=True)
        if not column.exact
    ]  # fmt: skip
    assert approximated_columns(mixed_cells(0).names, space) == inexact
