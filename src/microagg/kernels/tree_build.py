"""Building the kd-tree with removal: points split evenly into leaves, eight children a node.

Layout, for L leaves of at most LEAF points in d columns:
- coords, turned (L, LEAF / 8, d, 8): the points of a leaf in blocks of eight, each block column by column, in original
  and in turned coordinates;
- slots (L, LEAF): which record is where; places (n,): the place (leaf * LEAF + slot) of each record, or -1 once taken;
- counts (2, L): slots in use and records still there. Where no record is, or none any more, coordinates are
  NaN, which passes no comparison;
- boxes (nodes, 2d + 1, 8): for each child of a node the low faces, the high faces and the largest |z|^2, where z is
  measured from the reference centre (see `frame.py`);
- links (2, nodes): the first child of a node, and its own place (parent * 8 + lane). Nodes from `base` on hold leaves.

Faces are widened by `slack`, so that rounding in the turned coordinates can never hide a point.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.frame import turn, turn_all
from microagg.kernels.lanes import LANES, squared_distances_at_least

LEAF = 32
NOWHERE = 1e200  # the faces of an empty box: low = NOWHERE, high = -NOWHERE
SPREAD_SAMPLE = 32


def node_links(leaves: int) -> tuple[np.ndarray, int]:
    """The links of a tree above so many leaves, and its `base`."""
    levels = [(leaves + LANES - 1) // LANES]
    while levels[0] > 1:
        levels.insert(0, (levels[0] + LANES - 1) // LANES)
    links = np.zeros((2, sum(levels)), np.int64)
    start = 0
    for size, below in zip(levels, levels[1:], strict=False):
        links[0, start : start + size] = start + size + LANES * np.arange(size)
        links[1, start + size : start + size + below] = start * LANES + np.arange(below)
        start += size
    return links, start


def depth_for(n: int) -> int:
    """How often to halve n records until they fit into leaves."""
    depth = 0
    while n > LEAF << depth:
        depth += 1
    return depth


@kernel
def largest_coordinate(turned):
    """The largest absolute coordinate."""
    largest = 0.0
    for i in range(turned.shape[0]):
        for j in range(turned.shape[1]):
            largest = max(largest, abs(turned[i, j]))
    return largest


@kernel
def fill_leaves(points, frame, depth, coords, turned, slots, places, counts):
    """Distribute the points over the leaves; returns the slack that boxes need."""
    rows = turn_all(frame, points)
    slack = 1e-13 * largest_coordinate(rows)
    order, starts, rows = _kd_order(rows, depth)
    d = points.shape[1]
    coords[:] = np.nan
    turned[:] = np.nan
    for leaf in range(starts.shape[0] - 1):
        first, size = starts[leaf], starts[leaf + 1] - starts[leaf]
        counts[0, leaf] = size
        counts[1, leaf] = size
        for slot in range(size):
            record = order[first + slot]
            slots[leaf, slot] = record
            places[record] = leaf * LEAF + slot
            for j in range(d):
                coords[leaf, slot // LANES, j, slot % LANES] = points[record, j]
                turned[leaf, slot // LANES, j, slot % LANES] = rows[first + slot, j]
    return slack


@kernel
def _kd_order(rows, depth):
    """Halve again and again along the column of largest spread: (records in leaf order, leaf starts, rows)."""
    n = rows.shape[0]
    order = np.arange(n)
    marks = np.arange(n)
    keys = np.empty(n)
    starts = np.zeros((1 << depth) + 1, np.int64)
    starts[1] = n
    for level in range(depth):
        if level % 3 == 0:  # rows that stay together move together: later levels work in the cache
            rows, order, marks = rows[marks], order[marks], np.arange(n)
        segments = 1 << level
        starts[2 * segments] = n
        for s in range(segments - 1, -1, -1):
            first, stop = starts[s], starts[s + 1]
            column = _column_of_largest_spread(rows, marks, first, stop)
            for t in range(first, stop):
                keys[t] = rows[marks[t], column]
            middle = (first + stop) // 2
            _split_at(keys, marks, first, stop, middle)
            starts[2 * s] = first
            starts[2 * s + 1] = middle
    return order[marks], starts, rows[marks]


@kernel
def _column_of_largest_spread(rows, marks, first, stop):
    step = max(1, (stop - first) // SPREAD_SAMPLE)
    widest, chosen = -1.0, 0
    for j in range(rows.shape[1]):
        total, squares, count = 0.0, 0.0, 0
        origin = rows[marks[first], j]
        for t in range(first, stop, step):
            x = rows[marks[t], j] - origin
            total += x
            squares += x * x
            count += 1
        spread = squares - total * total / count
        if spread > widest:
            widest, chosen = spread, j
    return chosen


@kernel
def _split_at(keys, marks, first, stop, middle):
    """Quickselect: afterwards no key before `middle` is larger than any key from it on."""
    low, high = first, stop - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                marks[i], marks[j] = marks[j], marks[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def widened_norm(squares, slack):
    """An upper bound for |z|^2 whose square was rounded in turned coordinates."""
    length = np.sqrt(squares) + slack
    return length * length * (1.0 + 1e-14)


@kernel
def largest_norm(turned, leaf, used, centre, slack, lanes):
    """The widened |z|^2 of the leaf's outermost record; -inf where there is none."""
    d = centre.shape[0]
    largest = 0.0
    found = False
    for slot in range(0, used, LANES):
        at = (leaf * LEAF + slot) * d
        mask = squared_distances_at_least(turned, at, LANES, centre, largest, lanes)
        if mask != 0:  # NaN, where no record is, never passes
            found = True
            for lane in range(LANES):
                if lanes[lane] > largest:
                    largest = lanes[lane]
    return widened_norm(largest, slack) if found else -np.inf


