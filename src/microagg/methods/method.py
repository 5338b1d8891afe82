"""What the registry knows of a method: enough to run it, to check its parameters and to describe it everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from microagg.errors import InputError
from microagg.problem import Groups, PointSet, Problem, Progress


class Partition(Protocol):
    """The general shape of a method."""

    def __call__(
        self, problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Choice:
    """A parameter that takes one of a few words."""

    name: str
    choices: tuple[str, ...]
    default: str
    help: str

    @property
    def describes(self) -> str:
        """What may be given, in words."""
        return " | ".join(self.choices)

    def parse(self, value: Any) -> str:
        """The value, if it is one of the choices."""
        if value not in self.choices:
            raise InputError(f"{self.name} must be one of {', '.join(self.choices)}.")
        return str(value)


@dataclass(frozen=True)
class Number:
    """A parameter that takes a number within bounds."""

    name: str
    low: float
    high: float
    default: float
    help: str
    whole: bool = False

    @property
    def describes(self) -> str:
        """What may be given, in words."""
        return f"{'whole number' if self.whole else 'number'} from {self.low:g} to {self.high:g}"

    def parse(self, value: Any) -> float:
        """The value as a number, if it is one and within bounds."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not self.low <= number <= self.high or (self.whole and not number.is_integer()):
            raise InputError(f"{self.name} must be a {self.describes}.")
        return int(number) if self.whole else number


Parameter = Choice | Number


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
    source: str
    summary: str
    run: Partition
    complexity: str
    parameters: tuple[Parameter, ...] = ()
    largest_group: Callable[[int, int], int | None] = lambda k, n: None
    """The size that no group exceeds for given k and n; None where there is no such bound."""
    scope: str = "record"
    """record: one label per record, and k for their combinations; column: a label per record and column, k for each alone."""
    columns: int | None = None
    """The only number of columns that the method works on; None where any will do."""
    needs_confidential: bool = False
    guarantees_k: bool = True
    seeded: bool = False

    def checked(self, params: dict[str, Any]) -> dict[str, Any]:
        """All parameters with their values: those given, checked, and the defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in params:
            if name not in known:
                offered = f"it takes {', '.join(known)}" if known else "it takes none"
                raise InputError(f"method {self.name} has no parameter {name!r}; {offered}.")
        return {name: known[name].parse(params.get(name, known[name].default)) for name in known}


def growing(heuristic: Callable[..., None]) -> Partition:
    """Give a heuristic that forms one group after another the general shape."""

    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        points = PointSet(problem.points, progress)
        groups = Groups(problem.points)
        heuristic(points, groups, problem.k, **params)
        return groups.labels()

    partition.__doc__ = heuristic.__doc__
    return partition
