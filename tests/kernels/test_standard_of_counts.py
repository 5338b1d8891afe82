"""Groups judged by counts, against the kernel that judges them record by record: the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.guarantees.promise import Guarantees
from microagg.kernels.standard_of_counts import shortfall_of_counts
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

PROMISES = [
    {"l": 4}, {"l": 3.5, "diversity": "entropy"}, {"l": 3, "diversity": "recursive", "c": 0.7}, {"t": 0.05},
    {"l": 5, "t": 0.12}, {"units": 6},
]  # fmt: skip


@pytest.mark.parametrize("asked", PROMISES, ids=str)
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("atoms", [0, 1, 2])
def test_the_same_shortfall_to_the_bit(asked: dict, kind: Kind, atoms: int) -> None:
    rng = np.random.default_rng(atoms)
    lacking = 0
    for size in (1, 4, 30, 200):
        values = rng.geometric(0.2, 400).astype(np.float64)
        held = np.full(400, -1, np.int16)
        for atom in range(atoms):
            held[rng.random(400) < 0.2] = atom
        column = Attribute(
            "x", kind, values, atoms=held if atoms else None, marks=tuple(range(atoms))
        )
        promise = Guarantees.of(**asked)
        accept = promise.accept((column,), column)
        assert accept is not None
        records = rng.permutation(400)[:size]
        numbers, amounts = np.unique(column.codes[records], return_counts=True)
        found = shortfall_of_counts(numbers, amounts, 0, *accept.standard[1:])
        assert found == accept.shortfall(records)
        lacking += found > 0.0
    assert lacking, "there is something to be told"
