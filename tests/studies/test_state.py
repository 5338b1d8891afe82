"""The state of a comparison: what is taken from its lines, and what is not believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from microagg.studies.compare_cells import Cell, Outcome, plan
from microagg.studies.compare_state import HEADER, State

GOOD: dict[str, Any] = {
    "key": "a",
    "figures": {"il": 5.0, "k": 3},
    "classes": 9,
    "smallest_class": 3,
    "error": "",
    "seconds": 1.5,
}


def outcomes(path: Path, *lines: Any) -> dict[str, Outcome]:
    content = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(HEADER + b"".join(line + b"\n" for line in content))
    return State(path).outcomes


def test_lines_come_back(tmp_path: Path) -> None:
    failed = {**GOOD, "key": "b", "figures": {}, "error": "too few records."}
    result = outcomes(tmp_path / "state", GOOD, failed, {**GOOD, "classes": 7})
    assert result == {
        "a": Outcome({"il": 5.0, "k": 3}, 7, 3),
        "b": Outcome({}, 9, 3, "too few records."),
    }
    assert result["a"].seconds == 1.5


@pytest.mark.parametrize(
    "change",
    [
        {"key": 7},
        {"figures": [5.0]},
        {"figures": {"il": "5"}},
        {"figures": {"il": True}},
        {"figures": {}},
        {"classes": 9.0},
        {"classes": True},
        {"smallest_class": None},
        {"error": None},
        {"seconds": "1"},
        {"more": 1},
    ],
)
def test_lines_of_another_make_are_passed_over(tmp_path: Path, change: dict[str, Any]) -> None:
    other = {**GOOD, "key": "c"}
    assert set(outcomes(tmp_path / "state", {**GOOD, **change}, other)) == {"c"}
    short = {name: value for name, value in GOOD.items() if name not in change}
    if len(short) < len(GOOD):
        assert set(outcomes(tmp_path / "state", short, other)) == {"c"}


def test_torn_lines_and_beginnings(tmp_path: Path) -> None:
    path = tmp_path / "state"
    whole = HEADER + json.dumps(GOOD).encode() + b"\n"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        state = State(path)
        assert set(state.outcomes) == ({"a"} if cut >= len(whole) - 1 else set())
        state.add("b", Outcome({"il": 1.0}, 2, 2))
        assert set(State(path).outcomes) == {*state.outcomes}
        assert path.read_bytes().startswith(HEADER)
    assert path.stat().st_mode & 0o777 == 0o600
    for content in (b"notes\n", HEADER[:-1] + b"x"):
        path.write_bytes(content)
        with pytest.raises(ma.InputError, match="is not the state of a comparison"):
            State(path)
        assert path.read_bytes() == content
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ma.InputError, match="is a link"):
        State(tmp_path / "link")


def test_only_methods_that_draw_run_with_every_seed() -> None:
    cells = plan(["mdav", "kc", "mdav"], [3, 5], [1, 2])
    assert [(cell.method, cell.k, cell.seed) for cell in cells] == [
        ("mdav", 3, 1),
        ("mdav", 5, 1),
        *(("kc", k, seed) for k in (3, 5) for seed in (1, 2)),
    ]
    names = [cell.method for cell in plan(["all"], [3], [0])]
    assert names == [method.name for method in ma.methods()]
    with pytest.raises(ma.InputError, match="name:parameter=value"):
        plan(["v-mdav:0.2"], [3], [0])
    one = plan(["v-mdav: gamma = 0.5"], [3], [0])[0]
    assert (one.method, dict(one.params)["gamma"]) == ("v-mdav", 0.5)


def test_every_part_of_a_cell_is_in_its_key() -> None:
    cell = Cell("mdav", (("a", 1),), 3, 0)
    facts = {"input": "d", "k": 7}
    others = [
        replace(cell, method="mst").key(facts),
        replace(cell, params=(("a", 2),)).key(facts),
        replace(cell, k=4).key(facts),
        replace(cell, seed=1).key(facts),
        cell.key({"input": "e"}),
    ]
    assert len({cell.key(facts), *others}) == 6
    assert cell.key(facts) == cell.key({**facts, "k": 3}), "the cell's own k counts"
