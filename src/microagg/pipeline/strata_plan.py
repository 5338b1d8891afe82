"""The strata of a table beyond memory: which one a record belongs to, and how each is worked on by
itself; without strata, one for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import random
from microagg.methods.parts import rng_of_part
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import Trees, largest_block
from microagg.pipeline.column_stats import LevelFacts
from microagg.problem.blocks import sample_size
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.distinct import distinct


@dataclass(frozen=True)
class StrataCodes:
    """Which stratum a record belongs to: numbered by the ascending order of values, column by
    column, what is missing last.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    codes: np.ndarray
    """(strata,): the combinations of levels that occur, each as one number, in ascending order."""

    @staticmethod
    def counted(passes: ChunkMap, facts: Sequence[LevelFacts]) -> tuple[StrataCodes, np.ndarray]:
        """The strata of a table, and (chunks, strata) how many records each chunk has of each."""
        names, levels = tuple(each.name for each in facts), tuple(each.levels for each in facts)
        unknown = StrataCodes(names, levels, np.empty(0, np.int64))
        found = list(passes.map_chunks("measuring", combinations_chunk, unknown))
        codes = np.unique(np.concatenate([each for each, _ in found]))
        counts = np.zeros((len(found), len(codes)), np.int64)
        for chunk, (own, often) in enumerate(found):
            counts[chunk, np.searchsorted(codes, own)] = often
        return StrataCodes(names, levels, codes), counts

    def combinations(self, table: pa.Table) -> np.ndarray:
        """(n,): the combination of levels of each record, as one number."""
        found = np.zeros(table.num_rows, np.int64)
        for name, levels in zip(self.names, self.levels, strict=True):
            place = {level: rank for rank, level in enumerate(levels)}
            own = distinct(table.column(name))
            ranks = np.array([*(place[value] for value in own.values), len(levels) - 1], np.int64)
            found = found * len(levels) + ranks[own.codes]
        return found

    def of_records(self, table: pa.Table) -> np.ndarray:
        """(n,): the stratum of each record."""
        return np.searchsorted(self.codes, self.combinations(table))


def combinations_chunk(
    source: Any, first: int, count: int, strata: StrataCodes
) -> tuple[np.ndarray, np.ndarray]:
    """A task: the combinations of levels in a chunk, and how often each occurs."""
    return np.unique(
        strata.combinations(source.read(first, count, strata.names)), return_counts=True
    )


@dataclass(frozen=True)
class StratumPlan:
    """A stratum, or the whole table: random numbers and cuts of its own."""

    records: int
    state: int
    """What `auto` gets its random numbers from."""
    in_blocks: bool
    sample_seed: int = 0
    seed: int = 0
    shifted_seed: int = 0
    trees: Trees | None = None
    first_leaf: int = 0
    """Its leaves among those of all territories: in the first tree, and in the second."""
    first_shifted: int = 0

    @staticmethod
    def of(records: int, rng: np.ndarray, axes: int, k: int, of_records: int) -> StratumPlan:
        """One with these random numbers, drawn as `auto` draws them: for the sample, the blocks,
        the shifted blocks.
        """
        state = int(rng[0])
        if of_records <= blockwise.MOST_AS_ONE or records <= largest_block(axes, k):
            return StratumPlan(records, state, False)
        drawn = rng.copy()
        sample, blocks, shifted = (int(random.next_integer(drawn)) for _ in range(3))
        return StratumPlan(records, state, True, sample, blocks, shifted)

    @property
    def leaves(self) -> tuple[int, int]:
        """How many leaves both trees have; one each where there are no blocks."""
        return (1, 1) if self.trees is None else (len(self.trees.first), len(self.trees.second))

    def wanted(self, axes: int, k: int) -> int:
        """How many records its cuts are found from."""
        return sample_size(self.records, largest_block(axes, k))

    def rng(self, number: int) -> np.ndarray:
        """The random numbers of one of its blocks, or of the whole where it has none."""
        return (
            rng_of_part(self.seed, number) if self.in_blocks else np.array([self.state], np.uint64)
        )


def strata_plans(
    sizes: Sequence[int], seed: int, axes: int, k: int, *, strata: bool
) -> list[StratumPlan]:
    """A territory for each stratum, or one: with the random numbers that `run_method` gives each of
    them in memory.
    """
    rng, whole = random.seeded(seed, "auto"), sum(sizes)
    if not strata:
        return [StratumPlan.of(whole, rng, axes, k, whole)]
    drawn = int(random.next_integer(rng))
    return [
        StratumPlan.of(size, rng_of_part(drawn, number), axes, k, whole)
        for number, size in enumerate(sizes)
    ]
