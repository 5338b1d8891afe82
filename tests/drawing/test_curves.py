"""Curves of loss against time: every panel with its title, floor and points."""

from __future__ import annotations

from pathlib import Path

from microagg.drawing.curves import Curve, draw_curves


def test_picture_names_tables_and_points(tmp_path: Path) -> None:
    curves = [
        Curve(f"table {number}", [0.1, 1.0], [3.0, 2.0], 1.5, (("MDAV", None, 3.5),))
        for number in range(5)
    ]
    path = tmp_path / "curves.svg"
    draw_curves(curves, path)
    text = path.read_text("utf-8")
    assert all(f"table {number}" in text for number in range(5))
    assert text.count(">MDAV<") == 5
    assert text.count(">proven<") == 5


def test_same_curves_give_the_same_picture(tmp_path: Path) -> None:
    curve = Curve("one", [0.1, 1.0], [3.0, 2.0], points=[("peer", 0.5, 2.5)])
    for name in ("a.png", "b.png"):
        draw_curves([curve], tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 3000
