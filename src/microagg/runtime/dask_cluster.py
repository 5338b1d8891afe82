"""Connection to a Dask cluster: an engine that the caller names, or private workers here."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import ClusterWarning, InputError, needs_extra
from microagg.runtime.spill import SpillFolder

if TYPE_CHECKING:
    from distributed import Client

NEEDED = needs_extra("a cluster needs", "dask", "dask")
LOCAL = "local"
MOST_LOCAL = 256
LOCAL_CONFIG = {
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
    "the Dask scheduler at {} is reached without encryption and without a key: anyone "
    "who can connect to it can read the data and run "
    "programs as you; start scheduler and workers with TLS, and name the address as tls://"
)


def check_engine(engine: Any) -> None:
    """Raise unless this is a valid engine, without connecting to it.

    >>> check_engine("nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    microagg.errors.InputError: engine must be a distributed.Client, an address such as ...
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
        _number_of_workers(engine)


def _number_of_workers(engine: str) -> int:
    """Return the number of workers of this machine; by default one for each processor.

    >>> _number_of_workers("local:4")
    4
    """
    word, colon, count = engine.partition(":")
    if word != LOCAL or (
        colon and not (count.isascii() and count.isdigit() and 0 < int(count) <= MOST_LOCAL)
    ):
        raise InputError(f"workers of this machine are written as local:4, with 1 to {MOST_LOCAL}.")
    return int(count) if colon else os.cpu_count() or 1


@contextlib.contextmanager
def connect(engine: Any, threads: int | None = None) -> Iterator[Client]:
    """Yield the client of an engine: a given one, or one for an address, or for local workers
    ("local:4").

    A cluster started here ends here. TLS is that of the client, or of Dask's configuration for the
    address. Without TLS there is a warning. Workers of this machine always use it.
    """
    check_engine(engine)
    import distributed

    if not isinstance(engine, str):
        warn_if_open(engine)
        yield engine
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        address: Any = engine
        if engine.startswith(LOCAL):
            address = stack.enter_context(_local(engine, threads))
        try:
            client = stack.enter_context(distributed.Client(address, set_as_default=False))
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
    """Silence Dask's messages on lost connections; microagg reports them in a sentence."""
    import logging

    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C on a worker of this machine, where this is preloaded: the driver handles it."""
    import signal

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker.http_server.stop()


@contextlib.contextmanager
def _local(engine: str, threads: int | None) -> Iterator[Any]:
    """Start a private cluster of processes on this machine.

    Every port takes TLS with a certificate of this run only, and rejects clients without its key.
    The key stays in the memory of these processes. The files of Dask, a folder that it also imports
    modules from, are readable by the owner only.
    """
    import logging

    import dask
    import distributed

    config: Any = dask.config  # pyright: ignore[reportPrivateImportUsage]
    before = config.get("distributed.worker.preload")
    workers, processors = _number_of_workers(engine), os.cpu_count() or 1
    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise InputError(NEEDED) from None
    nowhere: Any = None
    with (
        SpillFolder(Path(tempfile.gettempdir())) as private,
        config.set({**LOCAL_CONFIG, "temporary-directory": str(private.folder)}),
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
