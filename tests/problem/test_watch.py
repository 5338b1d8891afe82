"""Checkpoints: counted alike however a search was stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from microagg.errors import Cancelled
from microagg.problem.watch import StopSearch, Watch, handle_interrupt


def passes(watch: Watch, checkpoints: int = 10) -> int:
    """Count the checkpoints that a search gets through before it has to end."""
    for done in range(checkpoints):
        if watch.checkpoint(done, checkpoints):
            return done + 1
    return checkpoints


def test_nothing_stops_a_search_that_nobody_stops() -> None:
    watch = Watch()
    assert passes(watch) == 10
    assert (watch.passed, watch.stopped) == (10, None)


def test_a_given_checkpoint() -> None:
    watch = Watch(stop_after=4)
    assert passes(watch) == 4
    assert (watch.passed, watch.stopped) == (4, "checkpoint")


def test_a_search_that_was_stopped_before_its_first_checkpoint() -> None:
    watch = Watch(stop_after=0)
    assert watch.stopped == "checkpoint"
    assert watch.checkpoint(1, 10)
    assert watch.passed == 0


def test_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("microagg.problem.watch.time.monotonic", lambda: float(next(clock)))
    watch = Watch(time_limit=3)
    assert passes(watch) == 3
    assert watch.stopped == "time limit"


def test_reserve_is_taken_from_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("microagg.problem.watch.time.monotonic", lambda: float(next(clock)))
    watch = Watch(time_limit=9)
    watch.reserve(4.0)
    assert passes(watch) == 5
    assert watch.stopped == "time limit"


def test_a_given_checkpoint_comes_before_the_clock() -> None:
    watch = Watch(time_limit=0, stop_after=6)
    assert passes(watch) == 6


def test_enough_is_a_stop_and_anything_else_goes_through() -> None:
    def enough(done: int, total: int) -> None:
        if done >= 300:
            raise StopSearch("stopped")

    watch = Watch(enough)
    assert passes(watch) == 4
    assert (watch.passed, watch.stopped) == (4, "interrupted")

    def cancel(done: int, total: int) -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        Watch(cancel).checkpoint(1, 2)


def test_checkpoints_after_the_end_do_not_count() -> None:
    watch = Watch(stop_after=2)
    passes(watch)
    assert watch.checkpoint(9, 10)
    assert watch.passed == 2


def test_stages_share_one_bar() -> None:
    calls: list[tuple[int, int]] = []
    watch = Watch(lambda done, total: calls.append((done, total)), 200)
    watch.stage(0.0, 0.25)
    watch.tell(1, 2)
    watch.stage(0.25, 1.0)
    watch.checkpoint(2, 3)
    watch.tell(1, 3)
    assert calls == [(25, 200), (150, 200), (150, 200)]


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def __call__(self, done: int, total: int) -> None:
        self.heard.append(done)

    def tell(self, telling: str) -> None:
        self.heard.append(telling)

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        self.heard.append("begins")
        yield
        self.heard.append("ends")


def test_a_progress_that_listens_hears_the_figures() -> None:
    listener = Listener()
    watch = Watch(listener)
    with watch.searching():
        watch.checkpoint(1, 2, "IL 3 %")
    with Watch(lambda done, total: None).searching():
        pass
    assert listener.heard == ["begins", "IL 3 %", 500, "ends"]


def test_ctrl_c_that_compiled_code_made_an_error_of_is_ctrl_c_again() -> None:
    stop, inner = KeyboardInterrupt(), SystemError("returned a result with an exception set")
    inner.__cause__ = stop
    with pytest.raises(KeyboardInterrupt), handle_interrupt():
        raise SystemError("and so did its caller") from inner
    with pytest.raises(SystemError, match="of another kind"), handle_interrupt():
        raise SystemError("of another kind")
