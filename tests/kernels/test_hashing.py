"""Hashes of rows and keys of records, against the same in Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.kernels import hashing

ALL = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mixed(z: int) -> int:
    """The last step of SplitMix64."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & ALL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & ALL
    return z ^ (z >> 31)


def take_in(lanes: list[int], word: int) -> None:
    first, second = mixed((word + STEP) & ALL), mixed(word ^ 0xD1B54A32D192ED03)
    lanes[0] = mixed((lanes[0] * 0xF1357AEA2E62A9C5 + first) & ALL)
    lanes[1] = mixed((lanes[1] * 0xABC98388FB8FAC03 + second) & ALL)


def hash_of(*values: int | bytes | None) -> list[int]:
    """Two lanes: a mark of what is there, then a word, or the length and the letters in words."""
    lanes = [0, 0]
    for value in values:
        take_in(lanes, 1 if value is None else 2)
        if isinstance(value, bytes):
            take_in(lanes, len(value))
            for start in range(0, len(value), 8):
                take_in(lanes, int.from_bytes(value[start : start + 8], "little"))
        else:
            take_in(lanes, value or 0)
    return lanes


def test_words() -> None:
    words = np.array([0, 1, 2, ALL, 12345, 7], np.uint64)
    missing = np.array([False, False, False, False, False, True])
    lanes = np.zeros((6, 2), np.uint64)
    for _ in range(2):
        hashing.take_in_words(lanes, words, missing)
    values = [0, 1, 2, ALL, 12345, None]
    assert lanes.tolist() == [hash_of(value, value) for value in values]


@pytest.mark.parametrize("first", [0, 3])
def test_texts_of_all_lengths(first: int) -> None:
    texts: list[bytes | None] = [bytes(range(1, size + 1)) for size in range(20)] + [
        None,
        b"\xff" * 9,
    ]
    letters = b"?" * first + b"".join(text or b"" for text in texts)
    offsets = first + np.cumsum([0, *(len(text or b"") for text in texts)])
    lanes = np.zeros((len(texts), 2), np.uint64)
    missing = np.array([text is None for text in texts])
    hashing.take_in_texts(lanes, offsets, np.frombuffer(letters, np.uint8), missing)
    expected = []
    for text in texts:
        both = hash_of(text)
        if text is None:  # a gap has the length of nothing
            assert both == hash_of(None)
        expected.append(both)
    assert lanes.tolist() == expected
    assert len(set(map(tuple, expected))) == len(texts)


def test_sums_wrap_around() -> None:
    lanes = np.array([[ALL, 5], [2, 7], [3, ALL]], np.uint64)
    assert hashing.added_up(lanes).tolist() == [4, 11]
    assert hashing.added_up(np.zeros((0, 2), np.uint64)).tolist() == [0, 0]


@pytest.mark.parametrize("first", [0, 41])
def test_keys_of_records_follow_from_their_numbers(first: int) -> None:
    key = np.array([2**63 + 12345, 987654321], np.uint64)
    expected = [
        mixed(mixed((int(key[0]) + (number + 1) * STEP) & ALL) ^ int(key[1]))
        for number in range(first, first + 50)
    ]
    assert hashing.order_keys(first, 50, key).tolist() == expected
    numbers = np.random.default_rng(1).permutation(50)
    keys = hashing.order_keys_of(first + numbers, key)
    assert keys.tolist() == [expected[number] for number in numbers]
    assert len(set(expected)) == 50
