"""Proofs of the quality page: `prove` on a reference table, its certificate checked, and how the
gap closed with time.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from microagg.bounds.listening import Listener
from microagg.datasets.reference import load_reference
from microagg.kernels import sums
from microagg.measures.loss.sse import information_loss
from microagg.methods.registry import method_named
from microagg.methods.search import auto as auto_module
from microagg.methods.search.prove import BoundSearch
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

    def __init__(
        self, enough: tuple[float, float] | None, begun: float, slices: Slices | None
    ) -> None:
        self.steps: list[list[float]] = [] if slices is None else slices.steps
        self._begun, self._enough = begun, enough

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


class SliceOverError(Exception):
    """The seconds of one process are over; the proof goes on in the next."""


class Slices:
    """A proof by several processes, one after the other: kept in a file in between.

    What it does is the same as without: a slice ends between two steps. The start is made again.
    """

    def __init__(self, path: Path, seconds: float, commit: str) -> None:
        self._path, self._until = path, seconds
        self.used, self.steps, self._kept = 0.0, [], None
        self.commits: list[str] = []
        """The commits of all slices, each once."""
        if path.exists():
            kept = pickle.loads(path.read_bytes())
            self.used, self.steps, self._kept = kept["used"], kept["steps"], kept["state"]
            self.commits = kept["commits"]
        if commit not in self.commits:
            self.commits.append(commit)

    def prove(
        self, problem: Problem, labels: np.ndarray, *, rng: np.ndarray, watch: Any, search: Any
    ) -> tuple[np.ndarray, Any]:
        """Do what `prove` does, until the slice is over."""
        labels = sums.number_by_first_record(np.ascontiguousarray(labels, np.int32))
        listener = Listener(watch)
        if self._kept is None:
            state = BoundSearch(problem, labels, listener)
        else:
            state, rng[:] = self._kept
            state.listener = state.proof.listener = listener
        while not state.over:
            state.advance(rng, search)
            if time.process_time() > self._until and not state.over:
                state.listener = state.proof.listener = None
                used = self.used + time.process_time()
                kept = {"used": used, "steps": self.steps, "commits": self.commits}
                self._path.write_bytes(pickle.dumps(kept | {"state": (state, rng.copy())}))
                raise SliceOverError(f"{used:.0f} CPU seconds so far")
        self._path.unlink(missing_ok=True)
        return state.labels, state.bound()


def prove(
    data: str, k: int, seed: int, seconds: float, enough: bool, slices: Slices | None = None
) -> dict[str, Any]:
    """One proof: loss, seconds, bound, and what the checker says of its certificate."""
    used = 0.0 if slices is None else slices.used
    values = load_reference(data)
    space = Space.fit(values, "zscore")
    points, method = space.points(values), method_named("auto")
    params = method.checked({"effort": "prove", "time_limit": seconds - used})
    started, way = time.process_time(), auto_module.prove
    if slices is not None:
        started, way = -used, slices.prove
    trace = Trace(ENOUGH.get((data, k)) if enough else None, started, slices)
    clock = SimpleNamespace(monotonic=time.process_time)
    with patch.object(watch, "time", clock), patch.object(auto_module, "prove", way):
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
