"""Top- and bottom-coding: what is beyond a limit becomes it, and a percentile is no value of one
record.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from microagg.errors import InputError
from microagg.table.cap_parameter import Caps
from microagg.table.capping import cap_cells, cap_values, limit_of
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

CAP = Caps("cap", "")


@pytest.mark.parametrize(
    ("cap", "parsed"),
    [
        (None, {}),
        ({}, {}),
        ({"income": "99.5%"}, {"income": (None, "99.5%")}),
        ({"income": 50000}, {"income": (None, 50000.0)}),
        ({"income": (None, "99%")}, {"income": (None, "99%")}),
        ({"income": ["1%", 7]}, {"income": ("1%", 7.0)}),
        ({0: 3}, {"0": (None, 3.0)}),
        ("income=99.5%", {"income": (None, "99.5%")}),
        (
            ["a=b=5", "rent=:7", "age=-3:"],
            {"a=b": (None, 5.0), "rent": (None, 7.0), "age": (-3.0, None)},
        ),
    ],
)
def test_what_a_cap_may_be(cap: Any, parsed: dict[str, Any]) -> None:
    assert CAP.parse(cap) == parsed
    assert CAP.parse(json.loads(json.dumps(CAP.parse(cap)))) == parsed, (
        "as a manifest gives it back"
    )


@pytest.mark.parametrize(
    "cap",
    [5, "income", ["income"], {"income": None}, {"income": True}, {"income": "much"},
     {"income": "nan"}, {"income": (1, 2, 3)},
     {"income": "0%"}, {"income": "100%"}, {"income": "40%"}, {"income": ("60%", None)},
     {"income": (5, 5)}, {"": 5},
     {"income": float("inf")}, {"income": ()}, ["a=1", "a=2"], {"income": {"high": 3}}, b"a=1"],
)  # fmt: skip
def test_what_it_may_not_be(cap: Any) -> None:
    with pytest.raises(InputError, match="cap"):
        CAP.parse(cap)


@pytest.mark.parametrize("seed", range(40))
def test_a_percentile_against_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    column = np.round(rng.lognormal(8.0, 1.0, int(rng.integers(3, 300))), 2) * rng.choice(
        [1.0, -1.0]
    )
    share = float(rng.uniform(50.0, 99.9))
    ordered = sorted(column.tolist())
    index = int((len(ordered) - 1) * share / 100.0)
    high = limit_of(column, f"{share:.12g}%", top=True)
    low = limit_of(-column, f"{100.0 - share:.12g}%", top=False)
    assert high is not None
    assert low == -high, "one end is the mirror image of the other"
    median = ordered[(len(ordered) - 1) // 2]
    assert median <= high <= ordered[index]
    assert ordered[index] - high <= (ordered[index] - median) / 10.0
    digits = f"{ordered[index] - median:.1e}"
    step = 10.0 ** (int(digits.partition("e")[2]) - 1)
    assert abs(high / step - round(high / step)) < 1e-6 or step > ordered[index] - median


def test_years_keep_their_years() -> None:
    """Two digits of 1998 would be 1900, below every value there is."""
    years = np.arange(1950.0, 2000.0)
    assert limit_of(years, "99%", top=True) == 1998.0
    assert limit_of(years, "1%", top=False) == 1951.0


def test_the_largest_of_few_is_capped_too() -> None:
    values = np.array([[3000.0], [3100.0], [2900.0], [10_000_000.0]])
    capped, done = cap_values(values, ["income"], {"income": (None, "99.5%")})
    assert capped.max() <= 3100.0
    assert values.max() == 10_000_000.0, "what was given is left as it was"
    assert (done["income"].above, done["income"].below) == (1, 0)


def test_limits_on_both_ends() -> None:
    values = np.column_stack([np.arange(10.0), np.arange(10.0)])
    capped, done = cap_values(values, ["a", "b"], {"b": (2.0, 7.5)})
    assert capped[:, 1].tolist() == [2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 7.5]
    assert capped[:, 0].tolist() == values[:, 0].tolist()
    assert done["b"].as_data() == {"low": 2.0, "high": 7.5, "below": 2, "above": 2}
    with pytest.raises(InputError, match="leaves no value"):
        cap_values(values, ["a", "b"], {"a": ("50%", 1.0)})
    with pytest.raises(InputError, match="is not quasi-identifying"):
        cap_values(values, ["a", "b"], {"c": (None, 1.0)})


class TestCells:
    @pytest.mark.parametrize("limits", [(None, "90%"), ("10%", "90%"), (None, 40.0), (5.0, 40.0)])
    def test_atoms_stay_and_do_not_count(self, limits: tuple[Any, Any]) -> None:
        rng = np.random.default_rng(7)
        known = np.round(rng.lognormal(3.0, 1.0, 200))
        gone = np.arange(200) % 5 == 0
        atoms = np.where(gone, 0, -1).astype(np.int16).reshape(-1, 1)
        column = np.where(gone, np.nan, known).reshape(-1, 1)
        cells = Cells((Variable("wage", marks=(None,)),), column, atoms)
        capped, done = cap_cells(cells, {"wage": limits})
        expected, counts = cap_values(known[~gone].reshape(-1, 1), ["wage"], {"wage": limits})
        assert done == counts
        assert capped.values[~gone].tolist() == expected.tolist()
        assert np.isnan(capped.values[gone]).all()
        assert capped.atoms is atoms
        assert np.isnan(cells.values[gone]).all(), "what was given is left as it is"
        assert cells.values[~gone, 0].tolist() == known[~gone].tolist(), (
            "what was given is left as it is"
        )

    def test_a_column_of_nothing_but_atoms(self) -> None:
        cells = Cells(
            (Variable("wage", marks=(None,)),), np.full((3, 1), np.nan), np.zeros((3, 1), np.int16)
        )
        capped, done = cap_cells(cells, {"wage": ("1%", "99%")})
        assert (done["wage"].below, done["wage"].above) == (0, 0)
        assert np.isnan(capped.values).all()

    def test_numbers_that_are_differences(self) -> None:
        cells = Cells((Variable("year", origin=1900),), np.array([[0.0], [50.0], [99.0]]))
        capped, done = cap_cells(cells, {"year": (None, 1960.0)})
        assert capped.values[:, 0].tolist() == [0.0, 50.0, 60.0]
        assert done["year"].high == 1960.0

    def test_nothing_asked_for(self) -> None:
        cells = Cells.plain(np.ones((2, 1)), ["a"])
        assert cap_cells(cells, {})[0] is cells

    @pytest.mark.parametrize(
        ("variable", "why"),
        [
            (Variable("a", Kind.NOMINAL, ("x", "y")), "which is nominal"),
            (Variable("a", Kind.ORDINAL, ("x", "y")), "which is ordinal"),
            (Variable("a", unit="D"), "which holds times"),
        ],
    )
    def test_what_cannot_be_capped(self, variable: Variable, why: str) -> None:
        with pytest.raises(InputError, match=f"cap names 'a', {why}"):
            cap_cells(Cells((variable,), np.zeros((2, 1))), {"a": (None, 1.0)})


def test_one_value_may_be_all_that_a_cap_leaves() -> None:
    values, done = cap_values(np.array([[1.0], [5.0], [9.0]]), ["income"], {"income": (5.0, 5.0)})
    assert values[:, 0].tolist() == [5.0, 5.0, 5.0]
    assert (done["income"].below, done["income"].above) == (1, 1)


def test_a_schema_takes_a_limit_or_a_pair() -> None:
    limit, pair = Caps("cap", "").json_schema["additionalProperties"]["anyOf"]
    assert limit == {"type": ["number", "string"]}
    assert pair == {"type": "array", "items": limit, "minItems": 2, "maxItems": 2}
