"""Releases of a group: every aggregate against its definition, in plain Python, by record."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from microagg.errors import InputError
from microagg.kernels import random
from microagg.table.aggregate import aggregated, group_means_for_records, round_to
from microagg.table.aggregates import AGGREGATES, check_aggregates, default_aggregate
from microagg.table.grouping import Groups
from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

LETTERS = ("c", "a", "d", "b", None)
TREE = Hierarchy.of([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
TENS = Hierarchy.of([[str(age), f"{age // 3}x", "all"] for age in range(12)])
ORDER = Hierarchy.of([["P", "low", "*"], ["S", "low", "*"], ["PS", "high", "*"]])
VARIABLES = (
    Variable("age", marks=(97, 98, None), hierarchy=TENS),
    Variable("education", Kind.ORDINAL, ("P", "S", "PS", "never"), (99, None), hierarchy=ORDER),
    Variable("town", Kind.NOMINAL, LETTERS, hierarchy=TREE),
)


def mixed(seed: int) -> tuple[Cells, np.ndarray, int]:
    """A small table with every kind, atoms and many ties, its groups, and k."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    groups = int(rng.integers(1, 6))
    sizes = rng.integers(k, 2 * k, groups)
    n = int(sizes.sum())
    labels = rng.permutation(np.repeat(np.arange(groups), sizes)).astype(np.int32)
    values = np.column_stack(
        [rng.integers(0, 12, n), rng.integers(0, 3, n), rng.integers(0, 5, n)]
    ).astype(float)
    atoms = np.full((n, 3), NO_ATOM, np.int16)
    for j in (0, 1):
        gone = rng.random(n) < rng.choice([0.0, 0.2, 0.6, 1.0])
        atoms[gone, j] = rng.integers(0, len(VARIABLES[j].marks), int(gone.sum()))
        values[gone, j] = np.nan
    return Cells(VARIABLES, values, atoms), labels, k


# cells as people read them: an atom is ("atom", place), a value a number, or a place among the
# levels


def cell(cells: Cells, i: int, j: int) -> Any:
    atom = NO_ATOM if cells.atoms is None else int(cells.atoms[i, j])
    return ("atom", atom) if atom != NO_ATOM else float(cells.values[i, j])


def shown(cells: Cells, i: int, j: int) -> Any:
    """A released cell; coarse ones as their text."""
    value = cell(cells, i, j)
    coarse = cells.variables[j].coarse and isinstance(value, float)
    return cells.variables[j].levels[int(value)] if coarse else value


def is_atom(value: Any) -> bool:
    return isinstance(value, tuple)


def commonest(values: list[Any], everywhere: list[Any], rank: Any) -> Any:
    """The most frequent; ties: more frequent in the table, then the order."""
    here, overall = Counter(values), Counter(everywhere)
    return min(here, key=lambda value: (-here[value], -overall[value], rank(value)))


def mean(column: list[Any], variable: Variable, whole: list[Any]) -> Any:
    exact = math.fsum(column) / len(column)
    return float(round(Fraction(exact))) if all(v == int(v) for v in whole) else exact


def median(column: list[Any], variable: Variable, whole: list[Any]) -> Any:
    return sorted(column)[(len(column) - 1) // 2]


def mode(column: list[Any], variable: Variable, whole: list[Any]) -> Any:
    return commonest(column, whole, lambda value: value)


def span(column: list[Any], variable: Variable, whole: list[Any]) -> Any:
    ends = [
        str(int(end)) if variable.kind is Kind.NUMERIC else variable.levels[int(end)]
        for end in (min(column), max(column))
    ]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}..{ends[1]}"


def ancestor(column: list[Any], variable: Variable, whole: list[Any]) -> Any:
    tree = variable.hierarchy
    assert tree is not None
    names = {
        str(int(v)) if variable.kind is Kind.NUMERIC else variable.levels[int(v)] for v in column
    }
    if names == {None}:
        return None
    if None in names:
        return next(iter(tree.paths.values()))[-1]
    return next(
        level[0]
        for level in zip(*(tree.paths[name] for name in names), strict=True)
        if len(set(level)) == 1
    )


