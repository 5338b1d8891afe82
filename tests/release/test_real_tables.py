"""Real tables through the commands of docs/tables.md: classes, values and gaps, checked by pandas
and by the rules written down anew.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microagg as ma
from running import run

pytestmark = [pytest.mark.reference, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
LISTS = {"quasi", "nominal", "confidential"}
BY_COLUMN = {"ordinal", "special", "importance", "aggregate", "hierarchy"}
TABLES = {  # the kinds that pandas cannot tell from what is in the file, and the special codes
    "chile": {"ordinal": {"education": ["P", "S", "PS"]}},
    "slid": {},
    "free1": {"special": {"AGEYOUNG": [97]}},
    "testdata": {},
    "adult": {},
}
CATEGORIES_OF_ADULT = [
    "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation",
]  # fmt: skip


@functools.cache
def commands() -> list[list[str]]:
    """Every command of the page, as words."""
    blocks = "\n".join(re.findall(r"```\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    lines = blocks.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("microagg ")]


def command_for(name: str) -> list[str]:
    (command,) = [words for words in commands() if words[3] == f"{name}-protected.csv"]
    return command


def asked_in(words: list[str]) -> dict[str, Any]:
    """The options of a command, as `anonymize` takes them in Python."""
    settings: dict[str, Any] = {}
    for option, value in zip(words[4::2], words[5::2], strict=True):
        name = option.removeprefix("--").replace("-", "_")
        if name == "numeric":
            settings["kinds"] = dict.fromkeys(value.split(","), "numeric")
        elif name in LISTS:
            settings[name] = value.split(",")
        elif name in BY_COLUMN:
            settings.setdefault(name, [])
            settings[name] += [value]
        else:
            settings[name] = int(value) if name == "k" else value
    return settings


@pytest.fixture
def folder(reference_data: Path, tmp_path: Path) -> Path:
    """A folder that has the real tables and their hierarchies, as the page's reader has."""
    shutil.copytree(reference_data / "tables", tmp_path / "work")
    return tmp_path / "work"


def as_text(path: Path) -> pd.DataFrame:
    """A file with every cell to the letter; what is missing is the empty text, a value like
    others.
    """
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def typed(path: Path) -> pd.DataFrame:
    """A file as people read it; only what is empty is missing."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def released_by_command(words: list[str], folder: Path) -> pd.DataFrame:
    done = run("-m", *words, "--seed", "0", folder=folder)
    assert done.code == 0, done
    return as_text(folder / words[3])


def test_the_page_has_a_command_for_every_table() -> None:
    assert {words[3].removesuffix("-protected.csv") for words in commands()} >= TABLES.keys()
    assert all(words[:2] == ["microagg", "anonymize"] for words in commands())


@pytest.mark.parametrize("index", range(len(commands())))
def test_every_command_of_the_page(index: int, folder: Path) -> None:
    words = commands()[index]
    settings = asked_in(words)
    before, after = as_text(folder / words[2]), released_by_command(words, folder)
    if "missing" in settings:
        assert settings["missing"] == "drop"
        before = before[(before[settings["quasi"]] != "").all(axis=1)]
    assert len(after) == len(before)
    assert after.groupby(settings["quasi"], dropna=False).size().min() >= settings["k"]
    categories = [
        name for name in settings["quasi"] if is_category(typed(folder / words[2]), name, settings)
    ]
    assert categories
    for name in set(categories) - set(made_coarse(settings)):
        assert set(after[name]) <= set(before[name]), name
    for name in settings.get("confidential", []):
        assert Counter(after[name]) == Counter(before[name])


def is_category(table: pd.DataFrame, column: str, settings: dict[str, Any]) -> bool:
    """Return True if a column is nominal or ordinal: declared so, or text."""
    categories = {
        *settings.get("nominal", []),
        *(entry.split("=")[0] for entry in settings.get("ordinal", [])),
    }
    return column in categories or not pd.api.types.is_numeric_dtype(table[column])


def made_coarse(settings: dict[str, Any]) -> list[str]:
    """The columns that release ranges or nodes of a tree, which are new."""
    pairs = [entry.split("=") for entry in settings.get("aggregate", [])]
    return [name for name, how in pairs if how in ("range", "generalise")]


# what a group releases, after tables.md


def settled(
    cells: list, whole: Counter, k: int, how: str, order: list, codes: list
) -> tuple[str, object]:
    """Tell whether a group releases a value or an atom of a column, and which; None is missing.

    `cells` are those of the group, `whole` counts those of the table. `order` has the levels in
    their order, `codes` the special codes in the order given.
    """
    if how == "mode":
        return "value", first_of(cells, whole, order)
    values = [cell for cell in cells if cell is not None and cell not in codes]
    if 2 * len(values) > len(cells) and len(values) >= min(k, 3):
        if how == "mean":
            return "value", float(np.mean(values))
        return "value", sorted(values, key=order.index)[(len(values) - 1) // 2]
    return "atom", first_of([cell for cell in cells if cell is None or cell in codes], whole, codes)


def first_of(cells: list, whole: Counter, order: list) -> object:
    """The most frequent; ties to the more frequent in the table, then to the order, missing
    last.
    """
    counts = Counter(cells)
    return min(
        counts,
        key=lambda cell: (
            -counts[cell],
            -whole[cell],
            len(order) if cell is None else order.index(cell),
        ),
    )


def plain_cells(column: Any) -> list:
    return [None if pd.isna(cell) else cell for cell in column]


def half_a_step(column: Any) -> float:
    """Return how far rounding to a column's decimals may take a mean from what it was."""
    values = column.dropna()
    decimals = next(decimals for decimals in range(10) if (values.round(decimals) == values).all())
    if decimals > 4:  # raw floats: three digits of the standard deviation
        return float(values.std()) / 200.0
    return 0.5 * 10.0**-decimals + 1e-9


