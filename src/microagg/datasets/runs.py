"""Made-up tables of any size: they come in runs of 1,000 records, each made from its own number.

So a table is the same however it is cut into chunks, the first records are the same whatever the
size, and no more than one chunk needs to be in memory. Each column of a run has random numbers of
its own: a new column leaves the others as they were.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.kernels import random

RUN = 1000
"""Records made at once."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
_SCALES = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def bits(state: np.ndarray, n: int) -> np.ndarray:
    """The next n numbers of `kernels.random.next_integer`, all at once; the state moves on.

    >>> state, other = random.seeded(1), random.seeded(1)
    >>> bits(state, 2).tolist() == [int(random.next_integer(other)) for _ in range(2)]
    True
    """
    with np.errstate(over="ignore"):  # the arithmetic is that of 64 bits
        z = state[0] + _STEP * np.arange(1, n + 1, dtype=np.uint64)
        state[0] += _STEP * np.uint64(n)
    for shift, scale in _SCALES:
        z = (z ^ (z >> np.uint64(shift))) * scale
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class Draws:
    """The random numbers of one run of a table; each purpose has its own."""

    table: str
    seed: int
    run: int
    n: int = RUN

    def bits(self, purpose: str, times: int = 1) -> np.ndarray:
        """(n * times,): 64 random bits each."""
        return bits(random.seeded(self.seed, self.table, self.run, purpose), self.n * times)

    def uniform(self, purpose: str) -> np.ndarray:
        """(n,): from 0 to 1, without 1."""
        return (self.bits(purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def whole(self, purpose: str, low: int, high: int) -> np.ndarray:
        """(n,): whole numbers from low to high, both included, equally likely."""
        tickets = (self.bits(purpose) >> np.uint64(32)) * np.uint64(high - low + 1)
        return low + (tickets >> np.uint64(32)).astype(np.int64)

    def normal(self, purpose: str) -> np.ndarray:
        """(n,): nearly normal: twelve uniform numbers of 16 bits added up, less six; exact."""
        words = self.bits(purpose, 3).view(np.uint16).reshape(self.n, 12)
        return words.sum(axis=1, dtype=np.int64) / 65536.0 - 6.0 + 6.0 / 65536.0

    def chosen(self, purpose: str, shares: Sequence[int]) -> np.ndarray:
        """(n,): places in a list, as often as these whole numbers say."""
        ends = np.cumsum(np.asarray(shares))
        return np.searchsorted(ends, self.whole(purpose, 0, int(ends[-1]) - 1), side="right")

    def happens(self, purpose: str, percent: float) -> np.ndarray:
        """(n,) bool: true in so many of a hundred cases."""
        return self.uniform(purpose) < percent / 100.0


Run = Callable[[Draws], dict[str, pa.Array]]
_RUNS: dict[str, Run] = {}


def made_in_runs(make: Run) -> Run:
    """Marks a function, named after its table, that makes the columns of one run."""
    _RUNS[make.__name__.strip("_")] = make
    return make


def table_of(name: str, n: int, seed: int) -> pa.Table:
    """All of a made-up table at once."""
    return pa.concat_tables(in_chunks(name, n, seed=seed, chunk=max(1, n))).combine_chunks()


def in_chunks(name: str, n: int, *, seed: int = 1, chunk: int = 100_000) -> Iterator[pa.Table]:
    """A made-up table ("companies", "households" or "residents") piece by piece, for sizes beyond
    memory.

    Together the pieces are the table that the function of that name gives, whatever their size.

    >>> [piece.num_rows for piece in in_chunks("companies", 2500, chunk=1000)]
    [1000, 1000, 500]
    """
    if name not in _RUNS:
        raise InputError(f"{name!r} does not come in chunks; {', '.join(sorted(_RUNS))} do.")
    for what, number, least in (("n", n, 0), ("chunk", chunk, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise InputError(f"{what} must be a whole number from {least} on.")
    return _pieces(name, int(n), seed, int(chunk))


def _pieces(name: str, n: int, seed: int, chunk: int) -> Iterator[pa.Table]:
    made = functools.lru_cache(maxsize=1)(lambda run: pa.table(_RUNS[name](Draws(name, seed, run))))
    for start in range(0, max(n, 1), chunk):  # a table without records still has its columns
        end = min(start + chunk, n)
        runs = range(start // RUN, max(start // RUN, (end - 1) // RUN) + 1)
        parts = [
            made(run).slice(
                max(start - run * RUN, 0), min(end, (run + 1) * RUN) - max(start, run * RUN)
            )
            for run in runs
        ]
        yield pa.concat_tables(parts)


# --- columns
# -------------------------------------------------------------------------------------------------


def texts(places: np.ndarray, words: Sequence[str], gaps: np.ndarray | None = None) -> pa.Array:
    """A column of text: the words at these places; null where there is a gap."""
    return pa.array(np.asarray(words, object)[places], pa.string(), mask=gaps)


def levels(places: np.ndarray, words: Sequence[str], gaps: np.ndarray | None = None) -> pa.Array:
    """A column of ordered categories: all words are its levels, in their order."""
    codes = pa.array(places.astype(np.int8), mask=gaps)
    return pa.DictionaryArray.from_arrays(codes, pa.array(list(words)), ordered=True)


def days(places: np.ndarray, gaps: np.ndarray | None = None) -> pa.Array:
    """A column of dates, as days since 1970."""
    return pa.array(places.astype(np.int32), pa.int32(), mask=gaps).cast(pa.date32())


def rounded(values: np.ndarray, to: int = 1) -> np.ndarray:
    """Whole numbers that `to` divides: the last bits of exp and log, which libraries disagree on,
    are gone.
    """
    return np.rint(values / to).astype(np.int64) * to
