"""Made-up mixed tables and slow releases of them: numbers with gaps and codes, dates, ordered and
plain categories.

Nothing here uses a formula of microagg: a release is made record by record, and `words` says what
each cell stands for.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

SCHOOL = ("none", "primary", "secondary", "never seen", "university")
TOWNS = ("Ästad", "Bonn", "NA", "Rom", "rom", None)


def mixed_cells(seed: int, n: int = 40) -> Cells:
    """A number with gaps and a code, a whole number without, a date, an ordered column with gaps, a
    plain one.
    """
    rng = np.random.default_rng([15, seed])
    variables = (
        Variable("income", marks=(97.0, None)),
        Variable("age"),
        Variable("born", origin=10_957 + seed, unit="D"),
        Variable("school", Kind.ORDINAL, levels=SCHOOL, marks=(None,)),
        Variable("town", Kind.NOMINAL, levels=TOWNS),
    )
    values = np.column_stack(
        [
            rng.integers(0, 50, n) * 10.0,
            rng.integers(18, 90, n) * 1.0,
            rng.integers(0, 9_000, n) * 1.0,
            rng.choice([0.0, 1.0, 2.0, 4.0], n),
            rng.choice(6, n, p=[0.1, 0.3, 0.2, 0.2, 0.1, 0.1]) * 1.0,
        ]
    )
    atoms = np.full(values.shape, NO_ATOM, np.int16)
    atoms[:, 0] = rng.choice([NO_ATOM, 0, 1], n, p=[0.7, 0.1, 0.2])
    atoms[:, 3] = rng.choice([NO_ATOM, 0], n, p=[0.8, 0.2])
    values[atoms != NO_ATOM] = np.nan
    return Cells(variables, values, atoms)


def mixed_groups(seed: int, n: int = 40, k: int = 4) -> np.ndarray:
    """The group of each record, k to 2k - 1 in each, at random."""
    order = np.random.default_rng([16, seed]).permutation(n)
    labels = np.empty(n, np.int32)
    for group, records in enumerate(np.array_split(order, n // k)):
        labels[records] = group
    return labels


def released_cells(cells: Cells, labels: np.ndarray) -> Cells:
    """Each cell at its group's rounded mean, lower median or mode; its most frequent atom where
    values are not more than half.
    """
    assert cells.atoms is not None
    values, atoms = cells.values.copy(), cells.atoms.copy()
    for group in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == group)
        for j, variable in enumerate(cells.variables):
            present = [i for i in rows if cells.atoms[i, j] == NO_ATOM]
            ascending = sorted(cells.values[i, j] for i in present)
            if 2 * len(present) <= len(rows):
                marks = Counter(cells.atoms[i, j] for i in rows if cells.atoms[i, j] != NO_ATOM)
                values[rows, j], atoms[rows, j] = np.nan, marks.most_common(1)[0][0]
                continue
            if variable.kind is Kind.NUMERIC:
                value = float(round(math.fsum(ascending) / len(ascending)))
            elif variable.kind is Kind.ORDINAL:
                value = ascending[(len(ascending) - 1) // 2]
            else:
                value = max(
                    ascending, key=lambda code, ascending=ascending: (ascending.count(code), -code)
                )
            values[rows, j], atoms[rows, j] = value, NO_ATOM
    return Cells(cells.variables, values, atoms)


def words(cells: Cells) -> list[tuple[Any, ...]]:
    """Return what the cells of each record stand for."""
    result = []
    for i in range(len(cells)):
        row = []
        for j, variable in enumerate(cells.variables):
            atom = NO_ATOM if cells.atoms is None else cells.atoms[i, j]
            if atom != NO_ATOM:
                row.append(("atom", variable.marks[atom]))
            elif variable.levels:
                row.append(variable.levels[int(cells.values[i, j])])
            else:
                counted = float(cells.values[i, j]) + float(variable.origin)
                row.append(counted / 86_400 if variable.unit == "s" else counted)  # times in days
        result.append(tuple(row))
    return result
