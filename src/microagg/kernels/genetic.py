"""A genetic algorithm for small partitions: one gene a record, its value the number of the
record's group.

Groups are numbered by their first records, so that equal numbers mean something in two chromosomes;
every chromosome has groups of k to 2k - 1 records at all times, for which crossover and mutation
are followed by a repair.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.random import below, permutation, unit


@kernel
def evolve(points, k, groups, size, generations, crossover, mutation, state):
    """The best chromosome after so many generations of a population of that size."""
    n = points.shape[0]
    genes, losses = np.empty((size, n), np.int64), np.empty(size)
    for c in range(size):
        _draw(genes[c], k, groups, state)
        losses[c] = _loss(points, genes[c], groups)
    for _ in range(generations):
        best = _lowest(losses)
        if losses[best] == 0.0 or groups == 1:
            break
        genes = _next_generation(genes, losses, best, k, groups, crossover, mutation, state)
        for c in range(size):
            losses[c] = _loss(points, genes[c], groups)
    return genes[_lowest(losses)]


@part
def _draw(genes, k, groups, state):
    """A random chromosome: k random records a group, and the others one by one to groups that
    have room.
    """
    order, sizes = permutation(state, genes.shape[0]), np.zeros(groups, np.int64)
    for t in range(genes.shape[0]):
        g = t // k
        if g >= groups:
            g = below(state, groups)
            while sizes[g] == 2 * k - 1:
                g = below(state, groups)
        genes[order[t]] = g
        sizes[g] += 1
    _number_by_first(genes, groups)


@part
def _number_by_first(genes, groups):
    numbers, count = np.full(groups, -1), 0
    for i in range(genes.shape[0]):
        if numbers[genes[i]] < 0:
            numbers[genes[i]] = count
            count += 1
        genes[i] = numbers[genes[i]]


@part
def _loss(points, genes, groups):
    """The sum of squared distances to the means of the groups."""
    n, d = points.shape
    means, sizes = np.zeros((groups, d)), np.zeros(groups)
    for i in range(n):
        sizes[genes[i]] += 1.0
        for j in range(d):
            means[genes[i], j] += points[i, j]
    for g in range(groups):
        for j in range(d):
            means[g, j] = means[g, j] / sizes[g]
    total = 0.0
    for i in range(n):
        for j in range(d):
            x = points[i, j] - means[genes[i], j]
            total += x * x
    return total


@part
def _lowest(losses):
    best = 0
    for c in range(1, losses.shape[0]):
        if losses[c] < losses[best]:
            best = c
    return best


@part
def _next_generation(genes, losses, best, k, groups, crossover, mutation, state):
    """The best chromosome as it is, and children of parents that are drawn by their fitness."""
    size, n = genes.shape
    wheel, new = np.empty(size), np.empty_like(genes)
    turned = 0.0
    for c in range(size):
        turned += losses[best] / losses[c]
        wheel[c] = turned
    new[0] = genes[best]
    c = 1
    while c < size:
        mother, father = _spin(wheel, state), _spin(wheel, state)
        cut = n
        if unit(state) < crossover:
            cut = 1 + below(state, n - 1)
        for child in range(2):
            if c < size:
                for i in range(n):
                    from_mother = (i < cut) == (child == 0)
                    new[c, i] = genes[mother, i] if from_mother else genes[father, i]
                _mutate(new[c], groups, mutation, state)
                _repair(new[c], k, groups, state)
                _number_by_first(new[c], groups)
                c += 1
    return new


@part
def _spin(wheel, state):
    """A chromosome, drawn with a chance in proportion to its fitness."""
    threshold = unit(state) * wheel[-1]
    for c in range(wheel.shape[0]):
        if threshold < wheel[c]:
            return c
    return wheel.shape[0] - 1


@part
def _mutate(genes, groups, mutation, state):
    for i in range(genes.shape[0]):
        if unit(state) < mutation:
            genes[i] = below(state, groups)


@part
def _repair(genes, k, groups, state):
    """Move random records from groups that have more than they need until all have k to 2k - 1."""
    n, sizes = genes.shape[0], np.zeros(groups, np.int64)
    for i in range(n):
        sizes[genes[i]] += 1
    for g in range(groups):
        while sizes[g] < k:
            i = below(state, n)
            while sizes[genes[i]] <= k:
                i = (i + 1) % n
            sizes[genes[i]] -= 1
            sizes[g] += 1
            genes[i] = g
    for g in range(groups):
        while sizes[g] > 2 * k - 1:
            i = below(state, n)
            while genes[i] != g:
                i = (i + 1) % n
            smallest = 0
            for h in range(1, groups):
                if sizes[h] < sizes[smallest]:
                    smallest = h
            sizes[g] -= 1
            sizes[smallest] += 1
            genes[i] = smallest
