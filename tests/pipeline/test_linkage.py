"""Released records looked up among originals in chunks, against measuring all distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.files.chunks import Source
from microagg.pipeline import linkage
from microagg.pipeline.linkage import LinkageResult, link_records
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor
from microagg.table.encoder import Space
from microagg.table.variable import Cells

NAMES = ["age", "rent"]


def slow(originals: np.ndarray, queries: np.ndarray, true_ones: np.ndarray) -> LinkageResult:
    """Distances to all originals; ties share."""
    nearest, second, lowest, following = [], [], [], []
    for query, true_one in zip(queries, true_ones, strict=True):
        distances = sorted(float(((query - original) ** 2).sum()) for original in originals)
        levels = sorted(set(distances))
        mine = float(((query - true_one) ** 2).sum())
        part = 1.0 / distances.count(mine)
        nearest.append(part if mine == levels[0] else 0.0)
        second.append(part if len(levels) > 1 and mine == levels[1] else 0.0)
        lowest.append(distances[0])
        following.append(distances[1] if len(distances) > 1 else np.inf)
    return LinkageResult(*map(np.array, (nearest, second, lowest, following)))


def looked_up(
    folder: Path,
    originals: np.ndarray,
    rows: np.ndarray,
    released: np.ndarray,
    chunk: int,
    slack: float = 0.0,
) -> LinkageResult:
    path = folder / "in.parquet"
    pa.parquet.write_table(
        pa.table(dict(zip(NAMES, originals.T, strict=True))), path, row_group_size=50
    )
    source, cells = Source.of(path), Cells.plain(originals, NAMES)
    passes = ChunkMap(source, source.chunks(chunk), ThreadExecutor(2))
    known = cells.rows(rows)
    return link_records(
        passes, cells.variables, Space.fit(cells, "none"), False, released, originals[rows],
        known, slack,
    )  # fmt: skip


def assert_equal(one: LinkageResult, other: LinkageResult) -> None:
    assert one.nearest.tolist() == other.nearest.tolist()
    assert one.second.tolist() == other.second.tolist()
    assert one.lowest.tolist() == other.lowest.tolist()
    assert one.next.tolist() == other.next.tolist()


@pytest.mark.parametrize("levels", [2, 3, 6])
@pytest.mark.parametrize("values", [2, 5, 40])
def test_against_measuring_all_distances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: int, levels: int
) -> None:
    """With few values most originals tie; with few levels another pass has to count."""
    monkeypatch.setattr(linkage, "LEVELS", levels)
    rng = np.random.default_rng([values, levels])
    originals = rng.integers(0, values, (200, 2)).astype(float)
    rows = np.sort(rng.choice(200, 40, replace=False))
    released = originals[rows] + rng.integers(-1, 2, (40, 2))
    expected = slow(originals, released, originals[rows])
    assert expected.nearest.any()
    assert values == 40 or expected.second.any()
    for chunk in (50, 200):
        assert_equal(looked_up(tmp_path, originals, rows, released, chunk), expected)


def test_levels_that_chunks_share_are_added_up(tmp_path: Path) -> None:
    """Four originals at one distance, two in either chunk; farther ones in the second only."""
    originals = np.zeros((100, 2))
    originals[:, 0] = 50.0 + np.arange(100)
    originals[[3, 8, 61, 90]] = [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]
    originals[70] = [0.0, 3.0]
    rows, released = np.array([3, 70]), np.zeros((2, 2))
    result = looked_up(tmp_path, originals, rows, released, 50)
    assert result.nearest.tolist() == [0.25, 0.0]
    assert result.second.tolist() == [0.0, 1.0]
    assert result.lowest.tolist() == result.next.tolist() == [1.0, 1.0]


def test_distances_that_rounding_may_have_made_are_ties(tmp_path: Path) -> None:
    """More of them than levels are kept: they are counted in another pass."""
    originals = np.full((100, 2), 50.0)
    for first, distance in ((0, 1.0), (60, 2.0)):
        originals[first : first + 12] = 0.0
        originals[first : first + 12, 0] = distance + 1e-9 * np.arange(12)
    rows, released = np.array([5, 70]), np.zeros((2, 2))
    ties = looked_up(tmp_path, originals, rows, released, 50, 1e-6)
    assert ties.nearest.tolist() == [1 / 12, 0.0]
    assert ties.second.tolist() == [0.0, 1 / 12]
    exact = looked_up(tmp_path, originals, rows, released, 50)
    assert exact.nearest.tolist() == exact.second.tolist() == [0.0, 0.0]
