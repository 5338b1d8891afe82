"""Compile the kernels that tests use, once: several processes that start together would each
compile the same.

python tests/support/warm.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import microagg as ma

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden.cases import PROMISES, cases
from measures.loss.pairs import related_pair
from microagg.measures.registry import assess_pair


def _one_of_each() -> Iterator[str]:
    """The cases that together call nearly every kernel."""
    for method in ma.methods():
        yield from (f"{method.name} spread", f"{method.name} narrow")
    for promise in PROMISES:
        yield from (f"mdav spread {promise}", f"auto spread effort quick {promise}")
    yield from ("mdav spread refined", "solver:auto spread effort prove")


def _saved() -> None:
    """A release on its way to a file: rows are shuffled by a hash, loss is measured run by run,
    categories are turned.
    """
    rng = np.random.default_rng(0)
    numbers = {
        "age": rng.integers(20, 60, 40),
        "income": rng.normal(size=40),
        "w": rng.uniform(1, 2, 40),
    }
    tables = pa.table(numbers), pa.table({**numbers, "town": [f"t{i % 3}" for i in range(40)]})
    with tempfile.TemporaryDirectory() as folder:
        for table in tables:
            for weight in (None, "w"):
                quasi = [name for name in table.column_names if name != "w"]
                release = ma.anonymize(
                    table, 3, quasi, weight=weight, rest="drop", effort="quick", seed=1
                )
                release.save(Path(folder) / "out.parquet")


def main() -> None:
    known = dict(cases())
    for name in _one_of_each():
        if name in known:
            known[name]()
    _saved()
    pair = related_pair()
    assess_pair(replace(pair, kept={"town": np.arange(len(pair.original)) % 3}, k=2))


if __name__ == "__main__":
    main()