@kernel
def lowest_in_leaf(turned, leaf, column, used):
    """The smallest turned coordinate of a leaf's records in one column."""
    result = np.inf
    for block in range((used + LANES - 1) // LANES):
        for lane in range(LANES):
            x = turned[leaf, block, column, lane]
            if x < result:
                result = x
    return result


@kernel
def highest_in_leaf(turned, leaf, column, used):
    """The largest turned coordinate of a leaf's records in one column."""
    result = -np.inf
    for block in range((used + LANES - 1) // LANES):
        for lane in range(LANES):
            x = turned[leaf, block, column, lane]
            if x > result:
                result = x
    return result


@kernel
def lowest(boxes, node, row):
    """The smallest of a node's eight entries in a row."""
    result = boxes[node, row, 0]
    for lane in range(1, LANES):
        if boxes[node, row, lane] < result:
            result = boxes[node, row, lane]
    return result


@kernel
def highest(boxes, node, row):
    """The largest of a node's eight entries in a row."""
    result = boxes[node, row, 0]
    for lane in range(1, LANES):
        if boxes[node, row, lane] > result:
            result = boxes[node, row, lane]
    return result


@kernel
def build_boxes(turned, counts, centre, slack, boxes, links, base):
    """Compute all boxes from the leaves up."""
    d = turned.shape[2]
    lanes = np.empty(LANES)
    boxes[:, :d, :] = NOWHERE
    boxes[:, d : 2 * d, :] = -NOWHERE
    boxes[:, 2 * d, :] = -np.inf
    for leaf in range(turned.shape[0]):
        node, lane, used = base + leaf // LANES, leaf % LANES, counts[0, leaf]
        for j in range(d):
            boxes[node, j, lane] = lowest_in_leaf(turned, leaf, j, used) - slack
            boxes[node, d + j, lane] = highest_in_leaf(turned, leaf, j, used) + slack
        boxes[node, 2 * d, lane] = largest_norm(turned, leaf, used, centre, slack, lanes)
    for node in range(boxes.shape[0] - 1, 0, -1):
        parent, lane = links[1, node] // LANES, links[1, node] % LANES
        for j in range(d):
            boxes[parent, j, lane] = lowest(boxes, node, j)
            boxes[parent, d + j, lane] = highest(boxes, node, d + j)
        boxes[parent, 2 * d, lane] = highest(boxes, node, 2 * d)


@kernel
def move_centre(q, frame, turned, counts, slack, boxes, links, base):
    """Make q the reference centre: every |z|^2 is measured anew."""
    d = q.shape[0]
    lanes = np.empty(LANES)
    frame[d + 2] = q
    turn(frame, q, frame[d + 1])
    for leaf in range(turned.shape[0]):
        node, lane = base + leaf // LANES, leaf % LANES
        boxes[node, 2 * d, lane] = largest_norm(turned, leaf, counts[0, leaf], frame[d + 1], slack, lanes)
    for node in range(boxes.shape[0] - 1, 0, -1):
        parent, lane = links[1, node] // LANES, links[1, node] % LANES
        boxes[parent, 2 * d, lane] = highest(boxes, node, 2 * d)
