"""compare and reproduce on Dask: the same rows as without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg as ma
from dask_clusters import cluster
from microagg.studies.compare import compare
from microagg.studies.published import all_published
from microagg.studies.reproduce import reproduce
from microagg.studies.reproduce_runs import Runs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(2) as started:
        yield started


def test_comparing(tmp_path: Path, client: Any) -> None:
    table = np.random.default_rng(1).normal(size=(200, 3))
    settings: dict[str, Any] = {"ks": [3, 5], "methods": ["mdav", "v-mdav", "hm-pfsom"]}
    lines: list[str] = []

    class Telling:
        def __call__(self, done: int, total: int) -> None:
            pass

        def tell(self, line: str) -> None:
            lines.append(line)

    in_memory = compare(table, **settings)
    on_cluster = compare(
        table,
        engine=client,
        spill=tmp_path,
        state=tmp_path / "state",
        progress=Telling(),
        **settings,
    )
    assert on_cluster.rows == in_memory.rows
    assert any(row.error for row in in_memory.rows), "also of a method that cannot work on it"
    assert len(lines) == len(in_memory.rows)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    again = compare(
        table, engine="tcp://127.0.0.1:1", spill=tmp_path, state=tmp_path / "state", **settings
    )
    assert again.rows == in_memory.rows, "all from the state: nobody was asked"


def test_stopping_a_comparison(tmp_path: Path, client: Any) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise ma.errors.Cancelled("stopped.")

    table = np.random.default_rng(1).normal(size=(200, 3))
    with pytest.raises(ma.errors.Cancelled):
        compare(
            table,
            ks=[3, 5],
            methods=["mdav", "v-mdav"],
            engine=client,
            spill=tmp_path,
            progress=stop,
        )
    assert list(tmp_path.iterdir()) == []


def test_reproducing(tmp_path: Path, client: Any) -> None:
    figures = [
        figure
        for figure in all_published()
        if figure.dataset.startswith("Sim") and figure.name == "mdav"
    ][:3]
    assert figures
    in_memory = list(reproduce(figures))
    runs = Runs(state=tmp_path / "state")
    on_cluster = list(reproduce(figures, runs=runs, engine=client, spill=tmp_path))
    assert on_cluster == in_memory
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert (
        list(reproduce(figures, runs=Runs(state=tmp_path / "state"), engine="tcp://127.0.0.1:1"))
        == in_memory
    )
