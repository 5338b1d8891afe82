"""An independent checker agrees with our k, l and t."""

from __future__ import annotations

import copy

import pytest

from measures.risk.compare_with_pycanon import RELEASES, compare, differences, write_releases


@pytest.mark.slow
def test_pycanon_agrees_on_random_releases(pycanon, tmp_path):
    ours, theirs = compare(pycanon, tmp_path)
    assert len(ours) == RELEASES
    assert differences(ours, theirs) == []


def test_the_comparison_sees_what_differs(tmp_path):
    ours = write_releases(tmp_path, 6)
    assert len(list(tmp_path.glob("*.csv"))) == 6
    theirs = copy.deepcopy(ours)
    for figures in theirs.values():
        figures["entropy l"] = {
            name: float(int(x + 1e-9)) for name, x in figures["entropy l"].items()
        }
    assert differences(ours, theirs) == []
    first, *_ = theirs.values()
    first["k"] += 1.0
    first["distinct l"]["wage"] += 1.0
    first["entropy l"]["disease"] += 1.0
    first["t"]["children"] += 1e-6
    assert len(differences(ours, theirs)) == 4