@pytest.mark.parametrize("name", TABLES)
def test_every_group_is_settled_by_the_rule(name: str, folder: Path) -> None:
    words = command_for(name)
    settings = asked_in(words)
    table = typed(folder / words[2])
    release = ma.anonymize(table, seed=0, **settings)
    labels, k = release.labels, release.settings.k
    assert np.bincount(labels).min() >= k
    mixed = 0
    for column in release.settings.quasi:
        before, after = plain_cells(table[column]), plain_cells(release.table[column])
        levels = TABLES[name].get("ordinal", {}).get(column)
        codes = TABLES[name].get("special", {}).get(column, [])
        how = "median" if levels else "mode" if is_category(table, column, settings) else "mean"
        order = levels or sorted({cell for cell in before if cell is not None})
        half, whole = half_a_step(table[column]) if how == "mean" else 0.0, Counter(before)
        for group in range(labels.max() + 1):
            rows = np.flatnonzero(labels == group)
            cells, out = [before[row] for row in rows], {after[row] for row in rows}
            assert len(out) == 1, (column, group)
            (value,) = out
            kind, expected = settled(cells, whole, k, how, order, codes)
            mixed += how != "mode" and len({cell is None or cell in codes for cell in cells}) == 2
            if kind == "value" and how == "mean":
                assert value is not None, (column, group)
                assert abs(value - expected) <= half, (column, group)
            else:
                assert value == expected, (column, group)
    assert (mixed > 0) == (name in ("chile", "slid", "free1"))


@pytest.mark.parametrize("name", TABLES)
def test_the_command_line_and_python_release_the_same(name: str, folder: Path) -> None:
    words = command_for(name)
    settings = asked_in(words)
    written = released_by_command(words, folder)
    release = ma.anonymize(typed(folder / words[2]), seed=0, **settings)
    release.save(folder / "python.csv")
    assert rows_of(typed(folder / words[3])) == rows_of(typed(folder / "python.csv"))
    assert len(written) == len(release.table)


def rows_of(table: pd.DataFrame) -> Counter:
    """The rows in any order; numbers by value, as whole numbers with gaps are floats to pandas."""
    return Counter(zip(*(plain_cells(table[name]) for name in table), strict=True))


@pytest.mark.parametrize(("scale", "most_changed"), [("zscore", 4.0), ("minmax", 3.3)])
def test_adult_keeps_its_categories(scale: str, most_changed: float, folder: Path) -> None:
    settings = {**asked_in(command_for("adult")), "scale": scale}
    table = typed(folder / "adult.csv")
    release = ma.anonymize(table, seed=0, **settings)
    assert len(release.table) == len(table), "something was suppressed"
    changed = [(release.table[name] != table[name]).mean() for name in CATEGORIES_OF_ADULT]
    assert 100.0 * np.mean(changed) <= most_changed
    if scale == "zscore":
        assert (release.table["age"] - table["age"]).abs().mean() <= 2.3


def test_adult_is_checked_by_the_command(folder: Path) -> None:
    words = command_for("adult")
    released_by_command(words, folder)
    quasi = words[words.index("--quasi") + 1]
    done = run(
        "-m",
        "microagg",
        "check",
        "adult-protected.csv",
        "--k",
        "5",
        "--quasi",
        quasi,
        folder=folder,
    )
    assert done.code == 0, done
    assert done.out.startswith("yes: 5 or more records share")


@pytest.mark.usefixtures("reference_data")
@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_the_page_has_the_figures_of_its_script(scale: str) -> None:
    spec = importlib.util.spec_from_file_location("tables_page", PAGE.with_suffix(".py"))
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script  # dataclasses look their module up
    spec.loader.exec_module(script)
    row = script.row_of_adult(script.read_adult(), 5, "quick", scale)
    assert f"| 5 | quick | {scale} | {row}\n" in PAGE.read_text("utf-8")
