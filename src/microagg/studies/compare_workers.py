"""Cells on several processes, handed out one by one as processes become free."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from microagg.kernels.compiling import announce_compiling, on_first_compile, would_announce
from microagg.runtime.dask_pool import shared_work
from microagg.studies.compare_cells import Cell, Outcome, Study, run_cell

LOOK = 0.2  # seconds between two looks at whether somebody wants to stop
# what a process says, between a cell and its outcome, for the parent to announce
COMPILING = "compiling"


def outcomes(
    study: Study, cells: Sequence[Cell], jobs: int, check_cancelled: Callable[[], None]
) -> Iterator[tuple[Cell, Outcome]]:
    """Yield the outcome of each cell, in order of completion.

    `check_cancelled` is called now and then; an exception from it ends all work.
    """
    if jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, run_cell(study, cell, lambda done, total: check_cancelled())
        return
    team = _Team(study, min(jobs, len(cells)))
    try:
        yield from team.work(list(cells), check_cancelled)
    finally:
        team.dismiss()


def outcomes_on(
    engine: Any,
    folder: Path,
    study: Study,
    cells: Sequence[Cell],
    check_cancelled: Callable[[], None],
) -> Iterator[tuple[Cell, Outcome]]:
    """The same by the workers of a cluster, which read the table in a folder that all of them see;
    each cell has one thread.
    """
    if not cells:
        return
    with shared_work(engine, folder) as workers:
        arguments = ((study, cell, None, 1) for cell in cells)
        for index, outcome in workers.as_they_come(run_cell, arguments, look=check_cancelled):
            yield cells[index], outcome


class _Team:
    """Processes that each work on one cell at a time. One that dies is replaced, and its cell
    counts as failed.
    """

    def __init__(self, study: Study, size: int) -> None:
        # a fresh interpreter: a copy of this one would share locks with its threads, such as a
        # progress bar's
        self._context = multiprocessing.get_context("spawn")
        self._study = study
        self._members: dict[Connection, Any] = {}
        for _ in range(size):
            self._hire()

    def _hire(self) -> Connection:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self._study, would_announce()), daemon=True
        )
        process.start()
        theirs.close()
        self._members[ours] = process
        return ours

    def work(
        self, waiting: list[Cell], check_cancelled: Callable[[], None]
    ) -> Iterator[tuple[Cell, Outcome]]:
        waiting = waiting[::-1]
        busy = {member: self._give(member, waiting.pop()) for member in self._members}
        while busy:
            for member in wait(list(busy), timeout=LOOK):
                assert isinstance(member, Connection)
                try:
                    answer = member.recv()
                except (EOFError, ConnectionError):
                    answer = None
                if answer == COMPILING:
                    announce_compiling()
                    continue
                cell = busy.pop(member)
                if answer is None:
                    self._bury(member)
                    member = self._hire()
                    answer = Outcome(
                        error="the process that worked on it died; was there enough memory?",
                        lasting=False,
                    )
                if waiting:
                    busy[member] = self._give(member, waiting.pop())
                yield cell, answer
            check_cancelled()

    def _give(self, member: Connection, cell: Cell) -> Cell:
        with contextlib.suppress(ConnectionError):  # it has died: so its answer will say
            member.send(cell)
        return cell

    def _bury(self, member: Connection) -> None:
        member.close()
        self._members.pop(member).join()

    def dismiss(self) -> None:
        for member, process in self._members.items():
            process.terminate()
            process.join()
            member.close()
        self._members.clear()


def _serve(tasks: Connection, study: Study, announce: bool) -> None:
    """Run one cell after another in a process of the pool, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    if announce:
        on_first_compile(lambda: tasks.send(COMPILING))
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            cell = tasks.recv()
        except EOFError:
            return
        tasks.send(run_cell(study, cell))


def _follow_parent() -> None:
    """End with the parent, even if it was killed without a chance to say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
