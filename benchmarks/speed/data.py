"""The two clouds on which speed is measured, z-scored and seeded."""

from __future__ import annotations

import numpy as np


def gaussian(n: int) -> np.ndarray:
    """G(n): correlated Gaussian, ten columns; the last five are 0.7 times the first five plus 0.3
    times noise.
    """
    rng = np.random.default_rng(0)
    first = rng.standard_normal((n, 5))
    return _z_scores(np.hstack([first, 0.7 * first + 0.3 * rng.standard_normal((n, 5))]))


def lognormal(n: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """L(n): lognormal, eight columns; six factors through a random 6 x 8 matrix."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 6))
    return _z_scores(np.exp(factors @ (scale * rng.standard_normal((6, 8)))))


def _z_scores(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((x - x.mean(axis=0)) / x.std(axis=0))
