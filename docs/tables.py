"""Writes the figures of docs/tables.md: `MICROAGG_REFERENCE_DATA=... python docs/tables.py [STATE
[--finished]]`.

Rows go to the file STATE as they are made, and those that it has are not made again: a run that was
killed goes on where it was (all take half an hour). With `--finished` only those that it has go to
the page, and the page says which are not there.

What is between the marks in docs/tables.md is written here; the words around it are not. Adult is
protected with every k, scale and effort of `RUNS`. Beside it stands what full-domain generalisation
leaves of the same table: all levels of the hierarchies in `tables/hierarchies` are tried in all
combinations, and of those that reach k with at most a tenth of the records left out, the one that
keeps the most cells is taken, and the one that loses the least detail.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import microagg as ma

PAGE = Path(__file__).parent / "tables.md"
QUASI = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
]
CATEGORICAL = [name for name in QUASI if name != "age"]
KS = (3, 5, 10, 25)
RUNS = [(effort, scale) for effort in ("quick", "balanced") for scale in ("zscore", "minmax")]
LEFT_OUT = 0.1  # the share of records that generalisation may leave out, as is usual


Coded = dict[str, list[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class Kept:
    """Figures of a table after generalisation."""

    left_out: float
    """Records in percent."""
    unchanged: dict[str, float]
    """Cells as they were, in percent, by column."""
    detail: float
    """Detail lost, in percent: the mean share of the other values that a released one stands for;
    all where it is left out.
    """


def reference_table(name: str) -> Path:
    """Where a file of the real tables is."""
    return Path(os.environ["MICROAGG_REFERENCE_DATA"]) / "tables" / name


def read_adult() -> pd.DataFrame:
    """Adult, as people work with it."""
    return pd.read_csv(reference_table("adult.csv"))


def protected(table: pd.DataFrame, k: int, effort: str, scale: str) -> ma.Release:
    """A release of Adult; its seed decides a few moves only, and is fixed so that the figures can
    be had again.
    """
    return ma.anonymize(
        table, k=k, quasi=QUASI, confidential=["salary-class"], effort=effort, scale=scale, seed=0
    )


def changed_cells(release: ma.Release) -> float:
    """The categorical cells that are not as they were, in percent, averaged over columns."""
    changes = release.changes
    return 100.0 - float(np.mean([changes[name].unchanged for name in CATEGORICAL]))


def row_of_adult(table: pd.DataFrame, k: int, effort: str, scale: str) -> str:
    """Return the loss of one release of Adult, as cells of a table."""
    release = protected(table, k, effort, scale)
    loss = release.loss
    return (
        f"{loss['IL_within']:.2f} % | {loss['IL']:.2f} % | "
        f"{loss.get('IL_zscore', loss['IL']):.2f} % | "
        f"{changed_cells(release):.2f} % | {release.changes['age'].moved:.2f} years |"
    )


def of_adult(table: pd.DataFrame, state: Path | None, finished_only: bool) -> str:
    """Every k, effort and scale, as a table; what is quick is made first."""
    known = state.read_text("utf-8").splitlines() if state and state.exists() else []
    rows = {}
    for (effort, scale), k in itertools.product(RUNS, KS):
        start = f"| {k} | {effort} | {scale} | "
        finished = [line for line in known if line.startswith(start)]
        if finished_only and not finished:
            continue
        rows[k, effort, scale] = (
            finished[0] if finished else start + row_of_adult(table, k, effort, scale)
        )
        if state and not finished:
            with state.open("a", encoding="utf-8") as file:
                file.write(rows[k, effort, scale] + "\n")
    lines = [
        "| k | effort | scale | IL_within | IL | IL in z-scores | categorical cells "
        "changed | age off by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cells = [(k, effort, scale) for k in KS for effort, scale in RUNS]
    absent = [
        f"k = {k} {effort} {scale}" for k, effort, scale in cells if (k, effort, scale) not in rows
    ]
    note = f"\n\nNot measured: {', '.join(absent)}." if absent else ""
    return "\n".join([*lines, *(rows[cell] for cell in cells if cell in rows)]) + note


@functools.cache
def levels_of(name: str) -> dict[str, list[str]]:
    """The hierarchy of a column: each value with what stands for it, level by level, itself
    first.
    """
    lines = reference_table(f"hierarchies/{name}.csv").read_text("utf-8").splitlines()
    return {path[0]: path for path in (line.split(";") for line in lines if line)}


def coded(table: pd.DataFrame) -> Coded:
    """Each column on each level of its hierarchy: a number for each record, and the share of the
    other values it stands for.
    """
    result: Coded = {}
    for name in QUASI:
        paths = levels_of(name)
        values = table[name].astype(str)
        present = sorted(set(values))
        result[name] = []
        for level in range(len(paths[present[0]])):
            ancestors = {value: paths[value][level] for value in present}
            widths = pd.Series(ancestors).value_counts()
            numbers, names = pd.factorize(np.array([ancestors[value] for value in values], object))
            shares = np.array([(widths[label] - 1) / max(len(present) - 1, 1) for label in names])
            result[name].append((numbers, shares[numbers]))
    return result


def class_sizes(columns: Coded, levels: Sequence[int]) -> np.ndarray:
    """Count how many records share what each record has on these levels."""
    key = np.zeros(len(columns[QUASI[0]][0][0]), np.int64)
    for name, level in zip(QUASI, levels, strict=True):
        numbers = columns[name][level][0]
        key = key * (int(numbers.max()) + 1) + numbers
    _, classes, sizes = np.unique(key, return_inverse=True, return_counts=True)
    return sizes[classes]


def kept_by(columns: Coded, levels: Sequence[int], stays: np.ndarray) -> Kept:
    """Return the figures of these levels for the records that stay."""
    share = float(stays.mean())
    taken = list(zip(QUASI, levels, strict=True))
    unchanged = {name: 100.0 * share * (level == 0) for name, level in taken}
    lost = [np.where(stays, columns[name][level][1], 1.0).mean() for name, level in taken]
    return Kept(100.0 * (1.0 - share), unchanged, 100.0 * float(np.mean(lost)))


def generalisations(table: pd.DataFrame) -> dict[int, list[Kept]]:
    """For each k: what keeps the most cells, and what loses the least detail."""
    columns = coded(table)
    all_kept: dict[int, list[Kept]] = {k: [] for k in KS}
    for levels in itertools.product(*(range(len(columns[name])) for name in QUASI)):
        sizes = class_sizes(columns, levels)
        for k in KS:
            stays = sizes >= k
            if 1.0 - stays.mean() <= LEFT_OUT:
                all_kept[k].append(kept_by(columns, levels, stays))
    return {
        k: [
            max(all_of_k, key=lambda kept: (sum(kept.unchanged.values()), -kept.detail)),
            min(all_of_k, key=lambda kept: kept.detail),
        ]
        for k, all_of_k in all_kept.items()
    }


def beside_generalisation(table: pd.DataFrame) -> str:
    """Cells as they were, column by column, ours and those of both generalisations."""
    lines = [
        "| k | way | records left out | " + " | ".join(QUASI) + " | average |",
        "|---|---|---|" + "---|" * (len(QUASI) + 1),
    ]
    other = generalisations(table)
    for k in KS:
        ours = {
            name: change.unchanged
            for name, change in protected(table, k, "quick", "zscore").changes.items()
        }
        rows = [("microagg, quick", 0.0, ours)]
        for way, kept in zip(
            ("generalised, most cells kept", "generalised, least detail lost"),
            other[k],
            strict=True,
        ):
            rows.append((way, kept.left_out, kept.unchanged))  # fmt: skip
        for way, left_out, unchanged in rows:
            cells = " | ".join(f"{unchanged[name]:.1f}" for name in QUASI)
            average = np.mean([unchanged[name] for name in QUASI])
            lines.append(f"| {k} | {way} | {left_out:.1f} % | {cells} | {average:.1f} |")
    return "\n".join(lines)


def conditions() -> str:
    """When and where the figures were made."""
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"Made by `docs/tables.py` on {today} (microagg {ma.__version__}, Python "
        f"{platform.python_version()}, {platform.machine()}): "
        "30,162 records, seed 0, the columns of the command above. The figures do not "
        "depend on the machine's speed."
    )


def with_part(page: str, name: str, content: str) -> str:
    """The page with what is between the marks of this name replaced."""
    begin, end = f"<!-- {name}: written by docs/tables.py -->\n", f"\n<!-- end of {name} -->"
    changed, count = re.subn(
        re.escape(begin) + ".*?" + re.escape(end),
        lambda _: begin + content + end,
        page,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"docs/tables.md has no part of the name {name}")
    return changed


def main() -> None:
    """Measure everything, then write it."""
    table = read_adult()
    state = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    figures = of_adult(table, state, "--finished" in sys.argv)
    beside = beside_generalisation(table)
    page = PAGE.read_text("utf-8")
    page = with_part(page, "adult", f"{conditions()}\n\n{figures}")
    page = with_part(page, "generalisation", beside)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
