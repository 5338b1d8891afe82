"""Blocks that depend on the data only: samples, trees of cuts, and leaves joined to blocks, against
slow transcriptions.
"""

import numpy as np
import pytest

from microagg.problem.blocks import BlockTree, block_size, in_sample, sample_size


def slow_leaf(tree: BlockTree, point: np.ndarray) -> int:
    node = 0
    while tree.axes[node] >= 0:
        axis = tree.axes[node]
        d = len(point)
        if axis < d:
            x = point[axis]
        elif axis == d:
            x = slow_distance(point, tree.centre)
        else:
            x = slow_length(point, tree.centre, tree.directions[axis - d - 1])
        node = tree.children[node][1] if x > tree.values[node] else tree.children[node][0]
    return int(tree.leaves[node])


def slow_distance(point: np.ndarray, centre: np.ndarray) -> float:
    total = 0.0
    for x, y in zip(point.tolist(), centre.tolist(), strict=True):
        total += (x - y) * (x - y)
    return total


def slow_length(point: np.ndarray, centre: np.ndarray, direction: np.ndarray) -> float:
    total = 0.0
    for x, y, along in zip(point.tolist(), centre.tolist(), direction.tolist(), strict=True):
        total += (x - y) * along
    return total


def slow_sample(first: int, count: int, records: int, seed: int, wanted: int) -> list[bool]:
    """The hash in plain Python, whose integers do not wrap."""
    import hashlib

    whole = (1 << 64) - 1
    key = int.from_bytes(hashlib.sha256(f"{seed}\0sample".encode()).digest()[:8], "little")
    chosen = []
    for record in range(first, first + count):
        z = (key + record * 0x9E3779B97F4A7C15) & whole
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & whole
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & whole
        chosen.append((z ^ (z >> 31)) * records < wanted * (1 << 64) - (wanted << 64) % records)
    return chosen


def hard_points(seed: int, n: int = 3000) -> np.ndarray:
    """Skewed, with ties, a constant column and a large offset."""
    rng = np.random.default_rng(seed)
    points = np.exp(rng.normal(size=(n, 4)))
    points[:, 1] = np.floor(points[:, 1] * 2)
    points[:, 2] = 7.0
    points[:, 3] += 1e6
    return points


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_is_what_the_hash_says(seed: int) -> None:
    expected = slow_sample(17, 300, 10_000, seed, 2_500)
    assert in_sample(17, 300, 10_000, seed, 2_500).tolist() == expected


def test_a_sample_does_not_depend_on_chunks() -> None:
    whole = in_sample(0, 100_000, 100_000, 3, 20_000)
    for chunk in (1_000, 33_333):
        parts = [
            in_sample(first, min(chunk, 100_000 - first), 100_000, 3, 20_000)
            for first in range(0, 100_000, chunk)
        ]
        assert np.array_equal(np.concatenate(parts), whole)
    assert abs(int(whole.sum()) - 20_000) < 600
    assert not np.array_equal(whole, in_sample(0, 100_000, 100_000, 4, 20_000))
    assert in_sample(5, 10, 100, 1, 100).all()


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_points_find_their_leaves(seed: int, shifted: bool) -> None:
    points = hard_points(seed)
    tree = BlockTree.fit(points[::2], len(points), 200, shifted=shifted)
    leaves = tree.leaf_of(points)
    assert leaves.dtype == np.int32
    assert leaves.tolist() == [slow_leaf(tree, point) for point in points]
    assert sorted(set(leaves.tolist())) == list(range(len(tree)))
    assert np.bincount(tree.leaf_of(points[::2])).max() <= 100  # of half of the records


def test_leaves_have_equal_sizes_where_values_differ() -> None:
    points = np.random.default_rng(1).normal(size=(7_000, 3))
    sizes = np.bincount(BlockTree.fit(points, len(points), 1_000).leaf_of(points))
    assert len(sizes) == 8
    assert sizes[-1] == 600  # the farthest
    assert sizes[:-1].max() - sizes[:-1].min() <= 8


def test_the_farthest_records_stay_together() -> None:
    points = np.exp(np.random.default_rng(5).normal(size=(20_000, 4)))
    for shifted, far in ((False, 600), (True, 1_000)):
        tree = BlockTree.fit(points, len(points), 1_000, shifted=shifted)
        distances = np.array(
            [slow_distance(point, np.sort(points, axis=0)[10_000]) for point in points]
        )
        farthest = np.sort(np.argsort(-distances, kind="stable")[:far])
        leaves = tree.leaf_of(points)
        assert np.array_equal(np.flatnonzero(leaves == len(tree) - 1), farthest)
        shell = np.argsort(-distances, kind="stable")[far : far + 8_000]
        assert not set(leaves[shell]) & set(np.delete(leaves, np.concatenate([farthest, shell])))


