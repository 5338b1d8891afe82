"""The best partition that can be put together from given groups: set partitioning, an integer
program in HiGHS.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.refine.highs import SolverError, Stop, must, new_solver, run_solver

NODES = 2000
# No use is made of HiGHS's own option for a known upper bound: with it, version 1.15 has called
# wrong answers optimal.
TYPICAL = 100.0  # what the mean cost of a group is scaled to: HiGHS has absolute tolerances


def best_cover(
    n: int,
    members: np.ndarray,
    offsets: np.ndarray,
    costs: np.ndarray,
    *,
    start: np.ndarray | None = None,
    node_limit: int = NODES,
    upper: float | None = None,
    stop: Stop | None = None,
    seconds: float | None = None,
) -> tuple[np.ndarray, float, bool]:
    """Choose among groups so that every record 0..n-1 is in exactly one, at the least total
    cost.

    Group g has the records members[offsets[g]:offsets[g + 1]]. `start` is a choice that covers all
    records; it comes back if nothing cheaper is found. `upper` is a total cost that any other
    choice has to stay below. The search ends after `node_limit` nodes of its tree. Where `stop`
    says so, or after some `seconds` (HiGHS is deaf for a while at the root of its tree, but looks
    at its clock), `start` comes back, whatever was found so far.

    Returns the numbers of the chosen groups in ascending order (none if there is no cover, or none
    was found), a proven lower bound on the cost of every cover, and whether the search came to its
    end: there is none cheaper (and below `upper`).

    >>> members = np.array([0, 1, 2, 3, 0, 2, 1, 3], np.int32)
    >>> starts, costs = np.array([0, 2, 4, 6, 8]), np.array([5.0, 5.0, 1.0, 1.0])
    >>> chosen, bound, optimal = best_cover(4, members, starts, costs)
    >>> chosen.tolist(), round(bound, 9), optimal
    ([2, 3], 2.0, True)
    """
    import highspy

    costs = np.ascontiguousarray(costs, np.float64)
    known = np.empty(0, np.int64) if start is None else np.sort(np.asarray(start, np.int64))
    if start is not None and not _covers(n, members, offsets, known):
        raise ValueError("start is no cover: it must have every record exactly once")
    unit = float(np.mean(costs)) / TYPICAL if len(costs) else 1.0
    unit = unit if unit > 0.0 else 1.0
    least = float(np.minimum(costs, 0.0).sum())
    if len(costs) == 0:
        return known, least, n == 0
    clock = {} if seconds is None else {"time_limit": float(seconds)}
    solver = new_solver(**clock, mip_rel_gap=0.0, mip_abs_gap=1e-9, mip_max_nodes=int(node_limit))
    must(solver.passModel(_program(n, members, offsets, costs / unit)), "the groups")
    if start is not None:
        ones = np.ones(len(known))
        must(
            solver.setSolution(len(known), known.astype(np.int32), ones), "the cover to start from"
        )
    if not run_solver(solver, stop):
        return known, least, False
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kTimeLimit:
        return known, least, False
    if status in (highspy.HighsModelStatus.kSolveError, highspy.HighsModelStatus.kModelError):
        raise SolverError("HiGHS could not work on the groups")
    if status == highspy.HighsModelStatus.kInfeasible:
        return known, np.inf, True
    bound = solver.getInfo().mip_dual_bound * unit
    values = np.asarray(solver.getSolution().col_value)
    chosen = np.flatnonzero(values > 0.5) if len(values) == len(costs) else known
    limit = np.inf if upper is None else upper
    if start is not None:
        limit = min(limit, float(costs[known].sum()))
    if _covers(n, members, offsets, chosen) and costs[chosen].sum() < limit:
        known = chosen
    optimal = status == highspy.HighsModelStatus.kOptimal
    return known, max(least, bound) if np.isfinite(bound) else least, optimal


def _covers(n: int, members: np.ndarray, offsets: np.ndarray, chosen: np.ndarray) -> bool:
    """Return whether these groups have every record exactly once."""
    records = [members[offsets[g] : offsets[g + 1]] for g in chosen]
    together = np.sort(np.concatenate(records)) if records else np.empty(0, np.int32)
    return np.array_equal(together, np.arange(n))


def _program(n: int, members: np.ndarray, offsets: np.ndarray, costs: np.ndarray) -> Any:
    import highspy

    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(costs), n
    program.col_cost_ = costs
    program.col_lower_, program.col_upper_ = np.zeros(len(costs)), np.ones(len(costs))
    program.row_lower_ = program.row_upper_ = np.ones(n)
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.asarray(offsets, np.int32)
    matrix.index_ = np.asarray(members, np.int32)
    matrix.value_ = np.ones(len(members))
    return program