ORACLES = {"mean": mean, "median": median, "mode": mode, "range": span, "generalise": ancestor}


def released_by_rule(cells: Cells, labels: np.ndarray, k: int, j: int, how: str) -> list[Any]:
    """The rule for atoms to the letter, then the aggregate of the values."""
    whole = [cell(cells, i, j) for i in range(len(cells))]
    known = [value for value in whole if not is_atom(value)]
    by_group = {}
    for group in set(labels.tolist()):
        members = [whole[i] for i in range(len(cells)) if labels[i] == group]
        values = [value for value in members if not is_atom(value)]
        atoms = [value for value in members if is_atom(value)]
        if not atoms or (len(values) > len(members) / 2 and len(values) >= min(k, 3)):
            by_group[group] = ORACLES[how](values, cells.variables[j], known)
        else:
            everywhere = [value for value in whole if is_atom(value)]
            by_group[group] = commonest(atoms, everywhere, lambda atom: atom[1])
    return [by_group[group] for group in labels.tolist()]


FITTING = [
    (j, how)
    for j in range(len(VARIABLES))
    for how, entry in AGGREGATES.items()
    if VARIABLES[j].kind in entry.kinds
]


@pytest.mark.parametrize(("j", "how"), [pair for pair in FITTING if pair[1] in ORACLES])
def test_an_aggregate_of_values_against_its_definition(j: int, how: str) -> None:
    for seed in range(200):
        cells, labels, k = mixed(seed)
        result = aggregated(
            cells, labels, how={VARIABLES[j].name: how}, precision="column", k=k, seed=seed
        )
        expected = released_by_rule(cells, labels, k, j, how)
        assert [shown(result.cells, i, j) for i in range(len(cells))] == expected, seed
        before = [
            is_atom(cell(cells, i, j)) or (j == 2 and cells.values[i, j] == 4)
            for i in range(len(cells))
        ]
        after = [is_atom(value) or value is None or (j == 2 and value == 4) for value in expected]
        assert result.filled[j] == sum(b and not a for b, a in zip(before, after, strict=True)), (
            seed
        )
        assert result.blanked[j] == sum(a and not b for b, a in zip(before, after, strict=True)), (
            seed
        )
        groups = [expected[labels.tolist().index(g)] for g in range(int(labels.max()) + 1)]
        assert result.of_values[:, j].tolist() == [not is_atom(value) for value in groups], seed


@pytest.mark.parametrize("j", range(3))
def test_draw_takes_the_cell_of_a_member(j: int) -> None:
    name = VARIABLES[j].name
    for seed in range(200):
        cells, labels, k = mixed(seed)
        result = aggregated(cells, labels, how={name: "draw"}, precision="column", k=k, seed=seed)
        column = random.seeded(seed, "draw", name)
        for group in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == group)
            state = np.array([random.next_integer(column)], np.uint64)
            chosen = int(members[random.below(state, len(members))])
            for i in members.tolist():
                assert cell(result.cells, i, j) == cell(cells, chosen, j), (seed, group)


def test_draws_of_columns_and_groups_go_their_own_ways() -> None:
    groups = Groups.of(np.repeat(np.arange(500), 4))
    drawn = {key: groups.drawn(*key) % 4 for key in [(1, "a"), (1, "b"), (2, "a")]}
    for key, places in drawn.items():
        counts = np.bincount(places, minlength=4)
        assert counts.min() > 80, f"{key}: every member is drawn about as often"
        others = [other for name, other in drawn.items() if name != key]
        assert all(50 < (places == other).sum() < 250 for other in others)


