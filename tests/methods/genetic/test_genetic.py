"""The genetic algorithm against a transcription that throws the same dice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import microagg as ma
import plain
from dice import Dice

Genes = list[int]


def numbered(genes: Genes) -> Genes:
    numbers = list(dict.fromkeys(genes))
    return [numbers.index(gene) for gene in genes]


def drawn(n: int, k: int, groups: int, dice: Dice) -> Genes:
    genes = [-1] * n
    for t, record in enumerate(dice.permutation(n)):
        group = t // k
        if group >= groups:
            group = dice.below(groups)
            while genes.count(group) == 2 * k - 1:
                group = dice.below(groups)
        genes[record] = group
    return numbered(genes)


def loss(points: np.ndarray, genes: Genes) -> float:
    """The sum of squares within the groups, added up record by record and column by column."""
    means = []
    for group in range(max(genes) + 1):
        sums = [0.0] * points.shape[1]
        members = [record for record, gene in enumerate(genes) if gene == group]
        for record in members:
            sums = [s + x for s, x in zip(sums, points[record].tolist(), strict=True)]
        means.append([s / len(members) for s in sums])
    total = 0.0
    for record, gene in enumerate(genes):
        for x, mean in zip(points[record].tolist(), means[gene], strict=True):
            total += (x - mean) * (x - mean)
    return total


def repair(genes: Genes, k: int, groups: int, dice: Dice) -> None:
    n = len(genes)
    for group in range(groups):
        while genes.count(group) < k:
            record = dice.below(n)
            while genes.count(genes[record]) <= k:
                record = (record + 1) % n
            genes[record] = group
    for group in range(groups):
        while genes.count(group) > 2 * k - 1:
            record = dice.below(n)
            while genes[record] != group:
                record = (record + 1) % n
            genes[record] = min(range(groups), key=genes.count)


def spin(wheel: list[float], dice: Dice) -> int:
    target = dice.unit() * wheel[-1]
    return next((c for c, turned in enumerate(wheel) if target < turned), len(wheel) - 1)


def children(
    population: list[Genes], losses: list[float], k: int, groups: int, dice: Dice, rates: dict
) -> list[Genes]:
    n, best = len(population[0]), losses.index(min(losses))
    wheel = list(itertools.accumulate(losses[best] / x for x in losses))
    new = [population[best]]
    while len(new) < len(population):
        mother, father = population[spin(wheel, dice)], population[spin(wheel, dice)]
        cut = 1 + dice.below(n - 1) if dice.unit() < rates["crossover"] else n
        for genes in (mother[:cut] + father[cut:], father[:cut] + mother[cut:]):
            if len(new) < len(population):
                child = [
                    dice.below(groups) if dice.unit() < rates["mutation"] else gene
                    for gene in genes
                ]
                repair(child, k, groups, dice)
                new.append(numbered(child))
    return new


def oracle(
    points: np.ndarray, k: int, dice: Dice, *, generations: int, population: int, **rates: float
) -> np.ndarray:
    n, groups = len(points), len(points) // k
    points = points - points[0]
    chromosomes = [drawn(n, k, groups, dice) for _ in range(population)]
    for _ in range(generations):
        losses = [loss(points, genes) for genes in chromosomes]
        if min(losses) == 0.0 or groups == 1:
            break
        chromosomes = children(chromosomes, losses, k, groups, dice, rates)
    return np.array(min(chromosomes, key=lambda genes: loss(points, genes)))


@pytest.mark.parametrize("seed", range(2500, 2560))
def test_same_groups_as_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    points = np.ascontiguousarray(points[:40])  # one block
    k = min(k, len(points))
    params = {"generations": 12, "population": 7, "crossover": 0.5, "mutation": 0.1}
    labels = ma.partition(points, k=k, method="genetic", seed=seed, **params)
    assert labels.tolist() == oracle(points, k, Dice(seed, "genetic"), **params).tolist()


@pytest.mark.parametrize("n", [100, 119, 130, 151])
def test_no_group_crosses_a_block(n: int) -> None:
    """Blocks are the groups of MDAV with 50 records, and where one is larger, groups of half of
    it.
    """
    points = np.random.default_rng(n).normal(size=(n, 3))
    labels = ma.partition(points, k=3, method="genetic", generations=5)
    for block in plain.mdav_groups(points, 50):
        halves = [block]
        if len(block) > 50:
            members = sorted(block)
            halves = [
                [members[i] for i in half]
                for half in plain.mdav_groups(points[members], len(block) // 2)
            ]
        for half in halves:
            outside = plain.without(range(n), half)
            assert len(half) <= 50
            assert not set(labels[half]) & set(labels[outside])


def test_it_finds_the_optimum_of_a_few_records() -> None:
    points = np.random.default_rng(1).permutation(
        np.repeat(10.0 * np.arange(4), 3) + np.tile([0.0, 1.0, 2.0], 4)
    )[:, None]
    labels = ma.partition(points, k=3, method="genetic")
    assert plain.sse(points, labels) == pytest.approx(8.0)


def test_more_generations_lose_no_more() -> None:
    points = np.random.default_rng(2).normal(size=(50, 4))
    losses = [
        ma.information_loss(points, ma.partition(points, 4, "genetic", generations=g))
        for g in (0, 10, 100, 1000)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]
