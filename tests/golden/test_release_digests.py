"""Released files stay what they are, to the byte, in every runtime: see `release_cases.py`."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import small_blocks
from golden.release_cases import (
    ReleaseCase,
    digests_of,
    expected_digests,
    recorded,
    release_cases,
)

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
CASES = release_cases()
EVERY = {"memory": 3, "out-of-core": 12, "dask": 12}
"""One case in so many is part of `make test`; all are part of `make test-all`."""


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        small_blocks.make_small(patch.setattr)
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from dask_clusters import cluster

    with cluster(1, 2) as started:
        yield started


def selection(runtime: str) -> list[Any]:
    cases = [case for case in CASES if runtime in case.runtimes]
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[
                pytest.mark.slow,
                *([pytest.mark.nightly] if index % EVERY[runtime] else []),
            ],
        )
        for index, case in enumerate(cases)
    ]


@pytest.fixture(autouse=True)
def _tested_versions() -> None:
    """Manifests name the versions of libraries, and reports hold pictures: other versions, other
    bytes.
    """
    wanted = dict(line.split("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line)
    for name in ("numpy", "numba", "pyarrow", "highspy", "matplotlib", "narwhals"):
        if importlib.metadata.version(name) != wanted[name]:
            pytest.skip(f"digests are those of {name} {wanted[name]}")


@pytest.mark.parametrize("case", selection("memory"))
def test_in_memory(case: ReleaseCase) -> None:
    assert digests_of(case, "memory") == expected_digests(case, "memory")


@pytest.mark.parametrize("case", selection("out-of-core"))
def test_out_of_core(case: ReleaseCase) -> None:
    assert digests_of(case, "out-of-core") == expected_digests(case, "out-of-core")


@pytest.mark.parametrize("case", selection("dask"))
def test_on_dask(case: ReleaseCase, client: Any) -> None:
    assert digests_of(case, "dask", client) == expected_digests(case, "dask")


def test_every_digest_has_its_case() -> None:
    names = {case.name for case in CASES}
    assert len(names) == len(CASES) >= 60
    assert {name.split(" [")[0] for name in recorded()} == names
