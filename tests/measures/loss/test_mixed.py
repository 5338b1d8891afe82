"""Loss of mixed releases, against a transcription that goes cell by cell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mixed
import slow_axes
from microagg.measures.loss.mixed import loss_by_column, loss_of_release
from microagg.measures.loss.sse import loss_between, loss_of_partition
from microagg.table.encoder import Space
from microagg.table.scales import SCALES
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


def released(cells: Cells, labels: np.ndarray, rng: np.random.Generator) -> Cells:
    """Each group gets the mean of its values, or the cell of a member; what is nominal always the
    latter.
    """
    values = cells.values.copy()
    atoms = np.full(values.shape, -1, np.int16) if cells.atoms is None else cells.atoms.copy()
    for j, variable in enumerate(cells.variables):
        for group in np.unique(labels):
            members = np.flatnonzero(labels == group)
            chosen = rng.choice(members)
            known = members[atoms[members, j] < 0] if variable.marks else members
            if variable.kind is not Kind.NOMINAL and len(known) and rng.random() < 0.6:
                values[members, j], atoms[members, j] = cells.values[known, j].mean(), -1
            else:
                values[members, j], atoms[members, j] = cells.values[chosen, j], atoms[chosen, j]
    return Cells(cells.variables, values, None if cells.atoms is None else atoms)


def slow_loss(
    before: Cells, after: Cells, labels: list[int], scale: str, importance: dict[str, float]
) -> Any:
    """(IL, SSE, IL_within) and IL by column."""
    errors, within, totals = [], [], []
    pairs = zip(mixed.cells_by_column(before), mixed.cells_by_column(after), strict=True)
    for j, (column, became) in enumerate(pairs):
        variable = before.variables[j]
        axes = slow_axes.axes_of(
            column,
            str(variable.kind),
            scale,
            importance.get(variable.name, 1.0),
            variable.unit,
            mixed.paths_of(variable),
        )
        points = [axes(cell) for cell in column]
        inside = slow_axes.within(points, labels)
        moved = [slow_axes.squared(x, axes(cell)) for x, cell in zip(points, became, strict=True)]
        errors.append(inside if after.variables[j].coarse else math.fsum(moved))
        within.append(inside)
        totals.append(slow_axes.within(points, [0] * len(column)))
    sst = sum(totals)
    by_column = [
        100 * error / total if total else 0.0 for error, total in zip(errors, totals, strict=True)
    ]
    return (100 * sum(errors) / sst, sum(errors), 100 * sum(within) / sst), by_column


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(6))
def test_loss_follows_the_transcription(scale: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = mixed.mixed_cells(seed, 30, 6)
    labels = rng.permutation(np.arange(30) % 7).astype(np.int32)
    after = released(before, labels, rng)
    importance = {before.names[1]: 5.0}
    space = Space.fit(before, scale, importance)
    if seed % 2:
        coarse = [replace(variable, coarse=j == 0) for j, variable in enumerate(after.variables)]
        after = Cells(tuple(coarse), after.values, after.atoms)
    loss = loss_of_release(space, before, after, labels)
    expected, by_column = slow_loss(before, after, labels.tolist(), scale, importance)
    assert (loss["IL"], loss["SSE"], loss["IL_within"]) == pytest.approx(expected, rel=1e-10)
    assert loss["IL"] >= loss["IL_within"] * (1 - 1e-12)
    assert list(loss_by_column(space, before, after, labels).values()) == pytest.approx(
        by_column, rel=1e-10
    )
    by_record = space.record_errors(before, after, labels)
    assert by_record.shape == (30,)
    assert by_record.sum() == pytest.approx(loss["SSE"], rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_records_follow_the_transcription(seed: int) -> None:
    """Of coarse columns the distance to the centroid of the group, of others that to the released
    cell.
    """
    rng = np.random.default_rng(seed)
    before = mixed.mixed_cells(seed, 21, 6)
    labels = rng.permutation(np.arange(21) % 4).astype(np.int32)
    after = released(before, labels, rng)
    variables = [replace(variable, coarse=j % 2 == 0) for j, variable in enumerate(after.variables)]
    after = Cells(tuple(variables), after.values, after.atoms)
    expected = np.zeros(21)
    pairs = zip(mixed.cells_by_column(before), mixed.cells_by_column(after), strict=True)
    for j, (column, became) in enumerate(pairs):
        variable = before.variables[j]
        axes = slow_axes.axes_of(
            column, str(variable.kind), "zscore", 1.0, "", mixed.paths_of(variable)
        )
        points = np.array([axes(cell) for cell in column])
        moved = np.array([axes(cell) for cell in became])
        if j % 2 == 0:
            moved = np.array([points[labels == label].mean(axis=0) for label in labels])
        expected += np.square(points - moved).sum(axis=1)
    errors = Space.fit(before).record_errors(before, after, labels)
    np.testing.assert_allclose(errors, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(4))
def test_released_cells_have_points_as_far_away_as_they_lost(scale: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = mixed.mixed_cells(seed, 150, 4)
    labels = rng.permutation(np.arange(150) % 30).astype(np.int32)
    after = released(before, labels, rng)
    space = Space.fit(before, scale)
    moved = np.square(space.points(before) - space.points(after)).sum(axis=1)
    np.testing.assert_allclose(
        moved, space.record_errors(before, after, labels), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("scale", SCALES)
def test_plain_cells_have_the_digits_of_loss_between(scale: str) -> None:
    values = np.random.default_rng(1).lognormal(2.0, 1.0, (40, 3))
    labels = (np.arange(40) // 5).astype(np.int32)
    means = np.array([values[labels == group].mean(axis=0) for group in range(8)])[labels].round(1)
    before, after = Cells.plain(values, "xyz"), Cells.plain(means, "xyz")
    space = Space.fit(before, scale)
    loss = loss_of_release(space, before, after, labels)
    points = space.points(values)
    assert loss["IL_within"] == loss_of_partition(points, labels)["IL"]
    del loss["IL_within"]
    assert loss == loss_between(points, space.points(means))
    assert space.column_errors(before, after, labels).sum() == pytest.approx(loss["SSE"], rel=1e-12)


def test_a_changed_cell_counts_its_squared_distance() -> None:
    variable = Variable("town", Kind.NOMINAL, ("a", "b"))
    before = Cells((variable,), np.array([[0.0], [0.0], [0.0], [1.0]]))
    after = Cells((variable,), np.array([[0.0], [0.0], [1.0], [1.0]]))
    labels = np.array([0, 0, 1, 1], np.int32)
    loss = loss_of_release(Space.fit(before, "minmax"), before, after, labels)
    assert loss["SSE"] == 1.0
    assert loss["IL"] == pytest.approx(100 * 1.0 / 0.75)  # the variation is n (1 - Σp²) / 2
    assert loss["IL_within"] == pytest.approx(100 * 0.5 / 0.75)


def test_one_record_for_all_loses_all_and_no_more() -> None:
    variable = Variable("town", Kind.NOMINAL, ("a", "b", "c"))
    before = Cells((variable,), np.array([[0.0], [1.0], [2.0]]))
    after = Cells((variable,), np.zeros((3, 1)))
    assert loss_of_release(Space.fit(before), before, after, np.zeros(3, np.int32))["IL"] == 100.0


def test_labels_of_single_columns() -> None:
    cells = mixed.mixed_cells(3, 12, 4)
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.permutation(np.arange(12) % 3) for _ in range(4)]).astype(
        np.int32
    )
    space = Space.fit(cells)
    expected = 0.0
    for j, variable in enumerate(cells.variables):
        atoms = None if cells.atoms is None else cells.atoms[:, [j]]
        alone = Cells((variable,), np.ascontiguousarray(cells.values[:, [j]]), atoms)
        expected += Space.fit(alone).within(alone, np.ascontiguousarray(labels[:, j]))
    assert space.within(cells, labels) == pytest.approx(expected, rel=1e-12)
    coarse = tuple(replace(variable, coarse=True) for variable in cells.variables)
    errors = space.column_errors(cells, Cells(coarse, cells.values, cells.atoms), labels)
    assert errors.sum() == pytest.approx(space.within(cells, labels), rel=1e-12)
