"""Building the kd-tree: points go to leaves by halving, boxes are drawn around them from the
leaves up.

The layout is described in `tree.py`. Boxes are rounded outwards, so that none ever hides a record.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.equal import chain_equal
from microagg.kernels.rotation import CENTRE, TINY, ULP, above, below, frame_of, rotate
from microagg.kernels.simd import LANES, highest, largest_distance, lowest
from microagg.kernels.sums import total_and_mean
from microagg.kernels.tree import Tree, first_leaf, handle_of, new_tree, tree_at

SPREAD_SAMPLE = 32
REGROUP = 3
NOBODY = np.empty(0, np.int32)
# multiplications between two moments at which Ctrl-C is heard, some hundredths of a second
WORK = 30_000_000


def build(
    points: np.ndarray, records: np.ndarray | None = None, *, equals_as_one: bool = False
) -> Tree:
    """The tree of all points, or of some records (in ascending order) among them; see `tree.py`
    for `equals_as_one`.
    """
    points = np.ascontiguousarray(points, np.float64)
    chosen = points if records is None else points[records]
    totals = total_and_mean(chosen)
    records = (
        np.arange(len(points), dtype=np.int32) if records is None else records.astype(np.int32)
    )
    firsts, following = chain_equal(points, records) if equals_as_one else (records, NOBODY)
    if len(firsts) < len(records):
        records, chosen = firsts, points[firsts]
    else:
        following = NOBODY
    frame = frame_of(chosen, totals[3])
    tree = new_tree(points, frame, totals, following, len(chosen))
    rows = np.empty(chosen.shape, np.float32)
    step = max(1, WORK // (len(frame) * max(points.shape[1], 1)))
    for first in range(0, len(rows), step):
        _rotate_all(chosen[first : first + step], frame, rows[first : first + step])
    _fill(rows, records, handle_of(tree))
    return tree


def extent(tree: Tree) -> float:
    """Return the largest distance of a remaining record from the reference centre, as a share of
    that at the beginning.
    """
    return float(np.sqrt(max(tree.boxes[0, -1].max(), 0.0)))


@kernel
def _rotate_all(points, frame, rows):
    for i in range(points.shape[0]):
        rotate(frame, points[i], rows[i])


@kernel
def _fill(rows, records, handle):
    tree = tree_at(handle)
    _fill_leaves(rows, records, tree)
    _fill_boxes(tree)


@part
def _fill_leaves(rows, records, tree):
    """Distribute the records, whose turned coordinates are given, over the leaves."""
    n, d = rows.shape
    leaves = tree.blocks.shape[0]
    rows, order = _kd_order(rows, records, leaves)
    for leaf in range(leaves):
        first, stop = leaf * n // leaves, (leaf + 1) * n // leaves
        for slot in range(LANES):
            here = first + slot
            tree.slots[leaf, slot] = order[here] if here < stop else -1
            if here < stop:
                tree.places[order[here]] = leaf * LANES + slot
            for j in range(d):
                tree.blocks[leaf, j, slot] = rows[here, j] if here < stop else np.nan
    if tree.following.shape[0] > 0:
        _count_equals(tree)


@part
def _count_equals(tree):
    """Give the records that share a slot their place, and count them."""
    for leaf in range(tree.counts.shape[0]):
        for slot in range(LANES):
            tree.counts[leaf, slot] = 0
            record = tree.slots[leaf, slot]
            while record >= 0:
                tree.places[record] = leaf * LANES + slot
                tree.counts[leaf, slot] += 1
                record = tree.following[record]


@part
def _kd_order(rows, order, leaves):
    """Split again and again along the column of largest spread: (rows in leaf order, their
    records).
    """
    n = rows.shape[0]
    marks, keys = np.empty(n, np.int32), np.empty(n, np.int64)
    for i in range(n):
        marks[i] = i
    cuts, finer = (
        np.empty(leaves + 1, np.int64),
        np.empty(leaves + 1, np.int64),
    )  # where segments begin
    cuts[0], cuts[1] = 0, leaves
    segments, level = 1, 0
    while segments < leaves:
        if (
            level % REGROUP == 0
        ):  # rows that stay together move together: later levels work in the cache
            rows, order = _gathered(rows, order, marks)
        size = 0
        for s in range(segments):
            low, high = cuts[s], cuts[s + 1]
            finer[size] = low
            size += 1
            if high - low > 1:
                finer[size] = _leaf_to_split_at(low, high)
                first, middle, stop = (
                    low * n // leaves,
                    finer[size] * n // leaves,
                    high * n // leaves,
                )
                _split(rows, rows.view(np.int32), marks, keys, first, middle, stop)
                size += 1
        finer[size] = leaves
        cuts, finer = finer, cuts
        segments, level = size, level + 1
    return _gathered(rows, order, marks)


@part
def _gathered(rows, order, marks):
    """The rows and records that the marks point to; the marks then point to where they are now."""
    n, d = rows.shape
    new_rows, new_order = np.empty_like(rows), np.empty_like(order)
    for i in range(n):
        for j in range(d):
            new_rows[i, j] = rows[marks[i], j]
        new_order[i] = order[marks[i]]
        marks[i] = i
    return new_rows, new_order


@part
def _leaf_to_split_at(low, high):
    """The leaf nearest to the middle at which no node is torn apart."""
    unit = 1
    while unit * LANES < high - low:
        unit *= LANES
    return low + max(1, (high - low) // (2 * unit)) * unit


@part
def _split(rows, bits, marks, keys, first, middle, stop):
    """Arrange marks[first:stop] so that no row before `middle` lies beyond any row from it on,
    in some column.
    """
    column = _column_of_largest_spread(rows, marks, first, stop)
    for t in range(first, stop):
        keys[t] = _key(bits[marks[t], column], marks[t])
    _select(keys, first, middle, stop)
    for t in range(first, stop):
        marks[t] = keys[t] & 0xFFFFFFFF


@part
def _key(bits, mark):
    """A whole number that sorts like the float32 with these bits, then like the mark: no two are
    equal.
    """
    return (np.int64(bits ^ ((bits >> 31) & 0x7FFFFFFF)) << 32) | np.int64(mark)


@part
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


@part
def _select(keys, first, middle, stop):
    """Quickselect: afterwards every key before `middle` is smaller than every key from it on."""
    low, high = first, stop
    while high - low > 2:
        step = (high - low) // 9
        if step > 8:
            pivot = _median(
                _median(keys[low], keys[low + step], keys[low + 2 * step]),
                _median(keys[low + 3 * step], keys[low + 4 * step], keys[low + 5 * step]),
                _median(keys[low + 6 * step], keys[low + 7 * step], keys[high - 1]),
            )
        else:
            pivot = _median(keys[low], keys[(low + high) // 2], keys[high - 1])
        cut = _partition(keys, low, high, pivot)
        if middle < cut:
            high = cut
        elif middle > cut:
            low = cut
        else:
            return
    if high - low == 2 and keys[low + 1] < keys[low]:
        keys[low], keys[low + 1] = keys[low + 1], keys[low]


@part
def _median(a, b, c):
    return max(min(a, b), min(max(a, b), c))


@part
def _partition(keys, low, high, pivot):
    """Bring the keys below the pivot to the front; returns where the others begin."""
    cut = low
    for t in range(low, high):
        key = keys[t]
        keys[t] = keys[cut]
        keys[cut] = key
        cut += key < pivot  # no branch, so none that the processor guesses wrong half of the time
    return cut


@part
def face_low(tree, leaf, column):
    """Where the leaf's box begins in a column."""
    d = tree.frame.shape[1]
    return below(lowest(tree.blocks, (leaf * d + column) * LANES))


