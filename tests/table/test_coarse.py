"""Ranges and ancestors of groups, one group after another."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from microagg.table.aggregates import SortedMembers
from microagg.table.coarse import ancestors, ranges, texts_of
from microagg.table.grouping import Groups
from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Kind
from microagg.table.variable import Variable

TREE = Hierarchy.of(
    [[str(n), f"{n // 3}x", f"{n // 6}y", "*"] for n in range(12)] + [["?", "?", "?", "*"]]
)


def members(variable: Variable, values: list[float], labels: list[int]) -> SortedMembers:
    column = np.array(values, np.float64)
    return SortedMembers(variable, column, Groups.of(np.array(labels)), column, 0, texts_of)


def shown(result: tuple[np.ndarray, Variable]) -> list[str | None]:
    places, variable = result
    assert (variable.kind, variable.coarse, variable.hierarchy) == (Kind.NOMINAL, True, None)
    assert len(set(variable.levels)) == len(variable.levels)
    return [variable.levels[int(number)] for number in places]


@pytest.mark.parametrize("seed", range(15))
def test_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.arange(5), rng.integers(0, 5, 12)]))
    values = rng.integers(-4, 5, 17).astype(float)
    expected = []
    for group in range(5):
        low, high = values[labels == group].min(), values[labels == group].max()
        expected.append(f"{low:g}" if low == high else f"{low:g}..{high:g}")
    assert shown(ranges(members(Variable("x"), values.tolist(), labels.tolist()))) == expected


def test_ranges_of_levels() -> None:
    grades = Variable("x", Kind.ORDINAL, ("low", "mid", "high"))
    result = ranges(members(grades, [0, 2, 1, 1, 2], [0, 0, 1, 1, 2]))
    assert shown(result) == ["low..high", "mid", "high"]


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.NOMINAL, Kind.ORDINAL])
@pytest.mark.parametrize("seed", range(10))
def test_ancestors(seed: int, kind: Kind) -> None:
    """The lowest node above all values of a group."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.arange(6), rng.integers(0, 6, 8)]))
    values = np.where(labels % 2, labels, rng.integers(0, 12, 14)).astype(float)
    levels = () if kind is Kind.NUMERIC else tuple(map(str, range(12)))
    variable = Variable("x", kind, levels, hierarchy=TREE)
    result = shown(ancestors(members(variable, values.tolist(), labels.tolist())))
    for group in range(6):
        paths = [TREE.path_of(str(int(value))) for value in values[labels == group]]
        assert result[group] == next(
            nodes[0] for nodes in zip(*paths, strict=True) if len(set(nodes)) == 1
        )


def test_ancestors_of_what_is_missing() -> None:
    variable = Variable("x", Kind.NOMINAL, ("0", "1", "7", None), hierarchy=TREE)
    result = ancestors(members(variable, [0, 1, 3, 3, 2, 3], [0, 0, 1, 1, 2, 2]))
    assert shown(result) == ["0x", None, "*"]
    assert result[1].levels[-1] is None


@pytest.mark.parametrize(
    ("variable", "number", "text"),
    [
        (Variable("x"), 30.0, "30"),
        (Variable("x"), -1.5, "-1.5"),
        (Variable("x"), 1e-7, "0.0000001"),
        (Variable("x", origin=2**60), 3.0, str(2**60 + 3)),
        (Variable("x", origin=Decimal("0.10")), 2.5, "2.6"),
        (Variable("x", single=True), float(np.float32(0.1)), "0.1"),
        (Variable("x", unit="D", origin=365), 1.0, "1971-01-02"),
        (Variable("x", unit="s", origin=0), 61.0, "1970-01-01T00:01:01"),
        (Variable("x", Kind.NOMINAL, (1.0, 2.5)), 1.0, "2.5"),
        (Variable("x", Kind.NOMINAL, (Decimal("2.50"),)), 0.0, "2.5"),
    ],
)
def test_values_as_people_write_them(variable: Variable, number: float, text: str) -> None:
    assert texts_of(variable, np.array([number])) == [text]
