"""Hashes of rows in two lanes of 64 bits, made column by column; and keys that put records into
a random order.

Every step is a bijection of SplitMix64's kind (Steele, Lea and Flood 2014) on whole numbers of 64
bits that wrap around, so a hash is the same on every machine. It tells rows apart, by 128 bits, and
keeps nothing secret.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part


@part
def _mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@part
def _take_in(lanes, i, word):
    """Let the hash of row i go on with one more word."""
    first = _mixed(word + np.uint64(0x9E3779B97F4A7C15))
    second = _mixed(word ^ np.uint64(0xD1B54A32D192ED03))
    lanes[i, 0] = _mixed(lanes[i, 0] * np.uint64(0xF1357AEA2E62A9C5) + first)
    lanes[i, 1] = _mixed(lanes[i, 1] * np.uint64(0xABC98388FB8FAC03) + second)


@kernel
def order_keys(first, count, key):
    """(count,): a key of 64 bits for each record from number `first` on, no two alike; `key` has
    two numbers of 64 bits.
    """
    keys = np.empty(count, np.uint64)
    for i in range(count):
        state = key[0] + np.uint64(first + i + 1) * np.uint64(0x9E3779B97F4A7C15)
        keys[i] = _mixed(_mixed(state) ^ key[1])
    return keys


@kernel
def order_keys_of(numbers, key):
    """(n,): the keys of the records with these numbers."""
    keys = np.empty(numbers.shape[0], np.uint64)
    for i in range(numbers.shape[0]):
        state = key[0] + np.uint64(numbers[i] + 1) * np.uint64(0x9E3779B97F4A7C15)
        keys[i] = _mixed(_mixed(state) ^ key[1])
    return keys


@kernel
def take_in_words(lanes, words, missing):
    """Let the hash of each row, (n, 2), go on with a word of 64 bits; where it is missing, with
    a word that no other gives.
    """
    for i in range(lanes.shape[0]):
        _take_in(lanes, i, np.uint64(1) if missing[i] else np.uint64(2))
        _take_in(lanes, i, np.uint64(0) if missing[i] else words[i])


@kernel
def take_in_texts(lanes, offsets, letters, missing):
    """Let the hash of each row go on with a text: its bytes lie from one of the `offsets` (n +
    1,) to the next.
    """
    for i in range(lanes.shape[0]):
        _take_in(lanes, i, np.uint64(1) if missing[i] else np.uint64(2))
        start = offsets[i]
        length = np.int64(0) if missing[i] else offsets[i + 1] - start
        _take_in(lanes, i, np.uint64(length))
        for offset in range(0, length, 8):
            word = np.uint64(0)
            for byte in range(min(8, length - offset)):
                word |= np.uint64(letters[start + offset + byte]) << np.uint64(8 * byte)
            _take_in(lanes, i, word)


@kernel
def added_up(lanes):
    """(2,): the sums of both lanes, which wrap around: the same in whatever order the rows are."""
    totals = np.zeros(2, np.uint64)
    for i in range(lanes.shape[0]):
        totals[0] += lanes[i, 0]
        totals[1] += lanes[i, 1]
    return totals
