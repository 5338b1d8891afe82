"""Marks: no two methods alike, and colours that differ for every kind of sight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import microagg as ma
from microagg.drawing.markers import COLOURS, MOST, SHAPES, hollow_marks, marks_of

# what is left of linear RGB for eyes without one kind of cones (Machado, Oliveira and Fernandes
# 2009, severity 1)
SIGHT = {
    "usual": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """A colour as it is seen, in CIE L*a*b*, where a distance of 2 can just be noticed."""
    parts = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_are_far_apart_for_every_kind_of_sight(sight: str) -> None:
    seen = [lab(colour, np.array(SIGHT[sight])) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 30
    white = lab("#ffffff", np.array(SIGHT[sight]))
    assert min(np.linalg.norm(colour - white) for colour in seen) > 30


def families_of_registry() -> dict[str, str]:
    return {method.name: method.family for method in ma.methods()}


def test_all_methods_of_the_registry_can_be_told_apart() -> None:
    families = families_of_registry()
    marks = marks_of(families)
    assert list(marks) == list(families)
    assert len(set(marks.values())) == len(families) > 40
    looks = {(mark.shape, mark.face) for mark in marks.values()}
    assert len(looks) == len(families), "by more than their edges"
    for family in ("mdav", "ordered", "fine-tuned"):
        family_marks = [mark for method, mark in marks.items() if families[method] == family]
        assert (
            len({mark.edge if mark.edge != "white" else mark.face for mark in family_marks}) == 1
        ), "one colour"


def test_a_few_methods_differ_in_colour_and_in_shape() -> None:
    for count in range(1, len(COLOURS) + 1):
        marks = marks_of({f"v-mdav:gamma={i}": "mdav" for i in range(count)})
        assert len({mark.face for mark in marks.values()}) == count
        assert len({mark.shape for mark in marks.values()}) == count


def test_no_two_marks_alike_whatever_the_families() -> None:
    rng = np.random.default_rng(3)
    most = len(COLOURS) * MOST
    for count in (9, 21, 44, 97, most - 1, most):
        for families in (1, 2, 9, 40):
            drawn = {f"m{i}": f"f{rng.integers(families)}" for i in range(count)}
            marks = marks_of(drawn)
            assert len({(mark.shape, mark.face) for mark in marks.values()}) == count, (
                count,
                families,
            )
    assert len(marks_of({f"m{i}": "f" for i in range(most + 9)})) == most + 9, (
        "more than that repeat, and do not fail"
    )


def test_hollow_marks_look_like_no_other() -> None:
    hollow = hollow_marks(["a", "b", "a", "c"])
    assert list(hollow) == ["a", "b", "c"]
    assert len({mark.shape for mark in hollow.values()}) == 3
    assert all(mark.face == "none" for mark in hollow.values())
    assert not set(hollow.values()) & set(marks_of(families_of_registry()).values())
    assert len(hollow_marks(map(str, range(len(SHAPES) + 2)))) == len(SHAPES) + 2
