"""The plan on Dask: the same release to the byte, whoever does the work and whoever dies over
it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from dask_clusters import cluster, small_budget
from microagg.files.commit.writing import write_table
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.runtime import dask_executor, dask_workers
from microagg.runtime.dask_executor import DaskExecutor
from microagg.runtime.dask_pool import WorkerPool
from microagg.runtime.tasks import RemoteTask, SpilledObject, TaskResult
from microagg.runtime.workers import SharedPath
from microagg.studies.repeating import repeat_file
from stores import make_store, shelf

pytestmark = pytest.mark.slow
CODE = 98765.0
"""A special code, which is a value of the data."""
SECRETS = ("Zwiebelhausen", "Krautdorf", "quasimodo")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    monkeypatch.setattr(MemoryBudget, "checked", small_budget())


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(2) as started:
        yield started


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(), path, row_group_size=700)
    return path


def table_of(records: int = 3000) -> pa.Table:
    rng = np.random.default_rng(19)
    gaps = rng.random(records) < 0.1
    income = np.round(rng.lognormal(9.0, 1.0, records), 2)
    income[::97] = CODE
    rent, heat = (
        rng.lognormal(6.0, 0.3, records),
        rng.lognormal(4.0, 0.3, records),
    )  # raw floats, with their sum
    return pa.table(
        {
            "age": pa.array(rng.integers(18, 90, records)),
            "income": pa.array(income, mask=gaps),
            "rent": pa.array(rent),
            "heat": pa.array(heat),
            "home costs": pa.array(rent + heat),
            "quasimodo": pa.array([SECRETS[number] for number in rng.integers(0, 2, records)]),
            "ill": pa.array([SECRETS[number] for number in rng.integers(0, 2, records)]),
            "home": pa.array(
                [f"{SECRETS[0]} {number}" for number in rng.integers(0, 1500, records)]
            ),
            "w": pa.array(np.round(rng.lognormal(2.0, 1.0, records) + 0.01, 2)),
        }
    )


SETTINGS: dict[str, Any] = {
    "quasi": ["age", "income", "rent", "heat", "home costs", "quasimodo"],
    "weight": "w",
    "confidential": ["ill"],
    "l": 2,
    "t": 0.6,
    "unit": "home",
    "k": 5,
    "seed": 7,
    "effort": "quick",
    "date": "2026-01-01",
}


def contents(path: Path) -> dict[str, bytes]:
    """A release and its manifests, whatever its name."""
    return {
        name: path.with_name(f"{path.name}{name}").read_bytes().replace(path.name.encode(), b"OUT")
        for name in ("", ".internal.json", ".public.json")
    }


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.fixture
def whole(tmp_path: Path, source: Path) -> dict[str, bytes]:
    """Return the release made in memory."""
    anonymize_file(source, tmp_path / "whole.parquet", **SETTINGS)
    return contents(tmp_path / "whole.parquet")


class Passes:
    """A progress that does something at the first news of each pass."""

    def __init__(self, act: Any) -> None:
        self.seen: list[str] = []
        self._act = act

    def __call__(self, done: int, total: int) -> None:
        pass

    def tell(self, what: str) -> None:
        name = what.split(",")[0]
        if name not in self.seen:
            self.seen.append(name)
            self._act(name)


def test_the_same_release_as_in_memory_whatever_the_chunks(
    tmp_path: Path,
    source: Path,
    client: Any,
    whole: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for chunk, bits in ((64, 3), (1280, 0)):
        monkeypatch.setattr(MemoryBudget, "checked", small_budget(chunk, bits))
        (tmp_path / "spill").mkdir(exist_ok=True)
        release = anonymize_file(
            source, tmp_path / "out.parquet", engine=client, spill=tmp_path / "spill", **SETTINGS
        )
        assert contents(tmp_path / "out.parquet") == whole
        assert release.loss["IL"] > 0.0
        assert left_in(tmp_path) == left_in(tmp_path / "spill") == []


def test_text_files_and_a_folder_of_parts(
    tmp_path: Path, source: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "in.csv.gz"
    write_table(pa.parquet.read_table(source), text)
    for target in ("out/", "out.csv.zst"):
        for name, engine in (("memory", None), ("cluster", client)):
            folder = tmp_path / name / target.strip("/")
            folder.mkdir(parents=True)
            monkeypatch.setattr(MemoryBudget, "checked", small_budget(320, 2))
            anonymize_file(text, f"{folder}/{target}", engine=engine, **SETTINGS)
    in_memory, on_cluster = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("memory", "cluster")
    )
    assert len(in_memory) > 6
    assert in_memory == on_cluster


def test_new_names_and_patterns_on_a_cluster(
    tmp_path: Path, source: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quasi = [f"{SETTINGS['quasi'][0][:-1]}*", *SETTINGS["quasi"][1:]]
    settings = {**SETTINGS, "quasi": quasi, "rename": {SETTINGS["quasi"][1]: "the second"}}
    monkeypatch.setattr(MemoryBudget, "checked", small_budget(320, 2))
    for name, engine in (("memory", None), ("cluster", client)):
        (tmp_path / name).mkdir()
        anonymize_file(source, tmp_path / name / "out.parquet", engine=engine, **settings)
    in_memory, on_cluster = (
        contents(tmp_path / name / "out.parquet") for name in ("memory", "cluster")
    )
    assert in_memory == on_cluster
    assert "the second" in pa.parquet.read_schema(tmp_path / "cluster" / "out.parquet").names


def test_numbers_of_text_files_are_values_on_a_cluster_too(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        f"{20 + 7 * j % 51},{j % 90}.0,{'NA' if j % 9 == 0 else j % 4},{j % 2 == 0},"
        f"{'NA' if j % 7 == 0 else chr(34) + 'flu' + chr(34)}"
        for j in range(1300)
    ]
    text = tmp_path / "in.csv"
    text.write_text("\n".join(["age,wage,rooms,owner,ill", *rows]) + "\n")
    settings = {
        "k": 3,
        "quasi": ["age"],
        "confidential": ["wage"],
        "l": 2,
        "rest": "keep",
        "seed": 1,
        "effort": "quick",
    }
    monkeypatch.setattr(MemoryBudget, "checked", small_budget(320, 2))
    for target in ("out/", "out.parquet", "out.csv"):
        for name, engine in (("memory", None), ("cluster", client)):
            (tmp_path / name).mkdir(exist_ok=True)
            anonymize_file(
                text, f"{tmp_path / name}/{target}", engine=engine, date="2026-01-01", **settings
            )
    in_memory, on_cluster = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("memory", "cluster")
    )
    assert in_memory == on_cluster
    kinds = pa.parquet.read_schema(tmp_path / "cluster" / "out.parquet").types
    assert kinds == [pa.int64(), pa.float64(), pa.int64(), pa.bool_(), pa.string()]


def test_from_a_store_to_a_store(
    tmp_path: Path,
    source: Path,
    client: Any,
    whole: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Workers read the store themselves; what they are told has no credentials in it."""
    make_store()
    sent: list[str] = []
    submit = type(client).submit

    def submitting(self: Any, how: Any, order: RemoteTask, **more: Any) -> Any:
        sent.append(f"{order!r} {pickle.dumps(order)!r}")
        return submit(self, how, order, **more)

    monkeypatch.setattr(type(client), "submit", submitting)
    (tmp_path / "spill").mkdir()
    (tmp_path / "store").mkdir()
    places = shelf(source), shelf(tmp_path / "store" / "out.parquet")
    anonymize_file(*places, engine=client, spill=tmp_path / "spill", **SETTINGS)
    assert contents(tmp_path / "store" / "out.parquet") == whole
    assert len(list((tmp_path / "store").iterdir())) == 3
    assert list((tmp_path / "spill").iterdir()) == []
    assert sent
    assert not any("sesame" in text for text in sent)
    assert "sesame" not in str(
        [*client.get_worker_logs(nanny=False).values(), client.get_scheduler_logs()]
    )
    with pytest.raises(ma.InputError, match="no file 'shelf://tmp"):
        anonymize_file(shelf(tmp_path / "no.parquet"), places[1], engine=client, **SETTINGS)


