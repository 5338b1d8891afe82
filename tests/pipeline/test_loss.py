"""Loss from partial sums of blocks: to the digit what a table in memory is measured by."""

from __future__ import annotations

import json
import math
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from microagg.kernels import sums
from microagg.measures.loss.mixed import loss_of_release
from microagg.measures.loss.sse import loss_between
from microagg.pipeline.loss import LossSums, SpaceLoss, block_loss, summed
from microagg.table.aggregate import aggregated
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable
from mixed_tables import mixed_cells, mixed_groups


def totals_of(space: Space, cells: Cells) -> list[np.ndarray]:
    """Sums of squared distances to the centroid, one for each column."""
    return [
        sums.column_sums(np.array([[column]])) for column in space.column_totals(cells).tolist()
    ]


def blocks_of(labels: np.ndarray, blocks: int) -> list[np.ndarray]:
    """The records of so many blocks of whole groups."""
    return [np.flatnonzero(labels % blocks == block) for block in range(blocks)]


def loss_in_blocks(
    space: Space, before: Cells, after: Cells, labels: np.ndarray, blocks: int
) -> SpaceLoss:
    data = []
    for rows in blocks_of(labels, blocks):
        part_labels = np.unique(labels[rows], return_inverse=True)[1].astype(np.int32)
        part = LossSums.of_chunk(space, before.rows(rows), after.rows(rows), part_labels)
        data.append(json.loads(json.dumps(part.as_data())))
    return SpaceLoss.of(space, totals_of(space, before), data)


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_mixed_tables_lose_what_they_lose_in_memory(seed: int, blocks: int) -> None:
    cells, labels = mixed_cells(seed), mixed_groups(seed)
    made, space = aggregated(cells, labels), Space.fit(mixed_cells(seed))
    loss = loss_in_blocks(space, cells, made.cells, labels, blocks)
    expected = loss_of_release(space, cells, made.cells, labels)
    assert 0.0 < loss.il_within < loss.il
    assert (loss.il, loss.sse, loss.il_within) == pytest.approx(
        (expected["IL"], expected["SSE"], expected["IL_within"]), rel=1e-12
    )


def test_one_record_for_all_loses_all_and_no_more() -> None:
    """Its squared error may be above the variation of the table: a mode is no mean."""
    cells = mixed_cells(1)
    labels, space = np.zeros(len(cells), np.int32), Space.fit(cells)
    made = aggregated(cells, labels)
    assert loss_in_blocks(space, cells, made.cells, labels, 1).il == 100.0
    assert loss_of_release(space, cells, made.cells, labels)["IL"] == 100.0
    groups = (np.arange(len(cells)) % 2).astype(np.int32)
    same = made.cells  # the one record in two blocks
    assert loss_in_blocks(space, cells, same, groups, 2).il == 100.0


def test_far_records_may_lose_more_than_all() -> None:
    """Only one record for all is held to 100 percent, not one for each block, nor other values."""
    before = Cells.plain(np.array([[0.0], [1.0], [2.0], [3.0]]), ["age"])
    space, labels = Space.fit(before, "none"), np.array([0, 0, 1, 1], np.int32)
    after = Cells.plain(np.array([[9.0], [9.0], [-9.0], [-9.0]]), ["age"])
    totals = totals_of(space, before)
    by_block = []
    for rows in (slice(0, 2), slice(2, 4)):
        part = LossSums.of_points(before.values[rows], after.values[rows], np.zeros(2, np.int32))
        assert part.one == [float(after.values[rows][0, 0])]
        by_block.append(part.as_data())
    loss = SpaceLoss.of(space, totals, by_block)
    assert loss.sse == 81.0 + 64.0 + 121.0 + 144.0
    assert loss.il == pytest.approx(100.0 * loss.sse / 5.0)
    assert loss.il_within == pytest.approx(100.0 * 1.0 / 5.0)
    of_chunk = loss_in_blocks(space, before, after, labels, 2)
    assert (of_chunk.il, of_chunk.sse, of_chunk.il_within) == pytest.approx(
        (loss.il, loss.sse, loss.il_within)
    )
    one = SpaceLoss.of(
        space, totals, [LossSums.of_points(before.values, np.full((4, 1), 9.0), None).as_data()]
    )
    assert (one.il, one.il_within) == (100.0, 0.0)


