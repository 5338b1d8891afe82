"""Figures of samples: what they estimate of the whole table, and how far off they say they are."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.kernels import sums
from microagg.measures.measure import Pair
from microagg.measures.registry import assess_pair
from microagg.pipeline import figures
from microagg.pipeline.figures import FigureCounts, FigureInputs
from microagg.pipeline.spill_index import NUMBER
from microagg.table.encoder import Space

RECORDS = 2000
NAMES = ("sse", "il")


def population() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    before = rng.normal(size=(RECORDS, 2))
    return before, before + rng.normal(0.0, 0.4, before.shape)


def from_sample(rows: np.ndarray, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    before, after = population()
    inputs: Any = SimpleNamespace(records=RECORDS)
    pair = Pair(before[rows], after[rows], ("age", "rent"))
    return FigureInputs._from_sample(inputs, pair, names)


def test_totals_grow_to_those_of_the_table_and_shares_do_not() -> None:
    rows = np.sort(np.random.default_rng(0).choice(RECORDS, 500, replace=False))
    before, after = population()
    alone = {
        measure.name: figure
        for measure, figure in assess_pair(Pair(before[rows], after[rows], ("age", "rent")), NAMES)
    }
    estimates = from_sample(rows)
    assert estimates["sse"].value == pytest.approx(4.0 * alone["sse"].value)
    assert estimates["sse"].columns == pytest.approx(
        {name: 4.0 * value for name, value in alone["sse"].columns.items()}
    )
    assert estimates["il"].value == alone["il"].value
    assert estimates["il"].columns == alone["il"].columns
    assert {figure.sample.records for figure in estimates.values()} == {500}


@pytest.mark.parametrize("size", [600, 1500])
def test_errors_are_those_of_drawing_many_samples(size: int) -> None:
    """Three quarters of a table err less than a small part of it: little is left to be seen."""
    rng = np.random.default_rng(size)
    before, after = population()
    true = {
        measure.name: figure.value
        for measure, figure in assess_pair(Pair(before, after, ("age", "rent")), NAMES)
    }
    values: dict[str, list[float]] = {name: [] for name in NAMES}
    errors: dict[str, list[float]] = {name: [] for name in NAMES}
    for _ in range(50):
        for name, figure in from_sample(rng.choice(RECORDS, size, replace=False)).items():
            values[name].append(figure.value - true[name])
            errors[name].append(figure.sample.error)
    for name in NAMES:
        spread = math.sqrt(float(np.mean(np.square(values[name]))))
        assert float(np.mean(errors[name])) == pytest.approx(spread, rel=0.3)


def test_parts_that_agree_tell_no_error() -> None:
    rows = np.zeros(RECORDS // 2, np.int64)  # one record again and again
    assert from_sample(rows, ("cells-unchanged",))["cells-unchanged"].sample.error is None


def block(**more: Any) -> dict[str, Any]:
    return {
        "plain": True, "sums": [[1.0, 10.0], [0.0, 0.0], [0.0, 0.0]], "lows": [1.0, 5.0],
        "highs": [2.0, 6.0], "same": [3, 4], "one": [[7.0], [8.0]],
        "moved": [[6.0, 0.0, 0.0, 3.0], None], **more,
    }  # fmt: skip


def test_counts_of_blocks_are_put_together() -> None:
    other = block(
        plain=False, sums=[[2.0, 30.0], [0.0, 0.0], [0.0, 0.0]], lows=[0.0, 9.0],
        highs=[1.0, 9.0], same=[1, 0], one=[[7.0], [9.0]], moved=[[4.0, 0.0, 0.0, 1.0], None],
    )  # fmt: skip
    counts = FigureCounts.of([block(), other])
    assert counts.plain is False
    assert [counts.total(number) for number in (0, 1)] == [3.0, 40.0]
    assert (counts.lows, counts.highs) == ([0.0, 5.0], [2.0, 9.0])
    assert counts.same == [4, 4]
    assert counts.one == [[7.0], None]
    assert counts.moved == [2.5, None]
    assert FigureCounts.of([block(), block()]).plain is True


def test_a_sum_keeps_what_floats_lose() -> None:
    parts = [sums.column_sums(np.array([[x]])).tolist() for x in (1e16, 1.0, -1e16)]
    blocks = [block(sums=part, lows=[], highs=[], same=[], one=[], moved=[]) for part in parts]
    assert FigureCounts.of(blocks).total(0) == 1.0


def test_distances_are_those_of_the_search_where_all_columns_are_looked_up() -> None:
    """Else in plain z-scores: of all records, if they have been found, or of the sample."""
    before, after = population()
    pair = Pair(before, after, ("age", "rent"))
    plain, mixed = SimpleNamespace(is_plain=True), SimpleNamespace(is_plain=False)

    def space(searched: Any, scores: Any, columns: int) -> Any:
        inputs: Any = SimpleNamespace(variables=("age", "rent"), searched=searched, scores=scores)
        return FigureInputs._space(inputs, pair, columns)

    assert space(mixed, plain, 2) is mixed
    assert space(None, plain, 2) is plain
    of_sample = Space.fit(pair.before, "zscore").points(before)
    assert space(None, mixed, 2).points(before).tolist() == of_sample.tolist()
    assert space(mixed, plain, 1).points(before).tolist() == of_sample.tolist()


def test_records_with_the_lowest_hashes_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "LOOKED_UP", 3)
    numbers = np.array([10, 11, 12, 13, 14])
    hashes = {10: 5, 11: 1, 12: 9, 13: 0, 14: 3}
    inputs: Any = SimpleNamespace(
        aside=SimpleNamespace(keys=lambda rows: np.array([hashes[row] for row in rows.tolist()])),
        sample=pa.table({NUMBER: numbers}),
    )
    assert FigureInputs._looked_up(inputs).tolist() == [1, 3, 4]
    monkeypatch.setattr(figures, "LOOKED_UP", 9)
    assert FigureInputs._looked_up(inputs).tolist() == [0, 1, 2, 3, 4]
