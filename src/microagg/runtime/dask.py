"""The same plan on Dask: its tasks are done by the workers of a cluster, with the same result. The
only module that imports dask.

Futures only: no shuffle and no data frame of Dask takes part. What a task is told is numbers and
paths; whatever else it has to know (facts, cuts, columns) lies in files of the spill, which all
workers see, and so does a result that is large. Dask's logs and dashboards see names of functions,
numbers and paths.

A worker gets tasks when it has shown that it has the same versions and sees the same files: that is
a resource of Dask, which a worker that comes later, or again, has to earn as well. Memory is
another one, so no worker takes two blocks that do not fit together.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from microagg.errors import ClusterWarning, InputError, LostWorkers, needs_extra
from microagg.kernels.compiling import announce_compiling, on_first_compile, would_announce
from microagg.runtime.executor import Tell
from microagg.runtime.spill import SpillFolder
from microagg.runtime.tasks import (
    RemoteTask,
    SpilledObject,
    TaskResult,
    is_plain,
    run_remote_exclusive,
    run_remote_task,
)
from microagg.runtime.workers import (
    SharedPath,
    WorkerInfo,
    answered,
    asked_about,
    check_versions,
    is_there,
    sees,
    versions_here,
    warm_up,
    worker_info,
)

if TYPE_CHECKING:
    from distributed import Client

NEEDED = needs_extra("a cluster needs", "dask", "dask")
LOCAL = "local"
MOST_LOCAL = 256
MEMORY = "microagg-bytes"
LOOK = 1.0  # seconds between two looks at whether there is anybody to do the work
PATIENCE = 60.0  # seconds to wait for a worker where there is none
COMPILING = "compiling"
OF_LOCAL_WORKERS = {
    # one that died twice comes back twice: Dask would give it up 15 seconds after its first death
    "distributed.deploy.lost-worker-timeout": "1 day",
    # nobody looks at the profile of workers that end with the run, and taking it costs some of
    # their time
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "200ms",
    # the web servers of Dask know no keys: they get no pages, and are closed as soon as they are
    # there
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
OPEN_PROTOCOLS = ("tcp://", "ws://")
NOT_ENCRYPTED = (
    "the Dask scheduler at {} is reached without encryption and without a key: whoever "
    "can connect to it can read the data and run "
    "programs as you; start scheduler and workers with TLS, and name the address as tls://"
)
Finished = SimpleQueue[Any]
"""Futures, in the order in which they were done."""


# ---- what a worker does


def run_task(order: RemoteTask) -> TaskResult:
    """Do a task."""
    return run_remote_task(order, _Unwanted(order.folder))


def run_exclusive_task(order: RemoteTask) -> TaskResult:
    """Do a task that gets all threads of this worker."""
    from distributed import get_worker

    return run_remote_exclusive(order, get_worker().state.nthreads, _Unwanted(order.folder))


class _Unwanted:
    """Knows whether a task of a worker is still wanted: its spill is there, and nobody has
    cancelled it.
    """

    def __init__(self, folder: str) -> None:
        from distributed import get_worker

        self._folder, self._asked, self._answer = folder, time.monotonic(), False
        self._worker: Any = None
        with contextlib.suppress(ValueError):  # not on a worker
            self._worker = get_worker()
            self._key = self._worker.get_current_task()

    def is_set(self) -> bool:
        now = time.monotonic()
        if not self._answer and now - self._asked > LOOK:
            self._asked = now
            self._answer = not os.path.exists(self._folder) or self._cancelled()
        return self._answer

    def _cancelled(self) -> bool:
        if self._worker is None:
            return False
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state in ("cancelled", "forgotten", "released")


def inspect_worker(dask_worker: Any = None) -> WorkerInfo:
    """What a worker tells of itself; Dask hands in the worker."""
    return worker_info(dask_worker.state.nthreads, dask_worker.memory_manager.memory_limit)


def check_shared_paths(
    places: Sequence[SharedPath], token: str, dask_worker: Any = None
) -> list[int]:
    """Which of these places a worker does not see."""
    return [
        place
        for place, each in enumerate(places)
        if not sees(each, token, _name(dask_worker.address))
    ]


def _name(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class WorkerRequirements:
    """What a worker must have to be let in."""

    token: str
    versions: Mapping[str, str]
    places: tuple[SharedPath, ...]
    memory: int
    """Bytes for the work of one worker."""

    @property
    def entrance(self) -> str:
        """The resource that a worker has which was let in."""
        return f"microagg-{self.token}"


def inspect_workers(
    entrance: str, keys: Sequence[str] = (), dask_scheduler: Any = None
) -> tuple[int, list[str]]:
    """How many workers have been let in, and which of these tasks wait for nobody; Dask hands in
    the scheduler.
    """
    let_in = sum(bool(worker.resources.get(entrance)) for worker in dask_scheduler.workers.values())
    states = {key: getattr(dask_scheduler.tasks.get(key), "state", None) for key in keys}
    return let_in, [key for key, state in states.items() if state == "no-worker"]


async def let_in(worker: Any, terms: WorkerRequirements) -> None:
    """Give a worker the resources that tasks ask for, if it is fit for them."""
    import pyarrow as pa

    own = worker_info(worker.state.nthreads, worker.memory_manager.memory_limit)
    if own.versions != dict(terms.versions):
        return
    if own.limited and own.share(1) < terms.memory:
        return
    if not all(map(is_there, terms.places)):
        return
    pa.set_cpu_count(worker.state.nthreads)
    await worker.set_resources(**{MEMORY: float(terms.memory), terms.entrance: 1e9})


def _gate(terms: WorkerRequirements) -> Any:
    """The plugin of workers that lets them in, whenever they come."""
    from distributed import WorkerPlugin

    class Gate(WorkerPlugin):
        name = terms.entrance

        async def setup(self, worker: Any) -> None:
            await let_in(worker, terms)

        async def teardown(self, worker: Any) -> None:
            await worker.set_resources(**{terms.entrance: 0.0})

    return Gate()


# ---- what the driver does


def check_engine(engine: Any) -> None:
    """Raise unless this is something to work with; nobody is asked yet whether it is there.

    >>> check_engine("nowhere")
    Traceback (most recent call last):
    ...
    microagg.errors.InputError: engine must be a distributed.Client, an address such as tls://10.0.0.1:8786, or local:4.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(NEEDED) from None
    if isinstance(engine, distributed.Client):
        if engine.asynchronous:
            raise InputError(
                "engine must be a client that is not asynchronous; make one with "
                "asynchronous=False."
            )
    elif not isinstance(engine, str) or not (engine.startswith(LOCAL) or "://" in engine):
        raise InputError(
            "engine must be a distributed.Client, an address such as "
            "tls://10.0.0.1:8786, or local:4."
        )
    elif engine.startswith(LOCAL):
        _workers_asked(engine)


