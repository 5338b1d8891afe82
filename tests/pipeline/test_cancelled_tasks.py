"""Long tasks whose result is no longer wanted end early, and leave nothing behind."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microagg.errors import Cancelled
from microagg.pipeline import parquet_parts, row_order
from microagg.pipeline.block_tasks import go_on
from microagg.pipeline.text_intake import in_tables_of
from microagg.runtime.executor import ThreadExecutor, cancel_scope

ROWS = pa.table({"age": [30, 40]})


def token(cancelled: bool) -> threading.Event:
    event = threading.Event()
    if cancelled:
        event.set()
    return event


def write_a_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_parts, "_some_of", lambda *_: iter([ROWS]))
    monkeypatch.setattr(parquet_parts, "schema_in", lambda _: ROWS.schema)
    holdings: Any = ((("spill", 0),),)
    parquet_parts.write_part_of(0, 0, 2, holdings, str(folder), {}, {}, {})


def write_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_order, "sorted_bucket", lambda _: ROWS)
    holdings: Any = ["spill"]
    row_order.write_rows(
        ThreadExecutor(1), lambda _: None, str(folder / "part"), "out.parquet", ROWS.schema,
        holdings, {}, 1, {}, {}, {}
    )  # fmt: skip


@pytest.mark.parametrize("write", [write_a_part, write_a_file])
@pytest.mark.parametrize("cancelled", [False, True])
def test_rows_are_written_only_while_somebody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any, cancelled: bool
) -> None:
    with cancel_scope(token(cancelled)):
        if cancelled:
            with pytest.raises(Cancelled, match="nothing was written"):
                write(tmp_path, monkeypatch)
        else:
            write(tmp_path, monkeypatch)
            assert [path.stat().st_size > 0 for path in tmp_path.iterdir()] == [True]
    if cancelled and write is write_a_part:
        assert list(tmp_path.iterdir()) == []


def test_reading_and_searching_end() -> None:
    with cancel_scope(token(False)):
        assert [part.num_rows for part in in_tables_of([ROWS, ROWS], 3)] == [3, 1]
        go_on(1, 2)
    with cancel_scope(token(True)):
        with pytest.raises(Cancelled):
            next(in_tables_of([ROWS, ROWS], 3))
        with pytest.raises(Cancelled):
            go_on(1, 2)
