"""The random numbers of microagg, written out plainly for oracles of methods that use them."""

from __future__ import annotations

import hashlib

ALL_BITS = 2**64 - 1


class Dice:
    """SplitMix64, started from the parts of a seed.

    >>> Dice(0, "mdav").below(6) in range(6)
    True
    """

    def __init__(self, *parts: int | str) -> None:
        digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
        self._state = int.from_bytes(digest[:8], "little")

    def bits(self) -> int:
        """The next 64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & ALL_BITS
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL_BITS
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1."""
        usable = ALL_BITS - ALL_BITS % limit
        while (z := self.bits()) >= usable:
            pass
        return z % limit

    def unit(self) -> float:
        """A number from 0 to 1, without 1."""
        return (self.bits() >> 11) / 2**53

    def permutation(self, n: int) -> list[int]:
        """The numbers 0 to n - 1 in random order."""
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order
