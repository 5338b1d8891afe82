"""Strata that are searched as one, and the random numbers that each of them gets."""

from __future__ import annotations

import pytest

from microagg.kernels import random
from microagg.methods.parts import rng_of_part
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import largest_block
from microagg.pipeline.strata_plan import strata_plans

MOST = blockwise.MOST_AS_ONE


@pytest.mark.parametrize(("axes", "k"), [(2, 3), (8, 10)])
def test_a_small_table_is_one_and_a_large_one_is_cut(axes: int, k: int) -> None:
    for records, in_blocks in ((MOST, False), (MOST + 1, True)):
        (plan,) = strata_plans([records], 1, axes, k, strata=False)
        assert (plan.records, plan.in_blocks) == (records, in_blocks)
        assert plan.state == int(random.seeded(1, "auto")[0])


@pytest.mark.parametrize(("axes", "k"), [(2, 3), (8, 10)])
def test_a_stratum_is_cut_if_it_and_its_table_are_large(axes: int, k: int) -> None:
    largest = largest_block(axes, k)
    sizes = [largest, largest + 1, MOST]
    plans = strata_plans(sizes, 1, axes, k, strata=True)
    assert [(plan.records, plan.in_blocks) for plan in plans] == [
        (largest, False),
        (largest + 1, True),
        (MOST, largest < MOST),
    ]
    few = strata_plans([largest + 1, 9], 1, axes, k, strata=True)
    assert [plan.in_blocks for plan in few] == [largest + 10 > MOST, False]


@pytest.mark.parametrize("method", ["lns", "mdav"])
def test_a_named_method_gets_the_random_numbers_of_its_name(method: str) -> None:
    """They are those of `run_method`, which has the seed and the name of the method."""
    (whole,) = strata_plans([50], 4, 2, 3, strata=False, method=method)
    rng = random.seeded(4, method)
    assert whole.state == int(rng[0])
    plans = strata_plans([50, MOST + 1], 4, 2, 3, strata=True, method=method)
    drawn = int(random.next_integer(rng))
    assert [plan.state for plan in plans] == [int(rng_of_part(drawn, part)[0]) for part in range(2)]
    assert not any(plan.in_blocks for plan in plans)


def test_each_stratum_draws_numbers_of_its_part() -> None:
    plans = strata_plans([50, 60, 70], 4, 2, 3, strata=True)
    rng = random.seeded(4, "auto")
    drawn = int(random.next_integer(rng))
    assert [plan.state for plan in plans] == [int(rng_of_part(drawn, part)[0]) for part in range(3)]
    assert len({plan.state for plan in plans}) == 3