class Squares:
    """A space of z-scores without width, in plain Python: exact fractions, so that ties are
    ties.
    """

    def record_errors(self, before: Cells, after: Cells, labels: np.ndarray) -> np.ndarray:
        assert all(variable.coarse for variable in after.variables)
        return self.to_centroids(before, labels)

    def to_centroids(self, cells: Cells, labels: np.ndarray) -> np.ndarray:
        result = []
        for i in range(len(cells)):
            members = [m for m in range(len(cells)) if labels[m] == labels[i]]
            total = Fraction(0)
            for j in range(len(cells.variables)):
                values = [cell(cells, m, j) for m in members]
                shares = {v: Fraction(count, len(values)) for v, count in Counter(values).items()}
                total += 1 - 2 * shares[cell(cells, i, j)] + sum(p * p for p in shares.values())
            result.append(float(total))
        return np.array(result)


def test_medoid_takes_all_cells_of_one_record() -> None:
    for seed in range(60):
        cells, labels, k = mixed(seed)
        how = {"age": "medoid", "town": "medoid"}
        result = aggregated(
            cells, labels, how=how, precision="column", k=k, seed=0, space=Squares()
        )
        distances = Squares().to_centroids(cells, labels)
        for group in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == group).tolist()
            chosen = min(members, key=lambda i: (distances[i], i))
            for i in members:
                assert cell(result.cells, i, 0) == cell(cells, chosen, 0), seed
                assert cell(result.cells, i, 2) == cell(cells, chosen, 2), seed


def test_rounding_breaks_no_tie() -> None:
    groups = Groups.of(np.array([0, 0, 1, 1, 1]))
    assert groups.nearest(np.array([0.1 + 0.2, 0.3, 0.5, 0.4, 0.0])).tolist() == [0, 4]
    assert groups.nearest(np.array([0.3 + 1e-9, 0.3, 0.0, 0.0, 0.0])).tolist() == [1, 2]


def test_each_kind_has_its_own_default() -> None:
    cells, labels, k = mixed(3)
    defaults = {variable.name: default_aggregate(variable.kind).name for variable in VARIABLES}
    by_default = aggregated(cells, labels, how={}, precision="column", k=k, seed=0)
    by_name = aggregated(cells, labels, how=defaults, precision="column", k=k, seed=0)
    assert np.array_equal(by_default.cells.values, by_name.cells.values, equal_nan=True)
    assert list(defaults.values()) == ["mean", "median", "mode"]


class TestTheRuleForAtoms:
    """Groups with atoms and values, one by one; v is a value, the others are atoms in the order of
    their marks.
    """

    @pytest.mark.parametrize(
        ("group", "k", "expected"),
        [
            ("vv-", 2, "v"),
            ("v-", 2, "-"),  # a tie would publish one person's value
            # ties of atoms: as often in the table, so the order of the marks, missing last
            ("v-x", 2, "x"),
            ("vvx", 3, "x"),  # two values are fewer than min(k, 3)
            ("vvvx", 3, "v"),
            ("vvv--", 5, "v"),
            ("vv--", 4, "-"),
            ("vvvxx-", 3, "x"),  # half is not more than half
            ("vvvv", 4, "v"),
            ("---", 3, "-"),
            ("xx-", 3, "x"),
            ("x--", 3, "-"),
        ],
    )
    def test_one_group(self, group: str, k: int, expected: str) -> None:
        atoms = np.array([["v", "x", "-"].index(letter) - 1 for letter in group], np.int16)
        values = np.where(atoms == NO_ATOM, 8.0, np.nan).reshape(-1, 1)
        cells = Cells((Variable("wage", marks=(97, None)),), values, atoms.reshape(-1, 1))
        labels = np.zeros(len(group), np.int32)
        result = aggregated(cells, labels, how={}, precision="column", k=k, seed=0).cells
        code = -1 if result.atoms is None else int(result.atoms[0, 0])
        assert "vx-"[code + 1] == expected
        assert np.isnan(result.values).all() == (expected != "v")

    def test_ties_of_atoms_go_to_the_one_more_frequent_in_the_table(self) -> None:
        atoms = np.array([[0], [1], [1], [1], [1]], np.int16)
        cells = Cells((Variable("wage", marks=(97, None)),), np.full((5, 1), np.nan), atoms)
        labels = np.array([0, 0, 1, 1, 1], np.int32)
        result = aggregated(cells, labels, how={}, precision="column", k=2, seed=0).cells
        assert result.atoms is not None
        assert result.atoms[:, 0].tolist() == [1] * 5


