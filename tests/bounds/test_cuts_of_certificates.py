"""Sets of records that a cut of a certificate may have."""

from __future__ import annotations

from typing import Any

import pytest

from microagg import verify_bound

FORM = "microagg-bound/2"


@pytest.mark.parametrize(("size", "p"), [(2, 2), (3, 2), (3, 3), (10, 4), (998, 2), (999, 7)])
def test_sets_of_p_or_more_are_cuts(size: int, p: int) -> None:
    records = list(range(1, size + 1))
    cut = {"records": records, "p": p, "penalty": 0.25}
    assert verify_bound._cut(cut, size + 1, FORM) == (records, p, 0.25)


def test_cuts_of_the_first_form_have_parts_of_two() -> None:
    cut = {"records": [0, 1, 2], "penalty": 0.25}
    assert verify_bound._cut(cut, 3, "microagg-bound/1") == ([0, 1, 2], 2, 0.25)


@pytest.mark.parametrize(
    "cut",
    [
        *(
            {"records": list(range(size)), "p": p, "penalty": 0.5}
            for size, p in ((0, 2), (1, 2), (2, 3), (3, 1), (3, 0), (3, -2), (1000, 2), (1001, 3))
        ),
        {"records": [0, 1, 1], "p": 2, "penalty": 0.5},
        {"records": [0, 1, 2000], "p": 2, "penalty": 0.5},
        {"records": [0, 1, -1], "p": 2, "penalty": 0.5},
        {"records": [0, 1, True], "p": 2, "penalty": 0.5},
        {"records": [0, 1, 2], "p": 2.0, "penalty": 0.5},
        {"records": [0, 1, 2], "p": True, "penalty": 0.5},
        {"records": [0, 1, 2], "penalty": 0.5},
        {"records": [0, 1, 2], "p": 2, "penalty": -0.5},
        {"records": [0, 1, 2], "p": 2, "penalty": float("nan")},
        {"records": [0, 1, 2], "p": 2},
        {"p": 2, "penalty": 0.5},
    ],
    ids=lambda cut: f"{str(cut)[:40]}-{len(str(cut))}",
)
def test_what_is_no_cut_is_refused(cut: dict[str, Any]) -> None:
    with pytest.raises(verify_bound._RejectedError):
        verify_bound._cut(cut, 2000, FORM)
