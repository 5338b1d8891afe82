"""Sums between columns: found among many columns, confirmed on all records, kept by rounding
parts.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from microagg.errors import InputError
from microagg.table.linear import KeptSums, RelationTotals, relation_of
from microagg.table.precision import Precision
from microagg.table.relations import Records, independent, records_of
from microagg.table.rules import Rule, Rules
from microagg.table.variable import Cells


def records(values: np.ndarray) -> Records:
    return records_of(Cells.plain(values, [f"c{j}" for j in range(values.shape[1])]))


def found_in(values: np.ndarray) -> set[str]:
    return {rule.text for rule in records(values).holding(())[1]}


def sums_by_trying(values: np.ndarray) -> set[frozenset[tuple[int, int]]]:
    """Every set of two to four columns that adds up to 0 in all complete records, by exact
    arithmetic.
    """
    rules = set()
    for size in (2, 3, 4):
        for columns in itertools.combinations(range(values.shape[1]), size):
            chosen = values[:, columns]
            complete = chosen[~np.isnan(chosen).any(axis=1)].tolist()
            rows = [[Fraction(str(cell)) for cell in row] for row in complete]
            for signs in itertools.product((1, -1), repeat=size - 1):
                if all(
                    row[0] + sum(s * x for s, x in zip(signs, row[1:], strict=True)) == 0
                    for row in rows
                ):
                    rules.add(frozenset(zip(columns, (1, *signs), strict=True)))
    return rules


@pytest.mark.parametrize("seed", range(8))
def test_all_sums_are_found_and_no_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.lognormal(3.0, 1.0, (60, 7)), 2)
    if seed % 3 == 0:
        values[:, 3] = values[:, 2]
    values[:, 5] = np.round(values[:, 0] + values[:, 1] - values[:, seed % 2 + 2], 2)
    values[:, 6] = np.round(values[:, 4] - values[:, seed % 4], 2)
    if seed > 3:
        values[rng.random(values.shape) < 0.1] = np.nan
    names = [f"c{j}" for j in range(7)]
    rules = records(values).holding(())[1]
    relations = {frozenset(relation_of(rule, names)) for rule in rules}
    expected = sums_by_trying(values)
    doubled = {(2, 1), (3, -1)} if seed % 3 == 0 else None  # of equal columns one is looked at
    if doubled is None:
        assert relations == expected
    else:
        assert frozenset(doubled) in relations
        assert relations <= expected
    assert len(independent(rules, names)) == (3 if doubled else 2)


def test_sums_are_found_among_fifty_columns_and_raw_floats() -> None:
    values = np.random.default_rng(1).lognormal(2.0, 1.0, (500, 50))
    values[:, 10] = values[:, 1] + values[:, 2]
    values[:, 20] = values[:, 3] + values[:, 4] + values[:, 5]
    values[:, 40] = values[:, 6] - values[:, 7]
    assert found_in(values) == {"c10 = c1 + c2", "c20 = c3 + c4 + c5", "c6 = c7 + c40"}
    values[:, 40] = -values[:, 30]
    assert "c30 = - c40" in found_in(values)


def test_two_columns_alone_may_hold_the_same() -> None:
    ages = np.random.default_rng(3).integers(0, 90, 50).astype(np.float64)
    assert found_in(np.column_stack([ages, ages])) == {"c1 = c0"}
    assert found_in(ages[:, None]) == set()


def test_one_record_that_misses_a_sum_undoes_it() -> None:
    values = np.random.default_rng(2).integers(1, 99, (2000, 3)).astype(float)
    values[:, 2] = values[:, 0] + values[:, 1]
    assert found_in(values) == {"c2 = c0 + c1"}
    values[1234, 1] += 1e-6
    assert found_in(values) == set()


def test_what_may_be_chance_is_no_sum() -> None:
    values = np.random.default_rng(3).integers(1, 99, (19, 3)).astype(float)
    values[:, 2] = values[:, 0] + values[:, 1]
    assert found_in(values) == set(), "too few records"
    flags = np.zeros((100, 3))
    flags[:30, 0], flags[:29, 1], flags[29, 2] = 1.0, 1.0, 1.0
    assert found_in(flags) == set(), "no record has two of them"


def test_chunks_add_up() -> None:
    values = np.random.default_rng(4).lognormal(size=(300, 4))
    values[:, 3], values[5, 0] = values[:, 0] + values[:, 1], np.nan
    parts = RelationTotals(4)
    for start in range(0, 300, 70):
        parts.combine(RelationTotals.of_chunk(values[start : start + 70], range(4), start))
    whole = RelationTotals.of_chunk(values, range(4))
    assert parts.candidates([False] * 4) == whole.candidates([False] * 4) != []
    assert (parts.complete, parts.gaps.tolist()) == (299, [1, 0, 0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_all_rules_hold_among_rounded_columns(seed: int) -> None:
    """Any solvable rules between seven columns, in any order, hold to the digit when parts are
    rounded.
    """
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in range(7)]
    rules = []
    for _ in range(3):
        chosen = rng.permutation(7)[: rng.integers(2, 5)]
        terms = tuple((int(rng.choice([1, -1])), names[j]) for j in chosen[1:])
        rules.append(Rule(names[chosen[0]], terms))
    relations = [relation_of(rule, names) for rule in rules]
    kept, solved = KeptSums.of(
        [(entry, names.index(rule.left)) for entry, rule in zip(relations, rules, strict=True)]
    )
    assert not set(kept.of_parts) & {part for parts in kept.of_parts.values() for part in parts}
    originals = [Precision(int(digits), int(digits)) for digits in rng.integers(0, 3, 7)]
    precisions = kept.precisions(originals)
    means = rng.lognormal(4.0, 1.0, (50, 7))
    rounded = {j: np.round(means[:, j], precisions[j].decimals or 0) for j in range(7)}
    rounded |= kept.applied(rounded, precisions)
    for relation, is_kept in zip(relations, solved, strict=True):
        if is_kept is not False:
            for row in range(50):
                exact = [(c, Fraction(str(float(rounded[j][row])))) for j, c in relation]
                assert sum(c * value for c, value in exact) == 0
    for j, parts in kept.of_parts.items():
        if parts:
            assert (precisions[j].decimals or 0) <= (originals[j].decimals or 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("total = wage + other", "total = wage + other"),
        ("total=wage+other", "total = wage + other"),
        ("net-income = gross - tax", "net-income = gross - tax"),
        ("a = - b + c", "a = - b + c"),
        ("a = 'b+c' + \"d = e\"", "a = 'b+c' + 'd = e'"),
        ("2 = 0 + 1", "2 = 0 + 1"),
    ],
)
def test_rules_are_read_as_they_are_written(text: str, expected: str) -> None:
    assert Rules("rules", "").parse([text, text]) == (expected,)
    assert Rule.parse(expected) == Rule.parse(text)


@pytest.mark.parametrize(
    "wrong",
    [
        "a",
        "a =",
        "= b",
        "a = b + ",
        "a = a + b",
        "a = b + b",
        "a = b + c + d + e",
        5,
        [5],
        {"a": "b"},
    ],
)
def test_what_is_no_rule_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"wage \+ other"):
        Rules("rules", "").parse(wrong)