@pytest.mark.parametrize("scale", [1.0, 0.3, 1e6, 1e15, -1e-9])
def test_lower_medians_of_all_sorts_of_numbers(scale: float) -> None:
    rng = np.random.default_rng(2)
    column = rng.integers(-40, 4000, 300) * scale
    labels = rng.permutation(np.arange(300) % 41)
    expected = [
        sorted(column[labels == g].tolist())[((labels == g).sum() - 1) // 2] for g in range(41)
    ]
    assert Groups.of(labels).lower_medians(column).tolist() == expected


class TestPlainTables:
    @pytest.mark.parametrize("precision", ["column", "full"])
    @pytest.mark.parametrize("seed", range(5))
    def test_means_to_the_bit(self, seed: int, precision: str) -> None:
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(60, 3)) * [5.0, 1.0, 1.0]
        values[:, 0], values[:, 1] = np.round(values[:, 0]), np.round(values[:, 1], 2)
        labels = rng.permutation(np.repeat(np.arange(12), 5)).astype(np.int32)
        cells = Cells.plain(values, ["a", "b", "c"])
        both = (labels, np.ascontiguousarray(np.column_stack([labels, labels[::-1], labels])))
        for grouping in both:
            result = aggregated(cells, grouping, how={}, precision=precision, k=5, seed=0)
            means = group_means_for_records(values, grouping)
            decimals: list[int | None] = [0, 2, 3] if precision == "column" else [None] * 3
            expected = np.column_stack([round_to(means[:, j], decimals[j]) for j in range(3)])
            assert result.decimals == decimals
            assert result.cells.values.tobytes() == expected.tobytes()
            assert result.means.values.tobytes() == means.tobytes()
            assert result.cells.atoms is None
            assert result.filled == result.blanked == (0, 0, 0)

    def test_decimals_are_those_before_a_cap(self) -> None:
        cells = Cells.plain(np.array([[1.0], [2.0]]), ["x"])
        before = Cells.plain(np.array([[1.0], [2.25]]), ["x"])
        result = aggregated(
            cells, np.zeros(2, np.int32), how={}, precision="column", k=2, seed=0, exact=before
        )
        assert result.cells.values[:, 0].tolist() == [1.5, 1.5]


def test_half_of_a_long_number_is_rounded_to_even_where_it_lies() -> None:
    variable = Variable("account", origin=10**17 + 1)
    cells = Cells((variable,), np.array([[0.0], [1.0], [2.0], [3.0]]))
    result = aggregated(
        cells, np.array([0, 0, 1, 1], np.int32), how={}, precision="column", k=2, seed=0
    )
    assert result.cells.values[:, 0].tolist() == [1.0, 1.0, 3.0, 3.0], (
        "…001.5 and …003.5 become …002 and …004"
    )


def test_means_of_times_keep_the_step_of_the_column() -> None:
    cells = Cells((Variable("day", origin=7, unit="D"),), np.array([[0.0], [1.0], [0.0], [3.0]]))
    result = aggregated(
        cells, np.array([0, 0, 1, 1], np.int32), how={}, precision="column", k=2, seed=0
    )
    assert result.cells.values[:, 0].tolist() == [1.0, 1.0, 1.0, 1.0], "days 7.5 and 8.5 become 8"
    assert result.means.values[:, 0].tolist() == [0.5, 0.5, 1.5, 1.5]


@dataclass(frozen=True)
class Stepped(Variable):
    step: int = 3600


