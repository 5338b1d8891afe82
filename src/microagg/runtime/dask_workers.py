"""Worker side of a Dask cluster: run tasks, report facts of a worker, admit workers.

A worker gets tasks once it has shown that it has the same versions and sees the same files: that is
a resource of Dask, which a worker that joins later, or again, has to earn as well. Memory is
another one, so no worker takes two blocks that do not fit together.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microagg.kernels.compiling import on_first_compile
from microagg.runtime.tasks import RemoteTask, TaskResult, run_remote_exclusive, run_remote_task
from microagg.runtime.workers import SharedPath, WorkerInfo, is_there, sees, warm_up, worker_info

MEMORY = "microagg-bytes"
"""Resource of Dask: bytes for the work of one worker."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks of whether a task is still wanted, or workers are left."""


def run_task(order: RemoteTask) -> TaskResult:
    """Run a task."""
    return run_remote_task(order, _DaskCancellation(order.folder))


def run_exclusive_task(order: RemoteTask) -> TaskResult:
    """Run a task with all threads of this worker."""
    from distributed import get_worker

    return run_remote_exclusive(order, get_worker().state.nthreads, _DaskCancellation(order.folder))


class _DaskCancellation:
    """Cancellation token of a task on a worker: set once its spill is gone or Dask has cancelled
    it.
    """

    def __init__(self, folder: str) -> None:
        from distributed import get_worker

        self._folder, self._checked, self._answer = folder, time.monotonic(), False
        self._worker: Any = None
        with contextlib.suppress(ValueError):  # not on a worker
            self._worker = get_worker()
            self._key = self._worker.get_current_task()

    def is_set(self) -> bool:
        now = time.monotonic()
        if not self._answer and now - self._checked > CHECK_INTERVAL:
            self._checked = now
            self._answer = not os.path.exists(self._folder) or self._cancelled()
        return self._answer

    def _cancelled(self) -> bool:
        if self._worker is None:
            return False
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state in ("cancelled", "forgotten", "released")


def inspect_worker(dask_worker: Any = None) -> WorkerInfo:
    """Return facts of a worker; Dask passes the worker."""
    return worker_info(dask_worker.state.nthreads, dask_worker.memory_manager.memory_limit)


def check_shared_paths(
    places: Sequence[SharedPath], token: str, dask_worker: Any = None
) -> list[int]:
    """Return the numbers of the paths that a worker does not see."""
    return [
        index
        for index, path in enumerate(places)
        if not sees(path, token, worker_name(dask_worker.address))
    ]


def worker_name(address: str) -> str:
    """Return a name for the files of a worker, which does not show its address."""
    return hashlib.sha256(address.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class WorkerRequirements:
    """Requirements on a worker before it is admitted."""

    token: str
    versions: Mapping[str, str]
    places: tuple[SharedPath, ...]
    memory: int
    """Bytes for the work of one worker."""

    @property
    def resource(self) -> str:
        """Return the name of the Dask resource that an admitted worker has."""
        return f"microagg-{self.token}"


def inspect_workers(
    resource: str, keys: Sequence[str] = (), dask_scheduler: Any = None
) -> tuple[int, list[str]]:
    """Count the admitted workers and list tasks that no worker can run; Dask passes the
    scheduler.
    """
    admitted = sum(
        bool(worker.resources.get(resource)) for worker in dask_scheduler.workers.values()
    )
    states = {key: getattr(dask_scheduler.tasks.get(key), "state", None) for key in keys}
    return admitted, [key for key, state in states.items() if state == "no-worker"]


async def admit(worker: Any, requirements: WorkerRequirements) -> None:
    """Admit a worker if it meets the requirements: give it the resources that tasks need."""
    import pyarrow as pa

    info = worker_info(worker.state.nthreads, worker.memory_manager.memory_limit)
    if info.versions != dict(requirements.versions):
        return
    if info.limited and info.share(1) < requirements.memory:
        return
    if not all(map(is_there, requirements.places)):
        return
    pa.set_cpu_count(worker.state.nthreads)
    await worker.set_resources(**{MEMORY: float(requirements.memory), requirements.resource: 1e9})


def admission_plugin(requirements: WorkerRequirements) -> Any:
    """Return the plugin that admits workers whenever they join."""
    from distributed import WorkerPlugin

    class AdmissionPlugin(WorkerPlugin):
        name = requirements.resource

        async def setup(self, worker: Any) -> None:
            await admit(worker, requirements)

        async def teardown(self, worker: Any) -> None:
            await worker.set_resources(**{requirements.resource: 0.0})

    return AdmissionPlugin()


def compile_on_worker(k: int, axes: int, note: str) -> int:
    """Compile the kernels of blocks (a task); on the first time on this machine, leave a file as a
    sign.
    """
    if note:
        on_first_compile(lambda: Path(note).touch(0o600))
    try:
        return warm_up(k, axes)
    finally:
        on_first_compile(None)
