"""The kd-tree with removal: its arrays, and how a kernel gets them as one argument.

Points are split evenly into leaves of at most sixteen; a node has sixteen children. Nodes are
numbered as in a heap: the children of node v are 16 v + 1, ..., 16 v + 16, and those from
`first_leaf` on are the leaves.

Records at one and the same point share a slot (where `tree_build.build` was told so): the lowest of
those still there is in it, and the others follow it in a chain, in ascending order. When it is
taken, the next one is in the slot. So however many records are equal, a question meets them once,
and ties still go to the lower record number.

Calling a kernel from Python costs some 50 ns for each array that it takes, and counting who holds
them as much again inside. So a kernel takes the tree's handle, a small array that says where the
arrays are. `PointSet` keeps the arrays for as long as it keeps the handle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.np.numpy_support import carray

from microagg.kernels.compiling import part
from microagg.kernels.simd import LANES, intrinsic

STACK = 256  # fifteen children left behind on each of the at most 8 levels, and room to spare
PENDING = 64  # records that a near question looks at together
CACHE_LINE = 64  # bytes


class Tree(NamedTuple):
    """The tree of n points in d columns, with L leaves. Boxes and blocks are float32, see
    `rotation.py`.
    """

    points: Any  # (n, d): the caller's own array
    frame: Any  # (3 + d, d) or (3, d): what turns a point, see `rotation.py`
    totals: Any  # (5, d): sums and mean of the records still there, see `total_and_mean`
    # (nodes, 2d + 1, 16): of each child the low faces, the high faces and the largest |z|^2, with z
    # measured from the reference centre. An empty box has low faces inf, high faces -inf and
    # |z|^2 = -inf.
    boxes: Any
    # (L, d, 16): the points of a leaf in turned coordinates, column by column. Empty slots are NaN,
    # which passes no comparison.
    blocks: Any
    slots: Any  # (L, 16): the (lowest) record in each slot of a leaf, or -1
    counts: Any  # (L, 16): how many records share the slot; (0, 16) where no two do
    # (n,): a later record at the same point, or -1, see `next_equal`; (0,) where no two share a
    # slot
    following: Any
    places: Any  # (n,): the place (leaf * 16 + slot) of each record, or -1 once it is taken
    numbers: Any  # scratch for questions, see `walk_of`
    integers: Any
    # (3,): the cost of moving the reference centre; boxes opened and questions since it moved
    effort: Any
    # (L,): no pair with an end in this leaf has a larger squared length; see `farthest_pair`
    longest: Any


class Walk(NamedTuple):
    """Scratch space of one query."""

    w: Any  # (d,): the turned query
    slope: Any  # (d,): -2 times the query measured from the reference centre
    rows: Any  # (d,): which face of a box lies farther from the query
    lanes: Any  # (16,): result of the last vector operation
    bounds: Any  # (STACK,): what the children still to be looked at may hold
    stack: Any  # (STACK,): those children
    # (PENDING,): the float32 distances of records whose exact distance has yet to be computed
    roughly: Any
    pending: Any  # (PENDING,): those records


def new_tree(
    points: np.ndarray, frame: np.ndarray, totals: np.ndarray, following: np.ndarray, size: int
) -> Tree:
    """A tree with room for so many records that differ, yet to be filled. `following` is empty
    where all of them do.
    """
    n, d = points.shape
    leaves = max(1, (size + LANES - 1) // LANES)
    return Tree(
        points,
        frame,
        totals,
        boxes=_aligned((_heap_size(leaves), 2 * d + 1, LANES), np.float32),
        blocks=_aligned((leaves, d, LANES), np.float32),
        slots=_aligned((leaves, LANES), np.int32),
        counts=_aligned((leaves if len(following) > 0 else 0, LANES), np.int32),
        following=following,
        places=np.full(n, -1, np.int32),
        numbers=_aligned((LANES + STACK + PENDING + 2 * d,), np.float32),
        integers=np.empty(STACK + PENDING + d, np.int64),
        effort=np.array([size // 32, 0, 0], np.int64),
        longest=np.full(leaves, np.inf),
    )


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """An uninitialised array in which no row of lanes straddles two cache lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _heap_size(leaves: int) -> int:
    """Return the number of heap nodes above so many leaves, gaps between levels included."""
    first, size = 0, 1
    while size * LANES < leaves:
        first, size = first * LANES + 1, size * LANES
    return first + (leaves + LANES - 1) // LANES


def handle_of(tree: Tree) -> np.ndarray:
    """Return the array that passes the tree to a kernel; valid as long as the tree is kept."""
    n, d = tree.points.shape
    sizes = [
        n,
        d,
        len(tree.blocks),
        len(tree.boxes),
        len(tree.frame),
        len(tree.counts),
        len(tree.following),
    ]
    return np.array(sizes + [array.ctypes.data for array in tree], np.int64)


def _address_of(number: Any) -> Any:
    @intrinsic
    def address(_context, integer):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(number)(types.int64), generate

    return address


_float64, _float32 = _address_of(types.float64), _address_of(types.float32)
_int64, _int32 = _address_of(types.int64), _address_of(types.int32)


@part
def tree_at(handle):
    """The tree that a handle stands for."""
    n, d, leaves, nodes, rows = handle[0], handle[1], handle[2], handle[3], handle[4]
    return Tree(
        carray(_float64(handle[7]), (n, d)),
        carray(_float64(handle[8]), (rows, d)),
        carray(_float64(handle[9]), (5, d)),
        carray(_float32(handle[10]), (nodes, 2 * d + 1, LANES)),
        carray(_float32(handle[11]), (leaves, d, LANES)),
        carray(_int32(handle[12]), (leaves, LANES)),
        carray(_int32(handle[13]), (handle[5], LANES)),
        carray(_int32(handle[14]), (handle[6],)),
        carray(_int32(handle[15]), (n,)),
        carray(_float32(handle[16]), (LANES + STACK + PENDING + 2 * d,)),
        carray(_int64(handle[17]), (STACK + PENDING + d,)),
        carray(_int64(handle[18]), (3,)),
        carray(_float64(handle[19]), (leaves,)),
    )


@part
def walk_of(tree):
    """The tree's own scratch, which every question uses anew."""
    d, numbers, integers = tree.frame.shape[1], tree.numbers, tree.integers
    lanes, bounds = numbers[:LANES], numbers[LANES : LANES + STACK]
    roughly = numbers[LANES + STACK : LANES + STACK + PENDING]
    w, slope = numbers[LANES + STACK + PENDING :][:d], numbers[LANES + STACK + PENDING + d :]
    stack, pending, rows = (
        integers[:STACK],
        integers[STACK : STACK + PENDING],
        integers[STACK + PENDING :],
    )
    return Walk(w, slope, rows, lanes, bounds, stack, roughly, pending)


@part
def first_leaf(tree):
    """The number that the first leaf has as a child in the heap."""
    first, size = 1, LANES
    while size < tree.blocks.shape[0]:
        first, size = first * LANES + 1, size * LANES
    return first


@part
def home_of(tree, record):
    """The leaf in which a record is, or -1."""
    return np.int64(tree.places[record] // LANES if record >= 0 else -1)


@part
def next_equal(tree, record):
    """The next higher record at the same point that is still there, or -1. What is found gone
    leaves the chain.
    """
    if tree.following.shape[0] == 0:
        return np.int64(-1)
    following = np.int64(tree.following[record])
    if following >= 0 and tree.places[following] < 0:
        while following >= 0 and tree.places[following] < 0:
            following = np.int64(tree.following[following])
        tree.following[record] = following
    return following