def test_means_of_stamps_on_the_hour_are_on_the_hour() -> None:
    cells = Cells(
        (Stepped("at", origin=3600, unit="s"),), np.array([[0.0], [3600.0], [0.0], [3 * 3600.0]])
    )
    result = aggregated(
        cells, np.array([0, 0, 1, 1], np.int32), how={}, precision="column", k=2, seed=0
    )
    assert result.cells.values[:, 0].tolist() == [3600.0] * 4, (
        "half past one and half past two become two"
    )


def test_the_one_who_knows_the_type_writes_ranges_of_times() -> None:
    cells = Cells((Variable("lasted", origin=60, unit="s"),), np.array([[0.0], [60.0]]))
    result = aggregated(
        cells,
        np.zeros(2, np.int32),
        how={"lasted": "range"},
        precision="column",
        k=2,
        seed=0,
        texts=lambda variable, numbers: [
            f"{int(variable.origin + number) // 60} min" for number in numbers
        ],
    )
    assert result.cells.variables[0].levels == ("1 min..2 min",)


class TestWhatDoesNotFit:
    @pytest.mark.parametrize(
        ("j", "how"), [(1, "mean"), (2, "mean"), (2, "median"), (2, "range"), (0, "mode")]
    )
    def test_an_aggregate_of_another_kind(self, j: int, how: str) -> None:
        variable = VARIABLES[j]
        with pytest.raises(
            InputError,
            match=f"{how!r} does not fit column {variable.name!r}, which is {variable.kind}",
        ):
            check_aggregates(VARIABLES, {variable.name: how})

    def test_it_says_what_fits(self) -> None:
        with pytest.raises(
            InputError, match="; mode, draw and medoid do, and generalise with a hierarchy"
        ):
            check_aggregates(VARIABLES, {"town": "mean"})

    @pytest.mark.parametrize(
        ("how", "sentence"),
        [
            ({"agee": "mean"}, "'agee', which is not quasi-identifying"),
            ({"age": "maximum"}, "must be one of mean, median"),
            ({"age": "generalise"}, "needs a hierarchy for column 'age'"),
        ],
    )
    def test_other_things(self, how: dict[str, str], sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            check_aggregates(VARIABLES, how)

    def test_a_medoid_needs_whole_records(self) -> None:
        cells = Cells.plain(np.arange(8.0).reshape(4, 2), ["a", "b"])
        labels = np.zeros((4, 2), np.int32)
        with pytest.raises(InputError, match="groups whole records"):
            aggregated(
                cells, labels, how={"a": "medoid"}, precision="column", k=2, seed=0, space=Squares()
            )


class TestTextsOfRanges:
    @pytest.mark.parametrize(
        ("variable", "column", "text"),
        [
            (Variable("x"), [0.1 + 0.2, 0.1], "0.1..0.3"),
            (Variable("x"), [-3.0, 1e16], "-3..10000000000000000"),
            (Variable("x"), [1e-12, 2.0], "0.000000000001..2"),
            (Variable("x", single=True), [float(np.float32(1.1)), 2.0], "1.1..2"),
            (
                Variable("x", origin=10**17 + 1),
                [0.0, 5.0],
                "100000000000000001..100000000000000006",
            ),
            (Variable("day", origin=20_000, unit="D"), [0.0, 31.0], "2024-10-04..2024-11-04"),
            (Variable("code", Kind.ORDINAL, (1, 2.5, 7)), [1.0, 2.0], "2.5..7"),
        ],
    )
    def test_one(self, variable: Variable, column: list[float], text: str) -> None:
        cells = Cells((variable,), np.array(column).reshape(-1, 1))
        how = {variable.name: "range"}
        result = aggregated(
            cells, np.zeros(2, np.int32), how=how, precision="column", k=2, seed=0
        ).cells
        assert result.variables[0].levels == (text,)
        assert result.variables[0].coarse
