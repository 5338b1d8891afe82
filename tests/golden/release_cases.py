"""Releases whose files are known by their digests, in memory, out of core and on Dask.

`PYTHONPATH=tests:tests/support python tests/golden/release_cases.py` records the digests anew,
which is right only where a change is meant to change what is released or reported, and the commit
then says why.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease

DIGESTS = Path(__file__).with_name("release_digests.json")
RUNTIMES = ("memory", "out-of-core", "dask")
DISTRICTS = {
    "North": ["North", "outer", "*"],
    "West": ["West", "outer", "*"],
    "Park": ["Park", "outer", "*"],
    "Mill": ["Mill", "outer", "*"],
    "Station": ["Station", "inner", "*"],
    "Harbour": ["Harbour", "inner", "*"],
    "Old Town": ["Old Town", "inner", "*"],
}

PERSONS: dict[str, Any] = {
    "quasi": ["age", "income", "rent", "commute_km", "schooling"],
    "identifier": ["person"],
    "confidential": ["diagnosis"],
}
RESIDENTS: dict[str, Any] = {
    "quasi": ["sex", "born", "district", "education", "income", "rent"],
    "identifier": ["person", "e_mail"],
    "confidential": ["diagnosis"],
    "rest": "drop",
}
HOUSEHOLDS: dict[str, Any] = {
    "quasi": ["born", "sex", "education", "hours", "income"],
    "confidential": ["health"],
    "rest": "drop",
}
COMPANIES: dict[str, Any] = {
    "quasi": ["employees", "turnover", "assets", "exports", "profit"],
    "identifier": ["company"],
    "rest": "drop",
}
TABLES: dict[str, tuple[Callable[..., pa.Table], dict[str, Any]]] = {
    "persons": (ma.datasets.persons, PERSONS),
    "residents": (ma.datasets.residents, RESIDENTS),
    "households": (ma.datasets.households, HOUSEHOLDS),
    "companies": (ma.datasets.companies, COMPANIES),
}


@dataclass(frozen=True)
class ReleaseCase:
    """One release: a made-up table, the files it goes from and to, and its settings."""

    name: str
    table: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ".parquet"
    target: str = ".parquet"
    records: int = 1200
    """More than a block has where blocks are set small, so that out of core there are several."""
    runtimes: tuple[str, ...] = RUNTIMES

    def arguments(self) -> dict[str, Any]:
        """Return what `anonymize_file` gets besides the two paths."""
        _, defaults = TABLES[self.table]
        fixed = {"k": 5, "seed": 7, "effort": "quick", "date": "2026-01-01"}
        merged = {**fixed, **defaults, **self.settings}
        if merged.get("method", "auto") != "auto":
            del merged["effort"]
        return merged


def release_cases() -> list[ReleaseCase]:
    """Return all cases."""
    return [
        *_plain(),
        *_kinds(),
        *_roles(),
        *_guarantees(),
        *_aggregates(),
        *_formats(),
        *_methods(),
    ]


def _case(name: str, table: str, **settings: Any) -> ReleaseCase:
    return ReleaseCase(name, table, settings)


def _plain() -> Iterator[ReleaseCase]:
    for k in (2, 3, 10):
        yield _case(f"persons k={k}", "persons", k=k)
    yield ReleaseCase("residents in one block", "residents", records=450, runtimes=("memory",))
    yield ReleaseCase("households in many blocks", "households", {"weight": "weight"}, records=3000)
    for scale in ("minmax", "robust", "rank", "none"):
        yield _case(f"persons scale={scale}", "persons", scale=scale)
    yield _case("persons importance", "persons", importance={"age": 4.0})
    yield _case("persons exact means", "persons", precision="full", accept_risk=["full-precision"])


def _kinds() -> Iterator[ReleaseCase]:
    for table in TABLES:
        yield _case(table, table)
    yield _case("residents dates", "residents", quasi=["born", "moved_in"])
    yield _case("residents categories", "residents", quasi=["sex", "district", "marital", "works"])
    yield _case("residents decimals", "residents", quasi=["rent", "commute_km"])
    yield _case("residents ordinal", "residents", quasi=["education", "income"])
    yield _case("residents missing dropped", "residents", missing="drop")
    yield _case("residents hierarchy", "residents", hierarchy={"district": DISTRICTS})
    yield _case("companies codes", "companies", quasi=["sector", "turnover"], nominal=["sector"])
    yield _case("companies cap", "companies", cap={"turnover": "99%", "assets": "99%"})
    yield _case("households special codes", "households", special={"hours": [97]})
    yield _case("households gaps", "households", quasi=["rent", "occupation", "income"])


def _roles() -> Iterator[ReleaseCase]:
    yield _case("households weight", "households", weight="weight")
    yield _case("households stratum", "households", stratum=["region"])
    yield _case("households unit", "households", unit="household")
    yield _case(
        "households all roles", "households",
        weight="weight", stratum=["region"], unit="household", special={"hours": [97]},
    )  # fmt: skip
    yield _case(
        "companies small strata dropped", "companies", k=8, stratum=["sector"], small_strata="drop"
    )
    yield _case("persons keep", "persons", keep=["diagnosis"], confidential=[])
    yield _case("companies keep", "companies", keep=["region"])


def _guarantees() -> Iterator[ReleaseCase]:
    yield _case("persons l=2", "persons", l=2)
    yield _case("persons entropy l", "persons", l=1.5, diversity="entropy")
    yield _case("persons t=0.4", "persons", t=0.4)
    yield _case("residents l=2 t=0.5", "residents", l=2, t=0.5)
    yield _case("households l=2 ordered", "households", l=2)
    yield _case("households unit l t", "households", unit="household", l=2, t=0.5)


def _aggregates() -> Iterator[ReleaseCase]:
    accepted = {"accept_risk": ["true-values"]}
    for aggregate in ("mean", "median", "medoid", "draw", "range"):
        choice = {"age": aggregate, "income": aggregate}
        yield _case(f"persons {aggregate}", "persons", aggregate=choice, **accepted)
    for aggregate in ("mode", "medoid", "draw"):
        choice = {"sex": aggregate, "district": aggregate}
        yield _case(f"residents {aggregate}", "residents", aggregate=choice, **accepted)
    yield _case(
        "residents generalise", "residents",
        hierarchy={"district": DISTRICTS}, aggregate={"district": "generalise"},
    )  # fmt: skip


def _formats() -> Iterator[ReleaseCase]:
    for source, target in ((".csv", ".csv"), (".csv", ".parquet"), (".parquet", ".csv")):
        yield ReleaseCase(f"residents {source} to {target}", "residents", {}, source, target)
    yield ReleaseCase("households csv.gz", "households", {"weight": "weight"}, ".csv.gz", ".csv.gz")
    yield ReleaseCase("companies arrow", "companies", {}, ".arrow", ".arrow")
    yield ReleaseCase("persons to parts", "persons", {}, ".parquet", "/")
    only = ("memory",)
    for source, target in (
        (".xlsx", ".xlsx"),
        (".sav", ".sav"),
        (".dta", ".dta"),
        (".sav", ".csv"),
    ):
        name = f"persons {source} to {target}"
        yield ReleaseCase(name, "persons", {}, source, target, runtimes=only)


def _methods() -> Iterator[ReleaseCase]:
    only = ("memory",)
    for method in ("mdav", "v-mdav", "kc", "imhm", "hm-pfsom"):
        yield ReleaseCase(f"persons {method}", "persons", {"method": method}, runtimes=only)
    yield ReleaseCase("persons balanced", "persons", {"effort": "balanced"}, runtimes=only)


def digests_of(case: ReleaseCase, runtime: str, client: Any = None) -> dict[str, str]:
    """Make the release and return the digest of each of its files, reports included."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / f"in{case.source}", Path(folder) / "released"
        make, _ = TABLES[case.table]
        write_table(make(case.records, seed=1), source)
        out.mkdir()
        target = out / "parts" if case.target == "/" else out / f"out{case.target}"
        name = f"{target}/" if case.target == "/" else target
        with _runtime(runtime, client) as how:
            release = anonymize_file(
                source, name, report=out / "report.html", **how, **case.arguments()
            )
        if isinstance(release, OnDiskRelease) is (runtime == "memory"):
            raise AssertionError(f"{case.name} was not made {runtime}")
        return {
            path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }


