"""Made-up persons: what a small household survey looks like. Nobody in it exists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from microagg.kernels import random

DISEASES = ("none", "asthma", "diabetes", "hypertension", "migraine", "depression", "cancer")
SHARES = (55, 9, 10, 14, 6, 4, 2)


def persons(n: int = 1000, seed: int = 1) -> pa.Table:
    """A table of n made-up persons: a number, age, income, rent, commuting distance, years of
    schooling, a diagnosis.

    >>> persons(3).column_names
    ['person', 'age', 'income', 'rent', 'commute_km', 'schooling', 'diagnosis']
    """
    state = random.seeded(seed, "persons")
    normal = _normals(state, 5 * n).reshape(n, 5)
    age = np.clip(np.rint(46 + 17 * normal[:, 0]), 18, 95).astype(np.int64)
    schooling = np.clip(np.rint(12 + 3 * normal[:, 1] - 0.02 * (age - 46)), 4, 22).astype(np.int64)
    logincome = 10.1 + 0.06 * (schooling - 12) - 0.0004 * (age - 50) ** 2 + 0.45 * normal[:, 2]
    income = np.rint(np.exp(logincome) / 10).astype(np.int64) * 10
    rent = np.round(0.2 * income / 12 + 220 + 120 * np.abs(normal[:, 3]), 2)
    commute = np.round(np.exp(1.9 + 0.9 * normal[:, 4]), 1)
    diagnosis = [DISEASES[_pick(random.below(state, sum(SHARES)))] for _ in range(n)]
    return pa.table(
        {
            "person": [f"P{number:05d}" for number in range(1, n + 1)],
            "age": age,
            "income": income,
            "rent": rent,
            "commute_km": commute,
            "schooling": schooling,
            "diagnosis": diagnosis,
        }
    )


def _pick(ticket: int) -> int:
    return int(np.searchsorted(np.cumsum(SHARES), ticket, side="right"))


def _normals(state: np.ndarray, n: int) -> np.ndarray:
    """Nearly normal numbers: twelve uniform ones added up, less six."""
    uniform = np.array([random.below(state, 1 << 32) for _ in range(12 * n)]) / float(1 << 32)
    return uniform.reshape(n, 12).sum(axis=1) - 6.0
