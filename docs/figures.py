"""Draws the pictures of the docs: `python docs/figures.py`.

The table of the README before and after, and the two examples in the plane of Mortazavi, Jalili and
Gohargazi 2013 (figures 6 and 7), on our own seeded data.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import microagg as ma
from microagg.datasets.simulated import simulated
from microagg.drawing.canvas import blank_figure
from microagg.drawing.groups import draw_groups

PICTURES = Path(__file__).parent / "pictures"
EXAMPLES = (("Uniform200x2", 35, 1), ("Gaussian10000x2", 1111, 2))


def main() -> None:
    """Draw every picture anew."""
    PICTURES.mkdir(exist_ok=True)
    draw_before_and_after(PICTURES / "before-and-after.png")
    for data, k, npb in EXAMPLES:
        points = simulated(data)
        for method, params in (("mdav", {}), ("imhm", {"npb": npb})):
            labels = ma.partition(points, k=k, method=method, **params)
            draw_groups(
                points, labels, PICTURES / f"{data.lower()}-{method}.png", f"{method}, k = {k}"
            )


SHADES = ("#cfe3f5", "#fbe3c3", "#d5ecd0")
PLAIN = "#ffffff"


def draw_before_and_after(path: Path) -> None:
    """Two tables side by side, sorted by group: the first example of the README."""
    readme = (PICTURES.parent.parent / "README.md").read_text("utf-8")
    scope: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0], scope)
    before, release = scope["people"], scope["release"]
    order = sorted(range(len(before)), key=lambda i: (release.labels[i], i))
    with blank_figure((9.0, 3.2), {"font.size": 10.0}) as figure:
        for place, (title, table) in enumerate(
            (("before", before), ("after, k = 3", release.table))
        ):
            axes = figure.add_axes((0.01 + 0.54 * place, 0.02, 0.44, 0.9))
            axes.set_axis_off()
            axes.set_title(title, fontsize=12, weight="bold")
            names, quasi = list(table.columns), set(release.settings.quasi)
            shades = [
                [
                    SHADES[release.labels[i] % len(SHADES)] if name in quasi else PLAIN
                    for name in names
                ]
                for i in order
            ]
            cells = [[_cell(table[name].iloc[i]) for name in names] for i in order]
            drawn = axes.table(cells, shades, colLabels=names, cellLoc="center", bbox=(0, 0, 1, 1))
            for (row, _), cell in drawn.get_celld().items():
                cell.set_edgecolor("#b8c0c8")
                cell.set_linewidth(0.6)
                if row == 0:
                    cell.set_text_props(weight="bold")
        figure.text(0.5, 0.45, "→", fontsize=24, ha="center", va="center", color="#16557f")
        figure.savefig(path, dpi=130)


def _cell(value: Any) -> str:
    if value != value:
        return "–"
    return f"{value:,.0f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
