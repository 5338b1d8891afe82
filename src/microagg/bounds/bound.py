"""A proven lower bound, and the certificate that others can check it by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.files.commit.overwrite_guard import check_other_kind
from microagg.files.commit.writing import check_unwritable, write_text
from microagg.measures.loss.sse import loss_of_partition
from microagg.table.encoder import Space
from microagg.table.variable import Cells

FORMAT = "microagg-bound/1"
BEGINNING = b'{"format": "microagg-bound/'
ENUMERATED = "everything enumerated"
CUT = "optimal cut"
OF_MIXED = (
    "the bound is for the variation within groups on the encoding of the columns "
    "(IL_within), not for what is released: "
    "modes, medians and rounding lose more"
)
SAFETY = 1e-9  # of the total sum of squares: more than all rounding here and in a checker
NO_CERTIFICATE = (
    "a certificate can be written for columns of plain numbers without gaps only; without "
    "one, the bound itself stands."
)


@dataclass(frozen=True)
class Bound:
    """A loss that no partition of the points into groups of at least k can go below.

    `pi` and `cuts` prove `certified_sse` to anybody: for every set S of k to 2k - 1 records, the pi
    of its members, less each cut's penalty times half (rounded down) the number of the cut's
    records in S, add up to no more than the SSE of S. Where an integer program over all groups left
    in question has shown that a partition is optimal, or where one column alone varies, whose
    optimal cut no partition beats, `sse` is its loss, and the certificate proves a little less.

    >>> from microagg.bounds.lower import lower_bound
    >>> bound = lower_bound([[0.0], [1.0], [10.0], [11.0]], k=2)
    >>> round(bound.sse, 6), round(bound.gap(np.array([0, 0, 1, 1])), 4)
    (1.0, 0.0)
    """

    k: int
    n: int
    sse: float
    """Proven: the SSE of any partition is at least this."""
    il: float
    """The same in percent of the total sum of squares."""
    certified_sse: float
    """What `pi` and `cuts` prove by themselves."""
    certified_il: float
    pi: np.ndarray = dataclasses.field(repr=False)
    """A number for each record."""
    cuts: tuple[tuple[tuple[int, ...], float], ...] = dataclasses.field(repr=False)
    """Sets of an odd number of records, each with its penalty."""
    method: str
    """How it was found: "one group", "optimal cut", "instant", "columns", "columns and cuts" or
    "everything enumerated".
    """
    optimal: bool
    """Whether `sse` is the optimum: the partition that was found, or the optimal cut of one
    column, loses no more.
    """
    points: np.ndarray = dataclasses.field(repr=False)
    data: dict[str, Any] | None = dataclasses.field(default=None, repr=False)
    """How the points came from a table: columns, scale, centre, width and the digest of the
    values.
    """
    mixed: bool = False
    """Whether the table has other columns than plain numbers: `OF_MIXED` says what the bound is
    for then.
    """

    def gap(self, labels: Any) -> float:
        """How far the loss of a partition is above the bound, in percent of the bound; values
        are not rounded yet.

        Everything that tells of a gap tells of this one: rounding what is released is no fault of
        the groups.
        """
        loss = loss_of_partition(self.points, np.asarray(labels, np.int32))["SSE"]
        if loss <= self.sse or loss <= 1e-15 * total_squares(self.points):
            return 0.0
        return 100.0 * (loss - self.sse) / self.sse if self.sse > 0.0 else math.inf

    def about(self, values: Cells | np.ndarray, columns: list[str] | None, space: Space) -> Bound:
        """The same bound, with a certificate that speaks of the table's values instead of the
        points.

        Only tables of plain numbers can have one: a checker that stands alone would have to read
        kinds, gaps and dates as we do.
        """
        check_inexact(space, columns)
        if isinstance(values, Cells):
            if not _can_be_certified(values):
                return dataclasses.replace(self, data=None, mixed=True)
            values = values.values
        return dataclasses.replace(self, data=_data(values, columns, space))

    def certificate(self) -> dict[str, Any]:
        """The certificate as plain data. Do not publish it: it holds a number for each record."""
        if self.mixed:
            raise InputError(NO_CERTIFICATE)
        data = self.data or _data(self.points, None, Space.fit(self.points, "none"))
        return {
            "format": FORMAT,
            "k": self.k,
            "records": self.n,
            "claim": {"sse": self.certified_sse, "il": self.certified_il},
            "data": data,
            "pi": self.pi.tolist(),
            "cuts": [
                {"records": list(records), "penalty": penalty} for records, penalty in self.cuts
            ],
        }

    def save(self, path: str | Path) -> None:
        """Write the certificate, whole or not at all, readable by its owner only."""
        path = Path(path)
        check_certificate_place(path)
        write_text(path, json.dumps(self.certificate(), allow_nan=False), private=True)


def check_inexact(space: Space, columns: list[str] | None = None) -> None:
    """Nothing can be proven on points that are only nearly as far apart as the values that they
    stand for.
    """
    for j, column in enumerate(space.columns):
        if not column.exact:
            name = f"column {columns[j]!r}" if columns else f"column number {j + 1}"
            raise InputError(
                f"no bound can be proven: {name} is nominal with so many values that "
                "near-orthogonal codes stand for them; "
                "prove a bound without it, or put its values into at most 64."
            )


def check_certificate_of(cells: Cells) -> None:
    """Refuse tables whose bounds have no certificate, before any work."""
    if not _can_be_certified(cells):
        raise InputError(NO_CERTIFICATE)


def _can_be_certified(cells: Cells) -> bool:
    """Whether all columns are plain numbers: a checker that stands alone would have to read all
    else as we do.
    """
    return cells.is_plain and not any(each.unit or each.origin != 0 for each in cells.variables)


def check_certificate_place(path: Path) -> None:
    """Make sure that a certificate can be written there, and takes the place of a certificate at
    most.
    """
    check_unwritable(path)
    check_other_kind(path, "a certificate", lambda beginning: beginning.startswith(BEGINNING))


def _data(values: np.ndarray, columns: list[str] | None, space: Space) -> dict[str, Any]:
    n, d = values.shape
    content = f"{n} {d}\n".encode() + np.ascontiguousarray(values, "<f8").tobytes()
    return {
        "columns": None if columns is None else list(columns),
        **space.as_data(),
        "digest": hashlib.sha256(content).hexdigest(),
    }


def total_squares(points: np.ndarray) -> float:
    """SST; exactly 0 where all points are equal, although their mean may be rounded."""
    if (points == points[0]).all():
        return 0.0
    return loss_of_partition(points, np.zeros(len(points), np.int32))["SSE"]


def bound_from(
    points: np.ndarray,
    k: int,
    pi: np.ndarray,
    cuts: list[tuple[tuple[int, ...], float]],
    method: str,
    optimum: float | None = None,
) -> Bound:
    """A bound from numbers that prove one; `optimum` is the loss of a partition that was shown
    to be the best.
    """
    n, sst = len(points), total_squares(points)
    kept = tuple((records, penalty) for records, penalty in cuts if penalty > 0.0)
    terms = [*pi.tolist(), *(-penalty * (len(records) // 2) for records, penalty in kept)]
    certified = max(math.fsum(terms) - SAFETY * sst, 0.0)
    proven = certified if optimum is None else max(certified, optimum * (1.0 - 1e-12))
    share = 100.0 / sst if sst > 0.0 else 0.0
    return Bound(
        k,
        n,
        proven,
        proven * share,
        certified,
        certified * share,
        pi,
        kept,
        method,
        optimum is not None,
        points,
    )
