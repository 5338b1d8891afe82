"""Trees over values: reading, refusing, matching, and common ancestors."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.errors import InputError
from microagg.table.hierarchy import Hierarchy

ROWS = [["Rome", "Italy", "*"], ["Pisa", "Italy", "*"], ["Bonn", "Germany", "*"]]
TREE = Hierarchy.from_data(ROWS)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tree.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "tree",
    [
        ROWS,
        [tuple(row) for row in reversed(ROWS)],
        {"Rome": "Italy", "Pisa": "Italy", "Bonn": "Germany", "Italy": "*", "Germany": "*"},
        {
            "Rome": ("Rome", "Italy", "*"),
            "Pisa": ("Pisa", "Italy", "*"),
            "Bonn": ("Bonn", "Germany", "*"),
        },
        {"Rome": ["Italy", "*"], "Pisa": ["Italy", "*"], "Bonn": ["Germany", "*"]},
        pd.DataFrame(ROWS, columns=["city", "country", "all"]),
        pl.DataFrame(ROWS, schema=["city", "country", "all"], orient="row"),
        pa.table(dict(zip("abc", map(list, zip(*ROWS, strict=True)), strict=True))),
        TREE,
    ],
    ids=lambda tree: type(tree).__module__ + "." + type(tree).__name__,
)
def test_however_it_is_given_it_is_the_same(tree: Any) -> None:
    hierarchy = Hierarchy.of(tree)
    assert hierarchy.paths == TREE.paths
    assert hierarchy.digest == TREE.digest
    assert hierarchy.depth == 3


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_delimiter_of_a_file_is_found(tmp_path: Path, delimiter: str, end: str) -> None:
    text = "\ufeff" + end.join(delimiter.join(row) for row in ROWS) + end + end
    assert Hierarchy.of(str(written(tmp_path, text))).paths == TREE.paths


def test_quotes_and_other_delimiters_inside_values(tmp_path: Path) -> None:
    text = '"a;b";x, y;*\n"say ""hi""";x, y;*\n'
    assert set(Hierarchy.of(written(tmp_path, text)).paths) == {"a;b", 'say "hi"'}


def test_data_give_it_back() -> None:
    again = Hierarchy.from_data(json.loads(json.dumps(TREE.as_data())))
    assert again.paths == TREE.paths
    assert again.digest == TREE.digest
    other = Hierarchy.from_data([*ROWS[:2], ["Bonn", "Italy", "*"]])
    assert other.digest != TREE.digest


SECRET = "Schmidt"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (f"{SECRET};x;*\nb;x;*\n{SECRET};y;*\n", "line 1 and line 3 .*give a value two parents"),
        (f"a;{SECRET};p;*\nb;{SECRET};q;*\n", "line 1 and line 2 .*a node of level 2 two parents"),
        (f"a;x;*\n\n{SECRET};*\nc;x;*\n", "line 3 .*has 2 levels, line 1 has 3"),
        (f"{SECRET}\nb\n", "values without parents"),
        (f"a;x\nb;{SECRET}\n", "line 1 and line 2 .*different tops"),
        (f"{SECRET};;*\nb;x;*\n", "line 1 .*an empty node"),
    ],
)
def test_a_file_that_is_no_tree(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Hierarchy.of(written(tmp_path, text))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({}, "is empty"),
        ([], "is empty"),
        ({"a": "b", "b": "a"}, "circle"),
        ({"x": "a", "a": "b", "b": "a"}, "entry 1 .*leads back to itself"),
        ({"a": "*", "b": "c", "c": "*"}, "entry 2 .*has 3 levels, entry 1 has 2"),
        ([["a", "x", "*"], ["b", "*"]], "path 2 .*has 2 levels, path 1 has 3"),
        (["ab", "cd"], "must be a file, a table, a dict or a list of paths"),
        (7, "must be a file, a table, a dict or a list of paths"),
        ("no such file.csv", "there is no file"),
        ("\0", "cannot be read|there is no file"),
        (pd.DataFrame({"a": ["x"], "b": [None]}), "row 1 .*an empty node"),
    ],
)
def test_other_things_that_are_no_tree(tree: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Hierarchy.of(tree)


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_bytes("Köln;*\n".encode("latin-1"))
    with pytest.raises(InputError, match="not in UTF-8"):
        Hierarchy.of(path)


def test_a_line_twice_is_no_matter() -> None:
    assert Hierarchy.of([*ROWS, ROWS[0]]).paths == TREE.paths


class TestMatching:
    tree = Hierarchy.of(
        [["30", "old", "*"], ["7.50", "young", "*"], ["True", "yes", "*"], ["x ", "text", "*"]]
    )

    @pytest.mark.parametrize(
        "level", [30, 30.0, np.float64(30), np.int8(30), Decimal("30.00"), "30"]
    )
    def test_numbers_by_value(self, level: Any) -> None:
        assert self.tree.common_ancestor([level]) == "30"

    @pytest.mark.parametrize("level", [7.5, Decimal("7.5"), "7.50"])
    def test_decimals(self, level: Any) -> None:
        assert self.tree.common_ancestor([level]) == "7.50"

    @pytest.mark.parametrize(
        "level", ["30.0", " 30", "7.5", "x", "TRUE", 31, 1, False, float("nan")]
    )
    def test_text_to_the_letter(self, level: Any) -> None:
        with pytest.raises(InputError, match="the hierarchy of column 'age' lacks one value"):
            self.tree.check(["30", level], "age")

    def test_how_many_are_lacking(self) -> None:
        self.tree.check(["30", None, True], "age")
        with pytest.raises(InputError, match="'age' lacks 2 values") as caught:
            self.tree.check(["30", SECRET, "b", None], "age")
        assert SECRET not in str(caught.value)


def test_ancestors_number_the_nodes_of_each_level() -> None:
    ancestors = TREE.ancestors(["Bonn", "Rome", None, "Pisa"])
    names = [
        [TREE.name_of(level, node) for level, node in enumerate(row)] for row in ancestors.tolist()
    ]
    assert names == [ROWS[2], ROWS[0], [None, None, "*"], ROWS[1]]
    assert TREE.ancestors([]).shape == (0, 3)


def test_nodes_are_told_apart_by_level_and_name() -> None:
    tree = Hierarchy.of([["a", "a", "*"], ["b", "a", "*"], ["*", "c", "*"]])
    assert tree.common_ancestor(["a", "b"]) == "a"
    assert tree.common_ancestor(["b", "*"]) == "*"
    assert tree.ancestors(["a", "b"]).tolist() == [[1, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["Rome", "Pisa"], "Italy"),
        (["Rome", "Bonn"], "*"),
        (["Rome", "Rome"], "Rome"),
        (["Rome", None], "*"),
        ([None, None], None),
    ],
)
def test_common_ancestors(values: list[Any], expected: str | None) -> None:
    assert TREE.common_ancestor(values) == expected


