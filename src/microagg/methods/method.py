"""What the registry knows of a method: enough to run it, to check its parameters and to describe it
everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from microagg.errors import InputError
from microagg.methods.heuristics import Heuristic, labels_by
from microagg.problem.problem import Problem, Progress
from microagg.table.parameters import Choice, Effort, Number

AT_HAND = (
    "Abidi",
    "Chettri",
    "Kabir",
    "Mortazavi",
)  # first authors of the papers that microagg was built from


class Partition(Protocol):
    """The general shape of a method."""

    def __call__(
        self, problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray | Grouping: ...


@dataclass(frozen=True)
class Grouping:
    """What a search has to tell besides the labels it found."""

    labels: np.ndarray
    chosen: tuple[str, ...] = ()
    """What it chose to do and why, in sentences."""
    params: dict[str, Any] = field(default_factory=dict)
    """Parameters that repeat the run and were not given: where it was stopped."""
    stopped: str | None = None
    """Why it ended early; None if it did not."""
    bound: Any = None
    """The proven lower bound, where one was asked for."""
    least_within_parts: float | None = None
    """Where each part was worked on alone with a bound of its own: the SSE that no grouping within
    these parts goes below.
    """
    passed: int = 0
    """How many checkpoints it passed: what `stop_after` counts."""


@dataclass(frozen=True)
class MethodName:
    """A parameter that takes the name of another method, one that gives k-anonymous groups of
    records.
    """

    name: str
    default: str
    owner: str
    """The method that has this parameter: not itself to be chosen."""
    help: str

    @property
    def describes(self) -> str:
        """What may be given, in words."""
        return "a method that guarantees k"

    def parse(self, value: Any) -> str:
        """The name, if the registry has such a method."""
        from microagg.methods.registry import (
            method_named,
        )  # which lists what is declared with the names of this module

        chosen = method_named(str(value))
        if chosen.name == self.owner or chosen.scope != "record" or not chosen.guarantees_k:
            raise InputError(
                f"{self.name} must be {self.describes}, other than {self.owner} itself."
            )
        return chosen.name


Parameter = Choice | Number | Effort | MethodName


def below_two_k(k: int, n: int) -> int:
    """The size that no group of a fixed-size method exceeds."""
    return 2 * k - 1


@dataclass(frozen=True)
class Method:
    """One published method.

    >>> from microagg.methods.registry import method_named
    >>> method_named("v-mdav").checked({"gamma": "1.1"})
    {'gamma': 1.1}
    """

    name: str
    family: str
    """One of those that `families.py` lists."""
    source: str
    """Who published it, by author and year."""
    summary: str
    """What it does."""
    good_for: str
    """What one would choose it for."""
    run: Partition
    complexity: str
    parameters: tuple[Parameter, ...] = ()
    largest_group: Callable[[int, int], int | None] = lambda k, n: None
    """The size that no group exceeds for given k and n; None where there is no such bound."""
    scope: str = "record"
    """record: one label per record, and k for their combinations; column: a label per record and
    column, k for each alone.
    """
    columns: int | None = None
    """The only number of columns that the method works on; None where any will do."""
    needs_confidential: bool = False
    guarantees_k: bool = True
    seeded: bool = False
    heeds_promise: bool = False
    """Whether it enforces l and t while it forms groups; groups of other methods are merged
    afterwards where they miss them.
    """

    @property
    def year(self) -> int | None:
        """When it was first published, as far as the source tells; None for our own."""
        if self.source.startswith("microagg"):
            return None
        years = re.findall(r"\b(?:19|20)\d\d\b", self.source)
        return int(years[0]) if years else None

    @property
    def text(self) -> str:
        """Whether the text of a paper that prints the method was at hand when it was built.

        >>> from microagg.methods.registry import method_named
        >>> [method_named(name).text[:11] for name in ("mdav2k", "tfrp1", "auto")]
        ['at hand', 'not at hand', 'our own']
        """
        if self.source.startswith("microagg"):
            return "our own"
        if any(author in self.source for author in AT_HAND):
            return "at hand"
        return "not at hand: built from later papers' descriptions of the method"

    @property
    def has_checkpoints(self) -> bool:
        """Whether it can be stopped with something to keep, and repeated up to there with
        `stop_after`.
        """
        return any(parameter.name == "stop_after" for parameter in self.parameters)

    @property
    def public_parameters(self) -> tuple[str, ...]:
        """The parameters that everybody may know: not those that tell where a search ended.

        >>> from microagg.methods.registry import method_named
        >>> method_named("auto").public_parameters
        ('effort',)
        """
        inside = [
            each.name for each in self.parameters if isinstance(each, Number) and not each.public
        ]
        return tuple(each.name for each in self.parameters if each.name not in inside)

    def check_unfit(self, problem: Problem) -> None:
        """Raise unless the method can be run on this problem.

        >>> from microagg.methods.registry import method_named
        >>> method_named("hm").check_unfit(Problem.of([[0.0, 1.0], [2.0, 3.0]], 2))
        Traceback (most recent call last):
        microagg.errors.InputError: method hm works on 1 column only, but 2 were given.
        """
        d = problem.points.shape[1]
        if self.needs_confidential and not problem.confidential:
            raise InputError(
                f"method {self.name} needs confidential columns; name them with confidential."
            )
        if self.columns not in (None, d):
            raise InputError(
                f"method {self.name} works on {self.columns} column only, but {d} were given."
            )

    def checked(self, params: dict[str, Any]) -> dict[str, Any]:
        """All parameters with their values: those given, checked, and the defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in params:
            if name not in known:
                offered = f"it takes {', '.join(known)}" if known else "it takes none"
                raise InputError(f"method {self.name} has no parameter {name!r}; {offered}.")
        return {name: known[name].parse(params.get(name, known[name].default)) for name in known}


def growing(heuristic: Heuristic) -> Partition:
    """Give a heuristic that forms one group after another the general shape."""

    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        return labels_by(heuristic, problem.points, problem.k, progress, **params)

    partition.__doc__ = heuristic.__doc__
    return partition