def _workers_asked(engine: str) -> int:
    """How many workers of this machine are asked for; one for each processor, if that is not said.

    >>> _workers_asked("local:4")
    4
    """
    word, colon, count = engine.partition(":")
    if word != LOCAL or (
        colon and not (count.isascii() and count.isdigit() and 0 < int(count) <= MOST_LOCAL)
    ):
        raise InputError(
            f"workers of this machine are asked for as local:4, from 1 to {MOST_LOCAL}."
        )
    return int(count) if colon else os.cpu_count() or 1


@contextlib.contextmanager
def connect(engine: Any, threads: int | None = None) -> Iterator[Client]:
    """The client of an engine: one that was given, or one for an address, or for workers of this
    machine ("local:4").

    What is started here ends here. TLS is what the client has, or what Dask's own configuration
    says for the address; where there is none, a warning tells so. DaskExecutor of this machine
    always have it.
    """
    check_engine(engine)
    import distributed

    if not isinstance(engine, str):
        warn_if_open(engine)
        yield engine
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        given: Any = engine
        if engine.startswith(LOCAL):
            given = stack.enter_context(_local(engine, threads))
        try:
            client = stack.enter_context(distributed.Client(given, set_as_default=False))
        except (OSError, ValueError, TypeError, TimeoutError):
            raise InputError(
                f"there is no scheduler at {engine!r}; check the address, and whether it "
                f"needs tls://."
            ) from None
        warn_if_open(client)
        yield client


