"""Leaves of a tree of cuts, and membership in a sample: both computed for one record at a time."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part


@kernel
def squared_distances(points, centre):
    """(n,): the squared distance of each point from the centre."""
    distances = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        distances[i] = _squared_distance(points, i, centre)
    return distances


@kernel
def lengths_along(points, rows, centre, direction):
    """(rows,): the coordinate of some points along a direction, measured from the centre."""
    lengths = np.empty(rows.shape[0])
    for t in range(rows.shape[0]):
        lengths[t] = _length_along(points, rows[t], centre, direction)
    return lengths


@part
def _squared_distance(points, i, centre):
    total = 0.0
    for j in range(points.shape[1]):
        x = points[i, j] - centre[j]
        total += x * x
    return total


@part
def _length_along(points, i, centre, direction):
    total = 0.0
    for j in range(points.shape[1]):
        total += (points[i, j] - centre[j]) * direction[j]
    return total


@kernel
def leaves_of(points, axes, values, children, leaves, centre, directions):
    """(n,): the leaf of each point. Node i cuts `axes[i]` (-1: it is the leaf `leaves[i]`) at
    `values[i]`.

    The axis behind the last is the squared distance from the centre, those behind it are
    `directions` from there. A point goes to the first of `children[i]` if it lies at the value or
    below it, else to the second.
    """
    labels, d = np.empty(points.shape[0], np.int32), points.shape[1]
    for i in range(points.shape[0]):
        node = 0
        while axes[node] >= 0:
            axis = axes[node]
            if axis < d:
                x = points[i, axis]
            elif axis == d:
                x = _squared_distance(points, i, centre)
            else:
                x = _length_along(points, i, centre, directions[axis - d - 1])
            node = children[node, 1 if x > values[node] else 0]
        labels[i] = leaves[node]
    return labels


@kernel
def are_chosen(first, count, key, below):
    """(count,): whether the hash of each record number from `first` on, keyed, is below a limit
    (SplitMix64's last step).
    """
    chosen = np.empty(count, np.bool_)
    for i in range(count):
        z = key + np.uint64(first + i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        chosen[i] = (z ^ (z >> np.uint64(31))) < below
    return chosen
