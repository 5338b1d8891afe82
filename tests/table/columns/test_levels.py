"""Levels of categories: their order, the rank of each value, special codes and gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.columns.distinct import distinct
from microagg.table.columns.levels import Levels, ValueCounts, gap_among, levels_of, with_gaps
from microagg.table.columns.parsed_numbers import Codes
from microagg.table.schema import Column, Kind, Role


def made(
    values: list[Any] | pa.Array,
    kind: Kind = Kind.ORDINAL,
    *,
    levels: tuple[Any, ...] | None = None,
    special: tuple[Any, ...] = (),
    na: tuple[str, ...] = (),
    spelled: bool = False,
) -> tuple[Levels, list[float], list[int] | None]:
    """The levels of a column, the rank of each cell and the atom of each cell."""
    column = pa.chunked_array([values if isinstance(values, pa.Array) else pa.array(values)])
    different = distinct(column)
    result = levels_of(
        ValueCounts.of_chunk(different),
        pa.field("x", column.type),
        Column("x", Role.QUASI, kind, levels=levels),
        Codes("x", special, na),
        spelled=spelled,
    )
    ranks, atoms = result.cells_of(different)
    return result, ranks.tolist(), None if atoms is None else atoms.tolist()


def same(ranks: list[float], expected: list[float | None]) -> bool:
    return [None if math.isnan(rank) else rank for rank in ranks] == expected


def test_counts_of_parts_are_those_of_the_whole() -> None:
    parts = [["b", None, "a", "b"], ["c", "a"], [None, None]]
    together = ValueCounts()
    for part in parts:
        together = together.combine(
            ValueCounts.of_chunk(distinct(pa.chunked_array([pa.array(part, pa.string())])))
        )
    whole = ValueCounts.of_chunk(distinct(pa.chunked_array(parts, pa.string())))
    assert together == whole
    assert whole.values == ["b", "a", "c"]
    assert whole.all_counts.tolist() == [2, 2, 1, 3]


def test_declared_orders_of_parts_are_joined() -> None:
    one, two = ValueCounts({"a": 1}, order=["a", "b"]), ValueCounts({"c": 2}, order=["b", "c"])
    assert one.combine(two).order == ["a", "b", "c"]
    assert ValueCounts({}, order=["a"]).combine(ValueCounts({})).order == ["a"]
    assert ValueCounts({}).combine(ValueCounts({}, order=["a"])).order is None


def test_levels_are_in_the_order_of_values() -> None:
    levels, ranks, atoms = made(["b", "a", None, "c", "a"])
    assert levels.variable.levels == ("a", "b", "c")
    assert same(ranks, [1, 0, None, 2, 0])
    assert atoms == [-1, -1, 0, -1, -1]
    assert made(["b", "a"])[2] is None


def test_levels_of_an_ordered_type_are_in_its_order() -> None:
    categories = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None, 2], pa.int8()), pa.array(["low", "mid", "high"]), ordered=True
    )
    levels, ranks, atoms = made(categories)
    assert levels.variable.levels == ("low", "mid", "high")
    assert same(ranks, [2, 0, None, 2])
    assert atoms == [-1, -1, 0, -1]
    nominal, ranks, _ = made(categories, Kind.NOMINAL)
    assert nominal.variable.levels == ("low", "high", None)
    assert ranks == [1, 0, 2, 1]
    special, ranks, atoms = made(categories, special=("low",))
    assert special.variable.levels == ("mid", "high")
    assert same(ranks, [1, None, None, 1])
    assert atoms == [-1, 0, 1, -1]


def test_declared_levels() -> None:
    levels, ranks, _ = made(["hi", "lo", "hi"], levels=("lo", "mid", "hi"))
    assert levels.variable.levels == ("lo", "mid", "hi")
    assert same(ranks, [2, 0, 2])
    levels, ranks, _ = made([10, 9, 10], levels=("9", "10"))
    assert levels.variable.levels == (9, 10)
    assert same(ranks, [1, 0, 1])
    for values, records in ((["a", "b", "c", "c"], "3 of its records have"), (["a", "c"], "has")):
        with pytest.raises(ma.InputError, match=f"lacks values that .*{records}"):
            made(values, levels=("a",))
    assert same(made(["a", "?", None], levels=("a",), special=("?",))[1], [0, None, None])
    assert same(made(["a", "?", None], levels=("a",), na=("?",))[1], [0, None, None])
    with pytest.raises(ma.InputError, match="lacks values that 1"):
        made(["a", "1.0"], levels=("a", "1"))


def test_special_codes_and_gaps_are_told_apart() -> None:
    values = [1, 97, 2, None, 98, 97]
    levels, ranks, atoms = made(values, special=(98, 97, 99))
    assert levels.variable.levels == (1, 2)
    assert same(ranks, [0, None, 1, None, None, None])
    assert atoms == [-1, 1, -1, 3, 0, 1]
    levels, ranks, atoms = made(values, special=(97,), na=("98",))
    assert atoms == [-1, 0, -1, 1, 1, 0]
    assert same(ranks, [0, None, 1, None, None, None])
    assert made([1, 2], special=(97,))[2] is None, "a code that does not occur"
    _, _, atoms = made([1, 97], special=(97,), na=("97",))
    assert atoms == [-1, 1], "what means missing is no special code"
    _, _, atoms = made([1, 97], special=(97, "97"))
    assert atoms == [-1, 0], "the first of two that fit"


def test_the_usual_spelling_of_a_gap() -> None:
    values = ["a", "?", ".", ".", "a"]
    assert made(values, na=("?", "."), spelled=True)[0].variable.gap == "."
    assert made(values, na=("?", "."))[0].variable.gap is None
    assert made(values, Kind.NOMINAL, na=("?", "."), spelled=True)[0].variable.gap == "."
    assert made(["a", "?", None, None], na=("?",), spelled=True)[0].variable.gap is None
    assert made(["a", "b"], na=("?",), spelled=True)[0].variable.gap is None
    assert gap_among(ValueCounts({"?": 2}, 2)) is None
    assert gap_among(ValueCounts({"?": 3, "-": 3}, 2)) == "?"


def test_categories() -> None:
    levels, ranks, atoms = made(["b", None, "a", "?"], Kind.NOMINAL, na=("?",))
    assert levels.variable.levels == ("a", "b", None)
    assert (ranks, atoms) == ([1, 2, 0, 2], None)
    assert made(["b", "a"], Kind.NOMINAL)[0].variable.levels == ("a", "b")
    with pytest.raises(ma.InputError, match="is nominal, where a special code is a value"):
        made(["b", "a"], Kind.NOMINAL, special=("a",))


@pytest.mark.parametrize("missing", [[False, False, False], [False, True, False]])
@pytest.mark.parametrize("held", [None, [0, -1, -1]])
def test_gaps_come_after_special_codes(missing: list[bool], held: list[int] | None) -> None:
    atoms = None if held is None else np.array(held, np.int16)
    marks, result = with_gaps((97,), atoms, np.array(missing))
    if not any(missing):
        assert (marks, result) == ((97,), atoms)
    else:
        assert marks == (97, None)
        assert result is not None
        assert result.tolist() == [-1 if held is None else 0, 1, -1]
        assert held is None or (atoms is not None and atoms.tolist() == held), "nothing is changed"
