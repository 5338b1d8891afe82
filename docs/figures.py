"""Draws the pictures of the docs: `python docs/figures.py`.

The two examples in the plane of Mortazavi, Jalili and Gohargazi 2013 (figures 6 and 7), on our own seeded data.
"""

from __future__ import annotations

from pathlib import Path

import microagg as ma
from microagg.datasets.simulated import simulated
from microagg.drawing.groups import draw_groups

PICTURES = Path(__file__).parent / "pictures"
EXAMPLES = (("Uniform200x2", 35, 1), ("Gaussian10000x2", 1111, 2))


def main() -> None:
    """Draw every picture anew."""
    PICTURES.mkdir(exist_ok=True)
    for data, k, npb in EXAMPLES:
        points = simulated(data)
        for method, params in (("mdav", {}), ("imhm", {"npb": npb})):
            labels = ma.partition(points, k=k, method=method, **params)
            draw_groups(points, labels, PICTURES / f"{data.lower()}-{method}.png", f"{method}, k = {k}")


if __name__ == "__main__":
    main()
