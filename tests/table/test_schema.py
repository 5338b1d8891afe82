"""Roles as they are asked for."""

from __future__ import annotations

import pytest

import microagg as ma
from microagg.table.schema import ColumnFacts, Role, assign_roles, check_duplicates

FACTS = [
    ColumnFacts("name", False),
    ColumnFacts("age", True),
    ColumnFacts("income", True),
    ColumnFacts("disease", False),
]


def test_roles_as_asked_for() -> None:
    wanted = {
        Role.QUASI: ["income", "age"],
        Role.IDENTIFIER: ["name"],
        Role.CONFIDENTIAL: ["disease"],
    }
    schema = assign_roles(FACTS, wanted)
    assert schema.names(Role.QUASI) == ["age", "income"], "not in the table's order"
    assert schema.names(Role.IDENTIFIER, Role.CONFIDENTIAL) == ["name", "disease"]
    assert schema.released() == ["age", "income", "disease"]


@pytest.mark.parametrize(
    ("rest", "released"), [("drop", ["age"]), ("keep", ["name", "age", "income", "disease"])]
)
def test_the_rest(rest: str, released: list[str]) -> None:
    assert assign_roles(FACTS, {Role.QUASI: ["age"]}, rest).released() == released


@pytest.mark.parametrize(
    ("wanted", "rest", "says"),
    [
        ({Role.QUASI: ["age"]}, "error", "no role was given to 'name', 'income', 'disease'"),
        (
            {Role.QUASI: ["height"]},
            "drop",
            "there is no column 'height'; the table has 'name', 'age'",
        ),
        (
            {Role.QUASI: ["age"], Role.KEEP: ["age"]},
            "drop",
            "'age' was given two roles, quasi and keep",
        ),
        ({Role.IDENTIFIER: ["name", "age", "income", "disease"]}, "error", "nothing to protect"),
        ({}, "keep", "nothing to protect"),
        ({Role.QUASI: ["age"]}, "maybe", "rest must be"),
    ],
)
def test_what_cannot_be(wanted: dict[Role, list[str]], rest: str, says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        assign_roles(FACTS, wanted, rest)


def test_a_name_given_twice_in_one_role_is_one() -> None:
    assert assign_roles(FACTS, {Role.QUASI: ["age", "age"]}, "drop").names(Role.QUASI) == ["age"]


def test_duplicate_names() -> None:
    check_duplicates(["a", "b", ""])
    with pytest.raises(ma.InputError, match="'b' occurs more than once"):
        check_duplicates(["a", "b", "c", "b"])
