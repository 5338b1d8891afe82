"""What was lost in one space, by the sums of all blocks: the digits that `loss_of` finds in
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.table.encoder import Space


@dataclass(frozen=True)
class SpaceLoss:
    """IL, SSE and IL_within of a release in one space."""

    il: float
    sse: float
    il_within: float

    @staticmethod
    def of(space: Space, totals: Sequence[np.ndarray], told: Sequence[dict[str, Any]]) -> SpaceLoss:
        """From the squared distances of all records to their centroid, column by column, and what
        each block tells.
        """
        sse, within = (summed([each[name] for each in told]) for name in ("sse", "within"))
        total = _joined(totals) if space.is_plain else _added(totals)
        inside = _joined(within) if space.is_plain else _added(within)
        lost = sums.rounded(sse[0], 0)
        if len(sse) > 1:
            lost = _of_column(np.array([sums.rounded(each, 0) for each in sse]))
        il = _percent(lost, total)
        one = told[0]["one"]
        if one is not None and all(each["one"] == one for each in told):
            il = min(il, 100.0)  # one record for all: all is lost, and no more than all
        return SpaceLoss(il, lost, _percent(inside, total))


def summed(parts: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    """Partial sums of all blocks put together, column by column.

    >>> summed([[[[1.0], [0.0], [0.0]]], [[[2.0], [0.0], [0.0]]]])[0][:, 0].tolist()
    [3.0, 0.0, 0.0]
    """
    total = [np.zeros((3, 1)) for _ in parts[0]]
    for part in parts:
        for own, more in zip(total, part, strict=True):
            partial_sums.add_sums(own, np.array(more))
    return total


def _joined(parts: Sequence[np.ndarray]) -> float:
    """All columns as one sum: how numbers are counted."""
    total = np.zeros((3, 1))
    for each in parts:
        partial_sums.add_sums(total, each)
    return sums.rounded(total, 0)


def _added(parts: Sequence[np.ndarray]) -> float:
    """Columns one after the other: how mixed tables are counted."""
    return sum(sums.rounded(each, 0) for each in parts)


def _of_column(numbers: np.ndarray) -> float:
    return sums.rounded(sums.column_sums(numbers.reshape(-1, 1)), 0)


def _percent(sse: float, sst: float) -> float:
    return 100.0 * sse / sst if sst > 0.0 else 0.0
