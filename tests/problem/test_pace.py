"""Time left: exact at a steady pace, and soon right again when the pace changes."""

from __future__ import annotations

import pytest

from microagg.problem.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def left_at(shares_by_second: list[float]) -> list[float | None]:
    """Return what is left after each second, with these shares done."""
    clock = Clock()
    pace, left = Pace(clock), []
    for share in shares_by_second:
        clock.now += 1.0
        left.append(pace.seconds_left(share))
    return left


def test_steady_pace_is_exact() -> None:
    left = left_at([second / 20 for second in range(1, 20)])
    assert left == pytest.approx([20.0 - second for second in range(1, 20)])


def test_estimate_is_off_by_half_at_most_soon_after_the_pace_changes() -> None:
    """A tenth of the work takes ten seconds, the rest a second for each further tenth."""
    left = left_at([0.01 * s for s in range(1, 11)] + [0.1 * s for s in range(2, 10)])
    for second in range(15, 19):
        estimate = left[second - 1]
        assert estimate is not None
        assert abs(estimate - (19 - second)) <= 0.5 * (19 - second) + 1.0


def test_nothing_is_said_before_anything_is_done() -> None:
    assert left_at([0.0, 0.0, 0.0]) == [None, None, None]
    clock = Clock()
    pace = Pace(clock)
    clock.now += 0.1
    assert pace.seconds_left(0.5) is None


def test_standstill_lengthens_the_estimate() -> None:
    left = left_at([0.5] * 10)
    assert left[-1] == pytest.approx(10.0)


def test_samples_are_bounded() -> None:
    clock = Clock()
    pace = Pace(clock)
    for step in range(20_000):
        clock.now += 0.01
        pace.seconds_left(step / 20_000)
    assert len(pace._samples) < 600
