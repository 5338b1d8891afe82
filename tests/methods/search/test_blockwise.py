"""Large tables in blocks: the same groups with any number of threads, what is promised kept, runs
that were stopped repeated.
"""

from dataclasses import replace

import numpy as np
import pytest

import microagg as ma
from microagg.errors import GuaranteeError
from microagg.guarantees.promise import Guarantees
from microagg.kernels import random, sums
from microagg.methods.parts import in_parts, rng_of_part
from microagg.methods.registry import method_named
from microagg.methods.search import auto, blockwise, enforce
from microagg.pipeline.run_method import run_method
from microagg.problem import blocks
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch
from microagg.table.confidential import as_attributes

RECORDS = 4_000


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blockwise, "MOST_AS_ONE", 1_000)
    monkeypatch.setattr(blocks, "LARGEST", 500)
    monkeypatch.setattr(blocks, "SAMPLE", 1_500)


def cloud(seed: int = 0, records: int = RECORDS) -> np.ndarray:
    return np.exp(0.5 * np.random.default_rng(seed).normal(size=(records, 3)))


def squared_error(points: np.ndarray, labels: np.ndarray) -> float:
    return float(
        sums.squared_error(points, sums.group_means(points, labels, int(labels.max()) + 1), labels)
    )


def searched(points: np.ndarray, effort: str | float = "quick", threads: int = 1, **more):
    problem = Problem.of(points, k=3, threads=threads)
    return run_method(method_named("auto"), problem, {"effort": effort, **more}, seed=5)


