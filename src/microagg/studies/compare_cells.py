"""One cell of a comparison: a method with its parameters, k and a seed, run and measured on the
table of the study.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from microagg.errors import CancelledError, InputError, MicroaggError
from microagg.kernels.compiling import seconds_compiling
from microagg.measures.registry import assess_pair
from microagg.methods.method import Method
from microagg.methods.registry import method_named
from microagg.methods.registry import methods as all_methods
from microagg.pipeline.anonymize import anonymize
from microagg.problem.problem import Progress
from microagg.release.manifest import digest_of
from microagg.release.settings import OF_A_CELL, Settings
from microagg.runtime.workers import code_digest
from microagg.table.columns.frames import open_frame
from microagg.table.columns.matrix_values import values_of


@dataclass(frozen=True)
class Study:
    """Shared part of all cells of a comparison: the table, its protection and the measures."""

    table: pa.Table
    settings: Settings
    """Of all releases; each cell has its own k, method and seed."""
    known: tuple[str, ...]
    measures: tuple[str, ...]

    def fingerprint(self) -> dict[str, Any]:
        """Everything that the figures of a cell depend on besides the cell: table and code as their
        digests.
        """
        shared = {
            name: value for name, value in self.settings.as_data().items() if name not in OF_A_CELL
        }
        measured = {"known": self.known, "measures": self.measures}
        return {"input": digest_of(self.table), "microagg": code_digest(), **shared, **measured}


@dataclass(frozen=True)
class Cell:
    """Parameters of one run."""

    method: str
    params: tuple[tuple[str, Any], ...]
    """All parameters with their values, defaults included."""
    k: int
    seed: int

    @property
    def label(self) -> str:
        """The method as a user would name it: parameters only where they are not the defaults.

        >>> Cell("v-mdav", (("gamma", 1.1),), 3, 0).label
        'v-mdav:gamma=1.1'
        """
        usual = method_named(self.method).checked({})
        params = [f"{name}={_short(value)}" for name, value in self.params if usual[name] != value]
        return ":".join([self.method, *params])

    def key(self, fingerprint: dict[str, Any]) -> str:
        """The name under which a state file keeps what this cell gave on a study with that
        fingerprint.
        """
        content = json.dumps({**fingerprint, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Outcome:
    """Result of a cell: figures, or the reason for their absence."""

    figures: dict[str, float] = field(default_factory=dict)
    classes: int = 0
    smallest_class: int = 0
    error: str = ""
    seconds: float = field(default=0.0, compare=False)
    """How long it took, without imports and without the time that kernels took to compile."""
    lasting: bool = field(default=True, compare=False)
    """Whether the same would come out again; if not, a later run tries anew."""


def plan(methods: Sequence[str], ks: Sequence[int], seeds: Sequence[int]) -> list[Cell]:
    """The cells in their order: method by method, k by k; only methods that draw random numbers run
    with every seed.

    >>> [(cell.label, cell.k) for cell in plan(["mdav", "v-mdav:gamma=1.1"], [3, 5], [0, 1])]
    [('mdav', 3), ('mdav', 5), ('v-mdav:gamma=1.1', 3), ('v-mdav:gamma=1.1', 5)]
    """
    cells = [
        Cell(method.name, tuple(params.items()), k, seed)
        for method, params in _methods_in(methods)
        for k in ks
        for seed in (seeds if method.seeded else seeds[:1])
    ]
    return list(dict.fromkeys(cells))


def _methods_in(specs: Sequence[str]) -> list[tuple[Method, dict[str, Any]]]:
    """The methods that words such as "mdav", "v-mdav:gamma=0.2" or "all" name, with all their
    parameters.
    """
    chosen = []
    for spec in specs:
        if spec == "all":
            chosen += [(method, method.checked({})) for method in all_methods()]
            continue
        name, *texts = spec.split(":")
        parts = [part.partition("=") for part in texts]
        if not all(equals for _, equals, _ in parts):
            raise InputError(
                "a method with parameters is written name:parameter=value, for example "
                "v-mdav:gamma=0.2."
            )
        method = method_named(name.strip())
        chosen.append(
            (method, method.checked({name.strip(): value.strip() for name, _, value in parts}))
        )
    return chosen


def run_cell(
    study: Study, cell: Cell, progress: Progress | None = None, threads: int | None = None
) -> Outcome:
    """Protect the table as the cell says and measure the release; an error becomes part of the
    outcome.
    """
    begun = _working_time()
    try:
        _import_what_is_needed(study, cell)
        begun = _working_time()
        figures, sizes = _figures(study, cell, progress, threads)
        return Outcome(
            figures, len(sizes), int(sizes.min()), seconds=max(0.0, _working_time() - begun)
        )
    except CancelledError:
        raise
    except MicroaggError as error:  # its words are ours and quote no value
        return Outcome(error=str(error), seconds=max(0.0, _working_time() - begun))
    except MemoryError:
        return Outcome(error="there is not enough memory for this run.", lasting=False)
    # the message of an unforeseen error may quote the data: only its kind is told
    except Exception as error:
        return Outcome(
            error=f"a bug in microagg ({type(error).__name__}); report it.", lasting=False
        )


def _import_what_is_needed(study: Study, cell: Cell) -> None:
    """Call what imports large libraries, once a process: the first cell must not look slow for
    it.
    """
    method_named(cell.method)
    values_of(open_frame(study.table), study.settings.quasi[:1])


def _working_time() -> float:
    """A clock that stands still while kernels are compiled: only the first cell to use one pays for
    that.
    """
    return time.perf_counter() - seconds_compiling()


def _figures(
    study: Study, cell: Cell, progress: Progress | None, threads: int | None
) -> tuple[dict[str, float], Any]:
    cell_settings = study.settings.but(
        k=cell.k, method=cell.method, params=dict(cell.params), seed=cell.seed
    )
    release = anonymize(study.table, settings=cell_settings, threads=threads, progress=progress)
    measured = assess_pair(release.pair, study.measures, known=study.known)
    return {
        measure.name: float(figure.value) for measure, figure in measured
    }, release.anonymity.sizes