@part
def face_high(tree, leaf, column):
    """Where the leaf's box ends in a column."""
    d = tree.frame.shape[1]
    return above(highest(tree.blocks, (leaf * d + column) * LANES))


@part
def widest(tree, leaf, centre, length):
    """The largest |z|^2 of a leaf's records, for the centre in float32 and its norm; rounded up."""
    d = centre.shape[0]
    largest = largest_distance(tree.blocks, leaf * d * LANES, centre)
    if largest < 0.0:
        return np.float32(-np.inf)
    z = np.sqrt(largest) * (1.0 + (d + 8) * ULP) + 4.0 * ULP * length
    return np.float32(z * z + TINY)


@part
def centre_of(frame):
    """(the reference centre in float32, its norm)."""
    d = frame.shape[1]
    centre = np.empty(d, np.float32)
    squares = 0.0
    for j in range(d):
        centre[j] = frame[CENTRE, j]
        squares += frame[CENTRE, j] * frame[CENTRE, j]
    return centre, np.sqrt(squares)


@part
def _fill_boxes(tree):
    """Compute all boxes from the leaves up."""
    d = tree.frame.shape[1]
    leaves, boxes = tree.blocks.shape[0], tree.boxes
    first = first_leaf(tree)
    for node in range(boxes.shape[0]):
        for row in range(2 * d + 1):
            for lane in range(LANES):
                boxes[node, row, lane] = np.inf if row < d else -np.inf
    for leaf in range(leaves):
        node, lane = (first + leaf - 1) // LANES, (first + leaf - 1) % LANES
        for j in range(d):
            boxes[node, j, lane] = face_low(tree, leaf, j)
            boxes[node, d + j, lane] = face_high(tree, leaf, j)
    for node in range(boxes.shape[0] - 1, 0, -1):
        parent, lane = (node - 1) // LANES, (node - 1) % LANES
        offset = node * (2 * d + 1) * LANES
        for j in range(d):
            boxes[parent, j, lane] = lowest(boxes, offset + j * LANES)
            boxes[parent, d + j, lane] = highest(boxes, offset + (d + j) * LANES)
    measure_norms(tree)


@part
def measure_norms(tree):
    """Compute the largest |z|^2 of all boxes from the leaves up."""
    d = tree.frame.shape[1]
    leaves, boxes, row = tree.blocks.shape[0], tree.boxes, 2 * tree.frame.shape[1]
    centre, length = centre_of(tree.frame)
    first = first_leaf(tree)
    for leaf in range(leaves):
        node, lane = (first + leaf - 1) // LANES, (first + leaf - 1) % LANES
        boxes[node, row, lane] = widest(tree, leaf, centre, length)
    for node in range(boxes.shape[0] - 1, 0, -1):
        parent, lane = (node - 1) // LANES, (node - 1) % LANES
        boxes[parent, row, lane] = highest(boxes, (node * (2 * d + 1) + row) * LANES)


@part
def move_centre(tree, q):
    """Make q the reference centre, unless it is outside the cloud: every |z|^2 is measured anew."""
    d = q.shape[0]
    turned = np.empty(d)
    if rotate(tree.frame, q, turned) > 2.0 * np.sqrt(d):
        return
    for j in range(d):
        tree.frame[CENTRE, j] = turned[j]
    measure_norms(tree)
