"""A guarantee that fails: exit code 3, one sentence, nothing written, the old file as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tables
from microagg.files.commit import writing
from microagg.methods.method import Grouping
from microagg.methods.registry import method_named
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.variable import Cells
from running import Outcome

Microagg = Callable[..., Outcome]
Monkeypatch = pytest.MonkeyPatch
ENDINGS = [".csv", ".parquet", ".arrow"]


def refused(microagg: Microagg, folder: Path, says: str, ending: str = ".csv") -> None:
    """Run over the files of an older release, which must be left as they are."""
    source = tables.write(tables.people(), folder / "in.csv")
    tables.write(tables.people(5), folder / f"out{ending}")
    for name in (f"out{ending}.internal.json", f"out{ending}.public.json"):
        (folder / name).write_text('{"format": 2, "microagg": "an older release"}\n')
    before = tables.snapshot(folder)
    microagg("anonymize", source, f"out{ending}", "--k", "4", *tables.ROLES).refused(says, code=3)
    assert tables.snapshot(folder) == before
    for name in (f"out{ending}", f"out{ending}.internal.json", f"out{ending}.public.json"):
        (folder / name).unlink()
    before = tables.snapshot(folder)
    assert microagg("anonymize", source, f"out{ending}", "--k", "4", *tables.ROLES).code == 3
    assert tables.snapshot(folder) == before


def lonely_labels(n: int) -> np.ndarray:
    """A partition with one record alone."""
    labels = np.repeat(np.arange(n // 4 + 1), 4)[:n].astype(np.int32)
    labels[-1] = labels.max() + 1
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lonely_labels, "smaller than k"),
        (lambda n: np.full(n, -1, np.int32), "every record a group"),
        (lambda n: np.zeros(n - 1, np.int32), "every record a group"),
        (lambda n: np.zeros(n, np.int64), "every record a group"),
    ],
    ids=["alone", "unlabelled", "too-few", "wrong-type"],
)
def test_a_broken_method(
    microagg: Microagg,
    monkeypatch: Monkeypatch,
    tmp_path: Path,
    broken: Callable[[int], np.ndarray],
    says: str,
) -> None:
    def run(problem: Any, **_: Any) -> np.ndarray:
        return broken(len(problem.points))

    monkeypatch.setattr(
        "microagg.release.settings.Settings.chosen_method",
        property(lambda settings: dataclasses.replace(method_named(settings.method), run=run)),
    )
    refused(microagg, tmp_path, says)


def test_a_broken_engine(microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    def broken(method: Any, problem: Any, *_: Any, **__: Any) -> Grouping:
        return Grouping(lonely_labels(len(problem.points)))

    # both the search and the quick one that it is compared with
    monkeypatch.setattr("microagg.pipeline.in_memory.run_method", broken)
    monkeypatch.setattr("microagg.pipeline.choose_groups.run_method", broken)
    refused(microagg, tmp_path, "not 4-anonymous")


def test_a_broken_aggregation(microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    def nothing_done(cells: Cells, labels: np.ndarray, **options: Any) -> Aggregated:
        return dataclasses.replace(
            aggregated(cells, labels, **options), _cells=cells, by_group=False
        )

    monkeypatch.setattr("microagg.pipeline.aggregation.aggregated", nothing_done)
    refused(microagg, tmp_path, "not 4-anonymous")


def test_a_broken_rounding(microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    def with_noise(of_groups: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.rint(of_groups[labels]) + np.arange(12.0)[:, None]

    monkeypatch.setattr("microagg.table.aggregate._for_records", with_noise)
    refused(microagg, tmp_path, "not 4-anonymous")


def one_cell_changed(table: pa.Table) -> pa.Table:
    values = table.column("debt").to_numpy().copy()
    values[5] += 0.01
    return table.set_column(1, "debt", [values])


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.slice(1), "lost or gained records"),
        (lambda table: pa.concat_tables([table, table]), "lost or gained records"),
        (lambda table: table.slice(0, 0), "lost or gained records"),
        (lambda table: table.select(["income", "debt"]), "columns"),
        (lambda table: table.append_column("name", [[str(i) for i in range(12)]]), "columns"),
        (one_cell_changed, "not 4-anonymous"),
    ],
    ids=["row-lost", "rows-twice", "no-rows", "column-lost", "identifier-back", "cell-changed"],
)
def test_a_written_file_that_differs(
    microagg: Microagg,
    monkeypatch: Monkeypatch,
    tmp_path: Path,
    change: Callable[[pa.Table], pa.Table],
    says: str,
    ending: str,
) -> None:
    def write(table: pa.Table, path: Path, **options: Any) -> None:
        writing.write_table(change(table), path, **options)

    monkeypatch.setattr("microagg.release.saving.write_table", write)
    refused(microagg, tmp_path, says, ending)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"income,debt\n1,2,3\n", b"\xff\xfe\x00"])
def test_a_written_file_that_is_garbage(
    microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path, content: bytes, ending: str
) -> None:
    monkeypatch.setattr(
        "microagg.release.saving.write_table",
        lambda table, path, **options: path.write_bytes(content),
    )
    refused(microagg, tmp_path, "cannot be read back", ending)


def test_a_disk_that_is_full(microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    def write(table: pa.Table, path: Path, **options: Any) -> None:
        path.write_bytes(b"income")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("microagg.release.saving.write_table", write)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    (tmp_path / "out.csv").write_text("an older release\n")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    outcome.refused("it is as it was")
    assert tables.snapshot(tmp_path) == before


def test_an_unforeseen_error_tells_no_value(
    microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary-0001x is in the way")

    monkeypatch.setattr("microagg.pipeline.in_memory.run_method", fail)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    outcome.refused("RuntimeError", code=1)
    assert "canary" not in outcome.err
    assert tables.snapshot(tmp_path) == before


def test_an_early_end_of_a_file_is_not_taken_for_ctrl_c(
    microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise EOFError

    monkeypatch.setattr("microagg.pipeline.in_memory.run_method", fail)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    outcome = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    assert outcome.code == 1
    assert "a bug in microagg (EOFError)" in outcome.err


def test_not_enough_memory(microagg: Microagg, monkeypatch: Monkeypatch, tmp_path: Path) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("microagg.pipeline.in_memory.run_method", fail)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES).refused("memory", code=1)
