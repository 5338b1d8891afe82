"""Passes over the records for possibilistic and fuzzy clustering, and the merging of prototypes.

A pass looks at one record after another and keeps nothing of it but sums, so it takes O(n c d) time
and O(c d) memory for n records, c prototypes and d columns. Prototypes come column by column, (d,
c): the inner loops run over them as vector code. The exponents m and eta are 2, as everywhere in
microagg.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.elementary import exponential


@kernel
def spreads_of(points, weights, columns):
    """(2, c): for each prototype the sum of squared memberships, and of these times the squared
    distances.
    """
    c = columns.shape[1]
    spreads, squares, shares = np.zeros((2, c)), np.empty(c), np.empty(c)
    for i in range(points.shape[0]):
        _squared_distances(points[i], columns, squares)
        _memberships(squares, shares)
        _add_spread(weights[i], squares, shares, spreads[0], spreads[1])
    return spreads


@kernel
def spreads_between(points, columns, partners, directions, lengths):
    """(3, c): sums of squared memberships, and of these times squared distances along the line
    to a partner.

    The second row has those of the prototype itself, the third those of its partner along the same
    line. Lines are given as unit vectors, column by column, and lengths.
    """
    c = columns.shape[1]
    spreads, squares, shares, along = np.zeros((3, c)), np.empty(c), np.empty(c), np.empty(c)
    for i in range(points.shape[0]):
        _squared_distances(points[i], columns, squares)
        _memberships(squares, shares)
        _square(shares)
        _project(points[i], columns, directions, along)
        for t in range(c):
            beyond = along[t] - lengths[t]
            spreads[0, t] += shares[t]
            spreads[1, t] += shares[t] * (along[t] * along[t])
            spreads[2, t] += shares[partners[t]] * (beyond * beyond)
    return spreads


@kernel
def pull_on(points, weights, columns, widths):
    """(d + 1, c): the weighted sums of the records for each prototype, column by column, and the
    sum of the weights.

    The weight of a record is its squared membership, and besides its squared typicality where
    `widths` (the gammas of the prototypes) are given.
    """
    d, c = columns.shape
    pulls, squares, shares = np.zeros((d + 1, c)), np.empty(c), np.empty(c)
    for i in range(points.shape[0]):
        _squared_distances(points[i], columns, squares)
        _memberships(squares, shares)
        _square(shares)
        if widths.shape[0] > 0:
            _add_typicalities(squares, widths, shares)
        _pull(points[i], weights[i], shares, pulls)
    return pulls


@kernel
def smoothed(pulls, across, width):
    """The pulls of each prototype and, less and less by a Gaussian of their distance, of those
    around it on the map.

    Prototype number i stands in row i // across, place i % across of the map; `width` is in places.
    """
    rows, c = pulls.shape
    blurred = np.zeros((rows, c))
    for i in range(c):
        for other in range(c):
            down, aside = i // across - other // across, i % across - other % across
            near = exponential(-(down * down + aside * aside) / (2.0 * width * width))
            for j in range(rows):
                blurred[j, i] += near * pulls[j, other]
    return blurred


@kernel
def label_nearest(points, columns):
    """The number of the nearest prototype of each record, the first of several."""
    labels, squares = np.empty(points.shape[0], np.int32), np.empty(columns.shape[1])
    for i in range(points.shape[0]):
        _squared_distances(points[i], columns, squares)
        nearest = 0
        for t in range(1, columns.shape[1]):
            if squares[t] < squares[nearest]:
                nearest = t
        labels[i] = nearest
    return labels


@kernel
def merge_down(prototypes, masses, wanted):
    """(wanted, d): prototypes of positive mass merged pair by pair where the squared error grows
    least (Ward 1963).

    A pair is merged to its centre of mass, which takes the place of the first of them. Ties go to
    the lower numbers. O(c^2 d) time as a rule, O(c) memory.
    """
    alive = np.flatnonzero(masses > 0.0)
    centres, weights = prototypes[alive], masses[alive]
    c = alive.shape[0]
    remaining, partner, cost = np.ones(c, np.bool_), np.zeros(c, np.int64), np.full(c, np.inf)
    for i in range(c):
        _find_partner(i, centres, weights, remaining, partner, cost)
    for _ in range(c - wanted):
        first = 0
        for i in range(1, c):
            if cost[i] < cost[first]:
                first = i
        second = partner[first]  # always the higher number
        total = weights[first] + weights[second]
        for j in range(centres.shape[1]):
            share = weights[second] / total
            centres[first, j] += share * (centres[second, j] - centres[first, j])
        weights[first] = total
        remaining[second], cost[second] = False, np.inf
        for i in range(second):
            if remaining[i] and (i == first or partner[i] == first or partner[i] == second):
                _find_partner(i, centres, weights, remaining, partner, cost)
            elif remaining[i] and i < first:
                new = _cost_of_merging(centres, weights, i, first)
                if new < cost[i] or (new == cost[i] and first < partner[i]):
                    cost[i], partner[i] = new, first
    return centres[np.flatnonzero(remaining)]


@part
def _find_partner(i, centres, weights, remaining, partner, cost):
    """The cheapest prototype to merge i with among those behind it."""
    cost[i] = np.inf
    for other in range(i + 1, centres.shape[0]):
        if remaining[other]:
            new = _cost_of_merging(centres, weights, i, other)
            if new < cost[i]:
                cost[i], partner[i] = new, other


@part
def _cost_of_merging(centres, weights, a, b):
    total = 0.0
    for j in range(centres.shape[1]):
        x = centres[a, j] - centres[b, j]
        total += x * x
    return total * (weights[a] * weights[b] / (weights[a] + weights[b]))


@part
def _squared_distances(x, columns, squares):
    for t in range(squares.shape[0]):
        squares[t] = 0.0
    for j in range(columns.shape[0]):
        column, y = columns[j], x[j]
        for t in range(squares.shape[0]):
            difference = y - column[t]
            squares[t] += difference * difference


@part
def _project(x, columns, directions, along):
    """Compute the distance of x from each prototype along its direction."""
    for t in range(along.shape[0]):
        along[t] = 0.0
    for j in range(columns.shape[0]):
        column, direction, y = columns[j], directions[j], x[j]
        for t in range(along.shape[0]):
            along[t] += (y - column[t]) * direction[t]


@part
def _memberships(squares, shares):
    """1 / sum_l (D_i / D_l)^2; a record that lies on prototypes belongs to them alone, in equal
    shares.
    """
    least = squares[0]
    for t in range(1, squares.shape[0]):
        least = min(least, squares[t])
    total = 0.0
    if least == 0.0:
        for t in range(squares.shape[0]):
            shares[t] = 1.0 if squares[t] == 0.0 else 0.0
            total += shares[t]
    else:
        for t in range(squares.shape[0]):
            shares[t] = least / squares[t]
        for t in range(squares.shape[0]):
            total += shares[t]
    for t in range(squares.shape[0]):
        shares[t] /= total


@part
def _square(shares):
    for t in range(shares.shape[0]):
        shares[t] *= shares[t]


@part
def _add_typicalities(squares, widths, shares):
    """1 / (1 + D^2 / gamma), squared; with a gamma of 0 only what lies on the prototype is
    typical.
    """
    for t in range(squares.shape[0]):
        typical = widths[t] / (widths[t] + squares[t]) if widths[t] > 0.0 else 0.0
        shares[t] += typical * typical


@part
def _add_spread(weight, squares, shares, masses, spreads):
    for t in range(squares.shape[0]):
        amount = weight * shares[t] * shares[t]
        masses[t] += amount
        spreads[t] += amount * squares[t]


@part
def _pull(x, weight, shares, pulls):
    d = x.shape[0]
    for t in range(shares.shape[0]):
        shares[t] *= weight
        pulls[d, t] += shares[t]
    for j in range(d):
        column, y = pulls[j], x[j]
        for t in range(shares.shape[0]):
            column[t] += shares[t] * y
