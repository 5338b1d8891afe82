"""Equal rows into one group, against the slow way."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from microagg.estimator.groups import ReleasedGroups
from microagg.estimator.merge_equal import equal_rows_together
from microagg.estimator.rows import row_digests
from microagg.table.schema import Column, Kind, Role


def by_hand(labels: list[int], row: list[int], points: list[list[float]], k: int) -> list[int]:
    """All records of a row to the group that has most of them; groups below k dissolved, row by
    row, to the nearest centroid.
    """
    home = {}
    for key in set(row):
        held = [label for label, value in zip(labels, row, strict=True) if value == key]
        home[key] = min(set(held), key=lambda label: (-held.count(label), label))
    moved = [home[key] for key in row]
    sizes = {label: moved.count(label) for label in set(moved)}
    kept = sorted(label for label, size in sizes.items() if size >= k)
    centroids = {
        label: [
            sum(axis) / sizes[label]
            for axis in zip(
                *(p for p, g in zip(points, moved, strict=True) if g == label), strict=True
            )
        ]
        for label in kept
    }
    final = []
    for key, label in zip(row, moved, strict=True):
        if label not in kept:
            point = points[row.index(key)]
            label = (
                min(
                    kept,
                    key=lambda g: (
                        sum((a - b) ** 2 for a, b in zip(point, centroids[g], strict=True)),
                        g,
                    ),
                )
                if kept
                else 0
            )
        final.append(label)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in final]


@pytest.mark.parametrize("seed", range(40))
def test_as_by_hand(seed: int) -> None:
    dice = np.random.default_rng(seed)
    k, n = int(dice.integers(2, 5)), int(dice.integers(6, 40))
    groups = max(n // k - 1, 1)
    labels = np.sort(np.arange(n) % groups).astype(np.int32)
    row = np.unique(dice.integers(0, int(dice.integers(2, n)), n), return_inverse=True)[1].reshape(
        -1
    )
    places = dice.integers(0, 9, (row.max() + 1, 2)).astype(float)
    points = np.ascontiguousarray(places[row])
    merged = equal_rows_together(labels, row, points, k)
    assert merged.tolist() == by_hand(labels.tolist(), row.tolist(), points.tolist(), k)
    assert np.bincount(merged).min() >= k
    assert all(len(set(merged[row == number].tolist())) == 1 for number in range(row.max() + 1))


def test_groups_without_equal_rows_stay_to_the_bit() -> None:
    labels = np.array([0, 0, 1, 1], np.int32)
    assert equal_rows_together(labels, np.arange(4), np.zeros((4, 1)), 2) is labels


def test_a_cell_that_tells_nothing_lies_at_the_mean_of_the_records() -> None:
    """Groups count as often as they have records, and groups without a value do not count."""
    released = nw.from_native(
        pa.table({"age": [0.0, 10.0, None], "rent": [7.0, 7.0, 1.0]}), eager_only=True
    )
    columns = tuple(Column(name, Role.QUASI, Kind.NUMERIC) for name in ("age", "rent"))
    groups = ReleasedGroups.of(released, np.array([9, 1, 5]), columns)
    assert groups.middle.tolist() == [1.0, 5.0]


def test_what_is_missing_is_one_value_whatever_the_type() -> None:
    columns = [
        pa.array([1.0, np.nan, None]),
        pa.array([1, None, None]),
        pa.array([1, None, None], pa.int8()),
        pa.array([1.0, None, np.nan]),
        pa.array([None, None, None]),
    ]
    digests = [
        row_digests(nw.from_native(pa.table({"a": column}), eager_only=True), b"salt")
        for column in columns
    ]
    assert {bytes(digest) for row in digests for digest in row[1:]} == {bytes(digests[0][1])}
    assert len({bytes(row[0]) for row in digests[:4]}) == 1
    assert bytes(digests[0][0]) != bytes(digests[0][1])
    texts = row_digests(
        nw.from_native(pa.table({"a": ["", None, "nan"]}), eager_only=True), b"salt"
    )
    assert bytes(texts[1]) == bytes(digests[0][1])
    assert len({bytes(text) for text in texts}) == 3


def test_values_are_told_apart_by_what_they_are_and_not_by_their_neighbours() -> None:
    """A number beside one that float64 cannot hold is the same as without it; true is not 1, and
    text is no number.
    """
    columns = [
        pa.array([1]),
        pa.array([1, 2**60]),
        pa.array([1, -(2**53)]),
        pa.array([1.0]),
        pa.array([True]),
        pa.array(["1"]),
    ]
    alone, above, below, as_float, truth, text = (
        bytes(row_digests(nw.from_native(pa.table({"a": column}), eager_only=True), b"salt")[0])
        for column in columns
    )
    assert alone == above == below == as_float
    assert len({alone, truth, text}) == 3
