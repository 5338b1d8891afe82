"""The default never loses more in what is released than quick does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.pipeline.choose_groups import loses_less
from microagg.table.aggregate import aggregated
from microagg.table.encoder import Space
from microagg.table.variable import Cells

STEPS = 20  # a record
LEVELS = ["1", "2", "3", "4", "5"]


def mixed_table(records: int, seed: int) -> pa.Table:
    """Numbers and categories with gaps, and ordered levels: IL and IL_within are far apart in
    it.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((records, 2))
    columns: dict[str, Any] = {}
    for j in range(2):
        values = np.round(20.0 * np.exp(0.7 * hidden[:, j] + 0.5 * rng.standard_normal(records)))
        columns[f"number {j}"] = pa.array(values, mask=rng.random(records) < 0.1)
    for j in range(2):
        shares = rng.dirichlet(np.full(6, 0.6))
        cuts = np.quantile(hidden[:, j], np.linspace(0.0, 1.0, 7)[1:-1])
        near, any_other = np.digitize(hidden[:, j], cuts), rng.choice(6, records, p=shares)
        codes = np.where(rng.random(records) < 0.5, near, any_other)
        columns[f"code {j}"] = pa.array(
            [f"v{code}" for code in codes], mask=rng.random(records) < 0.1
        )
    levels = np.rint(1.2 * hidden[:, 0] + rng.standard_normal(records) + 3.0)
    columns["level"] = np.clip(levels, 1, 5).astype(int).astype(str)
    return pa.table(columns)


def released(table: pa.Table, effort: Any, **more: Any) -> ma.Release:
    return ma.anonymize(
        table,
        k=5,
        quasi=table.column_names,
        ordinal={"level": LEVELS},
        seed=1,
        effort=effort,
        **more,
    )


@pytest.mark.parametrize(("seed", "better"), [(0, False), (1, True), (19, True)])
def test_a_longer_search_loses_no_more_than_quick(
    seed: int, better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mixed_table(30, seed)
    quick, longer = released(table, "quick"), released(table, STEPS)
    assert longer.loss["IL"] <= quick.loss["IL"]
    assert np.array_equal(quick.labels, longer.labels) == better
    assert (
        any("lose less in what is released" in sentence for sentence in longer.manifest["chosen"])
        == better
    )
    if better:
        monkeypatch.setattr("microagg.pipeline.choose_groups.MOST_RECORDS", 0)
        alone = released(table, STEPS)
        assert alone.loss["IL"] > quick.loss["IL"]
        assert alone.loss["IL_within"] < quick.loss["IL_within"], "which is what a search lowers"


def test_a_search_that_was_stopped_is_left_as_it_is() -> None:
    release = released(mixed_table(30, 1), STEPS, stop_after=1)
    assert not any(
        "lose less in what is released" in sentence for sentence in release.manifest["chosen"]
    )


def test_of_two_that_lose_the_same_none_loses_less() -> None:
    """Rounding of the sums is no difference; a larger one is, and a loss of 0 is less than any
    other.
    """
    cells = Cells.plain(np.arange(8.0).reshape(-1, 1), ["age"])
    space = Space.fit(cells, "none")
    pairs, halves, all_apart = (
        aggregated(cells, np.array(labels, np.int32), k=1)
        for labels in ([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1], list(range(8)))
    )
    for release in (pairs, halves, all_apart):
        assert not loses_less(space, cells, release, release)
    assert loses_less(space, cells, pairs, halves)
    assert not loses_less(space, cells, halves, pairs)
    assert loses_less(space, cells, all_apart, pairs)
