"""Pictures of groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microagg as ma
from microagg.drawing.groups import convex_outline, draw_groups


def test_the_outline_holds_every_point() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        points = rng.integers(0, 6, size=(int(rng.integers(1, 30)), 2)).astype(float)
        corners = np.array(convex_outline(points))
        assert {tuple(c) for c in corners.tolist()} <= {tuple(p) for p in points.tolist()}
        if len(corners) < 3:
            continue
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            turn = (b - a)[0] * (points - a)[:, 1] - (b - a)[1] * (points - a)[:, 0]
            assert (turn >= 0).all()


def test_groups_are_drawn(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    labels = ma.partition(points, k=5)
    path = tmp_path / "groups.png"
    draw_groups(points, labels, path, "sixty points")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ma.InputError):
        draw_groups(np.zeros((9, 3)), np.zeros(9, np.int32), path)
