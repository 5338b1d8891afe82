"""Rows that come bucket by bucket are put together into pieces of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.pipeline import row_order


@pytest.mark.parametrize("sizes", [[3, 4, 1], [10], [4, 4], [1] * 9, [0, 4, 0], [25, 1], []])
def test_pieces_have_all_rows_in_order(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_order, "RECORDS_IN_A_PIECE", 4)
    count = sum(sizes)
    rows = pa.table({"x": list(range(count))})
    buckets: list[pa.Table | None] = [None]  # a bucket without rows
    begin = 0
    for size in sizes:
        buckets += [rows.slice(begin, size), None]
        begin += size
    pieces = list(row_order.in_pieces_of(iter(buckets)))
    assert [piece.num_rows for piece in pieces] == [min(4, count - b) for b in range(0, count, 4)]
    assert [x for piece in pieces for x in piece.column("x").to_pylist()] == list(range(count))
    assert all(piece.column("x").num_chunks == 1 for piece in pieces)


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OSError(28, "No space left on device"), ma.InputError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["full disk", "Ctrl-C"],
)
def test_rows_that_cannot_be_written_aside_end_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: Any
) -> None:
    def failing(threads: Any, tell: Any, part: str) -> str:
        Path(part).write_bytes(b"half of the rows")
        raise error

    monkeypatch.setattr(row_order, "write_rows", failing)
    with pytest.raises(raised):
        # the function that fails looks at neither
        row_order.write_rows_aside(None, None, str(tmp_path))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
