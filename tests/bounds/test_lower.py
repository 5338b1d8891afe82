"""Lower bounds against the brute-force optimum, and whenever they are stopped."""

import json
import math

import numpy as np
import pytest

import plain
from microagg.bounds.lower import lower_bound
from microagg.errors import InputError
from microagg.problem.watch import StopSearch, Watch
from microagg.verify_bound import check_certificate
from optima import best_loss, cost, proves, tiny_problem


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_no_bound_exceeds_the_optimum_and_its_numbers_prove_it(block):
    for seed in range(20 * block, 20 * block + 20):
        points, k = tiny_problem(seed)
        bound = lower_bound(points, k)
        optimum = best_loss(points, k)
        assert 0.0 <= bound.certified_sse <= bound.sse <= optimum * (1.0 + 1e-12), seed
        assert proves(points, bound), seed
        assert bound.il == pytest.approx(
            100.0 * bound.sse / max(cost(points, range(len(points))), 1e-300), rel=1e-6
        )


def test_stopped_at_any_checkpoint_it_is_still_a_proof():
    points, k = np.random.default_rng(11).normal(size=(12, 3)), 3
    optimum, values = best_loss(points, k), []
    for stop_after in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 60):
        watch = Watch(stop_after=stop_after)
        bound = lower_bound(points, k, watch=watch)
        assert proves(points, bound)
        assert bound.sse <= optimum
        values.append(bound.sse)
        assert bound.sse == lower_bound(points, k, watch=Watch(stop_after=stop_after)).sse
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_the_instant_bound_is_there_without_any_time():
    points = np.random.default_rng(2).normal(size=(11, 2))
    bound = lower_bound(points, 2, time_limit=0.0)
    assert bound.sse > 0.0
    assert proves(points, bound)


def test_enough_keeps_the_bound_and_other_exceptions_pass():
    points = np.random.default_rng(4).normal(size=(200, 3))

    class Stopping:
        def __init__(self, error):
            self.error, self.calls, self.messages = error, 0, []

        def tell(self, telling):
            self.messages.append(telling)

        def __call__(self, done, total):
            if len(self.messages) > 3:
                raise self.error

    stopping = Stopping(StopSearch("enough"))
    bound = lower_bound(points, 3, labels=np.arange(200) // 3 % 66, progress=stopping)
    assert bound.sse > 0.0
    assert not bound.optimal
    assert stopping.messages[-1].startswith("bound ")
    assert ", loss " in stopping.messages[-1]
    assert ", gap " in stopping.messages[-1]
    with pytest.raises(KeyboardInterrupt):
        lower_bound(points, 3, progress=Stopping(KeyboardInterrupt()))


def test_one_group_and_equal_points():
    alone = lower_bound([[0.0], [1.0], [5.0]], 2)
    assert alone.optimal
    assert alone.sse == pytest.approx(14.0)
    assert alone.method == "one group"
    equal = lower_bound(np.ones((9, 2)), 3)
    assert equal.sse == 0.0
    assert equal.il == 0.0
    assert equal.gap(np.zeros(9, int)) == 0.0


def test_scales_do_not_matter():
    points = np.random.default_rng(8).normal(size=(40, 3))
    plainly = lower_bound(points, 3)
    for factor in (1e-60, 1e60):
        assert lower_bound(points * factor, 3).il == pytest.approx(plainly.il, rel=1e-6)


def test_gap_and_certificate(tmp_path):
    points = np.random.default_rng(9).normal(size=(30, 2))
    bound = lower_bound(points, 3)
    labels = np.arange(30) // 3
    loss = plain.sse(points, labels)
    assert bound.gap(labels) == pytest.approx(100.0 * (loss - bound.sse) / bound.sse)
    bound.save(tmp_path / "bound.json")
    content = json.loads((tmp_path / "bound.json").read_text())
    assert (tmp_path / "bound.json").stat().st_mode & 0o077 == 0
    assert content["format"] == "microagg-bound/2"
    assert content["records"] == 30
    assert content["k"] == 3
    assert content["pi"] == bound.pi.tolist()
    assert content["data"]["scale"] == "none"
    assert content["claim"] == {"sse": bound.certified_sse, "il": bound.certified_il}
    with pytest.raises(InputError):
        bound.save(tmp_path / "nowhere" / "bound.json")


def test_wrong_input_is_refused():
    with pytest.raises(InputError):
        lower_bound([[1.0], [2.0]], 3)
    with pytest.raises(InputError):
        lower_bound([[math.nan], [2.0], [3.0]], 2)


@pytest.mark.slow
@pytest.mark.reference
def test_tarragona_comes_within_a_tenth_of_a_percent(reference_data):
    from microagg.datasets.reference import load_reference
    from microagg.table.encoder import Space

    values = load_reference("Tarragona", folder=reference_data)
    bound = lower_bound(Space.fit(values, "zscore").points(values), 3, time_limit=None)
    assert 14.458 < bound.il < 14.4675
    assert bound.method == "columns and cuts"


def test_a_large_k_gets_a_bound_at_once():
    points = np.random.default_rng(0).normal(size=(800, 6))
    bound = lower_bound(points, 50, time_limit=1.0)
    assert bound.method == "instant"
    assert 0.0 < bound.sse < plain.sse(points, np.repeat(np.arange(16), 50))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("constant", [False, True])
def test_one_column_has_its_optimal_cut_as_bound_and_a_certificate_that_holds(seed, constant):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 13)), int(rng.integers(2, 5))
    column = rng.lognormal(size=n) if seed % 3 else rng.integers(0, 4, n).astype(float)
    points = np.column_stack([np.full(n, 7.0), column]) if constant else column.reshape(-1, 1)
    k = min(k, n)
    bound = lower_bound(points, k)
    assert bound.optimal
    assert bound.sse == pytest.approx(best_loss(points, k), rel=1e-9, abs=1e-12)
    assert bound.certified_sse <= bound.sse * (1.0 + 1e-9)
    assert bound.method == ("one group" if n < 2 * k else "optimal cut")
    verdict = check_certificate(bound.certificate(), points)
    assert verdict.holds, verdict.reason
    assert verdict.sse == bound.certified_sse


def test_the_certificate_of_one_column_proves_what_prices_can():
    points = np.random.default_rng(1).lognormal(size=(200, 1))
    bound = lower_bound(points, 3, time_limit=None)
    assert bound.optimal
    assert 0.99 * bound.sse <= bound.certified_sse <= bound.sse
    assert check_certificate(bound.certificate(), points).holds
    at_once = lower_bound(points, 3, time_limit=0.0)
    assert at_once.sse == bound.sse
    assert at_once.certified_sse < bound.certified_sse
    assert check_certificate(at_once.certificate(), points).holds


def test_equal_records_lose_nothing_and_that_is_optimal():
    bound = lower_bound(np.ones((9, 2)), 3)
    assert bound.optimal
    assert check_certificate(bound.certificate(), np.ones((9, 2))).holds
