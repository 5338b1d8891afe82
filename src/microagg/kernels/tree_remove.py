"""Taking records out of the kd-tree: boxes tighten, sums shrink."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.rotation import above, below
from microagg.kernels.simd import LANES, highest, lowest
from microagg.kernels.sums import add_exactly, rounded
from microagg.kernels.tree import first_leaf, home_of, next_equal, tree_at, walk_of
from microagg.kernels.tree_build import centre_of, face_high, face_low, widest
from microagg.kernels.tree_query import nearest_into


@part
def _set_low(boxes, node, row, lane, new):
    """Raise a low face, and those of the boxes around it as far as it matters."""
    while True:
        old = boxes[node, row, lane]
        if new == old:
            return
        boxes[node, row, lane] = new
        if node == 0:
            return
        offset = (node * boxes.shape[1] + row) * LANES
        node, lane = (node - 1) // LANES, (node - 1) % LANES
        if boxes[node, row, lane] < old:
            return
        new = lowest(boxes, offset)


@part
def _set_high(boxes, node, row, lane, new):
    """Lower a high face or a largest norm, and those of the boxes around it as far as it
    matters.
    """
    while True:
        old = boxes[node, row, lane]
        if new == old:
            return
        boxes[node, row, lane] = new
        if node == 0:
            return
        offset = (node * boxes.shape[1] + row) * LANES
        node, lane = (node - 1) // LANES, (node - 1) % LANES
        if boxes[node, row, lane] > old:
            return
        new = highest(boxes, offset)


@part
def _take_out(tree, leaf, slot, node, lane, centre, length):
    """Remove what is in a slot, and fit the leaf's box to what is left."""
    d = tree.frame.shape[1]
    boxes, blocks = tree.boxes, tree.blocks
    for j in range(d):
        x = blocks[leaf, j, slot]
        blocks[leaf, j, slot] = np.nan
        if below(x) <= boxes[node, j, lane]:
            _set_low(boxes, node, j, lane, face_low(tree, leaf, j))
        if above(x) >= boxes[node, d + j, lane]:
            _set_high(boxes, node, d + j, lane, face_high(tree, leaf, j))
    _set_high(boxes, node, 2 * d, lane, widest(tree, leaf, centre, length))


@part
def _take(records, tree):
    """See `take`."""
    d, totals = tree.frame.shape[1], tree.totals
    centre, length = centre_of(tree.frame)
    first = first_leaf(tree)
    for t in range(records.shape[0]):
        record = records[t]
        if record < 0 or record >= tree.places.shape[0] or tree.places[record] < 0:
            return t
        leaf, slot = tree.places[record] // LANES, tree.places[record] % LANES
        tree.places[record] = -1
        for j in range(d):
            add_exactly(totals, -tree.points[record, j], j)
        if tree.slots[leaf, slot] == record:
            tree.slots[leaf, slot] = next_equal(tree, record)
        if tree.counts.shape[0] > 0:
            tree.counts[leaf, slot] -= 1
        if tree.slots[leaf, slot] < 0:
            node, lane = (first + leaf - 1) // LANES, (first + leaf - 1) % LANES
            _take_out(tree, leaf, slot, node, lane, centre, length)
    totals[4, 0] -= records.shape[0]
    for j in range(d):
        totals[3, j] = rounded(totals, j) / max(totals[4, 0], 1.0)
    return -1


@kernel
def take(records, handle):
    """Remove records from the tree, and from its totals.

    Returns the position of the first that is not there (any more), or -1.
    """
    return _take(records, tree_at(handle))


@kernel
def take_nearest(q, record, records, handle):
    """Remove the records nearest to q from the tree, as many as `records` has room for, nearest
    first.
    """
    tree = tree_at(handle)
    near = np.empty(records.shape[0])
    if record >= 0:
        q = tree.points[record]
    nearest_into(q, home_of(tree, record), near, records, np.int64(0), tree, walk_of(tree))
    _take(records, tree)
