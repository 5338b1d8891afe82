"""Loss of a table of numbers, run by run, against adding up all records at once."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from microagg.release import measuring
from microagg.release.measuring import can_be_read_again, is_table_of_numbers, loss_of
from microagg.release.settings import Settings
from microagg.table.aggregate import aggregated
from microagg.table.encoder import Space
from microagg.table.variable import Cells, Variable

RECORDS, NAMES = 24, ["age", "rent"]
RNG = np.random.default_rng(11)
VALUES = np.column_stack([RNG.integers(20, 80, RECORDS), RNG.normal(900, 90, RECORDS).round(1)])
CELLS = Cells.plain(VALUES * 1.0, NAMES)
LABELS = np.repeat(np.arange(RECORDS // 4, dtype=np.int32), 4)


def percent_of(before: np.ndarray, after: np.ndarray, widths: Any = None) -> tuple[float, float]:
    """IL and SSE in units of standard deviations, or of these widths."""
    scale = before.std(axis=0) if widths is None else widths
    z, y = before / scale, after / scale
    sse = math.fsum(((z - y) ** 2).ravel().tolist())
    return 100.0 * sse / math.fsum(((z - z.mean(axis=0)) ** 2).ravel().tolist()), sse


def measured(
    space: Space, labels: np.ndarray = LABELS, **more: Any
) -> tuple[dict[str, float], float, float, np.ndarray, np.ndarray]:
    made = aggregated(CELLS, labels, precision="column")
    released = made.cells.values
    frame = nw.from_native(pa.table(dict(zip(NAMES, released.T, strict=True))), eager_only=True)
    settings = Settings.of(k=2, quasi=NAMES, **more)
    loss, share, unrounded = loss_of(space, CELLS, made, frame, settings, labels, labels)
    groups = np.unique(labels)
    means = np.array([VALUES[labels == group].mean(axis=0) for group in groups])
    return loss, share, unrounded, released, means[labels]


@pytest.mark.parametrize("rows", [1, 5, 23, 24, 25, 65_536])
def test_runs_of_any_length_add_up_to_the_loss(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "ROWS", rows)
    loss, share, unrounded, released, means = measured(Space.fit(CELLS))
    assert (loss["IL"], loss["SSE"]) == pytest.approx(percent_of(VALUES, released), rel=1e-9)
    assert unrounded == pytest.approx(percent_of(VALUES, means)[0], rel=1e-9)
    assert unrounded < loss["IL"]
    assert "IL_zscore" not in loss
    assert "IL_within" not in loss or loss["IL_within"] <= loss["IL"]
    errors = (((VALUES - released) / VALUES.std(axis=0)) ** 2).sum(axis=1)
    by_group = [errors[group == LABELS].sum() for group in range(RECORDS // 4)]
    assert share == pytest.approx(max(by_group) / sum(by_group), rel=1e-9)


@pytest.mark.parametrize("more", [{"scale": "minmax"}, {"importance": {"age": 3.0}}])
def test_loss_in_z_scores_stands_beside_that_of_another_space(more: dict[str, Any]) -> None:
    settings = Settings.of(k=2, quasi=NAMES, **more)
    loss, _, _, released, _ = measured(
        Space.fit(CELLS, settings.scale, settings.importance), **more
    )
    assert loss["IL_zscore"] == pytest.approx(percent_of(VALUES, released)[0], rel=1e-9)
    assert loss["IL"] != pytest.approx(loss["IL_zscore"], rel=1e-6)
    if "scale" in more:
        widths = np.ptp(VALUES, axis=0)
        assert loss["IL"] == pytest.approx(percent_of(VALUES, released, widths)[0], rel=1e-9)


def test_weighted_means_are_not_the_middle_of_their_groups() -> None:
    loss, *_, means = measured(Space.fit(CELLS), weight="w")
    assert loss["IL_within"] == pytest.approx(percent_of(VALUES, means)[0], rel=1e-9)


def test_groups_of_each_column_have_shares_of_their_own() -> None:
    labels = np.column_stack([LABELS, LABELS[::-1]])
    made = aggregated(CELLS, labels)
    frame = nw.from_native(
        pa.table(dict(zip(NAMES, made.cells.values.T, strict=True))), eager_only=True
    )
    settings = Settings.of(k=2, quasi=NAMES)
    _, share, _ = loss_of(Space.fit(CELLS), CELLS, made, frame, settings, labels, labels)
    errors = ((VALUES - made.cells.values) / VALUES.std(axis=0)) ** 2
    by_group = [
        errors[labels[:, j] == group, j].sum() for j in range(2) for group in range(RECORDS // 4)
    ]
    assert share == pytest.approx(max(by_group) / errors.sum(), rel=1e-9)


def test_only_plain_numbers_are_read_again() -> None:
    assert is_table_of_numbers(CELLS)
    for wrong in (Variable("born", unit="D"), Variable("age", origin=7)):
        assert not is_table_of_numbers(Cells((wrong, CELLS.variables[1]), CELLS.values))
    gaps = np.full(CELLS.values.shape, -1, np.int16)
    assert not is_table_of_numbers(Cells(CELLS.variables, CELLS.values, gaps))
    table = nw.from_native(pa.table({"age": [1.5], "town": ["Ulm"]}), eager_only=True)
    assert can_be_read_again(table, ["age"])
    assert not can_be_read_again(table, ["age", "town"])
