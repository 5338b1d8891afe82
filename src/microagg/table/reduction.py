"""Reductions: statistics of a table that are computed chunk by chunk and then combined.

A table in memory is the case of one chunk. The model is the tree reduction of Dask: a statistic
states what one chunk contributes (`of_chunk`), how two contributions are merged (`combine`) and
what follows from all of them (`finish`). Every split of a table into chunks gives the same result.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterable
from typing import Any, Self, TypeVar


class Reduction(abc.ABC):
    """Statistic that can be computed from parts of a table.

    `combine` may change and return the left operand; neither operand is used afterwards. Chunks
    are combined in the order of the table.

    Examples
    --------
    >>> class Count(Reduction):
    ...     def __init__(self, records): self.records = records
    ...     @classmethod
    ...     def of_chunk(cls, values): return cls(len(values))
    ...     def combine(self, other): return Count(self.records + other.records)
    >>> combine_chunks(Count.of_chunk(part) for part in ([1, 2], [3])).records
    3
    """

    @classmethod
    @abc.abstractmethod
    def of_chunk(cls, *args: Any, **options: Any) -> Self:
        """Return the statistic of one chunk."""

    @abc.abstractmethod
    def combine(self, other: Any, /) -> Self:
        """Return the statistic of this part and the part that follows it."""

    def finish(self) -> Any:
        """Return the result for the whole table; the statistic itself unless overridden."""
        return self


R = TypeVar("R", bound=Reduction)


def combine_chunks(parts: Iterable[R]) -> R:
    """Combine the statistics of all chunks, of which there is at least one, in their order."""
    return functools.reduce(lambda whole, part: whole.combine(part), parts)


def combine_named(whole: dict[str, R], parts: dict[str, R]) -> dict[str, R]:
    """Combine statistics by name; names that occur in one operand only are taken as they are."""
    for name, part in parts.items():
        whole[name] = whole[name].combine(part) if name in whole else part
    return whole
