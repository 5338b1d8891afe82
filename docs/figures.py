"""Draws the pictures of the docs: `python docs/figures.py`.

The table of the README before and after, the folders of the source, and the two examples in the
plane of Mortazavi, Jalili and Gohargazi 2013 (figures 6 and 7), on our own seeded data.
"""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
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
    draw_architecture(PICTURES / "architecture.svg")
    for data, k, npb in EXAMPLES:
        points = simulated(data)
        for method, params in (("mdav", {}), ("imhm", {"npb": npb})):
            labels = ma.partition(points, k=k, method=method, **params)
            draw_groups(
                points, labels, PICTURES / f"{data.lower()}-{method}.png", f"{method}, k = {k}"
            )


GROUPS = {
    "what people use": ("#cfe3f5", {
        "cli": "commands, options, terminal", "studio": "pages in a browser",
        "studies": "compare, assess, repeat, reproduce",
        "estimator": "scikit-learn transformer",
    }),
    "making a release": ("#fbe3c3", {
        "pipeline": "anonymize: prepare, group, aggregate, verify, write",
        "release": "Settings, Release, manifests, notes, report", "runtime": "threads, Dask, spill",
    }),
    "grouping": ("#d5ecd0", {
        "methods": "published methods, the default search", "bounds": "proven lower bounds",
        "refine": "local search",
    }),
    "judging": ("#eadcf4", {
        "drawing": "pictures", "measures": "loss and risk", "problem": "what a method gets",
        "guarantees": "k, l, t, units",
    }),
    "data": ("#eeeeee", {
        "proposal": "roles to confirm", "datasets": "made-up and reference tables",
        "files": "formats, dialects, atomic commits",
        "table": "roles, kinds, encodings, aggregates",
        "kernels": "compiled functions on arrays", "formatting": "numbers and lists as text",
        "errors": "errors of users",
        "sentences": "texts that name settings",
    }),
}  # fmt: skip
"""Colour of each group of folders, and a few words on each folder."""


def draw_architecture(path: Path) -> None:
    """Draw the folders as layers, in the order that import-linter checks."""
    project = tomllib.loads((PICTURES.parent.parent / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [re.split(r" [|:] ", name) for name in layers]
    words = {name: text for _, names in GROUPS.values() for name, text in names.items()}
    shades = {name: shade for shade, names in GROUPS.values() for name in names}
    groups = {name: group for group, (_, names) in GROUPS.items() for name in names}
    height, gap, left, width = 30, 6, 150, 560
    lines, seen = [], ""
    for row, names in enumerate(rows):
        top, part = 10 + row * (height + gap), width / len(names)
        if groups[names[0]] != seen:
            seen = groups[names[0]]
            lines.append(f'<text x="{left - 14}" y="{top + 20}" text-anchor="end">{seen}</text>')
        for column, name in enumerate(names):
            start = left + column * part
            lines.append(
                f'<rect x="{start:.0f}" y="{top}" width="{part - gap:.0f}" height="{height}" '
                f'rx="6" fill="{shades[name]}"/><text x="{start + 12:.0f}" y="{top + 20}">'
                f'<tspan font-weight="bold">{name}</tspan>  {words[name]}</text>'
            )
    bottom = 10 + len(rows) * (height + gap)
    lines.append(f'<path d="M730 14 V{bottom - 14}" stroke="#555" marker-end="url(#tip)"/>')
    lines.append(f'<text x="742" y="{bottom // 2}" fill="#555">imports</text>')
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="4" refY="4" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>'
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {bottom}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{tip}{''.join(lines)}</svg>\n",
        "utf-8",
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
        for index, (title, table) in enumerate(
            (("before", before), ("after, k = 3", release.table))
        ):
            axes = figure.add_axes((0.01 + 0.54 * index, 0.02, 0.44, 0.9))
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