@pytest.mark.parametrize("aggregate", [{}, {"town": "generalise"}])
def test_a_tree_that_lacks_a_value_is_refused(aggregate: dict[str, str]) -> None:
    table = pa.table({"town": ["Rome", "canary", "Rome", None]})
    says = "the hierarchy of column 'town' lacks one value of the column; add a line for each."
    with pytest.raises(ma.InputError, match=re.escape(says)):
        ma.anonymize(
            table,
            2,
            ["town"],
            hierarchy={"town": TREE.as_data()},
            aggregate=aggregate,
            method="mdav",
        )


def test_numbers_are_found_in_a_tree_by_value() -> None:
    codes = pa.table({"code": pa.array([1.0, 2.0, 1.0, 3.0, 3.0, 2.0])})
    tree = [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]]
    release = ma.anonymize(
        codes, 2, ["code"], nominal=["code"], hierarchy={"code": tree}, method="mdav", seed=1
    )
    assert sorted(release.table.column("code").to_pylist()) == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


@pytest.mark.slow
@pytest.mark.reference
def test_the_hierarchies_of_adult(reference_data: Path) -> None:
    folder = reference_data / "tables"
    with (folder / "adult.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for path in sorted((folder / "hierarchies").glob("*.csv")):
        tree = Hierarchy.of(path)
        lines = (
            [line.split(";") for line in path.read_text("utf-8").split()]
            if path.stem == "age"
            else None
        )
        assert lines is None or tree.paths == {line[0]: tuple(line) for line in lines}
        column = next(
            name for name in rows[0] if name.replace("_", "-").replace(".", "-") == path.stem
        )
        levels = sorted({row[column] for row in rows} - {"", "?"})
        tree.check([int(level) for level in levels] if path.stem == "age" else levels, column)
        assert tree.common_ancestor(list(tree.paths)) == next(iter(tree.paths.values()))[-1]


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(InputError, match="path 1 of the hierarchy is empty"):
        Hierarchy.of([[], []])


def test_the_order_of_lines_makes_no_difference() -> None:
    lines = [["b", "y", "*"], ["a", "x", "*"], ["c", "x", "*"]]
    trees = [
        Hierarchy.of(lines),
        Hierarchy.of(lines[::-1]),
        Hierarchy.of(Hierarchy.of(lines).as_data()),
    ]
    assert len({tree.nodes for tree in trees}) == 1
    assert len({tree.ancestors(["a", "b", "c"]).tobytes() for tree in trees}) == 1


def test_of_nodes_with_one_name_the_lowest_is_meant() -> None:
    """A release that says x may have meant the smaller of two nodes of that name: it stands for
    fewer values.
    """
    tree = Hierarchy.of(
        [["a", "x", "x", "*"], ["b", "y", "x", "*"], ["c", "z", "z", "*"]]
    ).with_nodes(["x", "z", "*"])
    assert tree.inner == {"x": 1, "z": 1, "*": 3}
    assert tree.paths["x"] == ("x", "x", "x", "*")
    assert tree.common_ancestor(["a", "x"]) == "x"


def test_an_empty_text_may_be_a_value_and_no_node() -> None:
    tree = Hierarchy.of([["", "unknown", "*"], ["a", "letters", "*"]])
    assert tree.common_ancestor([""]) == ""
    assert tree.common_ancestor(["", "a"]) == "*"
    with pytest.raises(InputError, match="path 1 of the hierarchy has an empty node"):
        Hierarchy.of([["a", "", "*"]])
