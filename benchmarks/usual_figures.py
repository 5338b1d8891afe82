"""Writes the quartiles by which reports call a figure low, usual or high.

`MICROAGG_REFERENCE_DATA=... python benchmarks/usual_figures.py` protects eight public tables with
k = 3, 5 and 10 (method auto, effort quick, seed 1), takes every measure of each release, and writes
`src/microagg/release/report/usual_ranges.py`. Some ten minutes.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import microagg as ma

TARGET = Path(__file__).parents[1] / "src/microagg/release/report/usual_ranges.py"
KS = (3, 5, 10)
LEAST = 4  # tables that have a measure
LEFT_OUT = {"sse", "sse-minmax", "sse-raw", "k"}  # they grow with the table, or are asked for
HEAD = '''"""Quartiles of measures over releases, by k; written by benchmarks/usual_figures.py."""

from __future__ import annotations

RANGES: dict[str, dict[int, tuple[float, float]]] = {
'''
CODES_OF_FREE1 = ["REGION", "SEX", "MARSTAT", "EDUC1", "ETNI"]
NUMBERS_OF_FREE1 = ["AGE", "NUMYOUNG", "NUMOLD", "AGEYOUNG"]
CODES_OF_TESTDATA = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
QUASI_OF_ADULT = [
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "occupation",
]  # fmt: skip


def tables() -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Yield each table with its name and settings."""
    folder = Path(os.environ["MICROAGG_REFERENCE_DATA"])
    for name in ("tarragona", "census"):
        table = pd.read_csv(folder / f"{name}.csv")
        yield name, table, {"quasi": list(table.columns)}
    table = pd.read_csv(folder / "eia.csv")
    quasi = [name for name in table.columns if "SALES" in name or "REV" in name]
    yield "eia", table, {"quasi": quasi, "rest": "drop"}
    of_surveys: dict[str, dict[str, Any]] = {
        "chile": {
            "quasi": ["region", "population", "sex", "age", "education", "income", "statusquo"],
            "ordinal": {"education": ["P", "S", "PS"]},
            "confidential": ["vote"],
        },
        "slid": {"quasi": ["wages", "education", "age", "sex", "language"]},
        "free1": {
            "quasi": [*CODES_OF_FREE1, *NUMBERS_OF_FREE1],
            "nominal": CODES_OF_FREE1,
            "special": {"AGEYOUNG": [97]},
            "confidential": ["INCOME"],
            "rest": "drop",
        },
        "testdata": {
            "quasi": [*CODES_OF_TESTDATA, "age"],
            "nominal": CODES_OF_TESTDATA,
            "confidential": ["income"],
            "rest": "drop",
        },
        "adult": {"quasi": QUASI_OF_ADULT, "confidential": ["salary-class"]},
    }
    for name, settings in of_surveys.items():
        yield name, pd.read_csv(folder / "tables" / f"{name}.csv"), settings


def figures() -> dict[str, dict[int, list[float]]]:
    """Return the figures of all releases by measure and k."""
    collected: dict[str, dict[int, list[float]]] = {}
    for _, table, settings in tables():
        for k in KS:
            release = ma.anonymize(table, k=k, effort="quick", seed=1, **settings)
            for measure, figure in release.figures:
                collected.setdefault(measure.name, {}).setdefault(k, []).append(figure.value)
    return collected


def quartiles(values: list[float]) -> tuple[float, float]:
    """Return the first and the third quartile to three digits."""
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return float(f"{first:.3g}"), float(f"{third:.3g}")


def page(collected: dict[str, dict[int, list[float]]]) -> str:
    """Return the module as text."""
    lines = []
    for name in sorted(set(collected) - LEFT_OUT):
        ranges = {k: values for k, values in collected[name].items() if len(values) >= LEAST}
        if ranges:
            rows = [f"        {k}: {quartiles(values)!r}," for k, values in ranges.items()]
            lines += [f'    "{name}": {{', *rows, "    },"]
    return HEAD + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TARGET.write_text(page(figures()), "utf-8")
