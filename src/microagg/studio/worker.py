"""Worker process of the studio, and the server's side of it.

The worker runs one task at a time. A second thread of it listens: it takes the wish to stop, and
ends the process if the server is gone. The server can end a worker at any time and start another.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

DIED = (
    "The process that did the work has ended unexpectedly, perhaps for lack of memory. File and "
    "settings are kept; try again, with fewer columns or less effort if it happens again."
)


class TaskError(Exception):
    """A task was refused, or its worker is gone: one sentence for the page."""


def serve(connection: Any) -> None:
    """Run tasks that arrive on a connection until the server closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop, todo = threading.Event(), queue.SimpleQueue[Any]()

    def listen() -> None:
        while True:
            try:
                message = connection.recv()
            except (EOFError, OSError):
                os._exit(0)
            if message == "stop":
                stop.set()
            else:
                todo.put(message)

    threading.Thread(target=listen, daemon=True).start()
    from microagg.studio.tasks import Tasks

    lock = threading.Lock()

    def send(*message: Any) -> None:
        with lock:
            connection.send(message)

    tasks = Tasks(lambda **state: send("progress", None, state), stop)
    while True:
        number, name, arguments = todo.get()
        stop.clear()
        send("result", number, tasks.run(name, arguments))


class Worker:
    """The server's handle of one worker process; starts another when that is gone."""

    def __init__(self, on_progress: Callable[[dict[str, Any]], None] = lambda state: None) -> None:
        self.on_progress = on_progress
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._number = 0
        self._process: Any = None
        self._connection: Any = None
        self._pending: dict[int, Future[Any]] = {}

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process unless it runs."""
        with self._lock:
            if self._process is not None and self._process.is_alive():
                return
            here, theirs = self._context.Pipe()
            self._process = self._context.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            self._connection, self._pending = here, {}
            listener = threading.Thread(
                target=self._listen, args=(here, self._pending), daemon=True
            )
            listener.start()

    def submit(self, name: str, **arguments: Any) -> Future[Any]:
        """Return the future of a task; it raises `TaskError` with a sentence if that fails."""
        self.start()
        future: Future[Any] = Future()
        with self._lock:
            self._number += 1
            self._pending[self._number] = future
            try:
                self._connection.send((self._number, name, arguments))
            except OSError:
                future.set_exception(TaskError(DIED))
        return future

    def stop_search(self) -> None:
        """Ask the running search to end at its next checkpoint with the best so far."""
        with contextlib.suppress(OSError, AttributeError):
            self._connection.send("stop")

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _listen(self, connection: Any, pending: dict[int, Future[Any]]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                kind, number, content = connection.recv()
                if kind == "progress":
                    self.on_progress(content)
                elif (future := pending.pop(number, None)) is not None:
                    if "error" in content:
                        future.set_exception(TaskError(content["error"]))
                    else:
                        future.set_result(content["result"])
        for future in list(pending.values()):
            if not future.done():
                future.set_exception(TaskError(DIED))
        pending.clear()