def test_a_shifted_tree_cuts_elsewhere() -> None:
    points = np.random.default_rng(2).normal(size=(8_000, 3))
    first = BlockTree.fit(points, len(points), 1_000)
    second = BlockTree.fit(points, len(points), 1_000, shifted=True)
    cuts, others = (set(tree.values[tree.axes >= 0].tolist()) for tree in (first, second))
    assert len(cuts) > 5
    assert not cuts & others
    assert first.digest != second.digest


def test_equal_points_are_not_cut_apart() -> None:
    points = np.repeat([[1.0, 2.0], [1.0, 3.0]], [900, 100], axis=0)
    tree = BlockTree.fit(points, len(points), 50)
    assert len(tree) == 2
    assert np.bincount(tree.leaf_of(points)).tolist() == [900, 100]
    assert len(BlockTree.fit(points[:900], 900, 50)) == 1
    assert len(BlockTree.fit(points[:0], 900, 50)) == 1


def test_a_lopsided_cut_is_the_last_choice() -> None:
    """The first axis is by far the longest, but only a fifth lies apart there."""
    rng = np.random.default_rng(0)
    points = np.zeros((1000, 40))
    points[:, 0], points[:, 1] = np.where(np.arange(1000) % 5 == 0, 1e6, 0.0), rng.normal(size=1000)
    tree = BlockTree.fit(points, 1000, 400)
    assert tree.axes[tree.axes >= 0][1] == 1


def test_nodes_are_cut_across_their_longest_direction() -> None:
    rng = np.random.default_rng(4)
    along, aside = 10.0 * rng.normal(size=5_000), rng.normal(size=5_000)
    points = np.column_stack([along + aside, along - aside])  # long in the diagonal
    tree = BlockTree.fit(points, len(points), 2_500)
    assert tree.axes[:2].tolist() == [2, 3]  # the farthest are cut off, then the rest is halved
    np.testing.assert_allclose(np.abs(tree.directions[0]), np.sqrt([0.5, 0.5]), atol=0.02)


def test_many_axes_are_cut_one_by_one() -> None:
    points = np.random.default_rng(4).normal(size=(2_000, 40))
    points[:, 7] *= 10.0
    tree = BlockTree.fit(points, len(points), 1_000)
    assert len(tree.directions) == 0
    assert tree.axes[:2].tolist() == [40, 7]


def test_of_axes_with_equal_middles_the_one_with_farther_ends_is_cut() -> None:
    values = np.linspace(-1.0, 1.0, 2_000)
    farther = np.where(np.abs(values) > 0.97, 2.0 * values + 0.5, values)
    points = np.zeros((2_000, 40))
    points[:, 3], points[:, 7] = values, np.random.default_rng(4).permutation(farther)
    tree = BlockTree.fit(points, len(points), 1_800)
    assert tree.axes.tolist() == [7, -1, -1]


def test_a_tree_comes_back_from_its_arrays() -> None:
    tree = BlockTree.fit(hard_points(0), 3000, 300)
    again = BlockTree(**tree.as_arrays())
    assert again.digest == tree.digest
    assert np.array_equal(again.leaf_of(hard_points(1)), tree.leaf_of(hard_points(1)))


@pytest.mark.parametrize("seed", range(20))
def test_blocks_stand_or_are_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = BlockTree.fit(hard_points(seed), 3000, 150)
    counts = rng.integers(0, 200, len(tree))
    odd = rng.integers(0, 2, len(tree))
    blocks = tree.joined(counts, 60, lambda leaves: bool(odd[leaves].any()))
    number = int(blocks.max()) + 1
    assert blocks.dtype == np.int32
    assert (np.diff(blocks) >= 0).all()  # neighbours in the tree, numbered by it
    assert sorted(set(blocks.tolist())) == list(range(number))
    for block in range(number):
        members = blocks == block
        assert number == 1 or (counts[members].sum() >= 60 and odd[members].any())


def test_leaves_that_stand_stay_alone() -> None:
    tree = BlockTree.fit(np.arange(16.0).reshape(-1, 1), 16, 2)
    assert tree.joined(np.full(8, 5), 5).tolist() == list(range(8))
    assert tree.joined(np.full(8, 5), 6).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert tree.joined(np.full(8, 5), 41).tolist() == [0] * 8
    assert tree.joined(np.full(8, 5), 5, lambda leaves: 7 in leaves).tolist() == [0] * 8
    assert tree.joined(np.array([9, 9, 9, 1, 9, 9, 9, 9]), 5).tolist() == [0, 1, 2, 2, 3, 4, 5, 6]


def test_sizes_follow_from_the_axes() -> None:
    assert (block_size(8), block_size(16), block_size(10**7)) == (250_000, 125_000, 1)
    assert sample_size(1, 10) == 65_536
