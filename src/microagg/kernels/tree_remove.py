"""Taking records out of the kd-tree: boxes tighten, sums shrink."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.lanes import LANES
from microagg.kernels.sums import add_exactly, rounded
from microagg.kernels.tree_build import (
    LEAF,
    NOWHERE,
    highest,
    highest_in_leaf,
    largest_norm,
    lowest,
    lowest_in_leaf,
    widened_norm,
)
from microagg.kernels.tree_query import nearest_into


@kernel
def _lift_low(boxes, links, node, row, old):
    """A low face of `node` has risen from `old`: carry it up as far as it matters."""
    while node > 0:
        parent, lane = links[1, node] // LANES, links[1, node] % LANES
        if boxes[parent, row, lane] < old:
            return
        new = lowest(boxes, node, row)
        if new == old:
            return
        boxes[parent, row, lane] = new
        node = parent


@kernel
def _lift_high(boxes, links, node, row, old):
    """A high face or a largest norm of `node` has fallen from `old`: carry it up as far as it matters."""
    while node > 0:
        parent, lane = links[1, node] // LANES, links[1, node] % LANES
        if boxes[parent, row, lane] > old:
            return
        new = highest(boxes, node, row)
        if new == old:
            return
        boxes[parent, row, lane] = new
        node = parent


@kernel
def _set_low(boxes, links, node, row, lane, new):
    old = boxes[node, row, lane]
    if new != old:
        boxes[node, row, lane] = new
        _lift_low(boxes, links, node, row, old)


@kernel
def _set_high(boxes, links, node, row, lane, new):
    old = boxes[node, row, lane]
    if new != old:
        boxes[node, row, lane] = new
        _lift_high(boxes, links, node, row, old)


@kernel
def _empty_box(boxes, links, node, lane):
    d = boxes.shape[1] // 2
    for j in range(d):
        _set_low(boxes, links, node, j, lane, NOWHERE)
        _set_high(boxes, links, node, d + j, lane, -NOWHERE)
    _set_high(boxes, links, node, 2 * d, lane, -np.inf)


@kernel
def _tighten(leaf, gone, turned, used, centre, slack, boxes, links, base, lanes):
    """Fit the leaf's box to what is left after a record with turned coordinates `gone` went."""
    d = centre.shape[0]
    node, lane = base + leaf // LANES, leaf % LANES
    length = 0.0
    for j in range(d):
        x = gone[j]
        length += (x - centre[j]) * (x - centre[j])
        if x - slack <= boxes[node, j, lane]:
            _set_low(boxes, links, node, j, lane, lowest_in_leaf(turned, leaf, j, used) - slack)
        if x + slack >= boxes[node, d + j, lane]:
            _set_high(boxes, links, node, d + j, lane, highest_in_leaf(turned, leaf, j, used) + slack)
    if widened_norm(length, slack) * (1.0 + 1e-15) >= boxes[node, 2 * d, lane]:
        _set_high(
            boxes, links, node, 2 * d, lane, largest_norm(turned, leaf, used, centre, slack, lanes)
        )


@kernel
def _pack(leaf, coords, turned, slots, places, counts):
    """Close the gaps that taken records left in a leaf."""
    d = coords.shape[2]
    used = counts[0, leaf]
    kept = 0
    for slot in range(used):
        record = slots[leaf, slot]
        if record < 0:
            continue
        if slot != kept:
            slots[leaf, kept] = record
            places[record] = leaf * LEAF + kept
            for j in range(d):
                coords[leaf, kept // LANES, j, kept % LANES] = coords[leaf, slot // LANES, j, slot % LANES]
                turned[leaf, kept // LANES, j, kept % LANES] = turned[leaf, slot // LANES, j, slot % LANES]
        kept += 1
    for slot in range(kept, used):
        slots[leaf, slot] = -1
        for j in range(d):
            coords[leaf, slot // LANES, j, slot % LANES] = np.nan
            turned[leaf, slot // LANES, j, slot % LANES] = np.nan
    counts[0, leaf] = kept


@kernel
def take(
    records, coords, turned, slots, places, counts, sums, totals, frame, slack, boxes, links, base, column, lanes
):
    """Remove records from the tree; returns the first that is not there (any more), or -1.

    `sums` and `totals` (the same, rounded) follow.
    """
    d = coords.shape[2]
    centre, gone = frame[d + 1], column
    for t in range(records.shape[0]):
        record = records[t]
        if record < 0 or record >= places.shape[0] or places[record] < 0:
            return record
        leaf, slot = places[record] // LEAF, places[record] % LEAF
        block, lane = slot // LANES, slot % LANES
        places[record] = -1
        slots[leaf, slot] = -1
        counts[1, leaf] -= 1
        for j in range(d):
            x = coords[leaf, block, j, lane]
            add_exactly(sums, -x, j)
            gone[j] = turned[leaf, block, j, lane]
            coords[leaf, block, j, lane] = np.nan
            turned[leaf, block, j, lane] = np.nan
        if counts[1, leaf] == 0:
            counts[0, leaf] = 0
            _empty_box(boxes, links, base + leaf // LANES, leaf % LANES)
            continue
        _tighten(leaf, gone, turned, counts[0, leaf], centre, slack, boxes, links, base, lanes)
        if counts[0, leaf] > LANES and 2 * counts[1, leaf] <= counts[0, leaf]:
            _pack(leaf, coords, turned, slots, places, counts)
    for j in range(d):
        totals[j] = rounded(sums, j)
    return -1


@kernel
def take_nearest(
    q, home, m, frame, slack, boxes, links, base, coords, turned, slots, places, counts, sums, totals, column, rows, lanes, bounds, stack
):
    """Remove the m records nearest to q from the tree and return them, nearest first."""
    near = np.empty(m)
    records = np.empty(m, np.int64)
    nearest_into(
        q, home, near, records, 0, m, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack
    )
    take(records, coords, turned, slots, places, counts, sums, totals, frame, slack, boxes, links, base, column, lanes)
    return records