def test_a_table_that_does_not_vary_loses_nothing() -> None:
    before = Cells.plain(np.full((4, 1), 7.0), ["age"])
    space, labels = Space.fit(before, "none"), np.zeros(4, np.int32)
    assert loss_in_blocks(space, before, before, labels, 1) == SpaceLoss(0.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_plain_points_against_adding_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(12, 3)), np.repeat(np.arange(4, dtype=np.int32), 3)
    means = np.array([points[labels == group].mean(axis=0) for group in range(4)])[labels]
    moved = np.round(means, 1)
    part = LossSums.of_points(points, moved, labels, keep_errors=True)
    errors = [math.fsum((points[i] - moved[i]) ** 2) for i in range(12)]
    within = math.fsum(float(x) for x in ((points - means) ** 2).ravel())
    assert sums.rounded(part.sse[0], 0) == pytest.approx(math.fsum(errors), rel=1e-13)
    assert sums.rounded(part.sse[0], 0) == loss_between(points, moved)["SSE"]
    assert sums.rounded(part.within[0], 0) == pytest.approx(within, rel=1e-12)
    assert part.errors is not None
    assert part.errors.sum(axis=1) == pytest.approx(errors, rel=1e-13)
    assert part.one is None
    assert LossSums.of_points(points, moved, None).within == []


def test_a_record_is_shared_by_all_chunks_or_by_none() -> None:
    points, one = np.arange(6.0).reshape(3, 2), np.full((3, 2), 5.0)
    first, second = (LossSums.of_points(points, moved, None) for moved in (one, one + 1.0))
    assert first.combine(LossSums.of_points(points, one, None)).one == [5.0, 5.0]
    assert first.combine(second).one is None


def test_cells_that_differ_in_a_code_only_are_no_shared_record() -> None:
    cells = mixed_cells(0).rows(np.arange(4))
    values, codes = cells.values.copy(), np.full(cells.values.shape, -1, np.int16)
    values[:], codes[:, 0] = values[0], 0
    values[:, 0] = np.nan
    space, labels = Space.fit(mixed_cells(0)), np.zeros(4, np.int32)
    same = Cells(cells.variables, np.nan_to_num(values), codes)
    shared = LossSums.of_chunk(space, same, same, labels).one
    assert shared is not None
    other = codes.copy()
    other[3, 0] = 1
    apart = Cells(cells.variables, np.nan_to_num(values), other)
    assert LossSums.of_chunk(space, apart, apart, labels).one is None


def released(cells: Cells) -> Any:
    return nw.from_native(pa.table(dict(zip(cells.names, cells.values.T, strict=True))))


def test_errors_of_groups_are_those_of_their_records() -> None:
    rng = np.random.default_rng(5)
    cells = Cells.plain(np.round(rng.normal(size=(12, 2)), 2), ["age", "rent"])
    labels = np.repeat(np.arange(3, dtype=np.int32), 4)
    made = aggregated(cells, labels)
    spaces = [Space.fit(cells), Space.fit(cells, "none")]
    data, errors = block_loss(spaces, cells, made, released(made.cells), labels, weighted=False)
    by_record = ((spaces[0].points(cells) - spaces[0].points(made.cells)) ** 2).sum(axis=1)
    assert data["numbers"] is True
    assert errors.shape == (3, 3)
    assert errors.sum(axis=1) == pytest.approx(
        [by_record[labels == group].sum() for group in range(3)], rel=1e-12
    )
    assert sum(part[0] for part in data["errors"]) == pytest.approx(by_record.sum(), rel=1e-12)
    for space, part in zip(spaces, data["lost"], strict=True):
        sse = loss_between(space.points(cells), space.points(made.cells))["SSE"]
        assert sums.rounded(np.array(part["sse"][0]), 0) == sse
    assert [part["within"] for part in data["lost"]] == [[], []]
    weighted, _ = block_loss(spaces, cells, made, released(made.cells), labels, weighted=True)
    assert [len(part["within"]) for part in weighted["lost"]] == [1, 0]  # of the searched one only


def test_blocks_are_summed_up_by_column() -> None:
    parts = [[[[1.0], [0.0], [0.0]], [[5.0], [0.0], [0.0]]]] * 3
    assert [column[:, 0].tolist() for column in summed(parts)] == [
        [3.0, 0.0, 0.0],
        [15.0, 0.0, 0.0],
    ]


def test_dates_are_summed_up_as_points_of_what_was_made() -> None:
    """They are plain numbers for a search, but cannot be read again from the released table."""
    born = Variable("born", unit="D", origin=9)
    values = np.array([[0.0], [1.0], [5.0], [9.0]])
    cells, labels = Cells((born,), values), np.array([0, 0, 1, 1], np.int32)
    made, space = aggregated(cells, labels), Space.fit(Cells((born,), values))
    data, errors = block_loss([space], cells, made, released(cells), labels, weighted=False)
    assert data["numbers"] is False
    (part,) = data["lost"]
    assert (len(part["sse"]), len(part["within"])) == (1, 1)
    after, before = space.points(made.cells), space.points(cells)
    assert sums.rounded(np.array(part["sse"][0]), 0) == loss_between(before, after)["SSE"]
    assert errors.sum(axis=1) == pytest.approx(
        [((before - after) ** 2)[labels == group].sum() for group in (0, 1)]
    )