def warn_if_open(client: Any) -> None:
    """Warn where anybody who reaches the scheduler of a client is let in."""
    address = str(client.scheduler.address)
    if address.startswith(OPEN_PROTOCOLS):
        warnings.warn(NOT_ENCRYPTED.format(address), ClusterWarning, stacklevel=2)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What Dask has to say about lost connections and the like is said by us, in a sentence."""
    import logging

    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    before = [each.level for each in loggers]
    try:
        for each in loggers:
            each.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)


def dask_setup(worker: Any) -> None:
    """What a worker of this machine does first, for it is preloaded there: Ctrl-C is the driver's
    to answer.
    """
    import signal

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker.http_server.stop()


@contextlib.contextmanager
def _local(engine: str, threads: int | None) -> Iterator[Any]:
    """Start a cluster of processes on this machine that nobody else can use.

    Every port takes TLS with a certificate of this run only, and refuses whoever does not have its
    key. The key stays in the memory of these processes. What Dask keeps on disk, a folder that it
    also imports modules from, is readable by the owner only.
    """
    import logging

    import dask
    import distributed

    config: Any = dask.config  # pyright: ignore[reportPrivateImportUsage]
    before = config.get("distributed.worker.preload")
    workers, processors = _workers_asked(engine), os.cpu_count() or 1
    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise InputError(NEEDED) from None
    nowhere: Any = None
    with (
        SpillFolder(Path(tempfile.gettempdir())) as private,
        config.set({**OF_LOCAL_WORKERS, "temporary-directory": str(private.folder)}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=threads or max(1, processors // workers),
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address=nowhere,
            silence_logs=logging.CRITICAL + 1,
            preload=[*before, __name__],
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
    ):
        started: Any = cluster
        started.sync(_close_web_server, started.scheduler)
        yield started


async def _close_web_server(server: Any) -> None:
    server.http_server.stop()


@dataclass
class WorkerPool:
    """The workers of a cluster, looked at before any work is given to them."""

    client: Any
    workers: dict[str, WorkerInfo] = field(default_factory=dict)

    @staticmethod
    def of(client: Any) -> WorkerPool:
        """Those that are there; refused unless all have what this process has."""
        with _explain_lost_workers():
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise InputError("the cluster has no worker; start some.") from None
            found = client.run(inspect_worker, on_error="return")
        here = versions_here()
        for address, own in found.items():
            if not isinstance(own, WorkerInfo):
                raise InputError(
                    f"the worker {address} cannot use microagg ({type(own).__name__}); "
                    f"install the same as here on all of them."
                )
            check_versions(address, own.versions, here)
        return WorkerPool(client, dict(found))

    @property
    def threads(self) -> int:
        """How many threads the smallest worker has."""
        return min(each.threads for each in self.workers.values())

    def memory(self, asked: int | None) -> int:
        """Bytes for the work of one worker: what the smallest one has, and no more than is asked
        for.
        """
        return min(
            [each.share(self._beside(each)) for each in self.workers.values()]
            + ([asked] if asked else [])
        )

    def _beside(self, worker: WorkerInfo) -> int:
        return Counter(each.machine for each in self.workers.values())[worker.machine]

    def check_small(self, block: int) -> None:
        """Raise unless a block of so many bytes fits into every worker."""
        for address, each in self.workers.items():
            share = each.share(self._beside(each))
            if share < block:
                raise InputError(
                    f"the worker {address} has {share / 1e6:,.0f} MB for blocks, and one "
                    f"of this table needs about {block / 1e6:,.0f} MB; give "
                    "it more memory, or leave it out of the cluster."
                )

    @contextlib.contextmanager
    def at_work(
        self,
        folder: Path,
        places: Sequence[SharedPath],
        memory: int,
        warm: tuple[int, int] | None = None,
    ) -> Iterator[DaskExecutor]:
        """The same as an executor, whose spill is in this folder; until the end of the block.
        `warm` is (k, axes) of blocks to come.
        """
        token = secrets.token_hex(8)
        self._check_places([*places, SharedPath("the spill", str(folder))], token)
        terms = WorkerRequirements(
            token, versions_here(), (*places, SharedPath("the spill", str(folder))), memory
        )
        with _explain_lost_workers():
            self.client.register_plugin(_gate(terms))
        workers = DaskExecutor(
            self.client, terms, str(folder), sum(each.threads for each in self.workers.values())
        )
        try:
            if warm is not None:
                self._warm(workers, *warm)
            yield workers
        finally:
            with contextlib.suppress(
                Exception
            ):  # of a cluster that is gone there is nothing to be taken back
                if self.client.status == "running":
                    self.client.unregister_worker_plugin(terms.entrance)

    def _check_places(self, places: Sequence[SharedPath], token: str) -> None:
        """Raise unless every worker sees these places, and what it writes there is seen here."""
        with asked_about(places, token), _explain_lost_workers():
            for address, unseen in self.client.run(check_shared_paths, places, token).items():
                for number, place in enumerate(places):
                    if number in unseen or not answered(place, token, _name(address)):
                        raise place.refuse(address)

    def _warm(self, workers: DaskExecutor, k: int, axes: int) -> None:
        """Compile on one worker of each machine; the others find what it has put into the machine's
        cache.
        """
        first = {each.machine: address for address, each in self.workers.items()}
        note = f"{workers.folder}/{COMPILING}"
        workers.once(
            [
                (warm_and_tell, (k, axes, note if would_announce() else ""), address)
                for address in first.values()
            ],
            lambda: announce_compiling() if os.path.exists(note) else None,
        )


def warm_and_tell(k: int, axes: int, note: str) -> int:
    """A task: compile what blocks need; where that is the first time on this machine, a file tells
    so.
    """
    if note:
        on_first_compile(lambda: Path(note).touch(0o600))
    try:
        return warm_up(k, axes)
    finally:
        on_first_compile(None)


@contextlib.contextmanager
def shared_work(engine: Any, folder: Path) -> Iterator[DaskExecutor]:
    """The workers of an engine, for tasks that share no more than what they are told; a folder in
    this one holds that, and goes.
    """
    with connect(engine) as client, SpillFolder(Path(os.path.abspath(folder))) as spill:
        crew = WorkerPool.of(client)
        with crew.at_work(spill.folder, [], crew.memory(None)) as workers:
            yield workers


@dataclass(frozen=True)
class PendingTask:
    """A task that somebody is to do."""

    place: int
    how: Callable[[RemoteTask], TaskResult]
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: int
    address: str | None = None


class DaskExecutor:
    """An executor whose tasks are done by the workers of a cluster."""

    def __init__(self, client: Any, terms: WorkerRequirements, folder: str, threads: int) -> None:
        self.client, self.terms, self.folder, self.threads = client, terms, folder, threads
        self._kept: dict[int, tuple[Any, SpilledObject]] = {}
        self._alone_since: float | None = None
        """Since when there has been no worker that was let in."""

    def map_ordered(
        self,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        at_once: int | None = None,
        needs: Iterable[int] = (),
    ) -> Iterator[Any]:
        """What `task(*each)` returns for each of the arguments, in their order, whoever did it."""
        ready: dict[int, Any] = {}
        following = 0
        for place, result in self.as_they_come(task, arguments, needs):
            ready[place] = result
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
        asked = (
            PendingTask(place, run_task, task, each, next(bytes_of, 0))
            for place, each in enumerate(arguments)
        )
        return self._collected(asked, look)

    def run_exclusive(
        self, task: Callable[..., Any], *arguments: Any, tell: Tell, needs: int = 0
    ) -> Any:
        """What `task(threads, tell, *arguments)` returns on one worker, with its threads."""
        return next(
            iter(
                self._collected(iter([PendingTask(0, run_exclusive_task, task, arguments, needs)]))
            )
        )[1]

    def once(
        self,
        tasks: Sequence[tuple[Callable[..., Any], tuple[Any, ...], str]],
        look: Callable[[], object],
    ) -> None:
        """Do each task on the worker of an address, or on another one where that is gone; `look` is
        called now and then.
        """
        asked = (
            PendingTask(place, run_task, task, each, 0, address)
            for place, (task, each, address) in enumerate(tasks)
        )
        for _ in self._collected(asked, look):
            pass

    def _collected(
        self, given: Iterator[PendingTask], look: Callable[[], object] = lambda: None
    ) -> Iterator[tuple[int, Any]]:
        """(place, result) of what is asked for, as it is done; what a dead worker was to do, others
        do.
        """
        running: dict[Any, PendingTask] = {}
        finished: Finished = SimpleQueue()
        try:
            while True:
                while len(running) < 2 * self.threads and (asked := next(given, None)) is not None:
                    self._start(asked, running, finished)
                if not running:
                    return
                future = self._next(running, finished, look)
                if future not in running:  # it was started anew
                    continue
                told = self._told(future)
                if told is None:  # its worker died before anybody had the result
                    future.add_done_callback(finished.put)
                    self._look_after(running, finished)
                    continue
                yield running.pop(future).place, told.result()
        finally:
            self._cancel(list(running))

    def _start(
        self, asked: PendingTask, running: dict[Any, PendingTask], finished: Finished
    ) -> None:
        task = asked.task
        order = RemoteTask(
            task.__module__, task.__name__, tuple(map(self._as_told, asked.arguments)), self.folder
        )
        resources = {self.terms.entrance: 1.0, MEMORY: float(min(asked.needs, self.terms.memory))}
        key = f"{task.__name__}-{asked.place}-{secrets.token_hex(4)}"
        with _explain_lost_workers():
            future = self.client.submit(
                asked.how, order, key=key, pure=False, resources=resources, workers=asked.address,
                allow_other_workers=asked.address is not None,
            )  # fmt: skip
        running[future] = asked
        future.add_done_callback(finished.put)

    def _as_told(self, argument: Any) -> Any:
        """An argument as it is if it is numbers and paths of the spill; else where it lies."""
        if is_plain(argument, self.folder):
            return argument
        known = self._kept.get(id(argument))
        if known is None:
            known = argument, SpilledObject.of(argument, self.folder)
            # with the argument itself, or another one could get its number
            self._kept[id(argument)] = known
        return known[1]

    def _next(
        self, running: dict[Any, PendingTask], finished: Finished, look: Callable[[], object]
    ) -> Any:
        """The next future that is done; raises where nobody is left to do any."""
        while True:
            with contextlib.suppress(Empty):
                return finished.get(timeout=LOOK)
            look()
            self._look_after(running, finished)

    def _look_after(self, running: dict[Any, PendingTask], finished: Finished) -> None:
        """Give anew what waits for nobody; raises where there has been no worker for a while."""
        with _explain_lost_workers():
            if self.client.status != "running":
                raise OSError
            keys = [future.key for future in running]
            let_in, stranded = self.client.run_on_scheduler(
                inspect_workers, self.terms.entrance, keys
            )
        if let_in:
            self._alone_since = None
            self._start_anew(set(stranded), running, finished)
            return
        self._alone_since = self._alone_since or time.monotonic()
        if time.monotonic() - self._alone_since > PATIENCE:
            raise LostWorkers(
                "there is no worker left that can do the work; nothing was put in place. "
                "Start some, and go on with resume."
            )

    def _start_anew(
        self, keys: set[str], running: dict[Any, PendingTask], finished: Finished
    ) -> None:
        """Dask does not look again at tasks that nobody could do when it got them; those are given
        anew.
        """
        stranded = [future for future in running if future.key in keys]
        again = [running.pop(future) for future in stranded]
        self._cancel(stranded)
        for asked in again:
            self._start(asked, running, finished)

    def _told(self, future: Any) -> TaskResult | None:
        """What was told; None if it was lost with its worker, and is being done again."""
        from distributed.scheduler import KilledWorker

        try:
            with _explain_lost_workers():
                told = future.result(timeout=LOOK)
        except TimeoutError:
            return None
        except KilledWorker:
            raise InputError(
                "several workers died over the same part of the work, one after the "
                "other; give each of them more memory."
            ) from None
        future.release()
        return told

    def _cancel(self, futures: list[Any]) -> None:
        with contextlib.suppress(Exception):  # where the scheduler is gone, so are they
            left = [future for future in futures if not future.done()]
            if left and self.client.status == "running":
                self.client.cancel(left, force=True)


@contextlib.contextmanager
def _explain_lost_workers() -> Iterator[None]:
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
        raise LostWorkers(
            "the connection to the cluster was lost; nothing was put in place. Go on "
            "with resume when it is back."
        ) from None
