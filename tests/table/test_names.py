"""Names of columns: by a pattern, in a list, and the nearest of those that are not there."""

from __future__ import annotations

import pytest

import microagg as ma
from microagg.table.patterns import expand_names, is_pattern
from microagg.table.suggestions import MOST_LISTED, describe_columns, list_names, nearest_names

COLUMNS = ("q1", "q2", "age", "q*", "a?e", "Q3")


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (["age"], ("age",)),
        (["q?"], ("q1", "q2", "q*")),
        (["q*"], ("q*",)),
        (["q[12]", "age", "q2"], ("q1", "q2", "age")),
        (["nowhere", "age"], ("nowhere", "age")),
        (["[aQ]*"], ("age", "a?e", "Q3")),
        ([], ()),
    ],
)
def test_patterns(chosen: list[str], names: tuple[str, ...]) -> None:
    """A name that a column has is no pattern; others that fit none are an error."""
    assert expand_names(chosen, COLUMNS, "quasi") == names
    with pytest.raises(ma.InputError, match=r"quasi names 'z\*', but no column fits"):
        expand_names([*chosen, "z*"], COLUMNS, "quasi")


def test_patterns_choose_among_some_columns() -> None:
    assert expand_names(["q?", "age"], COLUMNS, "keep", among=["q2"]) == ("q2", "age")
    assert expand_names(["q?"], COLUMNS, "keep", among=[]) == ()
    assert [is_pattern(name) for name in ("a*", "a?", "a[b", "a]b", "")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_a_few_names_are_all_listed() -> None:
    names = [f"c{number}" for number in range(MOST_LISTED + 1)]
    assert list_names(names[:-1]) == ", ".join(map(repr, names[:-1]))
    assert list_names(names) == ", ".join(map(repr, names[:-1])) + " and 1 more"
    assert describe_columns("c", names[:-1]) == f"the table has {list_names(names[:-1])}"
    assert describe_columns("c", names).startswith("the nearest names are 'c")
    assert describe_columns("zzzz", names, "it has") == f"it has {list_names(names)}"
    assert describe_columns("wages", [*names, "wage"]) == "the nearest name is 'wage'"


def test_the_nearest_names() -> None:
    names = ["Income", "INCOME", "incomes", "income2", "age"]
    assert nearest_names("income", names) == ["Income", "INCOME", "incomes"]
    assert nearest_names("incom", names, most=1) == ["Income"]
    assert nearest_names("xyz", names) == []
