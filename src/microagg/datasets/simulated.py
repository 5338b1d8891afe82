"""The simulated data of Mortazavi, Jalili and Gohargazi 2013, section 5.1, as they state them;
seeded.

Sim-1: 100 records, 10 columns, uniform on [-1000, 1000]. Sim-2: 5 clusters of 20 records in 4 to 8
columns; a cluster's centre is uniform on [0, 1] in every column, its records are normal around it
with one deviation for all columns, uniform on [0.1, 0.3]. Sim-3: the same with centres on [0, 2].
The paper makes 25 data sets of each; the number says which. And its two examples in the plane: 200
uniform records (figure 6) and 10,000 normal ones (figure 7).

As stated, Sim-3 does not give the printed figures; with the variance drawn from [0.1, 0.3] in place
of the deviation (`spread="variance"`) it does, within the error of 25 data sets.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.errors import InputError
from microagg.kernels import random

NAMES = ("Sim-1", "Sim-2", "Sim-3", "Uniform200x2", "Gaussian10000x2")
DATA_SETS = 25


def simulated(name: str, number: int = 0, seed: int = 0, spread: str = "deviation") -> np.ndarray:
    """One of the simulated data sets; `spread` says what is uniform on [0.1, 0.3] in Sim-2 and
    Sim-3.

    >>> simulated("Sim-1").shape, simulated("Sim-2", number=3).shape[0]
    ((100, 10), 100)
    """
    if name not in NAMES:
        raise InputError(f"there is no simulated data set {name!r}; there are {', '.join(NAMES)}.")
    state = random.seeded(seed, name, number)
    if name == "Sim-1":
        return 2000.0 * uniforms(state, 1000).reshape(100, 10) - 1000.0
    if name == "Uniform200x2":
        return uniforms(state, 400).reshape(200, 2)
    if name == "Gaussian10000x2":
        return normals(state, 20_000).reshape(10_000, 2)
    return _clusters(state, 1.0 if name == "Sim-2" else 2.0, spread)


def _clusters(state: np.ndarray, side: float, spread: str) -> np.ndarray:
    d = 4 + int(random.below(state, 5))
    parts = []
    for _ in range(5):
        centre = side * uniforms(state, d)
        drawn = 0.1 + 0.2 * uniforms(state, 1)[0]
        deviation = math.sqrt(drawn) if spread == "variance" else drawn
        parts.append(centre + deviation * normals(state, 20 * d).reshape(20, d))
    return np.concatenate(parts)


def uniforms(state: np.ndarray, n: int) -> np.ndarray:
    """n numbers, uniform on [0, 1)."""
    return np.array([random.below(state, 1 << 53) for _ in range(n)]) / float(1 << 53)


def normals(state: np.ndarray, n: int) -> np.ndarray:
    """n standard normal numbers, by the polar method of Box and Muller as Marsaglia has it."""
    found: list[float] = []
    while len(found) < n:
        u, v = (2.0 * uniforms(state, 2) - 1.0).tolist()
        s = u * u + v * v
        if 0.0 < s < 1.0:
            factor = math.sqrt(-2.0 * math.log(s) / s)
            found += [u * factor, v * factor]
    return np.array(found[:n])