def test_a_release_is_repeated_on_a_cluster(
    tmp_path: Path, source: Path, client: Any, whole: dict[str, bytes]
) -> None:
    manifest = tmp_path / "whole.parquet.internal.json"
    again = repeat_file(manifest, source, tmp_path / "out.parquet", engine=client)
    assert again.notes[0].startswith("the same release")
    assert contents(tmp_path / "out.parquet") == whole
    pa.parquet.write_table(table_of(2000), tmp_path / "other.parquet")
    with pytest.raises(ma.InputError, match="not the table that the release was made from"):
        repeat_file(manifest, tmp_path / "other.parquet", tmp_path / "no.parquet", engine=client)
    assert not (tmp_path / "no.parquet").exists()
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(("workers", "threads"), [(1, 3), (4, 1)])
def test_the_same_release_whatever_the_workers(
    tmp_path: Path, source: Path, whole: dict[str, bytes], workers: int, threads: int
) -> None:
    with cluster(workers, threads) as client:
        anonymize_file(source, tmp_path / "out.parquet", engine=client, **SETTINGS)
        thread_counts = client.run(lambda dask_worker: dask_worker.state.nthreads)
        assert list(thread_counts.values()) == [threads] * workers
    assert contents(tmp_path / "out.parquet") == whole
    assert left_in(tmp_path) == []


