"""Writes the figures of docs/tables.md: `MICROAGG_REFERENCE_DATA=... python docs/tables.py` (some ten minutes).

What is between the marks in docs/tables.md is written here; the words around it are not. Adult is protected with every k, scale
and effort of `RUNS`. Beside it stands what full-domain generalisation leaves of the same table: all levels of the hierarchies in
`tables/hierarchies` are tried in all combinations, and of those that reach k with at most a tenth of the records left out, the one
that keeps the most cells is taken, and the one that loses the least detail.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import microagg as ma

PAGE = Path(__file__).parent / "tables.md"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
CATEGORICAL = [name for name in QUASI if name != "age"]
KS = (3, 5, 10, 25)
RUNS = [(effort, scale) for effort in ("quick", "balanced") for scale in ("zscore", "minmax")]
LEFT_OUT = 0.1  # the share of records that generalisation may leave out, as is usual


@dataclass(frozen=True)
class Kept:
    """What generalisation leaves of a table."""

    left_out: float
    """Records in percent."""
    unchanged: dict[str, float]
    """Cells as they were, in percent, by column."""
    detail: float
    """Detail lost, in percent: the mean share of the other values that a released one stands for; all where it is left out."""


def reference_table(name: str) -> Path:
    """Where a file of the real tables is."""
    return Path(os.environ["MICROAGG_REFERENCE_DATA"]) / "tables" / name


def read_adult() -> pd.DataFrame:
    """Adult, as people work with it."""
    return pd.read_csv(reference_table("adult.csv"))


def protected(table: pd.DataFrame, k: int, effort: str, scale: str) -> ma.Release:
    """A release of Adult; its seed decides a few moves only, and is fixed so that the figures can be had again."""
    return ma.anonymize(
        table, k=k, quasi=QUASI, confidential=["salary-class"], effort=effort, scale=scale, seed=0
    )


def changed_cells(release: ma.Release) -> float:
    """The categorical cells that are not as they were, in percent, averaged over columns."""
    changes = release.changes
    return 100.0 - float(np.mean([changes[name].unchanged for name in CATEGORICAL]))


def of_adult(table: pd.DataFrame) -> tuple[str, dict[int, ma.Release]]:
    """Every k, scale and effort in a table; and the quick releases in z-scores, to be set beside generalisation."""
    lines = [
        "| k | effort | scale | IL_within | IL | IL in z-scores | categorical cells changed | age off by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    quick = {}
    for k in KS:
        for effort, scale in RUNS:
            release = protected(table, k, effort, scale)
            loss = release.loss
            lines.append(
                f"| {k} | {effort} | {scale} | {loss['IL_within']:.2f} % | {loss['IL']:.2f} % | {loss.get('IL_zscore', loss['IL']):.2f} % | "
                f"{changed_cells(release):.2f} % | {release.changes['age'].moved:.2f} years |"
            )  # fmt: skip
            print(lines[-1], flush=True)
            if (effort, scale) == ("quick", "zscore"):
                quick[k] = release
    return "\n".join(lines), quick


@functools.cache
def levels_of(name: str) -> dict[str, list[str]]:
    """The hierarchy of a column: each value with what stands for it, level by level, itself first."""
    lines = reference_table(f"hierarchies/{name}.csv").read_text("utf-8").splitlines()
    return {path[0]: path for path in (line.split(";") for line in lines if line)}


def coded(table: pd.DataFrame) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Each column on each level of its hierarchy: a number for each record, and the share of the other values it stands for."""
    found = {}
    for name in QUASI:
        paths = levels_of(name)
        values = table[name].astype(str)
        present = sorted(set(values))
        found[name] = []
        for level in range(len(paths[present[0]])):
            ancestors = {value: paths[value][level] for value in present}
            widths = pd.Series(ancestors).value_counts()
            numbers, names = pd.factorize(np.array([ancestors[value] for value in values], object))
            shares = np.array([(widths[each] - 1) / max(len(present) - 1, 1) for each in names])
            found[name].append((numbers, shares[numbers]))
    return found


def generalised(
    columns: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]], levels: Sequence[int], k: int
) -> Kept | None:
    """What is left with these levels; None if too many records are in classes below k."""
    key = np.zeros(len(columns[QUASI[0]][0][0]), np.int64)
    for name, level in zip(QUASI, levels, strict=True):
        numbers = columns[name][level][0]
        key = key * (int(numbers.max()) + 1) + numbers
    _, classes, sizes = np.unique(key, return_inverse=True, return_counts=True)
    stays = sizes[classes] >= k
    share = float(stays.mean())
    if 1.0 - share > LEFT_OUT:
        return None
    unchanged = {name: 100.0 * share * (level == 0) for name, level in zip(QUASI, levels, strict=True)}
    lost = [
        np.where(stays, columns[name][level][1], 1.0).mean()
        for name, level in zip(QUASI, levels, strict=True)
    ]
    return Kept(100.0 * (1.0 - share), unchanged, 100.0 * float(np.mean(lost)))


def generalisations(table: pd.DataFrame) -> dict[int, list[Kept]]:
    """For each k: what keeps the most cells, and what loses the least detail."""
    columns = coded(table)
    found: dict[int, list[Kept]] = {k: [] for k in KS}
    for levels in itertools.product(*(range(len(columns[name])) for name in QUASI)):
        for k in KS:
            kept = generalised(columns, levels, k)
            if kept is not None:
                found[k].append(kept)
    return {
        k: [
            max(all_of_k, key=lambda kept: (sum(kept.unchanged.values()), -kept.detail)),
            min(all_of_k, key=lambda kept: kept.detail),
        ]
        for k, all_of_k in found.items()
    }


def beside_generalisation(table: pd.DataFrame, quick: Mapping[int, ma.Release]) -> str:
    """Cells as they were, column by column, ours and those of both generalisations."""
    lines = [
        "| k | way | records left out | " + " | ".join(QUASI) + " | average |",
        "|---|---|---|" + "---|" * (len(QUASI) + 1),
    ]
    other = generalisations(table)
    for k in KS:
        ours = {name: change.unchanged for name, change in quick[k].changes.items()}
        rows = [("microagg, quick", 0.0, ours)]
        for way, kept in zip(
            ("generalised, most cells kept", "generalised, least detail lost"), other[k], strict=True
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
        f"Made by `docs/tables.py` on {today} (microagg {ma.__version__}, Python {platform.python_version()}, {platform.machine()}): "
        "30,162 records, seed 0, the columns of the command above. The figures do not depend on the machine's speed."
    )


def with_part(page: str, name: str, content: str) -> str:
    """The page with what is between the marks of this name replaced."""
    begin, end = f"<!-- {name}: written by docs/tables.py -->\n", f"\n<!-- end of {name} -->"
    changed, count = re.subn(
        re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + content + end, page, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"docs/tables.md has no part of the name {name}")
    return changed


def main() -> None:
    """Measure everything, then write it."""
    table = read_adult()
    figures, quick = of_adult(table)
    beside = beside_generalisation(table, quick)
    print(beside)
    page = PAGE.read_text("utf-8")
    page = with_part(page, "adult", f"{conditions()}\n\n{figures}")
    page = with_part(page, "generalisation", beside)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
