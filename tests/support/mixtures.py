"""Made-up mixtures of well separated clusters, for whatever has to find them. Nothing here imports
microagg.
"""

import numpy as np


def mixture(
    seed: int, *, apart: float = 8.0, room: float = 2.0, uneven: float = 3.0
) -> tuple[np.ndarray, np.ndarray]:
    """Points and the centres of their clusters: 3 to 6 Gaussian clusters in 2 to 5 columns, with 5
    % uniform noise.

    Each cluster has a standard deviation of 1 in every column. Centres are drawn from a cube of
    side apart * room * c^(1/d), at least `apart` from each other; the largest cluster is expected
    to have up to `uneven` times the records of the smallest.
    """
    rng = np.random.default_rng(seed)
    c, d, n = int(rng.integers(3, 7)), int(rng.integers(2, 6)), int(rng.integers(300, 1501))
    side = room * apart * c ** (1.0 / d)
    centres: list[np.ndarray] = []
    tries = 0
    while len(centres) < c:
        drawn, tries = rng.uniform(0.0, side, d), tries + 1
        if tries > 2000:
            centres, tries, side = [], 0, 1.05 * side
        if all(np.linalg.norm(drawn - other) >= apart for other in centres):
            centres.append(drawn)
    shares = rng.uniform(1.0, uneven, c)
    noise = round(0.05 * n)
    labels = rng.choice(c, n - noise, p=shares / shares.sum())
    points = np.array(centres)[labels] + rng.normal(size=(n - noise, d))
    noisy = rng.uniform(points.min(axis=0), points.max(axis=0), (noise, d))
    return np.ascontiguousarray(np.vstack([points, noisy])[rng.permutation(n)]), np.array(centres)