ALL = (
    "scanning",
    "counting",
    "measuring",
    "turning",
    "sampling",
    "routing",
    "grouping",
    "mending borders",
    "writing",
    "verifying",
)


@pytest.mark.parametrize(
    "chosen",
    [
        ("routing", "grouping", "mending borders", "verifying"),
        pytest.param(ALL, marks=pytest.mark.nightly),
    ],
)
def test_a_worker_that_dies_in_each_pass(
    tmp_path: Path, source: Path, client: Any, whole: dict[str, bytes], chosen: tuple[str, ...]
) -> None:
    killed: list[int] = []

    def kill(name: str) -> None:
        if name not in chosen:
            return
        pids = client.run(os.getpid)
        killed.append(sorted(pids.values())[len(killed) % len(pids)])
        os.kill(killed[-1], signal.SIGKILL)

    passes = Passes(kill)
    anonymize_file(source, tmp_path / "out.parquet", engine=client, progress=passes, **SETTINGS)
    assert set(passes.seen) == set(ALL)
    assert len(set(killed)) == len(chosen), "each of them another one"
    assert contents(tmp_path / "out.parquet") == whole
    assert left_in(tmp_path) == []
    client.wait_for_workers(2, timeout=120)


PROMISED: dict[str, Any] = {
    **{name: value for name, value in SETTINGS.items() if name != "weight"},
    "quasi": ["age", "income"],
    "confidential": ["quasimodo"],
    "identifier": ["w", "ill"],
    "rest": "drop",
    "l": 2,
    "t": 0.9,
    "scale": "robust",
    "special": {"income": [CODE]},
    "cap": {"age": (20.0, 88.0)},
}


