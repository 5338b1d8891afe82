"""A genetic algorithm within small blocks of records.

Source: Solanas et al. 2006 (3rd IEEE Conference on Intelligent Systems), as retold by Mortazavi,
Jalili and Gohargazi 2013: a gene for each record, and for more than 50 records a fixed-size method
first.

1. MDAV with groups of `block` records makes the blocks (no fewer than 2k records; a last block that
is larger is halved
   by it). Within each block, with ⌊n / k⌋ groups for its n records:
2. Draw a population of random chromosomes: a gene for each record, the number of its group; k to 2k
- 1 records a
   group.
3. The next generation has the best chromosome as it is, and children. Two parents are drawn with
chances in proportion
   to their fitness, which is one over the sum of squares within the groups. With the chance
   `crossover` the genes behind a random place are exchanged; each gene becomes a random one with
   the chance `mutation`.
4. Repair: a group of fewer than k takes random records from groups of more than k; one of 2k or
more gives random
   records to the smallest group. Groups are numbered by their first records again.
5. After so many generations the best chromosome is the partition of the block. A loss of zero ends
it at once.

Of equal losses the first chromosome counts, of equally small groups the first. The retelling says
no more than what chromosomes are, that their sizes must be kept, and how blocks are made: repair,
drawing by fitness and the numbering by first records, without which the same number means different
groups in two parents, are ours, and so are the rates, which among ten settings lost least in equal
time on blocks of Census.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels.genetic import evolve
from microagg.kernels.sums import number_by_first_record
from microagg.methods.heuristics import labels_by
from microagg.methods.mdav.mdav import mdav
from microagg.methods.method import Method, Number, Partition, below_two_k
from microagg.methods.parts import records_by_label
from microagg.problem.problem import Problem, Progress


def genetic(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    generations: int = 2000,
    population: int = 20,
    crossover: float = 0.2,
    mutation: float = 0.02,
    block: int = 50,
) -> np.ndarray:
    """Let partitions of small blocks of records evolve."""
    points, k = problem.points, problem.k
    labels, formed, done = np.empty(len(points), np.int32), 0, 0
    for records in _blocks(points, max(block, 2 * k)):
        groups = len(records) // k
        # from their first record on: equal records then lose nothing, whatever the rounding
        within = points[records] - points[records[0]]
        genes = evolve(within, k, groups, population, generations, crossover, mutation, rng)
        labels[records] = genes + formed
        formed, done = formed + groups, done + len(records)
        if progress is not None:
            progress(done, len(points))
    return number_by_first_record(labels)


def _blocks(points: np.ndarray, largest: int) -> list[np.ndarray]:
    """The records of each block, by the groups of MDAV."""
    blocks: list[np.ndarray] = []
    for records in records_by_label(labels_by(mdav, points, min(largest, len(points)))):
        if len(records) <= largest:
            blocks.append(records)
        else:
            halves = labels_by(mdav, points[records], len(records) // 2)
            blocks.extend(records[half] for half in records_by_label(halves))
    return blocks


GENETIC = Method(
    name="genetic",
    family="genetic",
    source="Solanas et al. 2006 (genetic algorithm)",
    summary="evolves random partitions of small blocks of records",
    good_for="small tables; comparing with other optimisers",
    run=cast(Partition, genetic),
    complexity="O(n d) for each generation and chromosome, besides MDAV for the blocks",
    parameters=(
        Number("generations", 0, 1e7, 2000, "number of generations", whole=True),
        Number("population", 2, 1e5, 20, "chromosomes per generation", whole=True),
        Number("crossover", 0.0, 1.0, 0.2, "probability that two parents exchange genes"),
        Number("mutation", 0.0, 1.0, 0.02, "probability that a gene is replaced by a random one"),
        Number("block", 2, 1e4, 50, "records per block, at least 2k", whole=True),
    ),
    largest_group=below_two_k,
    seeded=True,
)