def by_hand(points: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Do what `auto` does in blocks, pass by pass, as a plan on chunks would do it."""
    rng = random.seeded(seed, "auto")
    drawn = [int(random.next_integer(rng)) for _ in range(3)]
    n, axes = points.shape
    largest = blockwise.largest_block(axes, k)
    chunks = [(first, min(first + 700, n)) for first in range(0, n, 700)]
    wanted = blocks.sample_size(n, largest)
    sample = [points[a:b][blocks.in_sample(a, b - a, n, drawn[0], wanted)] for a, b in chunks]
    trees = blockwise.Trees.fit(np.concatenate(sample), n, k)
    least = blockwise.least_block(axes, k)

    leaves = np.concatenate([trees.first.leaf_of(points[a:b]) for a, b in chunks])
    of_leaf = trees.first.joined(np.bincount(leaves, minlength=len(trees.first)), least)
    block, labels, second = of_leaf[leaves], np.empty(n, np.int64), np.empty(n, np.int64)
    for number in range(int(of_leaf.max()) + 1):
        records = np.flatnonzero(block == number)
        part = Problem(points[records], k, of_records=n)
        part_labels = auto.work_block(
            part, rng=rng_of_part(drawn[1], number), effort="quick"
        ).labels
        labels[records] = part_labels + number * n
        second[records] = blockwise.shifted_leaves(trees.second, points[records], part_labels)

    of_leaf = trees.second.joined(np.bincount(second, minlength=len(trees.second)), least)
    shifted, final = of_leaf[second], np.empty(n, np.int64)
    for number in range(int(of_leaf.max()) + 1):
        records = np.flatnonzero(shifted == number)
        result = blockwise.work_shifted_block(
            Problem(points[records], k, of_records=n), labels=labels[records],
            blocks=block[records],
            rng=rng_of_part(drawn[2], number), effort="quick",
        )  # fmt: skip
        final[records] = result.labels + number * n
    return sums.number_by_first_record(np.unique(final, return_inverse=True)[1].astype(np.int32))


def test_chunks_and_blocks_one_by_one_give_the_same_groups() -> None:
    points = cloud()
    assert np.array_equal(searched(points).labels, by_hand(points, 3, 5))


@pytest.mark.parametrize("effort", ["quick", 2.0])
def test_threads_change_no_label(effort: str | float) -> None:
    points = cloud(1)
    assert np.array_equal(
        searched(points, effort).labels, searched(points, effort, threads=3).labels
    )


def test_what_was_done_is_told() -> None:
    chosen = searched(cloud()).chosen
    assert chosen[0].startswith("4,000 records, 3 columns that vary, k = 3: ")
    assert "blocks of" in chosen[0]
    assert chosen[1] == "effort quick: no further search"
    assert chosen[2].startswith("then local search across their borders, in ")


def test_small_tables_and_the_longest_searches_are_worked_on_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = cloud(2)
    monkeypatch.setattr(auto, "in_blocks", None)
    ma.partition(points[:1_000], k=3, effort="quick")
    assert len(searched(points[:1_200], "thorough", stop_after=1).labels) == 1_200
    with pytest.raises(TypeError):
        ma.partition(points[:1_001], k=3, effort="quick")


def test_borders_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforce, "FEWEST_FOR_PATHS", 8_001)  # further starts, of no block here
    points = cloud(3, 8_000)
    error = squared_error(points, searched(points).labels)
    monkeypatch.setattr(blockwise, "MOST_AS_ONE", 8_000)
    assert error < 1.03 * squared_error(points, searched(points).labels)


def test_the_second_pass_never_loses_more() -> None:
    points = cloud(4)
    first, whole = searched(points, stop_after=10**9), searched(points)
    passed = len(np.unique(blockwise.blocks_of(Problem.of(points, 3), _first_tree(points))))
    stopped = searched(points, stop_after=passed)
    assert first.labels.tolist() == whole.labels.tolist()
    assert squared_error(points, whole.labels) < squared_error(points, stopped.labels)
    assert stopped.stopped == "checkpoint"


def _first_tree(points: np.ndarray):
    n = len(points)
    seed = int(random.next_integer(random.seeded(5, "auto")))
    chosen = blocks.in_sample(0, n, n, seed, blocks.sample_size(n, blockwise.largest_block(3, 3)))
    return blockwise.Trees.fit(points[chosen], n, 3).first


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("effort", ["quick", 3.0])
@pytest.mark.parametrize("calls", [1, 40, 150])
def test_a_run_that_was_stopped_is_repeated(effort: str | float, threads: int, calls: int) -> None:
    points = cloud(6)
    heard = 0

    def enough(done: int, total: int) -> None:
        nonlocal heard
        heard += 1
        if heard == calls:
            raise StopSearch("enough")

    problem = Problem.of(points, k=3, threads=threads)
    result = run_method(method_named("auto"), problem, {"effort": effort}, seed=5, progress=enough)
    assert np.bincount(result.labels).min() >= 3
    if result.stopped is not None:
        again = searched(points, effort, **result.params)
        assert np.array_equal(again.labels, result.labels)


@pytest.mark.slow
def test_every_number_of_checkpoints_ends_where_it_says() -> None:
    points = cloud(7, 1_500)
    whole = searched(points, 1.0)
    for stop_after in range(0, whole.passed + 2, 5):
        one, other = (searched(points, 1.0, threads, stop_after=stop_after) for threads in (1, 2))
        assert np.array_equal(one.labels, other.labels)
        assert one.params == other.params
        assert one.passed == min(stop_after, whole.passed)


@pytest.mark.parametrize(("l", "t"), [(3, None), (None, 0.15), (2, 0.3)])
def test_promises_are_kept_against_the_whole_table(l: float | None, t: float | None) -> None:
    points = cloud(8, 2_500)
    rng = np.random.default_rng(8)
    ill = np.minimum(rng.geometric(0.4, len(points)), 6) + (
        points[:, 0] > 1.5
    )  # goes with the quasi-identifiers
    attributes = as_attributes(ill.astype(str), len(points))
    promise = Guarantees.of(l, t)
    problem = replace(
        Problem.of(points, 3, confidential=attributes), accept=promise.accept(attributes, None)
    )
    labels = run_method(method_named("auto"), problem, {"effort": "quick"}, seed=5).labels
    findings = promise.verify(labels, int(labels.max()) + 1, attributes, None)
    assert all(finding.holds for finding in findings)
    with pytest.raises(GuaranteeError):
        promise.verify(np.arange(len(points), dtype=np.int32), len(points), attributes, None)


def test_strata_are_cut_where_they_are_large() -> None:
    points = cloud(9)
    strata = np.repeat([0, 1, 2], [3_000, 700, 300]).astype(np.int32)
    problem = Problem.of(points, k=3)
    result = run_method(method_named("auto"), problem, {"effort": "quick"}, seed=5, strata=strata)
    assert all(
        len(np.unique(strata[result.labels == group])) == 1
        for group in range(int(result.labels.max()) + 1)
    )
    large = replace(problem.part(np.arange(3_000)), of_records=RECORDS)
    assert blockwise.needs_blocks(large)
    assert blockwise.needs_blocks(
        replace(problem.part(np.arange(3_000, 3_700)), of_records=RECORDS)
    )
    assert not blockwise.needs_blocks(
        replace(problem.part(np.arange(3_700, 4_000)), of_records=RECORDS)
    )


def test_equal_records_lose_nothing() -> None:
    points = np.repeat(cloud(10, 400), 5, axis=0)
    labels = searched(points).labels
    assert np.bincount(labels).min() >= 3
    assert all(
        (points[labels == group] == points[labels == group][0]).all()
        for group in range(int(labels.max()) + 1)
    )


def test_one_column_and_one_value_are_no_trouble() -> None:
    points = cloud(11)[:, :1]
    assert np.bincount(searched(points).labels).min() >= 3
    assert np.bincount(searched(np.zeros((2_000, 2))).labels).min() >= 3
    flags = (np.random.default_rng(0).random((3_000, 2)) < 0.9).astype(float)
    assert squared_error(flags, searched(flags).labels) == 0.0


def test_arrays_go_along_with_their_parts() -> None:
    points, parts = cloud(12, 60), np.arange(60, dtype=np.int32) % 2

    def run(problem: Problem, *, rng: np.ndarray, progress=None, first: np.ndarray) -> np.ndarray:
        assert np.array_equal(problem.points[:, 0], first)
        return np.zeros(len(first), np.int32)

    method = replace(method_named("mdav"), run=run, parameters=())
    along = {"first": points[:, 0]}
    assert (
        in_parts(
            Problem.of(points, 3), parts, method, rng=random.seeded(0), along=along
        ).labels.max()
        == 1
    )