@contextlib.contextmanager
def _runtime(runtime: str, client: Any) -> Iterator[dict[str, Any]]:
    """Yield what `anonymize_file` is called with; chunks are small, so that there are many."""
    if runtime == "memory":
        yield {}
        return
    whole = MemoryBudget.checked
    MemoryBudget.checked = _small_budget  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield {"engine": client} if runtime == "dask" else {"memory": 1, "threads": 2}
    finally:
        MemoryBudget.checked = whole


def _small_budget(self: MemoryBudget, *_: Any) -> MemoryBudget:
    return MemoryBudget(1_000_000_000, self.threads, 320, self.threads, 2, 2, 100, 1000, 100_000)


@functools.cache
def recorded() -> dict[str, dict[str, str]]:
    """Return the recorded digests: by case, and by case and runtime where they differ.

    Out of core, the internal report names the samples that its figures come from; Dask gives what
    one process gives out of core.
    """
    return json.loads(DIGESTS.read_text("utf-8"))


def expected_digests(
    case: ReleaseCase, runtime: str, digests: Mapping[str, dict[str, str]] | None = None
) -> dict[str, str]:
    """Return the digests that a case should have in a runtime."""
    digests = recorded() if digests is None else digests
    order = {"memory": [], "out-of-core": ["out-of-core"], "dask": ["dask", "out-of-core"]}
    for other in order[runtime]:
        if (name := f"{case.name} [{other}]") in digests:
            return digests[name]
    return digests[case.name]


def main() -> None:
    """Record the digests of every case in every runtime."""
    import small_blocks
    from dask_clusters import cluster

    small_blocks.make_small()
    digests: dict[str, dict[str, str]] = {}
    with cluster(1, 2) as client:
        for case in release_cases():
            for runtime in case.runtimes:
                files = digests_of(case, runtime, client)
                if runtime == "memory":
                    digests[case.name] = files
                elif expected_digests(case, "out-of-core", digests) != files:
                    digests[f"{case.name} [{runtime}]"] = files
                print(case.name, runtime, file=sys.stderr, flush=True)
    DIGESTS.write_text(json.dumps(digests, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