@pytest.mark.parametrize("settings", [SETTINGS, PROMISED], ids=["plainly", "promised"])
def test_nothing_of_the_data_is_told_to_dask(
    tmp_path: Path,
    source: Path,
    client: Any,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anonymize_file(source, tmp_path / "whole.parquet", **settings)
    orders: list[RemoteTask] = []
    results: list[TaskResult] = []
    submit, result = type(client).submit, TaskResult.result

    def submitting(self: Any, how: Any, order: RemoteTask, **more: Any) -> Any:
        orders.append(order)
        assert all(name not in more["key"] for name in SECRETS)
        return submit(self, how, order, **more)

    def resulting(self: TaskResult) -> Any:
        results.append(self)
        return result(self)

    monkeypatch.setattr(type(client), "submit", submitting)
    monkeypatch.setattr(TaskResult, "result", resulting)
    anonymize_file(source, tmp_path / "out.parquet", engine=client, **settings)
    assert contents(tmp_path / "out.parquet") == contents(tmp_path / "whole.parquet")
    assert {entry.name for entry in orders} >= {
        "scan_chunk",
        "route_chunk",
        "work_block_of",
        "work_shifted_block_of",
        "write_rows_aside",
        "hash_chunk",
        "count_bucket",
    }
    spill = str(tmp_path)

    def plain(argument: Any) -> bool:
        if isinstance(argument, SpilledObject):
            return argument.path.startswith(spill)
        if isinstance(argument, str):
            return argument.startswith(spill) or not argument
        if isinstance(argument, tuple):
            return all(map(plain, argument))
        if isinstance(argument, np.ndarray):
            return argument.dtype.kind in "iu"
        return argument is None or isinstance(argument, int)

    for order in orders:
        assert plain(order.arguments), order
        shown = repr(order).encode() + pickle.dumps(order)
        values = [name.encode() for name in SECRETS] + [
            b"98765",
            struct.pack("<d", CODE),
            struct.pack(">d", CODE),
        ]
        assert all(value not in shown for value in values), order.name
    assert len(results) == len(orders)
    assert max(len(entry.content) for entry in results) < 10_000_000
    assert any(name.encode() in entry.content for entry in results for name in SECRETS), (
        "facts hold values"
    )
    assert all(name not in repr(entry) for entry in results for name in SECRETS)
    logs = [*client.get_worker_logs(nanny=False).values(), client.get_scheduler_logs()]
    assert all(name not in str(logs) for name in SECRETS)


def test_large_results_lie_in_the_spill(tmp_path: Path, client: Any) -> None:
    with at_work(client, tmp_path) as workers:
        assert list(workers.map_ordered(bytes, [(3_000_000,), (5,)])) == [
            bytes(3_000_000),
            bytes(5),
        ]
    assert list(tmp_path.glob("kept-*.pickle")) == [], "what was read is needed no more"
    result = TaskResult.of("done", bytes(3_000_000), str(tmp_path))
    (large,) = tmp_path.glob("kept-*.pickle")
    assert large.stat().st_mode & 0o077 == 0
    assert len(result.content) < 1000 < 3_000_000 < large.stat().st_size


def at_work(client: Any, folder: Path, memory: int = 1000) -> Any:
    return WorkerPool.of(client).at_work(folder, [], memory)


def test_no_worker_takes_two_tasks_that_do_not_fit_together(tmp_path: Path) -> None:
    with cluster(1, threads=4) as client, at_work(client, tmp_path) as workers:
        assert isinstance(workers, DaskExecutor)
        for needs, at_once in ((600, 1), (400, 2), (10, 4)):
            begun = list(workers.map_ordered(_spans, [(0.3,)] * 4, needs=[needs] * 4))
            most = max(sum(start <= span[0] < end for start, end in begun) for span in begun)
            assert most <= at_once, (needs, begun)
            assert needs != 10 or most > 1


def _spans(seconds: float) -> tuple[float, float]:
    begun = time.time()
    time.sleep(seconds)
    return begun, time.time()


def _fails(how: int) -> None:
    raise [
        ma.InputError("a sentence."),
        ValueError(SECRETS[0]),
        OSError(28, SECRETS[0]),
        MemoryError(SECRETS[0]),
    ][how]


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        (0, ma.InputError, "a sentence"),
        (1, Exception, "ValueError"),
        (2, OSError, "No space"),
        (3, MemoryError, None),
    ],
)
def test_what_goes_wrong_on_a_worker_quotes_nothing(
    tmp_path: Path, client: Any, how: int, error: type[Exception], says: str | None
) -> None:
    with at_work(client, tmp_path) as workers, pytest.raises(error, match=says) as met:
        list(workers.map_ordered(_fails, [(how,)]))
    assert SECRETS[0] not in str(met.value)
    assert SECRETS[0] not in str(client.get_worker_logs(nanny=False))


def refused(client: Any, source: Path, target: Path, says: str, **more: Any) -> None:
    before = sorted(target.parent.iterdir())
    with pytest.raises(ma.InputError, match=says) as error:
        anonymize_file(source, target, engine=client, **{**SETTINGS, **more})
    assert str(error.value).count(". ") == 0
    assert sorted(target.parent.iterdir()) == before


def _pretend(version: str) -> None:
    ma.__version__ = version


def test_a_worker_with_another_version(tmp_path: Path, source: Path, client: Any) -> None:
    one = next(iter(client.run(os.getpid)))
    version = ma.__version__
    client.run(_pretend, "0.0.1", workers=[one])
    try:
        refused(
            client,
            source,
            tmp_path / "out.parquet",
            f"{one} has microagg 0.0.1, and this process has {version}",
        )
    finally:
        client.run(_pretend, version, workers=[one])


