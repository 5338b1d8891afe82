"""Gain and cost of the encoding of mixed tables: the searched points against a plain indicator
matrix, in the same run.

For each scale: IL_within of `quick` on principal axes and on indicators in alphabetical order, the
seconds of both (encoding and turning counted on one side, the search alone on the other), the cells
that change when each group releases its modes, and by how much numbers change. With `--balanced`,
what more searching gains. Columns of text are nominal, others numeric, none may have gaps.

python benchmarks/quality/mixed.py TABLE.csv [--leave-out salary-class] [--k 5] [--balanced]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

import microagg as ma
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


def read_cells(path: Path, left_out: Sequence[str]) -> Cells:
    with path.open(encoding="utf-8") as file:
        header = file.readline()
    delimiter = max(",;\t", key=header.count)
    table = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))
    variables, columns = [], []
    for name in [name for name in table.column_names if name not in left_out]:
        if pa.types.is_string(table[name].type):
            levels, places = np.unique(table[name].to_pylist(), return_inverse=True)
            variables.append(Variable(name, Kind.NOMINAL, tuple(levels.tolist())))
            columns.append(places.reshape(-1).astype(np.float64))
        else:
            variables.append(Variable(name))
            columns.append(table[name].to_numpy().astype(np.float64))
    return Cells(tuple(variables), np.column_stack(columns))


def indicator_matrix(cells: Cells, scale: str) -> np.ndarray:
    """Numbers scaled, an indicator for each value: as far apart as in our encoding."""
    parts = []
    for j, variable in enumerate(cells.variables):
        alone = Cells((variable,), np.ascontiguousarray(cells.values[:, [j]]))
        space = Space.fit(alone, scale)
        if variable.kind is Kind.NOMINAL:
            step = space.columns[0].about()["step"]
            parts.append(
                np.sqrt(step / 2.0) * np.eye(len(variable.levels))[cells.values[:, j].astype(int)]
            )
        else:
            parts.append(space.points(alone))
    return np.ascontiguousarray(np.hstack(parts))


def changes(cells: Cells, labels: np.ndarray) -> dict[str, float]:
    """Nominal: cells changed in percent if each group releases its mode. Numeric: the mean change,
    to whole means.
    """
    result = {}
    sizes = np.bincount(labels)
    for j, variable in enumerate(cells.variables):
        column = cells.values[:, j]
        if variable.kind is Kind.NOMINAL:
            counts = np.zeros((len(sizes), len(variable.levels)))
            np.add.at(counts, (labels, column.astype(int)), 1.0)
            result[variable.name] = 100.0 * (1.0 - counts.max(axis=1).sum() / len(column))
        else:
            means = np.rint(np.bincount(labels, column) / sizes)
            result[variable.name] = float(np.abs(means[labels] - column).mean())
    return result


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def show(cells: Cells, scale: str, k: int, *, balanced: bool) -> None:
    def encoded() -> np.ndarray:
        return Space.fit(cells, scale).points(cells)

    def quick(points: np.ndarray) -> np.ndarray:
        return np.asarray(ma.partition(points, k=k, method="auto", effort="quick"))

    space, indicators = Space.fit(cells, scale), indicator_matrix(cells, scale)

    def loss(labels: np.ndarray) -> float:
        return 100.0 * space.within(cells, labels) / space.total(cells)

    seconds, labels = timed(lambda: quick(encoded()))
    plainly, others = timed(lambda: quick(indicators))
    print(
        f"{scale}, k = {k}: IL_within {loss(labels):.3f}, on indicators {loss(others):.3f}; ",
        end="",
    )
    print(f"{seconds:.2f} s, on indicators {plainly:.2f} s: {seconds / plainly:.2f} times")
    tell(cells, labels)
    if balanced:
        seconds, more = timed(
            lambda: ma.partition(encoded(), k=k, method="auto", effort="balanced")
        )
        less = 100.0 * (1.0 - loss(more) / loss(labels))
        print(f"  balanced: IL_within {loss(more):.3f}, {less:.1f} % less, {seconds:.0f} s")
        tell(cells, more)


def tell(cells: Cells, labels: np.ndarray) -> None:
    changed = changes(cells, labels)
    nominal = [
        changed[variable.name] for variable in cells.variables if variable.kind is Kind.NOMINAL
    ]
    print(f"  changed on average {np.mean(nominal):.2f} % of nominal cells; ", end="")
    print(", ".join(f"{name} {by:.2f}" for name, by in changed.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=Path)
    parser.add_argument("--leave-out", nargs="*", default=["salary-class"], metavar="COLUMN")
    parser.add_argument("--k", type=int, nargs="*", default=[5])
    parser.add_argument("--balanced", action="store_true", help="search longer, too")
    options = parser.parse_args()
    cells = read_cells(options.table, options.leave_out)
    few = Cells(cells.variables, np.ascontiguousarray(cells.values[:500]))
    ma.partition(Space.fit(few).points(few), k=5, method="auto", effort="quick")  # compile, or load
    for scale in ("zscore", "minmax"):
        for k in options.k:
            show(cells, scale, k, balanced=options.balanced)


if __name__ == "__main__":
    main()
