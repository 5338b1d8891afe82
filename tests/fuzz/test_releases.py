"""Random releases, seeded: every file keeps k, l, t and units for pandas, polars, DuckDB, Arrow,
openpyxl and pyreadstat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fuzz import releases
from fuzz.judging_files import Confidential, Promise, broken_promises

BLOCK = 50
FEW = {"memory": 15, "beyond": 7, "dask": 3}
NAN = float("nan")


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    with releases.engine_here() as client:
        yield client


def played(seeds: range, folder: Path, engine: Any, way: str | None = None) -> Counter[str]:
    """Count the releases that were written and those refused; fail with the number of the case that
    shows something.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        subfolder = folder / str(seed)
        subfolder.mkdir()
        try:
            refusal = releases.play(releases.make_case(seed, way), subfolder, engine)
        except releases.Broken as broken:
            raise AssertionError(
                f"python tests/fuzz/run_releases.py --seed {seed} shows: {broken}"
            ) from None
        counts["written" if refusal is None else "refused"] += 1
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("way", FEW)
def test_every_reader_sees_what_was_promised(way: str, tmp_path: Path, engine: Any) -> None:
    counts = played(range(FEW[way]), tmp_path, engine, way)
    assert counts["written"] >= 0.7 * FEW[way]


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(1, 31))
def test_more_releases(block: int, tmp_path: Path, engine: Any) -> None:
    counts = played(range(block * BLOCK, (block + 1) * BLOCK), tmp_path, engine)
    assert counts["written"] >= 0.7 * BLOCK


class TestTheJudge:
    """Violations are seen, and the readers that see them are named."""

    ILL = ("flu", "gout", "cold")

    def violations(self, folder: Path, columns: dict[str, Any], **promised: Any) -> list[str]:
        pq.write_table(pa.table(columns), folder / "out.parquet")
        return broken_promises(folder / "out.parquet", Promise(3, ("age",), **promised))

    def test_a_file_that_keeps_its_promise(self, tmp_path: Path) -> None:
        ages, ill = [30] * 3 + [40] * 3, list(self.ILL) * 2
        promised = {
            "confidential": (Confidential("ill"),),
            "l": 3,
            "t": 0.0,
            "records": 6,
            "units": (1, 2, 3, 1, 2, 3),
        }
        assert not self.violations(tmp_path, {"age": ages, "ill": ill}, **promised)

    def test_small_classes(self, tmp_path: Path) -> None:
        broken = self.violations(tmp_path, {"age": [30, 30, 30, 40, 40]})
        assert len(broken) == 5
        assert "1 of 2 classes are smaller, the smallest has 2" in broken[0]

    def test_nan_beside_null(self, tmp_path: Path) -> None:
        broken = self.violations(tmp_path, {"age": pa.array([NAN] * 4 + [None])})
        assert {line.partition(":")[0] for line in broken} >= {"polars", "DuckDB", "Arrow, by bits"}

    def test_zero_beside_its_negative(self, tmp_path: Path) -> None:
        broken = self.violations(tmp_path, {"age": pa.array([0.0] * 4 + [-0.0])})
        assert any(line.startswith("Arrow, by bits") for line in broken)

    @pytest.mark.parametrize("diversity", ["distinct", "entropy", "recursive"])
    def test_little_diversity(self, tmp_path: Path, diversity: str) -> None:
        columns = {"age": [30] * 3 + [40] * 3, "ill": ["flu", "flu", None, *self.ILL]}
        promised = {
            "confidential": (Confidential("ill"),),
            "l": 2,
            "diversity": diversity,
            "c": 2.0,
        }
        broken = self.violations(tmp_path, columns, **promised)
        assert len(broken) == 5

    @pytest.mark.parametrize(("ordered", "distance"), [(True, 1 / 3), (False, 1 / 2)])
    def test_far_from_the_table(self, tmp_path: Path, distance: float, *, ordered: bool) -> None:
        columns = {"age": [30] * 3 + [40] * 3, "wage": [1, 1, 1, 2, 2, 3]}
        wage = (Confidential("wage", ordered),)
        assert not self.violations(tmp_path, columns, confidential=wage, t=distance + 1e-6)
        assert len(self.violations(tmp_path, columns, confidential=wage, t=distance - 1e-6)) == 10

    def test_few_units_and_a_large_one(self, tmp_path: Path) -> None:
        broken = self.violations(tmp_path, {"age": [30] * 5}, units=(1, 1, 1, 2, 3))
        assert all("a unit has 3 of 5" in line for line in broken)
        assert len(broken) == 5
        assert (
            "a class of 2 units"
            in self.violations(tmp_path, {"age": [30] * 4}, units=(1, 1, 2, 2))[0]
        )

    def test_lost_records_and_identifiers(self, tmp_path: Path) -> None:
        broken = self.violations(
            tmp_path, {"age": [30] * 3, "name": ["a", "b", "c"]}, records=4, absent=("name",)
        )
        assert "3 records instead of 4" in broken[0]
        assert "columns that were to be left out" in broken[1]
