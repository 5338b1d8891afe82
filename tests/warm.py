"""Compile the kernels that tests use, once: several processes that start together would each compile the same.

python tests/warm.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import microagg as ma
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


def main() -> None:
    known = dict(cases())
    for name in _one_of_each():
        if name in known:
            known[name]()
    pair = related_pair()
    assess_pair(replace(pair, kept={"town": np.arange(len(pair.original)) % 3}, k=2))


if __name__ == "__main__":
    main()
