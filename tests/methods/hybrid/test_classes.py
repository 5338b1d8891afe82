"""Classes of confidential values where some are missing or special codes."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.kernels import random
from microagg.methods.hybrid.classes import ConfidentialClasses, _as_points
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.ORDINAL])
def test_atoms_lie_at_the_mean_and_aside(kind):
    atoms = np.array([-1, 0, -1, 1, -1, 0])
    values = np.where(atoms < 0, [2.0, 0, 6, 0, 4, 0], np.nan if kind is Kind.NUMERIC else 9)
    column = Attribute("x", kind, values, atoms=atoms, marks=("refused", None))
    side = 0.5**0.5
    expected = [[0, 0, 0], [0.5, side, 0], [1, 0, 0], [0.5, 0, side], [0.5, 0, 0], [0.5, side, 0]]
    assert _as_points((column,)).tolist() == expected


@pytest.mark.parametrize("known", [0, 1, 30])
def test_gaps_are_a_class_like_others(known):
    values = np.where(
        np.arange(60) < 30, np.nan, np.minimum(np.arange(60), 29 + known) if known else np.nan
    )
    column = Attribute(
        "x", Kind.NUMERIC, values, atoms=np.where(np.isnan(values), 0, -1), marks=(None,)
    )
    classes = ConfidentialClasses((column,)).of(np.arange(60), random.seeded(0))
    assert len(set(classes[:30].tolist())) == 1
    assert (classes.max() > 0) == (known > 0)
