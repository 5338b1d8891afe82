"""Orders and their optimal cuts: the least error of all runs of k to 2k - 1, found the slow way."""

import itertools
import math

import numpy as np
import pytest

import plain
from microagg.errors import InputError
from microagg.methods.method import Method
from microagg.methods.ordered.mhm import HM, MHM, MHM_CBFS, MHM_MD, MHM_MDAV, MHM_NPN, MHM_TSP
from microagg.methods.ordered.orders import ORDERS
from microagg.pipeline.run_method import partition, run_method
from microagg.problem.problem import Problem

NAMED = {"mdav": MHM_MDAV, "md": MHM_MD, "cbfs": MHM_CBFS, "npn": MHM_NPN, "tsp": MHM_TSP}


def least_error(points: np.ndarray, order: list[int], k: int) -> float:
    """The shortest path over all runs, each run's error computed from its records."""
    n = len(order)
    best = [0.0] + [math.inf] * n
    for end in range(k, n + 1):
        for size in range(k, min(2 * k - 1, end) + 1):
            if best[end - size] < math.inf:
                members = order[end - size : end]
                away = plain.squared_distances(points, members, plain.centroid(points, members))
                best[end] = min(best[end], best[end - size] + math.fsum(away.tolist()))
    return best[n]


def run(method: Method, points: np.ndarray, k: int, **params: object) -> np.ndarray:
    return run_method(method, Problem.of(points, k), method.checked(dict(params)), seed=0).labels


def close(ours: float, least: float, points: np.ndarray) -> bool:
    """Equal to nine digits, or both nothing but rounding beside the coordinates themselves."""
    dust = len(points) * points.shape[1] * (1e-15 * np.abs(points).max()) ** 2
    return abs(ours - least) <= 1e-9 * least + dust


def check_runs(labels: np.ndarray, order: list[int], k: int) -> None:
    """Groups are runs along the order, of k to 2k - 1 records, numbered by their first records."""
    sizes = [len(list(group)) for _, group in itertools.groupby(labels[order].tolist())]
    assert len(sizes) == labels.max() + 1
    assert min(sizes) >= k
    assert max(sizes) <= max(2 * k - 1, k)
    assert (
        plain.labels_from_groups(
            len(labels), [np.flatnonzero(labels == g).tolist() for g in range(len(sizes))]
        ).tolist()
        == labels.tolist()
    )


@pytest.mark.parametrize("seed", range(2300, 2365))
@pytest.mark.parametrize("name", ORDERS)
def test_the_cut_is_the_best_of_its_order(name: str, seed: int) -> None:
    points, k = plain.hard_problem(seed)
    order = ORDERS[name](Problem.of(points, k), None, None).tolist()
    labels = run(MHM, points, k, order=name)
    check_runs(labels, order, k)
    assert close(plain.sse(points, labels), least_error(points, order, k), points)
    if name in NAMED:
        np.testing.assert_array_equal(run(NAMED[name], points, k), labels)


@pytest.mark.parametrize("seed", range(2400, 2465))
def test_hm_is_optimal_on_one_column(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    column = np.ascontiguousarray(points[:, :1])
    order = sorted(range(len(column)), key=lambda record: (column[record, 0], record))
    labels = run(HM, column, k)
    check_runs(labels, order, k)
    assert close(plain.sse(column, labels), least_error(column, order, k), column)


def all_partitions(records: list[int], k: int) -> list[list[list[int]]]:
    if not records:
        return [[]]
    partitions = []
    for size in range(k - 1, len(records)):
        for others in itertools.combinations(records[1:], size):
            rest = [r for r in records[1:] if r not in others]
            partitions += [[[records[0], *others], *tail] for tail in all_partitions(rest, k)]
    return partitions


@pytest.mark.parametrize("seed", range(10))
def test_no_partition_of_one_column_beats_hm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 10)), int(rng.integers(2, 4))
    column = np.round(rng.normal(size=(n, 1)), 1)
    best = min(
        plain.sse(column, plain.labels_from_groups(n, groups))
        for groups in all_partitions(list(range(n)), k)
    )
    assert math.isclose(plain.sse(column, run(HM, column, k)), best, rel_tol=1e-9, abs_tol=1e-15)


def test_hm_refuses_several_columns() -> None:
    with pytest.raises(InputError, match="hm works on 1 column"):
        run(HM, np.zeros((6, 2)), 2)


@pytest.mark.parametrize(
    ("name", "start"), [("mdav", "mdav"), ("md", "max-distance"), ("cbfs", "cbfs")]
)
@pytest.mark.parametrize("seed", range(2500, 2530))
def test_a_cut_loses_no_more_than_the_groups_it_starts_from(
    name: str, start: str, seed: int
) -> None:
    points, k = plain.hard_problem(seed)
    before = plain.sse(points, partition(points, k=k, method=start))
    ours = plain.sse(points, run(NAMED[name], points, k))
    assert ours <= before or close(ours, before, points)


def test_mhm_by_a_column() -> None:
    points = np.array([[0.0, 9.0], [1.0, 1.0], [2.0, 8.0], [3.0, 2.0]])
    assert run(MHM, points, 2, order="column", column=1).tolist() == [0, 1, 0, 1]
    assert run(MHM, points, 2, order="column").tolist() == [0, 0, 1, 1]
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        run(MHM, points, 2, order="column", column=5)


@pytest.mark.parametrize("method", [HM, MHM, *NAMED.values()], ids=lambda method: method.name)
def test_progress_goes_up(method: Method) -> None:
    points = np.random.default_rng(0).normal(size=(2000, 1))
    calls: list[int] = []
    run_method(
        method,
        Problem.of(points, 5),
        method.checked({}),
        seed=0,
        progress=lambda done, total: calls.append(done),
    )
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert calls[-1] == 2000
