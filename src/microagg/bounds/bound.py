"""A proven lower bound, and the certificate that others can check it by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.errors import InputError
from microagg.files.commit.overwrite_guard import check_other_kind
from microagg.files.commit.writing import check_unwritable, write_text
from microagg.measures.loss.sse import loss_of_partition
from microagg.table.encoder import Space
from microagg.table.variable import Cells
from microagg.verify_bound import check_certificate

FORMAT = "microagg-bound/2"
BEGINNING = b'{"format": "microagg-bound/'
ENUMERATED = "everything enumerated"
CUT = "optimal cut"
BRANCHES = "branches"
OF_MIXED = (
    "the bound is for the variation within groups on the encoding of the columns "
    "(IL_within), not for what is released: "
    "modes, medians and rounding lose more. It has no certificate: the checker stands alone and "
    "reads plain numbers only"
)
SAFETY = 1e-9  # of the total sum of squares: more than all rounding here and in a checker
NO_CERTIFICATE = (
    "a certificate can be written for columns of plain numbers without gaps only; without "
    "one, the bound itself stands."
)


class Cut(NamedTuple):
    """A floor cut of a proof: groups that hold h of the records count floor(h / p) times the
    penalty.
    """

    records: tuple[int, ...]
    p: int
    penalty: float


def priced_cuts(cuts: Cuts, penalties: np.ndarray) -> list[Cut]:
    """Return cuts with their penalties, as a certificate has them."""
    fields = zip(cuts.records, cuts.parts.tolist(), penalties.tolist(), strict=True)
    return [Cut(*of_cut) for of_cut in fields]


@dataclass(frozen=True)
class Bound:
    """A loss that no partition of the points into groups of at least k can go below.

    `pi` and `cuts` prove `certified_sse` to anybody: for every set S of k to 2k - 1 records, the pi
    of its members, less each cut's penalty times floor(h / p), where S holds h of the cut's
    records, add up to no more than the SSE of S. With a `tree`, its leaves prove it.

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
    """The SSE that the certificate proves: `sse`, or less where that is the solver's word."""
    certified_il: float
    pi: np.ndarray = dataclasses.field(repr=False)
    """A number for each record."""
    cuts: tuple[Cut, ...] = dataclasses.field(repr=False)
    """Sets of records, each with the p that it counts by and its penalty."""
    method: str
    """The source of the bound: "one group", "optimal cut", "instant", "columns", "columns and
    cuts", "branches" or "everything enumerated".
    """
    optimal: bool
    """Whether `sse` is shown to be the optimum: by a certificate that was checked, or by the
    theorem on one column (`method` is "optimal cut").
    """
    points: np.ndarray = dataclasses.field(repr=False)
    data: dict[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The table that the points came from: columns, scale, centre, width and the values' digest."""
    mixed: bool = False
    """Whether the table has other columns than plain numbers: `OF_MIXED` says what the bound is
    for then.
    """
    solver_optimal: bool = False
    """Whether an integer program over all groups left in question ended with `sse`: the solver's
    word, which the certificate does not prove.
    """
    labels: np.ndarray | None = dataclasses.field(default=None, repr=False)
    """An optimal partition, where one is known."""
    tree: dict[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The branch tree of the certificate, as plain data."""

    def gap(self, labels: Any) -> float:
        """Return how far the loss of a partition is above the bound, in percent of the bound;
        values are not rounded yet.

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
        content = {
            "format": FORMAT,
            "k": self.k,
            "records": self.n,
            "claim": {"sse": self.certified_sse, "il": self.certified_il},
            "data": data,
            "pi": self.pi.tolist(),
            "cuts": [
                {"records": list(cut.records), "p": cut.p, "penalty": cut.penalty}
                for cut in self.cuts
            ],
        }
        if self.labels is not None:
            content["grouping"] = self.labels.tolist()
        if self.tree is not None:
            content["tree"] = self.tree
        return content

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
    """Return whether all columns are plain numbers: a checker that stands alone would have to read
    all else as we do.
    """
    return cells.is_plain and not any(
        column.unit or column.origin != 0 for column in cells.variables
    )


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
    cuts: list[Cut],
    method: str,
    optimum: float | None = None,
) -> Bound:
    """Return a bound from numbers that prove one; `optimum` is a loss that is known to be least."""
    n, sst = len(points), total_squares(points)
    kept = tuple(cut for cut in cuts if cut.penalty > 0.0)
    terms = [*pi.tolist(), *(-cut.penalty * (len(cut.records) // cut.p) for cut in kept)]
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


def with_optimum(
    bound: Bound,
    labels: np.ndarray,
    optimum: float,
    tree: tuple[dict[str, Any], list[Cut], float] | None = None,
) -> Bound:
    """Return the bound with a partition that loses no more than it, if the checker agrees.

    `tree` is a branch tree, the cuts that its leaves price, and the SSE that it proves. If the
    checker does not agree, the bound is as it was, and the optimum is the solver's word.
    """
    sst = total_squares(bound.points)
    share = 100.0 / sst if sst > 0.0 else 0.0
    optimum *= 1.0 - 1e-12
    changes: dict[str, Any] = {"labels": labels, "optimal": True, "mixed": False, "data": None}
    if tree is not None:
        data, cuts, certified = tree
        changes |= {"tree": data, "cuts": tuple(cuts), "method": BRANCHES}
        changes |= {"certified_sse": certified, "certified_il": certified * share}
    best = max(bound.sse, optimum)
    shown = dataclasses.replace(bound, sse=best, il=best * share, **changes)
    verdict = check_certificate(shown.certificate(), bound.points)
    if verdict.holds and verdict.optimal:
        return shown
    return dataclasses.replace(
        bound, sse=best, il=best * share, solver_optimal=True, method=ENUMERATED, optimal=False
    )
