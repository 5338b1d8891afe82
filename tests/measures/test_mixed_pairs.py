"""Measures on mixed tables: classes over all quasi-identifiers, numbers over those columns that are
numbers.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from measures.risk.test_individual import slow_individual_risk
from microagg.errors import InputError
from microagg.measures.columns import columns_of
from microagg.measures.measure import Pair
from microagg.measures.pairing import in_the_same_terms
from microagg.measures.registry import assess_pair, measures
from microagg.measures.risk.dominance import dominance
from microagg.measures.risk.linkage import record_linkage
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from mixed_tables import mixed_cells, mixed_groups, released_cells, words

OF_CLASSES = [
    "unique",
    "unique-with-kept",
    "k",
    "k-with-kept",
    "prosecutor",
    "journalist",
    "marketer",
]


def mixed_pair(seed: int, n: int = 40, columns: list[int] | None = None) -> Pair:
    """Groups of 4, some of them sharing their values; every other pair has weights. Not all groups
    are classes of their own.
    """
    before = columns_of(mixed_cells(seed, n), columns or list(range(5)))
    after = released_cells(before, mixed_groups(seed, n))
    rng = np.random.default_rng(seed)
    spoiled = rng.permutation(n)[:3]  # released as they were: alone, most likely
    values, atoms = after.values.copy(), after.atoms
    assert atoms is not None
    assert before.atoms is not None
    atoms = atoms.copy()
    values[spoiled], atoms[spoiled] = before.values[spoiled], before.atoms[spoiled]
    return Pair.of_cells(
        before,
        Cells(after.variables, values, atoms),
        kept={"sex": rng.integers(0, 2, n)},
        weights=rng.uniform(1.0, 3.0, n) if seed % 2 else None,
        confidential={"ill": rng.integers(0, 3, n)},
        k=4,
    )


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [0, 3], [3, 4], [4], [0]])
@pytest.mark.parametrize("seed", range(12))
def test_classes_are_those_of_all_columns(seed: int, columns: list[int]) -> None:
    pair = mixed_pair(seed, columns=columns)
    rows = words(pair.after)
    kept = [(row, sex) for row, sex in zip(rows, pair.kept["sex"].tolist(), strict=True)]
    weights = np.ones(len(rows)) if pair.weights is None else pair.weights
    sizes, sizes_with_kept = Counter(rows), Counter(kept)
    population = {
        row: max(sum(w for w, other in zip(weights, rows, strict=True) if other == row), size)
        for row, size in sizes.items()
    }

    def alone(counts: Counter[object], keys: list[object]) -> float:
        return (
            100
            * sum(w for w, key in zip(weights, keys, strict=True) if counts[key] == 1)
            / sum(weights)
        )

    expected = {
        "unique": alone(Counter(rows), list(rows)),
        "unique-with-kept": alone(Counter(kept), list(kept)),
        "k": min(sizes.values()),
        "k-with-kept": min(sizes_with_kept.values()),
        "prosecutor": 100 / min(sizes.values()),
        "journalist": 100
        * max(slow_individual_risk(sizes[row], count) for row, count in population.items())
        if pair.weights is not None
        else 100 / min(sizes.values()),
        "marketer": 100 * len(sizes) / len(rows),
    }
    figures = {measure.name: figure.value for measure, figure in assess_pair(pair, OF_CLASSES)}
    assert set(figures) == set(expected)
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, rel=1e-9 if name == "journalist" else 1e-12), (
            name
        )


def test_missing_equals_missing_and_nothing_else() -> None:
    """Neither a value nor a special code, whatever lies under the gap."""
    variable = Variable("age", marks=(0.0, None))
    atoms = np.array([[-1], [-1], [0], [0], [1], [1]], np.int16)
    cells = Cells((variable,), np.array([[0.0], [0.0], [np.nan], [0.0], [np.nan], [7.0]]), atoms)
    assert Pair.of_cells(cells, cells).classes.sizes.tolist() == [2, 2, 2]


def test_numbers_are_those_without_gaps_before_and_after() -> None:
    pair = mixed_pair(1)
    assert pair.quasi == ("income", "age", "born", "school", "town")
    assert pair.names == ("age", "born")
    assert np.array_equal(pair.original, mixed_cells(1).values[:, [1, 2]])
    for measure, figure in assess_pair(
        pair, ["il1s", "kolmogorov-smirnov", "rank-intervals", "il-raw"]
    ):
        assert measure.needs == "numbers"
        assert set(figure.columns) == {"age", "born"}
    assert pair.before.names == pair.after.names == list(pair.quasi)


def test_measures_of_numbers_are_left_out_where_there_are_none() -> None:
    pair = mixed_pair(2, columns=[3, 4])
    assert pair.original.shape == (40, 0)
    names = [
        measure.name
        for measure in measures()
        if measure.needs in ("numbers", "amounts", "categories")
    ]
    assert len(names) > 12
    assert assess_pair(pair, names) == []
    assert len(assess_pair(pair, [*names, *OF_CLASSES, "distinct-l", "t"])) == len(OF_CLASSES) + 2


def test_a_plain_table_stays_as_it_is() -> None:
    values = np.arange(6.0).reshape(3, 2)
    pair = Pair.of_cells(Cells.plain(values, ["a", "b"]), Cells.plain(values + 1, ["a", "b"]))
    assert pair.original is values
    assert (pair.cells, pair.released_cells, pair.quasi) == (None, None, ("a", "b"))
    assert pair.before.values is values


@pytest.mark.parametrize("seed", range(10))
def test_dominance_is_of_amounts(seed: int) -> None:
    """Gaps make up nothing, dates are no amounts, and a class that releases an atom gives no amount
    away.
    """
    pair = mixed_pair(seed)
    figure = dominance(pair)
    assert set(figure.columns) == {"income", "age"}
    weights = np.ones(40) if pair.weights is None else pair.weights
    rows = words(pair.after)
    for name, j in (("income", 0), ("age", 1)):
        worst = 0.0
        for row in set(rows):
            if isinstance(row[j], tuple):
                continue
            members = [i for i, other in enumerate(rows) if other == row]
            parts = [
                0.0
                if np.isnan(pair.before.values[i, j])
                else abs(pair.before.values[i, j]) * weights[i]
                for i in members
            ]
            worst = max(worst, 100 * max(parts) / sum(parts) if sum(parts) else 0.0)
        assert figure.columns[name] == pytest.approx(worst, rel=1e-12)


def test_an_intruder_knows_columns_of_any_kind() -> None:
    pair = mixed_pair(1)
    seen = pair.of_columns(["town", "age"])
    assert seen.quasi == ("age", "town")
    assert seen.names == ("age",)
    assert seen.original[:, 0].tolist() == pair.original[:, 0].tolist()
    assert words(seen.after) == [(row[1], row[4]) for row in words(pair.after)]
    with pytest.raises(
        InputError, match="cannot know 'sex': it is no quasi-identifier; those are 'income', 'age'"
    ):
        assess_pair(pair, ["k"], known=["sex"])


def test_coarse_columns_are_no_numbers() -> None:
    pair = mixed_pair(1)
    after = pair.after
    ranges = replace(after.variables[1], levels=("18..90",), coarse=True, kind=Kind.NUMERIC)
    values = after.values.copy()
    values[:, 1] = 0.0
    coarse = Pair.of_cells(
        pair.before, Cells((after.variables[0], ranges, *after.variables[2:]), values, after.atoms)
    )
    assert coarse.names == ("born",)
    assert set(dominance(coarse).columns) == {"income"}


def distances(before: Cells, after: Cells, j: int) -> list[list[float]]:
    """The squared distance of each released cell (row) to each original one in z-scores, by the
    words of the definition.
    """
    variable, n = before.variables[j], len(before)
    olds, news = [row[j] for row in words(before)], [row[j] for row in words(after)]
    if variable.kind is Kind.NOMINAL:
        spread = 1.0 - sum((count / n) ** 2 for count in Counter(olds).values())
        return [[0.0 if new == old else 2.0 / spread for old in olds] for new in news]
    rank = (lambda word: float(variable.levels.index(word))) if variable.levels else float
    values = [rank(word) for word in olds if not isinstance(word, tuple)]
    mean = math.fsum(values) / len(values)
    variance = math.fsum((x - mean) ** 2 for x in values) / len(values)
    marks = sorted({word for word in olds if isinstance(word, tuple)}, key=repr)

    def point(word: Any) -> list[float]:
        """The place on the scale, and on an axis for each atom."""
        if isinstance(word, tuple):
            return [mean, *(math.sqrt(variance) * (mark == word) for mark in marks)]
        return [rank(word), *(0.0 for _ in marks)]

    points = [point(word) for word in olds]
    centre = [math.fsum(axis) / n for axis in zip(*points, strict=True)]
    total = (
        math.fsum((x - c) ** 2 for member in points for x, c in zip(member, centre, strict=True))
        / n
    )
    return [
        [sum((x - y) ** 2 for x, y in zip(point(new), old, strict=True)) / total for old in points]
        for new in news
    ]


@pytest.mark.parametrize("seed", range(8))
def test_loss_and_linkage_are_those_of_the_encoding(seed: int) -> None:
    before = mixed_cells(seed, 30)
    pair = Pair.of_cells(before, released_cells(before, mixed_groups(seed, 30)))
    columns = [distances(pair.before, pair.after, j) for j in range(5)]
    errors = {
        name: math.fsum(column[i][i] for i in range(30))
        for name, column in zip(pair.quasi, columns, strict=True)
    }
    figures = {
        measure.name: figure for measure, figure in assess_pair(pair, ["il", "sse", "linkage"])
    }
    assert figures["sse"].columns == pytest.approx(errors, rel=1e-9)
    assert figures["sse"].value == pytest.approx(sum(errors.values()), rel=1e-9)
    assert figures["il"].value == pytest.approx(100 * sum(errors.values()) / (30 * 5), rel=1e-9)
    assert figures["il"].columns == pytest.approx(
        {name: 100 * e / 30 for name, e in errors.items()}, rel=1e-9
    )
    linked = 0.0
    for i in range(30):
        far = [sum(column[i][o] for column in columns) for o in range(30)]
        nearest = [o for o in range(30) if far[o] <= min(far) + 1e-9]
        linked += (i in nearest) / len(nearest)
    assert figures["linkage"].value == pytest.approx(100 * linked / 30, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_closest_records_are_those_of_the_encoding(seed: int) -> None:
    before = mixed_cells(seed, 30)
    pair = Pair.of_cells(before, released_cells(before, mixed_groups(seed, 30)))
    columns = [distances(pair.before, pair.after, j) for j in range(5)]
    two = [
        sorted(math.sqrt(sum(column[i][o] for column in columns)) for o in range(30))[:2]
        for i in range(30)
    ]
    figures = {
        m.name: figure for m, figure in assess_pair(pair, ["closest-record", "neighbour-ratio"])
    }
    assert figures["closest-record"].value == pytest.approx(sorted(x for x, _ in two)[1], rel=1e-9)
    ratios = sorted(1.0 if x == y else x / y for x, y in two)
    assert figures["neighbour-ratio"].value == pytest.approx(ratios[1], rel=1e-9)
    same = {
        m.name: figure
        for m, figure in assess_pair(Pair.of_cells(before, before), ["closest-record"])
    }
    assert same["closest-record"].value == 0.0
    assert same["closest-record"].details["percent equal to an original"] == 100.0


@pytest.mark.parametrize("seed", range(8))
def test_entropy_counts_cells(seed: int) -> None:
    pair = mixed_pair(seed)
    weights = [1.0] * 40 if pair.weights is None else pair.weights.tolist()
    missing, total = 0.0, 0.0
    for j in range(5):
        x, y = [row[j] for row in words(pair.before)], [row[j] for row in words(pair.after)]
        of_x, of_y, of_both = (defaultdict[object, float](float) for _ in range(3))
        for a, b, w in zip(x, y, weights, strict=True):
            of_x[a] += w
            of_y[b] += w
            of_both[a, b] += w
        for a, b, w in zip(x, y, weights, strict=True):
            missing -= w * math.log2(of_both[a, b] / of_y[b])
            total -= w * math.log2(of_x[a] / sum(weights))
    ((_, figure),) = assess_pair(pair, ["entropy"])
    assert set(figure.columns) == set(pair.quasi)
    assert figure.value == pytest.approx(100.0 * missing / total, rel=1e-9)


def test_propensity_sees_categories() -> None:
    """A town that is never released, and a gap that is filled, tell original from release."""
    before = columns_of(mixed_cells(1, 200), [3, 4])
    ((_, same),) = assess_pair(Pair.of_cells(before, before), ["pmse"])
    assert same.value == 0.0
    values, atoms = before.values.copy(), before.atoms
    values[:, 1] = values[0, 1]
    ((_, one_town),) = assess_pair(
        Pair.of_cells(before, Cells(before.variables, values, atoms)), ["pmse"]
    )
    assert one_town.value > 0.01


def test_linkage_leaves_coarse_columns_out() -> None:
    pair = mixed_pair(1)
    town = Variable("town", Kind.NOMINAL, ("*",), coarse=True)
    values = pair.after.values.copy()
    values[:, 4] = 0.0
    after = Cells((*pair.after.variables[:4], town), values, pair.after.atoms)
    coarse = Pair.of_cells(pair.before, after)
    (_, figure), *_ = assess_pair(coarse, ["linkage"])
    (_, known), *_ = assess_pair(
        replace(pair, weights=None), ["linkage"], known=["income", "age", "born", "school"]
    )
    assert figure.value == known.value
    assert assess_pair(coarse, ["linkage"], known=["town"]) == [], "there is nothing to look for"


def read_by_itself(cells: Cells) -> Cells:
    """The same cells with levels in another order, marks too, and numbers counted from
    elsewhere.
    """
    variables, values = list(cells.variables), cells.values.copy()
    assert cells.atoms is not None
    atoms = cells.atoms.copy()
    variables[0] = replace(variables[0], marks=(None, 97.0))
    atoms[:, 0] = np.array([1, 0, -1])[atoms[:, 0]]
    variables[2] = replace(variables[2], origin=(variables[2].origin - 7) * 86_400, unit="s")
    values[:, 2] = (values[:, 2] + 7) * 86_400
    variables[3] = replace(variables[3], levels=variables[3].levels[::-1])
    values[:, 3] = len(variables[3].levels) - 1 - values[:, 3]
    return Cells(tuple(variables), values, atoms)


@pytest.mark.parametrize("seed", range(10))
def test_tables_read_each_by_itself_are_brought_to_the_same_terms(seed: int) -> None:
    pair = mixed_pair(seed)
    reread = read_by_itself(pair.after)
    assert words(reread) == words(pair.after)
    old, new = in_the_same_terms(pair.before, reread)
    assert words(new) == words(pair.after)
    assert words(old) == words(pair.before)
    for j, variable in enumerate(new.variables):
        assert variable.levels == old.variables[j].levels
        assert set(variable.marks) == set(old.variables[j].marks)
        assert (variable.origin, variable.unit) == (old.variables[j].origin, old.variables[j].unit)


def test_what_only_the_release_has() -> None:
    """Blanked cells, values of another tool's making, an order that lacks a level."""
    before = Cells(
        (
            Variable("age"),
            Variable("town", Kind.NOMINAL, ("Pisa", "Rome")),
            Variable("school", Kind.ORDINAL, ("a", "b")),
        ),
        np.array([[30.0, 0.0, 0.0], [40.0, 1.0, 1.0]]),
    )
    after = Cells(
        (
            Variable("age", marks=(None,)),
            Variable("town", Kind.NOMINAL, ("*", "Rome")),
            Variable("school", Kind.ORDINAL, ("a or b",)),
        ),
        np.array([[np.nan, 0.0, 0.0], [40.0, 1.0, 0.0]]),
        np.array([[0, -1, -1], [-1, -1, -1]], np.int16),
    )
    old, new = in_the_same_terms(before, after)
    assert words(new) == [(("atom", None), "*", "a or b"), (40.0, "Rome", "a or b")]
    assert old.variables[0].marks == (None,)
    assert old.variables[1].levels == ("Pisa", "Rome", "*")
    assert new.variables[2].coarse
    figures = {
        measure.name: figure
        for measure, figure in assess_pair(Pair.of_cells(old, new), ["il", "linkage", "k"])
    }
    assert all(math.isfinite(figure.value) for figure in figures.values())
    assert figures["k"].value == 1


@pytest.mark.parametrize("seed", range(4))
def test_linkage_by_some_columns_is_that_of_a_table_of_these(seed: int) -> None:
    pair = mixed_pair(seed)
    for places in ([0, 3], [4]):
        names = [pair.quasi[index] for index in places]
        some = record_linkage(pair, columns=names)
        assert some == record_linkage(pair.of_columns(names))
        assert some.value != record_linkage(pair).value, "who knows less links less"
    assert record_linkage(pair, columns=pair.quasi) == record_linkage(pair)
