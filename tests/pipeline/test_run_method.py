"""Checks of the groups that a method returns, and what is done with them afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microagg.errors import CancelledError, GuaranteeError, InputError
from microagg.guarantees.promise import Guarantees
from microagg.methods.method import Grouping, Method
from microagg.methods.registry import method_named
from microagg.pipeline.run_method import (
    method_within_strata,
    partition,
    problem_with,
    run_method,
    strata_progress,
)
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch
from microagg.table.confidential import as_attributes

POINTS = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])


def giving(result: Any, name: str = "mdav") -> Method:
    """A method that returns this, whatever it gets."""

    def run(problem: Problem, *, rng: np.ndarray, progress: Any = None) -> Any:
        return result

    return replace(method_named(name), run=run, parameters=())


def labels_of(result: Any, k: int = 3, name: str = "mdav", **more: Any) -> list[Any]:
    problem = Problem.of(POINTS, k)
    return run_method(giving(result, name), problem, {}, seed=0, **more).labels.tolist()


def int32(*labels: Any) -> np.ndarray:
    return np.array(labels, np.int32)


def test_groups_of_exactly_k_are_taken_as_they_are() -> None:
    labels = int32(0, 0, 0, 1, 1, 1)
    assert labels_of(labels) == labels.tolist()
    assert labels_of(Grouping(labels)) == labels.tolist()


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (int32(0, 0, 0, 1, 1), "did not give every record a group"),
        (int32(0, 0, 0, 0, 0, 0).reshape(6, 1), "did not give every record a group"),
        (np.zeros(6, np.int64), "did not give every record a group"),
        (int32(0, 0, 0, 0, 0, -1), "did not give every record a group"),
        (int32(0, 0, 1, 1, 1, 1), "smaller than k"),
        (int32(0, 0, 0, 2, 2, 2), "smaller than k"),  # group 1 has nobody
    ],
)
def test_other_labels_are_refused(wrong: np.ndarray, what: str) -> None:
    with pytest.raises(GuaranteeError, match=what):
        labels_of(wrong)
    if len(wrong) == 6 and wrong.ndim == 1:  # within a stratum, too
        with pytest.raises(GuaranteeError, match=what):
            labels_of(wrong, strata=np.zeros(6, np.int64))


def test_each_column_of_a_method_by_columns_has_groups_of_k() -> None:
    name = "individual-ranking"
    columns = np.column_stack([int32(0, 0, 0, 1, 1, 1), int32(0, 1, 0, 1, 0, 1)])
    problem = Problem.of(np.hstack([POINTS, POINTS]), 3)
    good = run_method(giving(columns, name), problem, {}, seed=0)
    assert good.labels.tolist() == columns.tolist()
    columns = columns.copy()
    columns[0, 1] = 1
    with pytest.raises(GuaranteeError, match="smaller than k"):
        run_method(giving(columns, name), problem, {}, seed=0)
    with pytest.raises(GuaranteeError, match="every record a group"):
        run_method(giving(columns[:, 0], name), problem, {}, seed=0)


def test_groups_by_column_are_neither_refined_nor_guaranteed() -> None:
    with pytest.raises(InputError, match="cannot be refined"):
        partition(POINTS, 3, "individual-ranking", refine=True)
    with pytest.raises(InputError, match="cannot guarantee l, t or units"):
        partition(POINTS, 3, "individual-ranking", confidential=list("aabbcc"), l=2)


def promised(illness: str, l: float, k: int = 2) -> Problem:
    attributes = as_attributes(list(illness), len(illness))
    points = np.arange(float(len(illness))).reshape(-1, 1)
    return problem_with(Guarantees.of(l), method_named("mdav"), points, k, attributes)


def test_groups_that_miss_l_are_merged_and_counted() -> None:
    """Two of four groups have one illness only."""
    problem = promised("aaabbbcc" + "dd", 2)
    labels = int32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4)
    grouping = run_method(giving(labels), problem, {}, seed=0)
    after = int(grouping.labels.max()) + 1
    assert after < 5
    illness = np.array(list("aaabbbccdd"))
    for group in range(after):
        assert len(set(illness[grouping.labels == group])) >= 2
    (description,) = grouping.chosen
    assert f", 5 groups became {after}: those that missed it were merged" in description


def test_groups_that_keep_l_stay_and_nothing_is_said() -> None:
    problem = promised("abab", 2)
    labels = int32(0, 0, 1, 1)
    grouping = run_method(giving(Grouping(labels, chosen=("as it was",))), problem, {}, seed=0)
    assert grouping.labels is labels
    assert grouping.chosen == ("as it was",)


def test_what_no_grouping_can_keep_is_refused_before_any_search() -> None:
    with pytest.raises(InputError):
        promised("aaaa", 2)


def test_refining_never_makes_groups_worse() -> None:
    bad = int32(0, 1, 0, 1, 0, 1)
    assert labels_of(bad) == bad.tolist()
    refined = labels_of(bad, refine=True)
    assert refined == [refined[0]] * 3 + [refined[3]] * 3
    assert refined[0] != refined[3]


def test_refining_stays_within_strata() -> None:
    strata = np.array([0, 1, 0, 1, 0, 1])
    labels = run_method(
        method_named("mdav"), Problem.of(POINTS, 3), {}, seed=0, refine=True, strata=strata
    ).labels
    assert [len(set(labels[strata == stratum])) for stratum in (0, 1)] == [1, 1]
    assert labels[0] != labels[1]


def test_progress_ends_with_all_records() -> None:
    calls: list[tuple[int, int]] = []
    ways: list[dict[str, Any]] = [{}, {"refine": True}, {"strata": np.zeros(6, np.int64)}]
    for more in ways:
        calls.clear()
        run_method(
            method_named("mdav"), Problem.of(POINTS, 3), {}, seed=0,
            progress=lambda *call: calls.append(call), **more,
        )  # fmt: skip
        assert calls[-1] == (6, 6)
        assert all(0 <= done <= total == 6 for done, total in calls)


def test_a_stop_after_the_search_changes_nothing() -> None:
    def progress(done: int, total: int) -> None:
        if done == total:
            raise StopSearch("enough")

    labels = int32(0, 0, 0, 1, 1, 1)
    assert labels_of(labels, progress=progress) == labels.tolist()


def test_seeds_and_names_of_methods_make_the_dice() -> None:
    dice: list[list[int]] = []

    def run(problem: Problem, *, rng: np.ndarray, progress: Any = None) -> np.ndarray:
        dice.append(rng.tolist())
        return int32(0, 0, 0, 1, 1, 1)

    for name, seed in (("mdav", 1), ("mdav", 1), ("mdav", 2), ("v-mdav", 1)):
        run_method(
            replace(method_named(name), run=run, parameters=()),
            Problem.of(POINTS, 3),
            {},
            seed=seed,
        )
    assert dice[0] == dice[1]
    assert dice[2] != dice[0] != dice[3]


def test_methods_without_checkpoints_are_cancelled_within_strata_not_stopped() -> None:
    """Their work up to there could not be repeated."""

    def stop(done: int, total: int) -> None:
        raise StopSearch("enough")

    def run(
        problem: Problem, *, rng: np.ndarray, progress: Any = None, **params: Any
    ) -> np.ndarray:
        progress(1, len(problem.points))
        return np.zeros(len(problem.points), np.int32)

    without, _ = method_within_strata(replace(method_named("mdav"), run=run), {}, refine=False)
    with pytest.raises(CancelledError, match="enough"):
        without.run(Problem.of(POINTS, 3), rng=np.zeros(4, np.uint64), progress=stop)
    search = method_named("auto")
    assert search.has_checkpoints
    inner, params = method_within_strata(
        replace(search, run=run), {"effort": 1.0, "time_limit": 3.0, "stop_after": 2}, refine=False
    )
    assert params == {"effort": 1.0}
    assert {"time_limit", "stop_after"} <= {parameter.name for parameter in inner.parameters}
    with pytest.raises(StopSearch, match="enough"):
        inner.run(Problem.of(POINTS, 3), rng=np.zeros(4, np.uint64), progress=stop)


def test_strata_are_described_by_their_sizes() -> None:
    assert strata_progress(np.array([7, 5, 9]), "mdav") == (
        "3 strata of 5 to 9 records, mdav within each"
    )
    assert strata_progress(np.array([1200]), "mdav").startswith("1 stratum of 1,200 to 1,200 ")
    grouping = run_method(
        method_named("mdav"), Problem.of(POINTS, 2), {}, seed=0, strata=np.array([0, 0, 1, 1, 1, 1])
    )
    assert grouping.chosen == ("2 strata of 2 to 4 records, mdav within each",)
    assert grouping.bound is None


def test_a_stratum_knows_the_records_of_the_table() -> None:
    seen = []

    def run(problem: Problem, *, rng: np.ndarray, progress: Any = None) -> np.ndarray:
        seen.append((len(problem.points), problem.of_records))
        return np.zeros(len(problem.points), np.int32)

    run_method(
        replace(method_named("mdav"), run=run, parameters=()), Problem.of(POINTS, 2), {}, seed=0,
        strata=np.array([0, 1, 1, 1, 1, 0]),
    )  # fmt: skip
    assert sorted(seen) == [(2, 6), (4, 6)]
