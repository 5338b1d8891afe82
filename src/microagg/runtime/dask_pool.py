"""Pool of the workers of a Dask cluster: their facts, checks of them, and their executor."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microagg.errors import InputError
from microagg.kernels.compiling import announce_compiling, would_announce
from microagg.runtime.dask_cluster import connect
from microagg.runtime.dask_executor import PATIENCE, DaskExecutor, explain_lost_workers
from microagg.runtime.dask_workers import (
    WorkerRequirements,
    admission_plugin,
    check_shared_paths,
    compile_on_worker,
    inspect_worker,
    worker_name,
)
from microagg.runtime.spill import SpillFolder
from microagg.runtime.workers import (
    SharedPath,
    WorkerInfo,
    answered,
    asked_about,
    check_versions,
    versions_here,
)

COMPILING = "compiling"
"""File by which a worker states that it compiles kernels."""


@dataclass
class WorkerPool:
    """The workers of a cluster, looked at before any work is given to them."""

    client: Any
    workers: dict[str, WorkerInfo] = field(default_factory=dict)

    @staticmethod
    def of(client: Any) -> WorkerPool:
        """Those that are there; refused unless all have what this process has."""
        with explain_lost_workers():
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise InputError("the cluster has no worker; start some.") from None
            infos = client.run(inspect_worker, on_error="return")
        here = versions_here()
        for address, info in infos.items():
            if not isinstance(info, WorkerInfo):
                raise InputError(
                    f"the worker {address} cannot use microagg ({type(info).__name__}); "
                    f"install the same as here on all of them."
                )
            check_versions(address, info.versions, here)
        return WorkerPool(client, dict(infos))

    @property
    def threads(self) -> int:
        """Return the number of threads of the smallest worker."""
        return min(info.threads for info in self.workers.values())

    def memory(self, limit: int | None) -> int:
        """Return the bytes for the work of one worker: those of the smallest one, at most
        `limit`.
        """
        return min(
            [info.share(self._beside(info)) for info in self.workers.values()]
            + ([limit] if limit else [])
        )

    def _beside(self, worker: WorkerInfo) -> int:
        return Counter(info.machine for info in self.workers.values())[worker.machine]

    def check_small(self, block: int) -> None:
        """Raise unless a block of so many bytes fits into every worker."""
        for address, info in self.workers.items():
            share = info.share(self._beside(info))
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
        """Yield the pool as an executor with its spill in this folder, until the end of the block.

        `warm` is (k, axes) of blocks to come.
        """
        token = secrets.token_hex(8)
        self._check_places([*places, SharedPath("the spill", str(folder))], token)
        requirements = WorkerRequirements(
            token, versions_here(), (*places, SharedPath("the spill", str(folder))), memory
        )
        with explain_lost_workers():
            self.client.register_plugin(admission_plugin(requirements))
        workers = DaskExecutor(
            self.client,
            requirements,
            str(folder),
            sum(info.threads for info in self.workers.values()),
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
                    self.client.unregister_worker_plugin(requirements.resource)

    def _check_places(self, places: Sequence[SharedPath], token: str) -> None:
        """Raise unless every worker sees these places, and what it writes there is seen here."""
        with asked_about(places, token), explain_lost_workers():
            for address, unseen in self.client.run(check_shared_paths, places, token).items():
                for number, path in enumerate(places):
                    if number in unseen or not answered(path, token, worker_name(address)):
                        raise path.refuse(address)

    def _warm(self, workers: DaskExecutor, k: int, axes: int) -> None:
        """Compile on one worker of each machine; the others find what it has put into the machine's
        cache.
        """
        first = {info.machine: address for address, info in self.workers.items()}
        note = f"{workers.folder}/{COMPILING}"
        workers.once(
            [
                (compile_on_worker, (k, axes, note if would_announce() else ""), address)
                for address in first.values()
            ],
            lambda: announce_compiling() if os.path.exists(note) else None,
        )


@contextlib.contextmanager
def shared_work(engine: Any, folder: Path) -> Iterator[DaskExecutor]:
    """Yield the workers of an engine, for independent tasks; a temporary folder in this one holds
    their arguments.
    """
    with connect(engine) as client, SpillFolder(Path(os.path.abspath(folder))) as spill:
        pool = WorkerPool.of(client)
        with pool.at_work(spill.folder, [], pool.memory(None)) as workers:
            yield workers
