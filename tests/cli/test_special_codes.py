"""Special codes such as 97 are proposed where they stand apart from all other numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import microagg as ma
from cli.conftest import Microagg
from microagg.table.columns.special_codes import special_codes_among

RNG = np.random.default_rng(5)
AGES = [*map(int, RNG.integers(18, 96, 1000))]
HOURS = [*map(int, RNG.integers(5, 60, 960))]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (HOURS + [97] * 40, (97,)),
        (HOURS + [97] * 30 + [98] * 10, (97, 98)),
        (HOURS + [99] * 40, (99,)),
        (HOURS + [-1] * 40, (-1,)),
        (HOURS + [-9] * 20 + [-8] * 20, (-9, -8)),
        ([hours * 10 for hours in HOURS] + [998] * 40, (998,)),
        (HOURS + [97] * 4, ()),  # too few records
        (HOURS + [80] * 40, ()),  # no conventional code
        (HOURS + [97] * 40 + [120], ()),  # not the largest
        (HOURS + [97] * 40 + [-50], (97,)),
        (HOURS + [-1] * 40 + [-50], ()),  # negative numbers of another kind
        (AGES, ()),
        (AGES + [97] * 5 + [99], ()),  # as old as that some are
        (list(range(1000)), ()),
        ([1, 2, 3, 4, 97] * 200, ()),  # codes themselves, which is asked about
        ([], ()),
    ],
)
def test_codes_stand_apart_and_are_frequent(values: list[int], codes: tuple[int, ...]) -> None:
    different, counts = np.unique(np.array(values, np.float64), return_counts=True)
    assert special_codes_among(different, counts) == codes
    order = RNG.permutation(len(different))
    assert special_codes_among(different[order], counts[order]) == codes


def test_households_are_proposed_with_their_codes(microagg: Microagg, tmp_path: Path) -> None:
    table = ma.datasets.households(1000)
    proposal = ma.propose(table)
    assert proposal.settings(k=5)["special"] == {"hours": [97, 98], "age_first_job": [97, 98]}
    assert "hours (97, 98); age_first_job (97, 98)" in str(proposal)
    release = ma.anonymize(table, **proposal.settings(k=5), effort="quick", seed=1)
    after = release.table.column("hours").drop_null().to_pylist()
    rest = [value for value in after if value not in (97, 98)]
    assert 97 in after
    assert max(rest) <= 64, "no mean includes a code"
    pc.write_csv(table, tmp_path / "in.csv")
    assert "--special hours=97,98 --special age_first_job=97,98" in proposal.command("a", "b", 5)
    shown = microagg("anonymize", tmp_path / "in.csv", tmp_path / "out.csv", "--k", "5")
    assert "--special hours=97,98 --special age_first_job=97,98" in shown.out.replace("\n", " ")
    written = microagg("propose", tmp_path / "in.csv")
    assert "[special]" in written.out
    assert "hours = [97, 98]" in written.out


def test_codes_of_columns_that_are_left_out_are_not_named() -> None:
    table = pa.table({"age": AGES, "person_id": [*range(1000, 1960), *[9999] * 40]})
    assert "special" not in ma.propose(table).settings(k=3)