def test_a_worker_that_does_not_see_the_spill_or_the_output(
    tmp_path: Path, source: Path, client: Any
) -> None:
    """Paths that mean something else to each process: its own working folder."""
    one = next(iter(client.run(os.getpid)))
    here = os.getcwd()
    for name in ("shared", "elsewhere"):
        (tmp_path / name).mkdir()
    client.run(os.chdir, str(tmp_path / "shared"))
    client.run(os.chdir, str(tmp_path / "elsewhere"), workers=[one])
    os.chdir(tmp_path / "shared")
    try:
        mine = Path("/proc/self/cwd")
        refused(
            client,
            source,
            tmp_path / "out.parquet",
            f"{one} does not see the spill at '/proc",
            spill=mine,
        )
        refused(
            client,
            source,
            mine / "out.parquet",
            f"{one} does not see the output at '/proc",
            spill=tmp_path,
        )
        (tmp_path / "shared" / "in.parquet").write_bytes(source.read_bytes())
        refused(
            client,
            mine / "in.parquet",
            tmp_path / "out.parquet",
            f"{one} does not see the input at '/proc",
        )
    finally:
        os.chdir(here)
        client.run(os.chdir, here)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "elsewhere",
        "in.parquet",
        "in.parquet",
        "shared",
    ]


def test_a_worker_with_too_little_memory(tmp_path: Path, source: Path) -> None:
    with cluster(1, memory_limit="266MB") as client:
        refused(
            client,
            source,
            tmp_path / "out.parquet",
            r"has 0 MB for blocks, and one of this table needs about \d+ MB",
        )


def test_a_worker_that_comes_later_must_be_fit_too(tmp_path: Path, client: Any) -> None:
    one = next(iter(client.run(os.getpid)))
    with at_work(client, tmp_path) as workers:
        assert client.run_on_scheduler(
            dask_workers.inspect_workers, workers.requirements.resource
        ) == (2, [])
        client.run(_pretend, "0.0.1", workers=[one])
        client.run(_give_back, workers.requirements.resource)
        client.run(_come_in, workers.requirements)
        assert client.run_on_scheduler(
            dask_workers.inspect_workers, workers.requirements.resource
        ) == (1, [])
        done = set(workers.map_ordered(_process, [(number,) for number in range(8)]))
        assert len(done) == 1
    client.run(_pretend, ma.__version__, workers=[one])


async def _give_back(entrance: str, dask_worker: Any = None) -> None:
    await dask_worker.set_resources(**{entrance: 0.0})


async def _come_in(terms: Any, dask_worker: Any = None) -> None:
    await dask_workers.admit(dask_worker, terms)


def _process(number: int) -> int:
    return os.getpid()


def test_where_no_worker_is_left(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_executor, "PATIENCE", 0.5)
    with at_work(client, tmp_path) as workers:
        client.run(_give_back, workers.requirements.resource)
        with pytest.raises(ma.errors.LostWorkersError, match="no worker left"):
            list(workers.map_ordered(_process, [(1,)]))


def test_places_are_tried_by_every_worker(tmp_path: Path, client: Any) -> None:
    crew = WorkerPool.of(client)
    (tmp_path / "file").write_bytes(b"12345")
    crew._check_places(
        [
            SharedPath("the input", str(tmp_path / "file"), 5),
            SharedPath("the spill", str(tmp_path)),
        ],
        "token",
    )
    with pytest.raises(ma.InputError, match="does not see the input"):
        crew._check_places([SharedPath("the input", str(tmp_path / "file"), 4)], "token")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("engine", "says"),
    [("local:0", "written as local:4"), ("localhost", "written as"), ("nowhere", "must be"),
     (4, "must be"),
     ("tcp://127.0.0.1:1", "no scheduler at")],
)  # fmt: skip
def test_engines_that_cannot_be_used(
    tmp_path: Path, source: Path, engine: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        refused(engine, source, tmp_path / "out.parquet", says)


def test_without_the_extra(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused("local:2", source, tmp_path / "out.parquet", r"pip install 'microagg\[dask\]'")


def test_small_tables_are_worked_on_here(tmp_path: Path, client: Any) -> None:
    pa.parquet.write_table(table_of(900), tmp_path / "in.parquet")
    release = anonymize_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", engine=client, **SETTINGS
    )
    assert release.notes[-1].startswith("this process did all the work")


def test_importing_microagg_imports_no_dask() -> None:
    code = (
        "import sys, microagg, microagg.pipeline.files, microagg.runtime.dask_pool, "
        "microagg.studies.compare, microagg.studies.reproduce, "
        "microagg.cli.commands\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_tls_passes_through(tmp_path: Path, source: Path, whole: dict[str, bytes]) -> None:
    with cluster(1, threads=2, security=True) as client:
        assert client.scheduler.address.startswith("tls://")
        anonymize_file(source, tmp_path / "out.parquet", engine=client, **SETTINGS)
    assert contents(tmp_path / "out.parquet") == whole
