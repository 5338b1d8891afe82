"""The judge of proposals for real tables finds what is wrong; the tables themselves need the
network.
"""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.schema import Role

FOLDER = Path(__file__).parent.parent / "benchmarks" / "real_tables"


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge_of_real_tables", FOLDER / "judge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = pa.table(
    {
        "name": ["Ann", "Bob"] * 30,
        "weight": [60.5, 71.0] * 30,
        "nr": [i // 2 for i in range(60)],
        "age": [30, 31] * 30,
    }
)


@pytest.mark.parametrize(
    ("expected", "failures"),
    [
        ({"people": ["name"], "bodies": ["weight"], "roles": {"nr": ["identifier?"]}}, []),
        ({"roles": {"nr": ["identifier?"]}}, ["name: identifier"]),
        ({"people": ["name"], "roles": {"nr": ["unit"]}}, ["nr: identifier (asked)"]),
        ({"people": ["name", "age"], "roles": {"nr": ["identifier"]}}, ["age: quasi"]),
        ({"people": ["name"], "bodies": ["nr"]}, ["nr: identifier"]),
        (
            {"people": ["name"], "roles": {"nr": ["identifier"], "gone": ["quasi"]}},
            ["gone: not in the table"],
        ),
    ],
)
def test_a_wrong_role_is_noticed(
    judge: ModuleType, expected: dict[str, object], failures: list[str]
) -> None:
    verdict = judge.judge(ma.propose(TABLE), expected)
    assert [*verdict.named, *verdict.weighed, *verdict.wrong] == failures


def test_the_list_names_sixty_tables_and_known_roles() -> None:
    tables = tomllib.loads((FOLDER / "expectations.toml").read_text("utf-8"))
    assert len(tables) >= 60
    words = {f"{role.value}{mark}" for role in Role for mark in ("", "?")}
    for table in tables.values():
        assert (
            {"package"}
            < set(table)
            <= {"package", "object", "file", "records", "people", "bodies", "roles"}
        )
        assert {word for accepted in table.get("roles", {}).values() for word in accepted} <= words
