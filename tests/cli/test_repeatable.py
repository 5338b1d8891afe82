"""The same seed gives the same bytes, whatever the machine does besides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tables
from running import Outcome, run

Microagg = Callable[..., Outcome]


def written(folder: Path, ending: str = ".csv") -> list[bytes]:
    return [
        (folder / name).read_bytes()
        for name in (f"out{ending}", f"out{ending}.internal.json", f"out{ending}.public.json")
    ]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tables.write(tables.people(200), tmp_path / "in.csv")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_same_seed_gives_the_same_bytes(microagg: Microagg, source: Path, ending: str) -> None:
    arguments = ("anonymize", source, f"out{ending}", "--k", "5", *tables.ROLES, "--seed", "11")
    assert microagg(*arguments).code == 0
    first = written(source.parent, ending)
    assert microagg(*arguments).code == 0
    assert written(source.parent, ending) == first


def test_another_seed_gives_another_order(microagg: Microagg, source: Path) -> None:
    outcomes = []
    for seed in ("11", "12"):
        microagg(
            "anonymize",
            source,
            "out.csv",
            "--k",
            "5",
            *tables.ROLES,
            "--seed",
            seed,
            "--method",
            "mdav",
        )
        outcomes.append((source.parent / "out.csv").read_text().splitlines())
    assert outcomes[0] != outcomes[1]
    assert sorted(outcomes[0]) == sorted(outcomes[1])


@pytest.mark.slow
def test_another_table_gives_another_order_for_the_same_seed(
    microagg: Microagg, source: Path
) -> None:
    """The shuffle cannot be undone by guessing the seed alone: the original values take part."""
    orders = []
    for shift in (0, 1):
        table = tables.people(200)
        values = table.column("income").to_numpy().copy()
        values[7] += shift
        tables.write(table.set_column(1, "income", [values]), source)
        microagg("anonymize", source, "out.csv", "--k", "5", *tables.ROLES, "--seed", "11")
        orders.append(
            [
                line.rpartition(",")[2]
                for line in (source.parent / "out.csv").read_text().splitlines()
            ]
        )
    assert orders[0] != orders[1]


@pytest.mark.slow
def test_a_drawn_seed_differs_and_repeats_the_run(microagg: Microagg, source: Path) -> None:
    arguments = ("anonymize", source, "out.csv", "--k", "5", *tables.ROLES)
    microagg(*arguments)
    first = written(source.parent)
    microagg(*arguments)
    second = written(source.parent)
    assert first[0] != second[0]
    seeds = [json.loads(files[1])["settings"]["seed"] for files in (first, second)]
    assert seeds[0] != seeds[1]
    microagg(*arguments, "--seed", str(seeds[0]))
    assert written(source.parent) == first


@pytest.mark.slow
def test_any_number_of_threads(source: Path) -> None:
    outputs = []
    for threads in ("1", "2"):
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        done = run(
            "-m",
            "microagg",
            "anonymize",
            source,
            "out.csv",
            "--k",
            "5",
            *tables.ROLES,
            "--seed",
            "11",
            folder=source.parent,
            environment=dict.fromkeys(names, threads),
        )
        assert done.code == 0, done
        outputs.append(written(source.parent))
    assert outputs[0] == outputs[1]
