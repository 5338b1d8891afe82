"""Drawing leaves the user's matplotlib as it was: no backend chosen, no pyplot, no setting
changed.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from microagg.drawing import canvas
from microagg.drawing.canvas import blank_figure, can_draw
from microagg.drawing.maps import MapPoint, draw_map
from microagg.errors import InputError
from running import run

DRAWN = """
from microagg.drawing.groups import draw_groups
points = np.random.default_rng(0).normal(size=(40, 2))
draw_groups(points, np.arange(40, dtype=np.int32) // 4, "groups.png")
===
from microagg.drawing.maps import MapPoint, draw_map
points = [MapPoint(f"m{i}", 3, 1.0 + i, 50.0 - i, on_front=True) for i in range(20)]
draw_map(points), draw_map(points, "map.png"), draw_map(points, "map.svg")
"""
UNTOUCHED = """
import sys, warnings
import matplotlib
import numpy as np

import microagg.drawing.groups  # and numba, with filters of its own

user, drawn = sys.argv[1] == "True", sys.argv[2]
if user:
    matplotlib.use("svg")
    matplotlib.rcParams.update({"font.size": 23.0, "svg.hashsalt": "mine", "svg.fonttype": "path"})
before, filters = dict(matplotlib.rcParams.copy()), list(warnings.filters)
for each in drawn.split("==="):
    exec(each)
    assert dict(matplotlib.rcParams.copy()) == before, f"settings were changed by {each}"
    assert warnings.filters == filters, f"filters of warnings were changed by {each}"
    assert "matplotlib.pyplot" not in sys.modules, f"pyplot was imported by {each}"
    if user:
        backend = matplotlib.get_backend().lower()
        assert backend == "svg", f"the backend was switched by {each}"
print("untouched")
"""


@pytest.mark.parametrize("user", [False, True])
def test_the_users_matplotlib_is_left_alone(tmp_path: Path, user: bool) -> None:
    done = run("-c", UNTOUCHED, str(user), DRAWN, folder=tmp_path)
    assert (done.out, done.err) == ("untouched\n", "")
    assert {path.name for path in tmp_path.iterdir()} == {"groups.png", "map.png", "map.svg"}


def test_settings_of_the_user_do_not_show() -> None:
    import matplotlib

    points = [
        MapPoint("m", 3, 1.0, 2.0, on_front=True),
        MapPoint("a $x$ b", 4, 2.0, 1.0, on_front=True),
    ]
    usual = draw_map(points)
    assert ">a $x$ b 4<" in usual, "no formula"
    with matplotlib.rc_context({"font.size": 30.0, "lines.linewidth": 9.0, "axes.grid": True}):
        assert draw_map(points) == usual
        assert matplotlib.rcParams["font.size"] == 30.0


def test_a_failing_drawing_leaves_settings_alone_too() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams.copy())
    with (
        pytest.raises(ValueError, match="nonsense"),
        blank_figure((2.0, 2.0), {"font.size": 31.0}) as figure,
    ):
        figure.savefig("x.nonsense")
    assert dict(matplotlib.rcParams.copy()) == before


def test_threads_that_draw_do_not_disturb_one_another() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams.copy())
    jobs = [[MapPoint(f"m{i}", 3, 1.0 + i, 5.0, on_front=True)] for i in range(4)]
    alone = [draw_map(points) for points in jobs]
    together: dict[int, str] = {}

    def draw(number: int) -> None:
        together[number] = draw_map(jobs[number])

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(len(jobs))] == alone
    assert dict(matplotlib.rcParams.copy()) == before


def test_without_matplotlib_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "can_draw", lambda: False)
    with (
        pytest.raises(InputError, match=r"pip install 'microagg\[plots\]'"),
        blank_figure((2.0, 2.0)),
    ):
        pass
    assert can_draw()
