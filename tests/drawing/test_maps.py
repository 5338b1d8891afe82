"""The risk–utility map: what counts, what is labelled, and that everything on it can be read."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import microagg as ma
from microagg.drawing import canvas, maps
from microagg.drawing.legend import Entry, in_columns
from microagg.drawing.maps import MapPoint, draw_map


def registry_points(seed: int = 4) -> list[MapPoint]:
    """Every method with two k's, at places as crowded as real ones; the front by its definition."""
    rng = np.random.default_rng(seed)
    points = []
    for method in ma.methods():
        for k, loss, risk in ((3, 2.0, 31.0), (5, 4.2, 19.0)):
            alone = method.name == "individual-ranking"
            points.append(
                MapPoint(
                    method.name, k,
                    loss=0.1 * k if alone else loss * float(np.exp(rng.normal(0.0, 0.3))),
                    risk=99.0 if alone else risk * float(np.exp(rng.normal(0.0, 0.1))),
                    k_anonymous=not alone, family=method.family,
                )
            )  # fmt: skip
    able = [point for point in points if point.k_anonymous]

    def beaten(point: MapPoint) -> bool:
        return any(other.loss < point.loss and other.risk < point.risk for other in able)

    return [replace(point, on_front=point.k_anonymous and not beaten(point)) for point in points]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that were drawn, to be looked at afterwards."""
    drawn: list[Any] = []

    @contextlib.contextmanager
    def remembering(*arguments: Any) -> Iterator[Any]:
        with canvas.blank_figure(*arguments) as figure:
            drawn.append(figure)
            yield figure

    monkeypatch.setattr(maps, "blank_figure", remembering)
    return drawn


def boxes(texts: list[Any]) -> list[Any]:
    """Where words are, without the 3 of 12 pixels above and below that lines keep free of
    letters.
    """
    return [Text.get_window_extent(text).padded(0.0, -3.0) for text in texts if text.get_text()]


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_labels_and_legend_of_all_methods_can_be_read(figures: list[Any], seed: int) -> None:
    points = registry_points(seed)
    draw_map(points, title="all methods")
    (figure,) = figures
    (axes,), (legend,) = figure.axes, figure.legends
    labels, names = boxes(axes.texts), boxes(legend.get_texts())
    front = len({(point.loss, point.risk) for point in points if point.on_front})
    assert len(labels) == front if front <= maps.NAMED else 2 <= len(labels) <= front
    for a, b in itertools.chain(
        itertools.combinations(labels, 2), itertools.combinations(names, 2)
    ):
        assert not a.overlaps(b)
    for box in (*labels, *names):
        assert figure.bbox.contains(box.x0, box.y0)
        assert figure.bbox.contains(box.x1, box.y1)
    texts = [text.get_text() for text in legend.get_texts()]
    headings = {method.family for method in ma.methods()}
    for name in headings | {method.name for method in ma.methods()}:
        named = any(method.name == name for method in ma.methods())
        assert texts.count(name) == named + (name in headings), name


def test_what_is_not_k_anonymous_is_apart_and_never_on_the_front(figures: list[Any]) -> None:
    points = [
        MapPoint("hollow", 3, 0.5, 0.5, on_front=True, k_anonymous=False),
        MapPoint("solid", 3, 1.0, 2.0, on_front=True),
        MapPoint("solid", 5, 2.0, 1.0, on_front=True),
    ]
    draw_map(points)
    (axes,), (legend,) = figures[0].axes, figures[0].legends
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert [text.get_text() for text in axes.texts] == ["solid 3", "solid 5"]
    texts = [text.get_text() for text in legend.get_texts()]
    assert [bool(re.search("not k-anonymous", text)) for text in texts] == [
        False,
        False,
        True,
        False,
    ]
    assert texts[-1] == "hollow"
    faces = {tuple(marks.get_offsets()[0]): marks.get_facecolor() for marks in axes.collections}
    assert len(faces[0.5, 0.5]) == 0, "hollow"
    assert len(faces[1.0, 2.0]) == 1
    draw_map(points[:1])
    assert figures[1].axes[0].lines[:] == []


def test_a_method_that_is_k_anonymous_for_some_k_only() -> None:
    text = draw_map(
        [MapPoint("m", 3, 1.0, 2.0, on_front=True), MapPoint("m", 5, 2.0, 1.0, k_anonymous=False)]
    )
    assert text.count(">m<") == 2, "once solid, once hollow"


def test_columns_of_a_legend() -> None:
    def sections(*sizes: int) -> list[list[Entry]]:
        return [
            [Entry(f"{number}.{position}") for position in range(size)]
            for number, size in enumerate(sizes)
        ]

    assert [len(column) for column in in_columns(sections(10, 20))] == [30]
    for sizes in ((12, 19), (1, 40), (40,), (30, 1), (1, 2, 9, 8, 9, 2, 2, 3, 3, 3, 1, 2)):
        left, right = in_columns(sections(*sizes))
        assert len(left) == len(right) < sum(sizes)
        texts = [entry.text for column in (left, right) for entry in column if entry.text]
        assert texts == [entry.text for section in sections(*sizes) for entry in section]
        last = [entry.text for entry in left if entry.text][-1]
        number, position = map(int, last.split("."))
        assert position > 0 or sizes[number] == 1, "a heading alone"
