"""Columns as axes, against the book: every scale, every sort of column, atoms, trees,
importance.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import mixed
import slow_axes
from microagg.table import encoder
from microagg.table.axes import Coded
from microagg.table.category_codes import codes_of_nodes as _codes
from microagg.table.encoder import Space
from microagg.table.hierarchy import Hierarchy
from microagg.table.scales import SCALES
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


def slow_vectors(cells: Cells, scale: str, importance: dict[str, float]) -> list[list[list[float]]]:
    """By column and record: the coordinates, by the book."""
    vectors = []
    for variable, column in zip(cells.variables, mixed.cells_by_column(cells), strict=True):
        axes = slow_axes.axes_of(
            column,
            str(variable.kind),
            scale,
            importance.get(variable.name, 1.0),
            variable.unit,
            mixed.paths_of(variable),
        )
        vectors.append([axes(cell) for cell in column])
    return vectors


def squared_distances(points: np.ndarray) -> np.ndarray:
    return np.square(points[:, None] - points[None]).sum(axis=2)


def slow_squared_distances(vectors: list[list[list[float]]]) -> np.ndarray:
    n = len(vectors[0])
    return np.array(
        [
            [
                math.fsum(slow_axes.squared(column[i], column[j]) for column in vectors)
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sort", mixed.SORTS, ids=lambda sort: sort.__name__)
def test_each_sort_of_column_follows_the_book(scale: str, sort: Any) -> None:
    for seed, n in enumerate((2, 3, 7, 20)):
        variable, values, atoms = sort(np.random.default_rng(seed), n, "x")
        values = np.where(atoms >= 0, np.nan, values).reshape(-1, 1)
        cells = Cells(
            (variable,), values, atoms.reshape(-1, 1).astype(np.int16) if variable.marks else None
        )
        importance = {"x": 2.5} if seed % 2 else {}
        expected = slow_squared_distances(slow_vectors(cells, scale, importance))
        points = Space.fit(cells, scale, importance).points(cells)
        np.testing.assert_allclose(squared_distances(points), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(6))
def test_mixed_tables_follow_the_book(scale: str, seed: int) -> None:
    cells = mixed.mixed_cells(seed, 25, 6)
    importance = {cells.names[0]: 3.0, cells.names[3]: 0.25}
    vectors = slow_vectors(cells, scale, importance)
    expected = slow_squared_distances(vectors)
    space = Space.fit(cells, scale, importance)
    points = space.points(cells)
    assert points.flags.c_contiguous
    assert space.exact
    np.testing.assert_allclose(
        squared_distances(points), expected, rtol=1e-12, atol=1e-12 * expected.max()
    )
    labels = np.random.default_rng(seed).integers(0, 4, 25).astype(np.int32)
    labels[:4] = range(4)
    for errors, groups in (
        (space.within(cells, labels), labels.tolist()),
        (space.total(cells), [0] * 25),
    ):
        wanted = math.fsum(slow_axes.within(column, groups) for column in vectors)
        assert errors == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("scale", ["zscore", "rank"])
@pytest.mark.parametrize("seed", range(10))
def test_every_column_that_varies_has_the_same_say(scale: str, seed: int) -> None:
    cells = mixed.mixed_cells(seed, 40, len(mixed.SORTS))
    space = Space.fit(cells, scale)
    varying = [j for j in range(len(cells.variables)) if j not in space.constant]
    assert space.total(cells) == pytest.approx(40 * len(varying), rel=1e-12)
    assert space.column_totals(cells)[varying] == pytest.approx(40.0, rel=1e-12)
    points = space.points(cells)
    assert np.square(points - points.mean(axis=0)).sum() == pytest.approx(
        40 * len(varying), rel=1e-12
    )


def nominal(
    values: np.ndarray, hierarchy: Hierarchy | None = None, levels: tuple[Any, ...] = ()
) -> Cells:
    levels = levels or tuple(f"{level:05d}" for level in range(int(values.max()) + 1))
    return Cells(
        (Variable("x", Kind.NOMINAL, levels, hierarchy=hierarchy),),
        values.reshape(-1, 1).astype(float),
    )


@pytest.mark.parametrize("count", [2, 3, 10, 63, 64])
@pytest.mark.parametrize("scale", SCALES)
def test_nominal_values_are_equally_far_apart(scale: str, count: int) -> None:
    rng = np.random.default_rng(count)
    values = np.concatenate([np.arange(count), rng.integers(0, count, 200) ** 2 % count])
    cells = nominal(values)
    space = Space.fit(cells, scale)
    points = space.points(cells)[:count]
    assert points.shape[1] == count - 1, "a simplex: one axis for two values"
    distances = np.sqrt(squared_distances(points))[~np.eye(count, dtype=bool)]
    np.testing.assert_allclose(distances, distances[0], rtol=1e-12)
    shares = np.bincount(values) / len(values)
    spread = math.sqrt(2.0 / (1.0 - np.square(shares).sum()))
    wanted = {
        "zscore": spread,
        "rank": spread,
        "robust": spread / 1.349,
        "minmax": 1.0,
        "none": 1.0,
    }
    assert distances[0] == pytest.approx(wanted[scale], rel=1e-12)


def test_many_values_are_nearly_equally_far_apart() -> None:
    codes = _codes(10_000, 2.0)
    assert codes.shape == (10_000, 64)
    np.testing.assert_allclose(np.square(codes).sum(axis=1), 1.0, rtol=1e-12)
    some = codes[::20]  # 500 values make 125 thousand pairs
    ratio = np.sqrt(np.clip(1.0 - (some @ some.T)[np.triu_indices(len(some), 1)], 0.0, None))
    assert math.sqrt(np.square(ratio - 1.0).mean()) < 0.07
    assert np.mean(np.abs(ratio - 1.0) <= 0.15) >= 0.97
    assert ratio.min() > 0.5
    assert ratio.max() < 1.35


def test_codes_go_by_the_place_of_a_value_not_by_rows() -> None:
    values = np.random.default_rng(1).permutation(np.arange(500) % 100)
    cells, turned = nominal(values), nominal(values[::-1].copy())
    column, other = Space.fit(cells).columns[0], Space.fit(turned).columns[0]
    assert isinstance(column, Coded)
    assert isinstance(other, Coded)
    np.testing.assert_array_equal(column.codes, other.codes)
    np.testing.assert_array_equal(column.codes[:70] / column.step**0.5, _codes(70, 1.0))


def test_many_values_are_searched_by_codes_and_counted_exactly() -> None:
    values = np.random.default_rng(0).integers(0, 90, 400)
    cells = nominal(values)
    space = Space.fit(cells)
    assert not space.exact
    assert space.points(cells).shape[1] <= 64
    assert space.total(cells) == pytest.approx(400.0, rel=1e-12)
    shares = np.bincount(values) / 400
    square = 2.0 / (1.0 - np.square(shares).sum())
    after = nominal((values + 1) % 90, levels=cells.variables[0].levels)
    errors = space.column_errors(cells, after, np.zeros(400, np.int32))
    assert errors == pytest.approx([400 * square], rel=1e-12)


def test_distances_in_a_tree_go_by_the_levels_that_differ() -> None:
    paths = {
        "Rome": ("Rome", "Italy", "EU", "*"),
        "Pisa": ("Pisa", "Italy", "EU", "*"),
        "Lyon": ("Lyon", "France", "EU", "*"),
        "Bern": ("Bern", "Swiss", "other", "*"),
    }
    levels = ("Bern", "Lyon", "Pisa", "Rome", None)
    cells = nominal(np.arange(5), Hierarchy(paths), levels)
    distances = squared_distances(Space.fit(cells, "minmax").points(cells))
    differing: dict[tuple[Any, Any], int] = {
        ("Pisa", "Rome"): 1,
        ("Lyon", "Pisa"): 2,
        ("Lyon", "Rome"): 2,
    }
    for i, j in itertools.combinations(range(5), 2):
        assert distances[i, j] == pytest.approx(
            differing.get((levels[i], levels[j]), 3) / 3, rel=1e-12
        )


def test_a_wide_tree_has_codes_on_its_wide_levels() -> None:
    names = [f"{i:03d}" for i in range(100)]
    paths = {name: (name, name[0:2], "*") for name in names}
    cells = nominal(np.arange(100), Hierarchy(paths), tuple(names))
    space = Space.fit(cells, "none")
    assert not space.exact
    assert isinstance(space.columns[0], Coded)
    assert space.columns[0].codes.shape == (100, 64 + 10)
    assert space.total(cells) == pytest.approx(100 * (0.99 + 0.9) / 4, rel=1e-12)


def test_an_atom_is_as_far_from_a_value_as_two_values_are() -> None:
    values = np.append(np.random.default_rng(2).lognormal(size=300), np.nan).reshape(-1, 1)
    atoms = np.full((301, 1), -1, np.int16)
    atoms[-1] = 0
    cells = Cells((Variable("x", marks=(None,)),), values, atoms)
    for scale in ("zscore", "minmax", "rank", "none"):
        squares = squared_distances(Space.fit(cells, scale).points(cells))
        assert squares[-1, :-1].mean() == pytest.approx(squares[:-1, :-1].mean(), rel=1e-12)


def test_time_counts_in_days_where_there_is_no_scale() -> None:
    for unit, day in (
        ("D", 1),
        ("s", 86_400),
        ("ms", 86_400_000),
        ("us", 86_400 * 10**6),
        ("ns", 86_400 * 10**9),
    ):
        cells = Cells((Variable("when", unit=unit),), np.array([[0.0], [3.0 * day]]))
        assert Space.fit(cells, "none").points(cells).tolist() == [[0.0], [3.0]]


def test_turning_keeps_distances_and_drops_what_does_not_vary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    values = np.column_stack(
        [rng.normal(size=120), np.arange(120) % 9, rng.permutation(np.arange(120) % 30)]
    )
    values = np.column_stack([values, values[:, 1]])  # the same column twice
    kinds = [Kind.NUMERIC, Kind.NOMINAL, Kind.NOMINAL, Kind.NOMINAL]
    variables = [
        Variable(str(j), kind, tuple(range(30))[: int(values[:, j].max()) + 1] if j else ())
        for j, kind in enumerate(kinds)
    ]
    cells = Cells(tuple(variables), values)
    for scale in SCALES:
        space = Space.fit(cells, scale)
        with monkeypatch.context() as patch:
            patch.setattr(encoder, "WIDEST_TURN", 5)
            plain = Space.fit(cells, scale)
        assert plain.rotation is None
        points, unturned = space.points(cells), plain.points(cells)
        assert unturned.shape[1] == 1 + 9 + 30 + 9
        assert points.shape[1] == 1 + 8 + 29
        np.testing.assert_allclose(
            squared_distances(points), squared_distances(unturned), rtol=1e-12, atol=1e-12
        )
        deviations = points.std(axis=0)
        assert (np.diff(deviations) <= 1e-12).all(), "the widest axis first"
        covariance = np.cov(points.T)
        assert np.abs(covariance - np.diag(np.diag(covariance))).max() <= 1e-12 * covariance.max()


def test_large_numbers_do_not_hide_categories() -> None:
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.normal(1e12, 1e9, 200).round(), rng.integers(0, 3, 200)])
    cells = Cells((Variable("x"), Variable("y", Kind.NOMINAL, tuple("abc"))), values)
    points = Space.fit(cells, "none").points(cells)
    same = values[:, 1][:, None] == values[:, 1]
    expected = np.square(values[:, :1] - values[:, 0]) + ~same
    np.testing.assert_allclose(squared_distances(points), expected, rtol=1e-12)
    twins = Cells(cells.variables, np.vstack([values, [[values[0, 0], 0], [values[0, 0], 1]]]))
    points = Space.fit(twins, "none").points(twins)
    assert np.square(points[-1] - points[-2]).sum() == pytest.approx(1.0, rel=1e-5)


def test_a_nominal_column_that_does_not_vary_changes_nothing() -> None:
    values = np.column_stack([np.random.default_rng(0).normal(size=(20, 2)), np.zeros(20)])
    cells = Cells((Variable("x"), Variable("y"), Variable("z", Kind.NOMINAL, ("a",))), values)
    space = Space.fit(cells)
    assert space.constant == (2,)
    assert space.rotation is None
    np.testing.assert_array_equal(
        space.points(cells)[:, :2], Space.fit(values[:, :2].copy()).points(values[:, :2])
    )
    assert not space.points(cells)[:, 2].any()


def test_the_room_of_the_values_can_be_used_again() -> None:
    for seed in range(8):
        cells = mixed.mixed_cells(seed, 9000, 3)
        space = Space.fit(cells)
        expected = space.points(cells)
        room = np.empty_like(expected)
        assert space.points(cells, out=room) is room
        np.testing.assert_array_equal(room, expected)
        if expected.shape == cells.values.shape:
            values = cells.values.copy()
            points = space.points(Cells(cells.variables, values, cells.atoms), out=values)
            assert points is values
            np.testing.assert_array_equal(points, expected)


@pytest.mark.parametrize("scale", SCALES)
def test_plain_cells_are_what_their_matrix_is(scale: str) -> None:
    values = np.random.default_rng(6).lognormal(3.0, 2.0, (50, 3))
    cells = Cells.plain(values, ["x", "y", "z"])
    points = Space.fit(cells, scale).points(cells)
    np.testing.assert_array_equal(points, Space.fit(values, scale).points(values))
    heavy = Space.fit(cells, scale, {"y": 4.0}).points(cells)
    np.testing.assert_allclose(heavy, points * [1.0, 2.0, 1.0], rtol=1e-15)


def test_row_order_decides_nothing() -> None:
    cells = mixed.mixed_cells(11, 60, 8)
    order = np.random.default_rng(0).permutation(60)
    shuffled = Cells(
        cells.variables, cells.values[order], None if cells.atoms is None else cells.atoms[order]
    )
    one, other = Space.fit(cells), Space.fit(shuffled)
    np.testing.assert_allclose(
        squared_distances(one.points(cells)),
        squared_distances(other.points(cells)),
        rtol=1e-12,
        atol=1e-12,
    )
