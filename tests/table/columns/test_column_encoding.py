"""Groups of a part of a table release what they release in the whole."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.table.aggregate import aggregated
from microagg.table.column_aggregate import WholeTable
from microagg.table.precision import Precision, precision_of
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


@pytest.mark.parametrize("precision", ["column", "full"])
@pytest.mark.parametrize("seed", range(20))
def test_parts_release_what_the_whole_does(seed: int, precision: str) -> None:
    rng = np.random.default_rng(seed)
    groups, records = 60, 300
    labels = np.sort(rng.integers(0, groups, records))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    values = np.column_stack(
        [
            np.rint(rng.lognormal(3.0, 2.0, records)),
            rng.integers(0, 20, records),
            rng.integers(0, 4, records),
        ]
    ).astype(float)
    atoms = np.full(values.shape, -1, np.int16)
    gaps = rng.random(records) < 0.3
    values[gaps, 1], atoms[gaps, 1] = np.nan, rng.integers(0, 2, int(gaps.sum()))
    variables = (
        Variable("a"),
        Variable("b", marks=(97, None)),
        Variable("c", Kind.NOMINAL, ("x", "y", "z", None)),
    )
    cells = Cells(variables, values, atoms)
    weights = rng.choice([0.1, 0.3, 0.7, 1.1], records)
    weights[np.flatnonzero(gaps)[0]] = (
        37.3  # the heaviest of all counts, also for a column in which it has a gap
    )
    expected = aggregated(cells, labels, k=3, weights=weights, precision=precision)
    whole = WholeTable(
        (
            precision_of(variables[0], values[:, 0]),
            precision_of(variables[1], values[:, 1]),
            Precision(),
        ),
        (None, None, np.bincount(values[:, 2].astype(int), minlength=4)),
        (None, np.bincount(atoms[gaps, 1], minlength=2), None),
        float(weights.max()),
    )
    for part in np.array_split(np.arange(int(labels.max()) + 1), 5):
        rows = np.isin(labels, part)
        part_labels = np.unique(labels[rows], return_inverse=True)[1].astype(np.int32)
        result = aggregated(
            cells.rows(rows),
            part_labels,
            k=3,
            weights=weights[rows],
            whole=whole,
            precision=precision,
        )
        assert np.array_equal(result.cells.values, expected.cells.values[rows], equal_nan=True)
        part_atoms = (
            np.full((int(rows.sum()), 3), -1) if result.cells.atoms is None else result.cells.atoms
        )
        assert np.array_equal(part_atoms, expected.cells.atoms[rows])
        assert result.decimals == expected.decimals
