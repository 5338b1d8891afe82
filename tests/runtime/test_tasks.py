"""Tasks, their results and the files that these lie in; executors, chunks and facts of workers."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.runtime import spill, tasks, workers
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor, cancel_scope, is_cancelled
from microagg.runtime.spill import SpillFolder, discard_rows, read_batches, read_result
from microagg.runtime.tasks import RemoteTask, SpilledObject, TaskResult, WorkerBugError, is_plain
from microagg.runtime.workers import SharedPath, WorkerInfo


def fail(error: Exception) -> None:
    raise error


def task(name: str, *arguments: Any, folder: Path, module: str = "operator") -> TaskResult:
    """Run a task as a worker does, both ways pickled."""
    order = pickle.loads(pickle.dumps(RemoteTask(module, name, arguments, str(folder))))
    result = tasks.run_remote_task(order, threading.Event())
    return pickle.loads(pickle.dumps(result))


def test_results_of_tasks_come_back(tmp_path: Path) -> None:
    assert task("sub", 9, 4, folder=tmp_path).result() == 5
    stored = SpilledObject.of([1, 2], str(tmp_path))
    assert task("add", stored, [3], folder=tmp_path).result() == [1, 2, 3]
    assert SpilledObject.of([1, 2], str(tmp_path)).path == stored.path
    assert SpilledObject.of([2, 1], str(tmp_path)).path != stored.path
    assert stat.S_IMODE(os.stat(stored.path).st_mode) == 0o600
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("error", "raised", "says"),
    [
        (ma.InputError("no k."), ma.InputError, "no k."),
        (MemoryError("secret"), MemoryError, ""),
        (OSError(28, "secret"), OSError, os.strerror(28)),
        (OSError("secret"), OSError, ""),
        (KeyError("secret"), WorkerBugError, "KeyError"),
    ],
)
def test_failures_of_tasks_quote_nothing(
    tmp_path: Path, error: Exception, raised: type[Exception], says: str
) -> None:
    failing = type("Failing", (RemoteTask,), {"call": lambda self, *before: fail(error)})
    result = tasks.run_remote_task(failing("builtins", "len", (), str(tmp_path)), threading.Event())
    with pytest.raises(raised) as caught:
        result.result()
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
    assert b"secret" not in result.content


@pytest.mark.parametrize("more", [0, 1])
def test_large_results_lie_in_a_file_until_they_are_taken(tmp_path: Path, more: int) -> None:
    empty = len(pickle.dumps(("done", b"x" * tasks.LARGEST_RESULT))) - tasks.LARGEST_RESULT
    content = b"x" * (tasks.LARGEST_RESULT - empty + more)
    result = TaskResult.of("done", content, str(tmp_path))
    assert len(list(tmp_path.iterdir())) == more
    assert (len(result.content) < 1000) == bool(more)
    assert result.result() == content
    assert list(tmp_path.iterdir()) == []
    assert TaskResult.of("done", content).result() == content


def test_an_exclusive_task_has_threads_and_a_callback(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Order(RemoteTask):
        def call(self, *before: Any) -> Any:
            executor, tell = before
            tell(3)
            seen.append(is_cancelled())
            return executor.threads

    stop = threading.Event()
    order = Order("builtins", "len", (), str(tmp_path))
    assert tasks.run_remote_exclusive(order, 5, stop).result() == 5
    stop.set()
    assert tasks.run_remote_exclusive(order, 5, stop).result() == 5
    assert seen == [False, True]
    assert not is_cancelled()


@pytest.mark.parametrize(
    ("argument", "plain"),
    [
        (3, True),
        (None, True),
        ("", True),
        ("/spill", True),
        ("/spill/a", True),
        ("/spillage", False),
        ("income", False),
        (2.5, False),
        ([1], False),
        ((1, ("/spill/a", None)), True),
        ((1, "x"), False),
        (np.arange(tasks.MOST_COUNTS), True),
        (np.arange(tasks.MOST_COUNTS + 1), False),
        (np.arange(3, dtype=np.uint8), True),
        (np.zeros(3), False),
    ],
)
def test_what_may_be_seen_on_the_way(argument: Any, plain: bool) -> None:
    assert is_plain(argument, "/spill") == plain


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("at_once", [None, 1, 3])
def test_results_are_in_the_order_of_tasks(threads: int, at_once: int | None) -> None:
    taken, most = 0, 0

    def numbers() -> Iterator[tuple[int, int]]:
        nonlocal taken
        for number in range(23):
            taken += 1
            yield (number, 2)

    results = []
    for result in ThreadExecutor(threads).map_ordered(pow, numbers(), at_once=at_once):
        results.append(result)
        most = max(most, taken - len(results))
    assert results == [number**2 for number in range(23)]
    width = min(threads, at_once or threads)
    assert most == (0 if width == 1 else 2 * width - 1), "no more are begun than that"
    assert ThreadExecutor(threads).run_exclusive(
        lambda executor, tell, x: (executor.threads, tell(1), x), 7, tell=lambda count: count
    ) == (threads, 1, 7)


def test_at_most_so_many_tasks_at_once() -> None:
    running, most, guard = 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with guard:
            running -= 1

    list(ThreadExecutor(8).map_ordered(work, [(i,) for i in range(20)], at_once=3))
    assert most <= 3


def test_tasks_hear_when_their_results_are_no_longer_needed() -> None:
    begun, heard = threading.Event(), []

    def work(number: int) -> int:
        if number == 0:
            begun.wait(10)
            return 0
        begun.set()
        while not is_cancelled():
            threading.Event().wait(0.001)
        heard.append(number)
        return number

    results = ThreadExecutor(2).map_ordered(work, [(0,), (1,), (2,), (3,)])
    assert next(results) == 0
    # a generator, though the protocol promises an iterator only
    results.close()  # type: ignore[attr-defined]
    assert 1 in heard
    with cancel_scope(begun):
        assert is_cancelled()
    assert not is_cancelled()


def test_chunks_are_worked_on_in_order() -> None:
    seen: list[Any] = []

    class Recording(ThreadExecutor):
        def map_ordered(self, *arguments: Any, needs: Any = (), **options: Any) -> Any:
            needs = list(needs)
            seen.append(needs)
            return super().map_ordered(*arguments, needs=needs, **options)

    progress: list[Any] = []
    checked: list[int] = []
    chunks = ChunkMap(
        "source",
        [(0, 40), (40, 2)],
        Recording(1),
        lambda what, count: progress.append((what, count)),
        a_record=100,
        check=lambda: checked.append(len(progress)),
    )
    results = list(chunks.map_chunks("count", lambda *arguments: arguments, "x", per_chunk=[7, 8]))
    assert results == [("source", 0, 40, "x", 7), ("source", 40, 2, "x", 8)]
    assert list(chunks.map_chunks("sum", lambda *arguments: arguments)) == [
        ("source", 0, 40),
        ("source", 40, 2),
    ]
    assert progress == [("count", 40), ("count", 2), ("sum", 40), ("sum", 2)]
    assert seen == [[4000, 200]] * 2
    assert checked == [2, 4], "after each pass"


def test_records_are_kept_by_their_keys(tmp_path: Path) -> None:
    path = str(tmp_path / "block.arrow")
    table = pa.table({"a": [1, 2, 3, 4, 5], "b": list("vwxyz")})
    written = spill.write_spill_file(path, table, np.array([7, 2, 7, 9, 2]), {"digest": "d"})
    assert written == read_result(path) == {"digest": "d", "index": [[2, 2], [7, 2], [9, 1]]}
    assert [batch.to_pydict() for batch in read_batches(path, [2, 0])] == [
        {"a": [4], "b": ["y"]},
        {"a": [2, 5], "b": ["w", "z"]},
    ]
    assert read_batches(path, [1], ["b"])[0].to_pydict() == {"b": ["v", "x"]}
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert read_result(str(tmp_path / "other")) is None
    discard_rows(path)
    discard_rows(path)
    discard_rows(str(tmp_path / "other"))
    assert read_result(path) == written
    assert [file.name for file in tmp_path.iterdir()] == ["block.arrow.told"]


def test_the_folder_of_one_key_is_the_only_one(tmp_path: Path) -> None:
    with SpillFolder(tmp_path) as run:
        first = run.room("a" * 40)
        assert first.name == "a" * 32
        (first / "block").touch()
        (first / "block.part").touch()
        assert run.room("a" * 32 + "b") == first
        assert [file.name for file in first.iterdir()] == ["block"]
        assert stat.S_IMODE(first.stat().st_mode) == 0o700
        other = run.room("b" * 40)
        assert not first.exists()
        assert other.exists()


def test_a_disk_must_have_room_for_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SpillFolder(tmp_path) as run:
        usage = type("usage", (), {"free": 5_000_000_000})
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
        run.check_full(5_000_000_000)
        with pytest.raises(ma.InputError, match=r"needs about 5 GB of disk .* and 5 GB are free"):
            run.check_full(5_000_000_001)


def test_a_full_disk_is_explained() -> None:
    for error in (OSError(errno.ENOSPC, "x"), OSError("No space left on device")):
        with (
            pytest.raises(ma.InputError, match=r"the disk is full \(here\)"),
            spill.explain_full_disk("here"),
        ):
            raise error
    with pytest.raises(PermissionError), spill.explain_full_disk("here"):
        raise PermissionError(errno.EPERM, "x")


def test_memory_that_a_worker_has_for_blocks() -> None:
    def share(memory: int, limited: bool, beside: int) -> int:
        return WorkerInfo({}, "a", 2, memory, limited).share(beside)

    free = int(workers.OF_ITS_LIMIT * 6e9) - workers.LIBRARIES_TAKE
    assert share(6_000_000_000, True, 3) == free
    assert share(18_000_000_000, False, 3) == free
    assert share(6_000_000_000, False, 0) == free
    assert share(workers.LIBRARIES_TAKE, True, 1) == 0
    info = workers.worker_info(3, 7_000_000_000)
    assert (info.threads, info.memory, info.limited) == (3, 7_000_000_000, True)
    assert not workers.worker_info(3, None).limited
    assert workers.worker_info(3, None).memory > 10**8


def test_workers_answer_where_they_see_the_same(tmp_path: Path) -> None:
    folder, file = SharedPath("the spill", str(tmp_path)), tmp_path / "in.csv"
    file.write_text("age\n31\n")
    whole = SharedPath("the input", str(file), 7)
    with workers.asked_about([folder, whole], "t0"):
        assert workers.sees(folder, "t0", "w1")
        assert workers.answered(folder, "t0", "w1")
        assert not workers.answered(folder, "t0", "w2")
        assert not workers.answered(folder, "t1", "w1")
        assert not workers.sees(folder, "t1", "w1"), "nobody asked that"
        assert not workers.sees(folder, "t0", "w1"), "a name that has answered"
        assert workers.sees(whole, "t0", "w1")
        assert workers.answered(whole, "t0", "w1")
        (tmp_path / "ask-t2").write_text("other")
        assert not workers.sees(folder, "t2", "w1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ask-t2", "in.csv"]
    assert not workers.sees(folder, "t0", "w1")
    for size, expected in ((7, True), (6, False)):
        assert workers.is_there(SharedPath("the input", str(file), size)) == expected
    assert not workers.is_there(SharedPath("the input", str(tmp_path / "none"), 7))
    assert workers.is_there(folder)
    assert "w1 does not see the spill" in str(folder.refuse("w1"))
    assert str(tmp_path) not in repr(folder)
