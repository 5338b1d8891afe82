"""Clusters for tests: processes of this machine that nobody else can reach, with blocks and runs
set small.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

import small_blocks
import stores
from microagg.pipeline.memory_budget import MemoryBudget

PRELOAD = "distributed.worker.preload"
ENVIRONMENT = {
    "DASK_DISTRIBUTED__WORKER__PRELOAD": '["dask_clusters"]',
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
}
"""For processes that start workers of their own."""


def dask_setup(worker: Any) -> None:
    """Prepare a worker, whenever it comes: Dask calls this of a module that is preloaded."""
    small_blocks.make_small()
    stores.make_store()


@contextlib.contextmanager
def cluster(workers: int = 2, threads: int = 1, **more: Any) -> Iterator[Client]:
    """The client of some worker processes; all of it ends with the block."""
    import dask

    with (
        warnings.catch_warnings(),
        dask.config.set(
            {
                PRELOAD: ["dask_clusters"],
                "distributed.scheduler.allowed-failures": 10,
                "distributed.deploy.lost-worker-timeout": "1 day",
            }
        ),
    ):
        warnings.simplefilter("ignore")  # of sockets that Dask leaves to the collector
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=threads,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs=logging.CRITICAL + 1,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                **more,
            ) as started,
            Client(started, set_as_default=False) as client,
        ):
            yield client


def small_budget(chunk: int = 320, bits: int = 2) -> Any:
    """Return a replacement of `Budget.checked`: chunks and buckets of these sizes, so that tables
    of some thousand records are many.
    """

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(
            10**9, self.threads, chunk, self.threads, bits, bits, 100, 1000, 100_000
        )

    return checked
