"""Executor of tasks on the workers of a Dask cluster, with futures only.

What a task is told is numbers and paths. Whatever else it needs (facts, cuts, columns) lies in
files of the spill, which all workers see, and so does a result that is large. Dask's logs and
dashboards see names of functions, numbers and paths.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from microagg.errors import InputError, LostWorkersError
from microagg.runtime.dask_workers import (
    CHECK_INTERVAL,
    MEMORY,
    WorkerRequirements,
    inspect_workers,
    run_exclusive_task,
    run_task,
)
from microagg.runtime.executor import Tell
from microagg.runtime.tasks import RemoteTask, SpilledObject, TaskResult, is_plain

PATIENCE = 60.0
"""Seconds to wait for a worker where there is none."""
Finished = SimpleQueue[Any]
"""Futures, in the order in which they were done."""


@dataclass(frozen=True)
class PendingTask:
    """Task that is waiting for a worker."""

    index: int
    how: Callable[[RemoteTask], TaskResult]
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: int
    address: str | None = None


class DaskExecutor:
    """Executor of tasks on the workers of a cluster."""

    def __init__(
        self, client: Any, requirements: WorkerRequirements, folder: str, threads: int
    ) -> None:
        self.client, self.requirements, self.folder, self.threads = (
            client,
            requirements,
            folder,
            threads,
        )
        self._kept: dict[int, tuple[Any, SpilledObject]] = {}
        self._no_worker_since: float | None = None
        """Time since which no worker has been admitted."""

    def map_ordered(
        self,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        at_once: int | None = None,
        needs: Iterable[int] = (),
    ) -> Iterator[Any]:
        """Yield `task(*args)` for each of the arguments, in their order, from any worker."""
        ready: dict[int, Any] = {}
        following = 0
        for index, result in self.as_they_come(task, arguments, needs):
            ready[index] = result
            while following in ready:
                yield ready.pop(following)
                following += 1

    def as_they_come(
        self,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        needs: Iterable[int] = (),
        look: Callable[[], object] = lambda: None,
    ) -> Iterator[tuple[int, Any]]:
        """(place, what `task` returned) for each of the arguments, as workers are done with them;
        `look` is called now and then.
        """
        bytes_of = iter(needs)
        pending = (
            PendingTask(index, run_task, task, args, next(bytes_of, 0))
            for index, args in enumerate(arguments)
        )
        return self._collect(pending, look)

    def run_exclusive(
        self, task: Callable[..., Any], *arguments: Any, tell: Tell, needs: int = 0
    ) -> Any:
        """Return `task(threads, tell, *arguments)` from one worker, with its threads."""
        return next(
            iter(self._collect(iter([PendingTask(0, run_exclusive_task, task, arguments, needs)])))
        )[1]

    def once(
        self,
        tasks: Sequence[tuple[Callable[..., Any], tuple[Any, ...], str]],
        look: Callable[[], object],
    ) -> None:
        """Do each task on the worker of an address, or on another one where that is gone; `look` is
        called now and then.
        """
        pending = (
            PendingTask(index, run_task, task, args, 0, address)
            for index, (task, args, address) in enumerate(tasks)
        )
        for _ in self._collect(pending, look):
            pass

    def _collect(
        self, tasks: Iterator[PendingTask], look: Callable[[], object] = lambda: None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index, result) of the tasks as they complete; tasks of a dead worker run on
        others.
        """
        running: dict[Any, PendingTask] = {}
        finished: Finished = SimpleQueue()
        try:
            while True:
                while len(running) < 2 * self.threads and (task := next(tasks, None)) is not None:
                    self._start(task, running, finished)
                if not running:
                    return
                future = self._next(running, finished, look)
                if future not in running:  # it was started anew
                    continue
                result = self._result_of(future)
                if result is None:  # its worker died before anybody had the result
                    future.add_done_callback(finished.put)
                    self._check_workers(running, finished)
                    continue
                yield running.pop(future).index, result.result()
        finally:
            self._cancel(list(running))

    def _start(
        self, pending: PendingTask, running: dict[Any, PendingTask], finished: Finished
    ) -> None:
        task = pending.task
        order = RemoteTask(
            task.__module__,
            task.__name__,
            tuple(map(self._as_argument, pending.arguments)),
            self.folder,
        )
        resources = {
            self.requirements.resource: 1.0,
            MEMORY: float(min(pending.needs, self.requirements.memory)),
        }
        key = f"{task.__name__}-{pending.index}-{secrets.token_hex(4)}"
        with explain_lost_workers():
            future = self.client.submit(
                pending.how, order, key=key, pure=False, resources=resources,
                workers=pending.address, allow_other_workers=pending.address is not None,
            )  # fmt: skip
        running[future] = pending
        future.add_done_callback(finished.put)

    def _as_argument(self, argument: Any) -> Any:
        """Return an argument as it is if it is numbers and paths of the spill; else the path of its
        copy.
        """
        if is_plain(argument, self.folder):
            return argument
        kept = self._kept.get(id(argument))
        if kept is None:
            kept = argument, SpilledObject.of(argument, self.folder)
            # with the argument itself, or another one could get its number
            self._kept[id(argument)] = kept
        return kept[1]

    def _next(
        self, running: dict[Any, PendingTask], finished: Finished, look: Callable[[], object]
    ) -> Any:
        """Return the next completed future; raise if no worker is left."""
        while True:
            with contextlib.suppress(Empty):
                return finished.get(timeout=CHECK_INTERVAL)
            look()
            self._check_workers(running, finished)

    def _check_workers(self, running: dict[Any, PendingTask], finished: Finished) -> None:
        """Resubmit tasks that no worker can run; raise if there has been no worker for a while."""
        with explain_lost_workers():
            if self.client.status != "running":
                raise OSError
            keys = [future.key for future in running]
            admitted, stranded = self.client.run_on_scheduler(
                inspect_workers, self.requirements.resource, keys
            )
        if admitted:
            self._no_worker_since = None
            self._resubmit(set(stranded), running, finished)
            return
        self._no_worker_since = self._no_worker_since or time.monotonic()
        if time.monotonic() - self._no_worker_since > PATIENCE:
            raise LostWorkersError(
                "there is no worker left that can do the work; nothing was put in place. "
                "Start some, and go on with resume."
            )

    def _resubmit(
        self, keys: set[str], running: dict[Any, PendingTask], finished: Finished
    ) -> None:
        """Resubmit tasks that had no worker: Dask does not look at them again."""
        stranded = [future for future in running if future.key in keys]
        again = [running.pop(future) for future in stranded]
        self._cancel(stranded)
        for pending in again:
            self._start(pending, running, finished)

    def _result_of(self, future: Any) -> TaskResult | None:
        """Return the result of a future; None if it was lost with its worker and runs again."""
        from distributed.scheduler import KilledWorker

        try:
            with explain_lost_workers():
                outcome = future.result(timeout=CHECK_INTERVAL)
        except TimeoutError:
            return None
        except KilledWorker:
            raise InputError(
                "several workers died over the same part of the work, one after the "
                "other; give each of them more memory."
            ) from None
        future.release()
        return outcome

    def _cancel(self, futures: list[Any]) -> None:
        with contextlib.suppress(Exception):  # where the scheduler is gone, so are they
            left = [future for future in futures if not future.done()]
            if left and self.client.status == "running":
                self.client.cancel(left, force=True)


@contextlib.contextmanager
def explain_lost_workers() -> Iterator[None]:
    """One sentence where the scheduler cannot be reached any more."""
    from asyncio import CancelledError

    try:
        from distributed.client import FutureCancelledError
    except ImportError:  # earlier versions raise asyncio's
        FutureCancelledError = CancelledError
    try:
        yield
    except (CancelledError, FutureCancelledError, OSError) as error:
        if isinstance(error, TimeoutError):
            raise
        raise LostWorkersError(
            "the connection to the cluster was lost; nothing was put in place. Go on "
            "with resume when it is back."
        ) from None
