"""Pictures of reports: well-formed SVG whose shapes have the size of their numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from microagg.drawing import pictures, svg

HOSTILE = '<script>alert("x")</script> & \x00 name'


def shapes(text: str, tag: str) -> list[dict[str, str]]:
    """Attributes of all elements of one kind."""
    return [dict(element.attrib) for element in ET.fromstring(text).iter() if tag in element.tag]


def words(text: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(text).iter() if "text" in element.tag]


def test_bars_are_as_high_as_their_counts() -> None:
    text = pictures.draw_class_sizes(["5", "6", "7"], [120, 60, 30], k=5)
    heights = [float(bar["height"]) for bar in shapes(text, "rect")]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[1] == pytest.approx(2 * heights[2], abs=0.2)
    assert {"120", "60", "30", "5", "6", "7", "records in the class (k = 5)"} <= set(words(text))


def test_levels_show_both_tables() -> None:
    text = pictures.draw_levels(["F", "M"], [25.0, 75.0], [50.0, 50.0])
    filled = [float(bar["width"]) for bar in shapes(text, "rect") if bar["fill"] != "none"]
    outlined = [float(bar["width"]) for bar in shapes(text, "rect") if bar["fill"] == "none"]
    assert filled[0] == filled[1]
    assert outlined[1] == pytest.approx(3 * outlined[0], abs=0.3)
    assert outlined[0] == pytest.approx(filled[0] / 2, abs=0.2)


def test_a_distribution_shows_each_bin_in_both_tables() -> None:
    before, after = [40.0, 20.0, 30.0, 10.0], [20.0, 40.0, 35.0, 5.0]
    text = pictures.draw_distribution(["30", "40"], after, before, ["missing"])
    area, line = (
        [tuple(map(float, point.split())) for point in path["d"][1:].split("L")]
        for path in shapes(text, "path")
        if len(path["d"].split("L")) > 4
    )
    floor = line[0][1]
    steps = [floor - y for _, y in line[1:-1:2]]
    assert [step / steps[0] for step in steps] == pytest.approx([1.0, 2.0, 1.75], abs=0.02)
    steps = [floor - y for _, y in area[1:-1:2]]
    assert [step / steps[0] for step in steps] == pytest.approx([1.0, 0.5, 0.75], abs=0.02)
    assert "missing" in words(text)
    assert words(text).count("…") == 2, "the outer bins are open"


def test_shades_of_correlations_differ_by_sign_and_size() -> None:
    matrix = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, math.nan], [-0.9, math.nan, 1.0]])
    text = pictures.draw_correlations(["a", "b", "c"], matrix)
    fills = [bar["fill"] for bar in shapes(text, "rect")]
    assert len(fills) == 4, "neither the diagonal nor what has no correlation"
    (red, blue) = fills[:2]
    assert int(red[1:3], 16) > int(red[5:7], 16)
    assert int(blue[1:3], 16) < int(blue[5:7], 16)
    assert {"0.90", "−0.90", "–"} <= set(words(text))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: pictures.draw_class_sizes(["5"], [1], k=5),
        lambda: pictures.draw_class_sizes([str(size) for size in range(5, 60)], [3] * 55, k=5),
        lambda: pictures.draw_distribution([], [100.0], beside=[]),
        lambda: pictures.draw_distribution(["2024-01-01 10:30"], [0.0, 0.0], [0.0, 0.0]),
        lambda: pictures.draw_distribution([HOSTILE], [1.0, 2.0, 97.0], None, [HOSTILE]),
        lambda: pictures.draw_levels([HOSTILE], [100.0]),
        lambda: pictures.draw_levels(["日本語の長い名前がここにある"] * 13, [7.0] * 13),
        lambda: pictures.draw_correlations([HOSTILE] * 12, np.zeros((12, 12))),
        lambda: pictures.draw_intervals([HOSTILE], [0.0], [(0.0, 0.0)], "%"),
        lambda: pictures.draw_intervals(["a", "b"], [0.2, -0.1], [(0.1, 0.3), (-0.2, 0.1)], "%"),
    ],
)
def test_any_picture_is_well_formed_and_stays_inside(draw: Callable[[], str]) -> None:
    text = draw()
    assert text == draw()
    width, height = (float(size) for size in shapes(text, "svg")[0]["viewBox"].split()[2:])
    for bar in shapes(text, "rect"):
        assert 0.0 <= float(bar["x"]) <= float(bar["x"]) + float(bar["width"]) <= width
        assert 0.0 <= float(bar["y"]) <= float(bar["y"]) + float(bar["height"]) <= height
    for mark in shapes(text, "text"):
        assert 0.0 <= float(mark["x"]) <= width
        assert 0.0 <= float(mark["y"]) <= height
    assert "<script" not in text
    assert not re.search(r"nan|inf", re.sub(r">[^<]*<", "><", text))


@pytest.mark.parametrize("top", [0.004, 0.1, 0.7, 1.0, 3.3, 9.99, 10.0, 110.0, 4.2e7])
def test_ticks_are_round_and_few(top: float) -> None:
    ticks = svg.ticks_up_to(top)
    assert ticks[0] == 0.0
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] <= top * (1 + 1e-9)
    step = f"{ticks[1]:e}"
    assert step[0] in "125"
    assert float(step.split("e")[0]) in (1.0, 2.0, 5.0)
