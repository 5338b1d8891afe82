"""Columns that may name people: by their names in several languages, and by their values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.proposal.rules import may_name_people
from microagg.table.schema import Role


@pytest.mark.parametrize(
    "name",
    ["name", "Last Name", "lastName", "E-Mail", "Straße", "prénom", "apellido_1", "IBAN",
     "passport.no", "Nazwisko", "Telefon"],
)  # fmt: skip
def test_names_that_say_so_whatever_the_values(name: str) -> None:
    assert may_name_people(pa.table({name: [1, 1, 1]}), [name]) == [name]


@pytest.mark.parametrize(
    "name", ["filename_count", "unnamed", "gender", "region", "education", "rent", "diagnosis"]
)
def test_names_that_do_not(name: str) -> None:
    assert may_name_people(pa.table({name: ["a", "a", "b"]}), [name]) == []


def test_values_that_nearly_everybody_has_alone() -> None:
    n = 100
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "text": [f"t{i}" for i in range(n)],
            "category": pa.array([f"t{i}" for i in range(n)]).dictionary_encode(),
            "some_alike": [f"t{i % 90}" for i in range(n)],
            "running": rng.permutation(n) + 4_000,
            "amount": rng.permutation(10**6)[:n],
            "share": rng.uniform(size=n),
            "member": rng.permutation(10**6)[:n],
            "code": np.arange(n) % 10,
            "gaps": [f"t{i}" if i < 30 else None for i in range(n)],
            "nothing": pa.nulls(n, pa.string()),
        }
    )
    assert may_name_people(table, table.column_names) == [
        "text",
        "category",
        "running",
        "member",
        "gaps",
    ]
    assert may_name_people(table, ["amount"]) == []
    assert may_name_people(table.slice(0, 0), table.column_names) == []


@pytest.mark.parametrize(
    ("records", "is_identifier"), [(4, True), (9, True), (10, False), (40, False)]
)
def test_codes_of_persons_that_five_records_share_name_nobody(
    records: int, is_identifier: bool
) -> None:
    """Two texts in a column that is called like a number of a person: a category as soon as each
    has five records.
    """
    codes = [f"p{number % 2}" for number in range(records)]
    table = pa.table({"person_id": codes, "age": np.arange(records) + 20})
    roles = {column.name: column.role for column in ma.propose(table).columns}
    assert (roles["person_id"] is Role.IDENTIFIER) is is_identifier
