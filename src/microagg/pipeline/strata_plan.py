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
from microagg.methods.registry import DEFAULT
from microagg.methods.search import blockwise
from microagg.methods.search.blockwise import Trees, largest_block
from microagg.pipeline.column_stats import LevelFacts
from microagg.problem.blocks import sample_size
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.distinct import distinct
from microagg.table.reduction import Reduction, combine_chunks


@dataclass(frozen=True)
class StrataCodes:
    """Numbering of strata: in ascending order of values, column by column, missing values last."""

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    codes: np.ndarray
    """(strata,): the combinations of levels that occur, each as one number, in ascending order."""

    @staticmethod
    def counted(passes: ChunkMap, facts: Sequence[LevelFacts]) -> tuple[StrataCodes, np.ndarray]:
        """Return the strata of a table, and (chunks, strata) the number of records of each."""
        names = tuple(column.name for column in facts)
        levels = tuple(column.levels for column in facts)
        unknown = StrataCodes(names, levels, np.empty(0, np.int64))
        counts = combine_chunks(passes.map_chunks("measuring", combinations_chunk, unknown))
        codes, by_chunk = counts.finish()
        return StrataCodes(names, levels, codes), by_chunk

    def combinations(self, table: pa.Table) -> np.ndarray:
        """(n,): the combination of levels of each record, as one number."""
        codes = np.zeros(table.num_rows, np.int64)
        for name, levels in zip(self.names, self.levels, strict=True):
            rank_of = {level: rank for rank, level in enumerate(levels)}
            column = distinct(table.column(name))
            ranks = np.array(
                [*(rank_of[value] for value in column.values), len(levels) - 1], np.int64
            )
            codes = codes * len(levels) + ranks[column.codes]
        return codes

    def of_records(self, table: pa.Table) -> np.ndarray:
        """(n,): the stratum of each record."""
        return np.searchsorted(self.codes, self.combinations(table))


@dataclass
class StrataCounts(Reduction):
    """Combinations of levels that occur, chunk by chunk, and the number of records of each."""

    chunks: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of_chunk(cls, combinations: np.ndarray) -> StrataCounts:
        """Count the combinations of a chunk, which are one number each."""
        return cls([np.unique(combinations, return_counts=True)])

    def combine(self, other: StrataCounts) -> StrataCounts:
        """Add the chunks that follow."""
        self.chunks += other.chunks
        return self

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the combinations in ascending order, and (chunks, strata) counts of records."""
        codes = np.unique(np.concatenate([numbers for numbers, _ in self.chunks]))
        counts = np.zeros((len(self.chunks), len(codes)), np.int64)
        for chunk, (numbers, records) in enumerate(self.chunks):
            counts[chunk, np.searchsorted(codes, numbers)] = records
        return codes, counts


def combinations_chunk(source: Any, first: int, count: int, strata: StrataCodes) -> StrataCounts:
    """Count the combinations of levels in a chunk: a task."""
    rows = source.read(first, count, strata.names)
    return StrataCounts.of_chunk(strata.combinations(rows))


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
    def whole(records: int, rng: np.ndarray) -> StratumPlan:
        """Return the plan of a stratum that is searched as one block."""
        return StratumPlan(records, int(rng[0]), False)

    @staticmethod
    def of(records: int, rng: np.ndarray, axes: int, k: int, of_records: int) -> StratumPlan:
        """One with these random numbers, drawn as `auto` draws them: for the sample, the blocks,
        the shifted blocks.
        """
        if of_records <= blockwise.MOST_AS_ONE or records <= largest_block(axes, k):
            return StratumPlan.whole(records, rng)
        state, drawn = int(rng[0]), rng.copy()
        sample, blocks, shifted = (int(random.next_integer(drawn)) for _ in range(3))
        return StratumPlan(records, state, True, sample, blocks, shifted)

    @property
    def leaves(self) -> tuple[int, int]:
        """Return the number of leaves of both trees; one each where there are no blocks."""
        return (1, 1) if self.trees is None else (len(self.trees.first), len(self.trees.second))

    def wanted(self, axes: int, k: int) -> int:
        """Return the number of records that its cuts are fitted to."""
        return sample_size(self.records, largest_block(axes, k))

    def rng(self, number: int) -> np.ndarray:
        """The random numbers of one of its blocks, or of the whole where it has none."""
        return (
            rng_of_part(self.seed, number) if self.in_blocks else np.array([self.state], np.uint64)
        )


def strata_plans(
    sizes: Sequence[int], seed: int, axes: int, k: int, *, strata: bool, method: str | None = None
) -> list[StratumPlan]:
    """Return a plan for each stratum, or one: with the random numbers that `run_method` gives each
    of them in memory. With `method` each is one block, searched by that method.
    """
    rng, whole = random.seeded(seed, method or DEFAULT), sum(sizes)

    def plan(size: int, rng: np.ndarray) -> StratumPlan:
        if method is not None:
            return StratumPlan.whole(size, rng)
        return StratumPlan.of(size, rng, axes, k, whole)

    if not strata:
        return [plan(whole, rng)]
    drawn = int(random.next_integer(rng))
    return [plan(size, rng_of_part(drawn, number)) for number, size in enumerate(sizes)]
