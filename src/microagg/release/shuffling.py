"""In which order the rows of a release are written: that of a keyed hash of their record numbers.

The key is made from the seed and the digest of the input, so that nobody without the original table
can undo the shuffle by guessing a seed. A record's place follows from its number alone, so rows can
be brought into this order part by part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from microagg.kernels import hashing, random
from microagg.release.manifest import OF_WHOLE_COLUMNS


def key_of_order(seed: int, digest: str) -> np.ndarray:
    """(2,) uint64: the key of the order of a release's rows.

    >>> bool((key_of_order(1, "3f8a") == key_of_order(2, "3f8a")).any())
    False
    """
    digest_of_key = hashlib.sha256(f"{seed}\0{digest}\0rows in order".encode()).digest()
    return np.frombuffer(digest_of_key[:16], np.uint64).copy()


def shuffled_rows(manifest: Mapping[str, Any], records: int) -> np.ndarray:
    """(n,): the records in the order in which they are written, by the rules of the manifest's
    format.

    >>> manifest = {"format": 3, "settings": {"seed": 1}, "input": {"digest": "3f8a"}}
    >>> sorted(shuffled_rows(manifest, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    seed, digest = manifest["settings"]["seed"] or 0, manifest["input"]["digest"]
    if manifest["format"] <= OF_WHOLE_COLUMNS:
        return random.permutation(random.seeded(seed, digest, "rows"), records)
    return np.argsort(hashing.order_keys(0, records, key_of_order(seed, digest)), kind="stable")
