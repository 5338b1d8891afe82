"""Best attackers: chosen on some people, measured on the others, and what they are told by whom."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from independent import independent_table
from microagg.studies.attacks.attack import attack
from microagg.studies.attacks.inference import filled_classes
from microagg.studies.attacks.people import choose_people
from microagg.studies.attacks.rates import Excess
from microagg.studies.attacks.study import best_of, measured
from microagg.studies.attacks.view import view_of

QUASI = ["a", "b", "town"]


def inside(excess: Excess) -> bool:
    return excess.low <= 0.0 <= excess.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack_rates", "control_rates"),
    [
        ([0.3] * 6, [0.3] * 6),
        ([0.02, 0.05, 0.1, 0.2], [0.02, 0.04, 0.05, 0.05]),
        ([0.9, 0.6, 0.5], [0.88, 0.5, 0.4]),
    ],
)
def test_choosing_the_best_attacker_costs_no_coverage(
    attack_rates: list[float], control_rates: list[float]
) -> None:
    """The interval covers the true excess of whichever attacker was chosen, 1,000 times."""
    rng = np.random.default_rng(round(1000 * attack_rates[0]))
    true = {
        f"attacker {i}": (a - c) / (1.0 - c)
        for i, (a, c) in enumerate(zip(attack_rates, control_rates, strict=True))
    }
    covered = naive = 0
    for seed in range(1_000):
        outcomes = {
            name: (rng.random(300) < a, rng.random(300) < c)
            for name, a, c in zip(true, attack_rates, control_rates, strict=True)
        }
        best = best_of(outcomes, seed)
        covered += best.excess.low <= true[best.attacker] <= best.excess.high
        on_the_same = max(
            outcomes, key=lambda name: measured(name, outcomes, seed).excess.value
        )  # the best on those who measure
        same = measured(on_the_same, outcomes, seed).excess
        naive += same.low <= true[on_the_same] <= same.high
    assert covered >= 930, covered
    if len(set(attack_rates)) == 1:
        assert naive < covered  # what choosing on the same people would cost


def seeds_without_excess(seeds: int) -> dict[str, int]:
    """In how many seeds 0 is in the interval, for a confidential value that is independent."""
    counts = {"from others": 0, "unlinked": 0}
    for seed in range(seeds):
        table = independent_table(300, seed)
        options = {
            "k": 5, "quasi": QUASI, "confidential": ["illness"], "seed": seed, "effort": "quick",
            "boosted": False, "kinds_of_attack": ["inference"],
        }  # fmt: skip
        result = attack(table, **options).result("inference")
        assert result.others is not None
        counts["from others"] += inside(result.others.excess)

        def unlinked(rest: pa.Table, seed: int = seed) -> pa.Table:
            release = ma.anonymize(
                rest, k=5, quasi=QUASI, confidential=["illness"], seed=seed, effort="quick"
            ).to_arrow()
            order = np.random.default_rng(seed).permutation(len(release))
            return release.set_column(3, "illness", release["illness"].take(pa.array(order)))

        result = attack(table, release_with=unlinked, **options).result("inference")
        counts["unlinked"] += inside(result.excess)
    return counts


@pytest.mark.slow
def test_an_independent_value_gives_no_excess() -> None:
    """Other records tell nothing of it, and neither does a release that does not hold it."""
    assert min(seeds_without_excess(10).values()) >= 8


@pytest.mark.nightly
def test_an_independent_value_gives_no_excess_in_90_of_100_seeds() -> None:
    assert min(seeds_without_excess(100).values()) >= 90


@pytest.mark.slow
def test_a_class_of_k_tells_its_members_even_of_an_independent_value() -> None:
    """One's own value is among those of the class: a real excess, of known size without choice."""
    result = attack(
        independent_table(1_500, 1), k=3, quasi=QUASI, confidential=["illness"], seed=1,
        effort="quick", boosted=False, kinds_of_attack=["inference"],
    ).result("inference")  # fmt: skip
    assert result.excess.low > 0.0
    assert result.others is not None
    assert inside(result.others.excess)


def test_classes_take_the_nearest_of_the_register_until_they_are_full() -> None:
    table = independent_table(120, 2).select(["a", "b", "illness"])
    settings = ma.Settings.of(k=4, quasi=["a", "b"], confidential=["illness"], seed=1).resolved()
    rng = np.random.default_rng(0)
    people = choose_people(table, settings, control_share=0.2, most=30, rng=rng)
    release = ma.anonymize(
        people.table_of(people.rest), k=4, quasi=["a", "b"], confidential=["illness"], seed=1,
        effort="quick",
    ).to_arrow()  # fmt: skip
    view = view_of(people, release)
    filled = filled_classes(view, ["a", "b"], rng)
    distances = view.distances(np.arange(len(table)), ["a", "b"])
    room = np.bincount(view.class_of).tolist()
    expected = np.full(len(table), -1)
    for flat in np.argsort(distances, axis=None).tolist():
        person, wanted = divmod(flat, view.classes)
        if (
            expected[person] < 0
            and room[wanted] > 0
            and distances[person, wanted] <= (np.sort(distances[person])[14])
        ):
            expected[person] = wanted
            room[wanted] -= 1
    rest = expected < 0
    expected[rest] = distances[rest].argmin(axis=1)
    assert filled.tolist() == expected.tolist()


def test_control_records_of_a_table_without_confidential_column() -> None:
    result = attack(
        independent_table(100, 3), k=3, quasi=["a", "b"], rest="drop", seed=1, effort="quick"
    )
    assert [part.kind for part in result.results] == ["singling out", "linkability"]
    assert result.notes == (
        "Inference was not played, because no column is confidential; name one.",
    )
    assert result.controls == 20
    assert result.records == 80
