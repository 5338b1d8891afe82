"""Proofs of the quality page: `prove` on a reference table, its certificate checked, and how the
gap closed with time.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from microagg.datasets.reference import load_reference
from microagg.measures.loss.sse import information_loss
from microagg.methods.registry import method_named
from microagg.pipeline.run_method import run_method
from microagg.problem import watch
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch
from microagg.table.encoder import Space
from microagg.verify_bound import verify

SECONDS = {"Tarragona": 300.0, "Census": 300.0, "EIA": 900.0}
# a bound and a gap in percent with which `--enough` ends a proof
ENOUGH = {
    ("Tarragona", 6): (23.46, 0.1), ("Tarragona", 8): (27.24, 0.1), ("Tarragona", 10): (30.10, 0.1),
    ("Census", 6): (8.20, 0.7), ("Census", 8): (9.90, 0.7), ("Census", 10): (11.28, 0.7),
    ("EIA", 5): (0.7289, 0.1), ("EIA", 10): (1.89, 2.0),
}  # fmt: skip
TELLING = re.compile(r"bound ([\d.]+) %, loss ([\d.]+) %")


class Trace:
    """Listens to a proof: [CPU seconds, bound, loss] whenever one of the two has changed."""

    def __init__(self, enough: tuple[float, float] | None = None) -> None:
        self.steps: list[list[float]] = []
        self._begun, self._enough = time.process_time(), enough

    def __call__(self, done: int, total: int) -> None:
        """Progress as a number is of no interest."""

    def tell(self, text: str) -> None:
        """Keep a bound and a loss; raise where they are enough."""
        match = TELLING.match(text)
        if match is None:
            return
        bound, loss = float(match[1]), float(match[2])
        if not self.steps or self.steps[-1][1:] != [bound, loss]:
            self.steps.append([round(time.process_time() - self._begun, 1), bound, loss])
        if self._enough and bound >= self._enough[0] and (loss / bound - 1) * 100 < self._enough[1]:
            raise StopSearch


def prove(data: str, k: int, seed: int, seconds: float, enough: bool) -> dict[str, Any]:
    """One proof: loss, seconds, bound, and what the checker says of its certificate."""
    values = load_reference(data)
    space = Space.fit(values, "zscore")
    points, method = space.points(values), method_named("auto")
    params = method.checked({"effort": "prove", "time_limit": seconds})
    trace = Trace(ENOUGH.get((data, k)) if enough else None)
    started = time.process_time()
    with patch.object(watch, "time", SimpleNamespace(monotonic=time.process_time)):
        problem = Problem.of(points, k, threads=1)
        result = run_method(method, problem, params, seed=seed, progress=trace)
    figures = {
        "IL": information_loss(points, result.labels),
        "seconds": round(time.process_time() - started, 1),
        "groups": int(result.labels.max()) + 1,
        "stopped": result.stopped,
    }
    assert result.bound is not None
    bound = result.bound.about(values, None, space)
    figures |= {"optimal": bound.optimal, "solver_optimal": bound.solver_optimal}
    return figures | checked(bound, values) | {"trace": trace.steps}


def checked(bound: Any, values: np.ndarray) -> dict[str, Any]:
    """Return the digest of a certificate and what the checker says of it."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, table = Path(folder, "certificate.json"), Path(folder, "values.npy")
        bound.save(certificate)
        np.save(table, values)
        begun = time.process_time()
        verdict = verify(certificate, table)
        return {
            "bound": verdict.il if verdict.holds else 0.0,
            "leaves": verdict.leaves,
            "certificate": hashlib.sha256(certificate.read_bytes()).hexdigest(),
            "seconds to check": round(time.process_time() - begun, 1),
        }
