"""Clusters for tests: processes of this machine that nobody else can reach, with blocks and runs set small."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from distributed import Client, LocalCluster, WorkerPlugin

import small_blocks


class Small(WorkerPlugin):
    """Sets the sizes of a worker small, whenever it comes."""

    name = "small blocks"

    def setup(self, worker: Any) -> None:
        small_blocks.make_small()


@contextlib.contextmanager
def cluster(workers: int = 2, threads: int = 1, small: bool = True, **more: Any) -> Iterator[Client]:
    """The client of some worker processes; all of it ends with the block."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=threads, processes=True, host="127.0.0.1", dashboard_address=None,
            silence_logs=logging.CRITICAL + 1, **more,
        ) as started,
        Client(started, set_as_default=False) as client,
    ):  # fmt: skip
        if small:
            client.register_plugin(Small())
        yield client
