"""Our own integer random numbers: the same on every machine and with every version of every
library.

A generator is an array of one unsigned 64-bit number; the sequence is SplitMix64 (Steele, Lea and
Flood 2014).
"""

from __future__ import annotations

import hashlib

import numpy as np

from microagg.kernels.compiling import kernel


def seeded(*parts: int | str) -> np.ndarray:
    """A generator that starts from these parts, however long they are.

    >>> bool(seeded(1, "rows")[0] == seeded(1, "rows")[0])
    True
    """
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
    return np.frombuffer(digest[:8], np.uint64).copy()


@kernel
def next_integer(state):
    """The next 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def below(state, limit):
    """A random integer from 0 to limit - 1, every one equally likely."""
    span = np.uint64(limit)
    usable = np.uint64(0xFFFFFFFFFFFFFFFF) - np.uint64(0xFFFFFFFFFFFFFFFF) % span
    z = next_integer(state)
    while z >= usable:
        z = next_integer(state)
    return np.int64(z % span)


@kernel
def unit(state):
    """A random number from 0 to 1, without 1."""
    return np.float64(next_integer(state) >> np.uint64(11)) * 2.0**-53


@kernel
def permutation(state, n):
    """The numbers 0..n-1 in random order."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = below(state, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
