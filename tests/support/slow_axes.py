"""The encoding of mixed tables by the book: plain Python, a cell at a time. Nothing here imports
microagg.

A cell is a number (or a level's place), or an atom as ("atom", which). `axes_of` gives a function
from a cell to its coordinates.
"""

import bisect
import math
import statistics
from collections import Counter

QUARTILES = 1.349
DAY = {"": 1.0, "D": 1.0, "s": 86400.0, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}


def is_atom(cell):
    return isinstance(cell, tuple)


def midrank(values, x):
    """The mean place of x among the values; between two values, between their places."""
    distinct = sorted(set(values))
    places = {
        v: sum(other < v for other in values) + (1 + sum(other == v for other in values)) / 2
        for v in distinct
    }
    if x in places:
        return places[x]
    after = bisect.bisect(distinct, x)
    low, high = distinct[after - 1], distinct[after]
    return places[low] + (x - low) / (high - low) * (places[high] - places[low])


def scaling(values, scale, unit):
    """Return the function that scales a number."""
    if len(set(values)) == 1:
        return lambda x: x - values[0]
    if scale == "rank":
        ranks = [midrank(values, x) for x in values]
        centre, width = statistics.fmean(ranks), statistics.pstdev(ranks)
        return lambda x: (midrank(values, x) - centre) / width
    if scale == "zscore":
        centre, width = statistics.fmean(values), statistics.pstdev(values)
    elif scale == "minmax":
        centre, width = min(values), max(values) - min(values)
    elif scale == "robust":
        lower, centre, upper = statistics.quantiles(values, n=4, method="inclusive")
        width = upper - lower or statistics.pstdev(values)
    else:
        centre, width = 0.0, DAY[unit]
    return lambda x: (x - centre) / width


def axes_of(column, kind, scale, importance=1.0, unit="", paths=None):
    """A function from a cell to its coordinates; `paths` has a path for each level of a nominal
    column, None for missing.
    """
    if kind == "nominal":
        return _categories(column, scale, importance, paths)
    values = [cell for cell in column if not is_atom(cell)]
    if len(values) < len(column) and len(set(values)) <= 1:
        return _categories(
            ["value" if not is_atom(cell) else cell for cell in column], scale, importance, None
        )
    scaled = scaling(values, scale, unit)
    home = statistics.fmean([scaled(x) for x in values])
    variance = (
        1 / QUARTILES**2 if scale == "robust" else statistics.pvariance([scaled(x) for x in values])
    )
    atoms = sorted({cell for cell in column if is_atom(cell)})

    def raw(cell):
        atom_axes = [math.sqrt(variance) if cell == atom else 0.0 for atom in atoms]
        return [home if is_atom(cell) else scaled(cell), *atom_axes]

    together = atoms and scale in ("zscore", "rank")
    factor = math.sqrt(
        importance / (total_variance([raw(cell) for cell in column]) if together else 1.0)
    )
    return lambda cell: [factor * x for x in raw(cell)]


def _categories(column, scale, importance, paths):
    def raw(cell):
        # a number, where all other values are equal
        if cell not in column and not isinstance(cell, int):
            cell = "value"
        path = [cell]
        if paths is not None:
            depth = len(next(path for path in paths if path is not None))
            path = [("missing", level) for level in range(depth - 1)]
            path = path if paths[int(cell)] is None else list(paths[int(cell)][:-1])
        return set(enumerate(path))

    nodes = sorted({node for cell in column for node in raw(cell)}, key=repr)
    levels = 1 + max(level for level, _ in nodes)
    plain = [[float(node in raw(cell)) for node in nodes] for cell in column]
    if len(set(column)) == 1:
        return lambda cell: [0.0]
    if scale in ("minmax", "none"):
        square = 1 / (2 * levels)  # e_v / √2, shared among the levels
    else:
        square = 1 / total_variance(plain) / (QUARTILES**2 if scale == "robust" else 1.0)
    factor = math.sqrt(importance * square)
    return lambda cell: [factor * (node in raw(cell)) for node in nodes]


def total_variance(vectors):
    return sum(statistics.pvariance(axis) for axis in zip(*vectors, strict=True))


def squared(x, y):
    return math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def within(vectors, labels):
    """The squared distances to the centroids of the groups."""
    total = []
    for group in Counter(labels):
        members = [vector for vector, label in zip(vectors, labels, strict=True) if label == group]
        centroid = [math.fsum(axis) / len(members) for axis in zip(*members, strict=True)]
        total += [squared(member, centroid) for member in members]
    return math.fsum(total)
