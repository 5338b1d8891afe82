"""Numbers of groups that blocks set aside: the order of their first records in the whole table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.pipeline import random_draw
from microagg.pipeline.random_draw import draw_values, uses_draw, write_groups
from microagg.pipeline.spill_index import GROUP, NUMBER
from microagg.release.settings import Settings
from microagg.runtime.executor import ThreadExecutor


def test_only_drawn_columns_need_numbers_of_groups() -> None:
    for aggregate, drawn in (("draw", True), ("mean", False), ("medoid", False)):
        settings = Settings.of(k=2, quasi=["age", "sex"], aggregate=f"age={aggregate}")
        assert uses_draw(settings) is drawn


@pytest.mark.parametrize("bits", [0, 1, 4])
@pytest.mark.parametrize("blocks", [1, 3])
def test_groups_are_numbered_by_their_first_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, bits: int
) -> None:
    rng = np.random.default_rng([blocks, bits])
    records = 60
    about: Any = (SimpleNamespace(class_bits=bits), records)
    block_of = rng.integers(0, blocks, records)
    group_of = np.array([rng.integers(0, 7) for _ in range(records)])
    pieces, expected_rows = [], []
    for block in range(blocks):
        rows = np.flatnonzero(block_of == block)
        labels = np.unique(group_of[rows], return_inverse=True)[1].astype(np.int32)
        table = pa.table({NUMBER: rows, "age": rows * 10})
        path = str(tmp_path / f"block-{block}.arrow")
        none: Any = None
        result = write_groups(about, table, none, none, labels, path)
        pieces.append({**result, "path": path})
        expected_rows.append((rows, labels))
    groups = {
        (block, group): rows[labels == group].min()
        for block, (rows, labels) in enumerate(expected_rows)
        for group in range(labels.max() + 1)
    }
    numbers = {key: number for number, key in enumerate(sorted(groups, key=lambda x: groups[x]))}

    seen: dict[str, Any] = {}

    def write_block_output(
        config: Any, rows: pa.Table, _: Any, points: Any, labels: Any, path: str, of_groups: Any
    ) -> dict[str, Any]:
        assert config is about
        seen[path] = (rows, points, labels, of_groups)
        return {"index": [(0, rows.num_rows)]}

    monkeypatch.setattr(random_draw, "write_block_output", write_block_output)
    monkeypatch.setattr(random_draw, "cells_in", lambda rows, variables: (rows, variables))
    layout: Any = SimpleNamespace(variables=("age",), points=lambda cells: ("points of", *cells[1]))
    grouped: Any = SimpleNamespace(pieces=pieces)
    monkeypatch.setattr(random_draw, "replace", lambda _, pieces: pieces)
    finished: Any = draw_values(
        ThreadExecutor(2),
        grouped,
        layout,
        about,
        tmp_path,
        2,
        100,
    )
    assert [piece["path"] for piece in finished] == [
        f"{tmp_path}/drawn-{block}.arrow" for block in range(blocks)
    ]
    for block, (rows, labels) in enumerate(expected_rows):
        table, points, labels_there, of_groups = seen[f"{tmp_path}/drawn-{block}.arrow"]
        assert points == ("points of", "age")
        assert table.column_names == [NUMBER, "age"]
        assert GROUP not in table.column_names
        assert table.column(NUMBER).to_pylist() == rows.tolist()
        assert table.column("age").to_pylist() == (rows * 10).tolist()
        assert labels_there.tolist() == labels.tolist()
        assert of_groups.tolist() == [
            numbers[block, group] for group in range(int(labels.max()) + 1)
        ]
