"""The words the oracles share: slow, plain, and bit for bit what the kernels promise.

Three rules make an oracle agree with a kernel exactly: a squared distance adds its columns in
ascending order, a centroid is the correctly rounded sum divided by the count, and every tie goes to
the lower record number (or to the group that was formed first). Nothing here imports microagg.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

Group = list[int]
Splitter = Callable[[np.ndarray, int], list[Group]]


def squared_distance(x: Sequence[float], q: Sequence[float]) -> float:
    total = 0.0
    for j in range(len(x)):
        total += (float(x[j]) - float(q[j])) * (float(x[j]) - float(q[j]))
    return total


def squared_distances(points: np.ndarray, records: Sequence[int], q: np.ndarray) -> np.ndarray:
    """`squared_distance` of every given record to q: vectorised over records, never over
    columns.
    """
    chosen = points[np.asarray(records, dtype=np.int64)]
    total = np.zeros(len(chosen))
    for j in range(points.shape[1]):
        difference = chosen[:, j] - q[j]
        total += difference * difference
    return total


def centroid(points: np.ndarray, records: Iterable[int]) -> np.ndarray:
    members = list(records)
    return np.array(
        [math.fsum(points[members, j].tolist()) / len(members) for j in range(points.shape[1])]
    )


def farthest(points: np.ndarray, remaining: Sequence[int], q: np.ndarray) -> int:
    records = np.asarray(remaining, dtype=np.int64)
    distances = squared_distances(points, records, q)
    return int(records[distances == distances.max()].min())


def nearest(points: np.ndarray, remaining: Sequence[int], q: np.ndarray, m: int) -> list[int]:
    assert m <= len(remaining), "an oracle asked for more records than remain"
    records = np.asarray(remaining, dtype=np.int64)
    order = np.lexsort((records, squared_distances(points, records, q)))
    return records[order[:m]].tolist()


def farthest_pair(points: np.ndarray, remaining: Sequence[int]) -> tuple[int, int]:
    records = sorted(remaining)
    best, pair = -1.0, (-1, -1)
    for position, i in enumerate(records[:-1]):
        distances = squared_distances(points, records[position + 1 :], points[i])
        offset = int(np.argmax(distances))  # the first maximum: the lowest j
        if distances[offset] > best:  # strictly: an equal pair with a higher i does not replace it
            best, pair = float(distances[offset]), (i, records[position + 1 + offset])
    return pair


def nearest_to_any(
    points: np.ndarray, remaining: Sequence[int], records: Iterable[int]
) -> tuple[int, float]:
    """The remaining record with the least squared distance to any of the given records, and that
    distance.
    """
    candidates = np.asarray(remaining, dtype=np.int64)
    least = np.full(len(candidates), np.inf)
    for record in records:
        least = np.minimum(least, squared_distances(points, candidates, points[record]))
    record = int(candidates[least == least.min()].min())
    return record, float(least.min())


def without(remaining: Iterable[int], taken: Iterable[int]) -> list[int]:
    gone = set(taken)
    return [record for record in remaining if record not in gone]


def nearest_centroid(centroids: Sequence[np.ndarray], q: np.ndarray) -> int:
    """The number of the nearest group; the one formed first wins a tie."""
    distances = [squared_distance(c, q) for c in centroids]
    return distances.index(min(distances))


def join_as_block(points: np.ndarray, groups: list[Group], leftovers: Group) -> None:
    """All leftovers join the group whose centroid is nearest to the leftovers' own centroid."""
    if leftovers:
        centroids = [centroid(points, group) for group in groups]
        groups[nearest_centroid(centroids, centroid(points, leftovers))].extend(leftovers)


def join_one_by_one(
    points: np.ndarray, groups: list[Group], leftovers: Group, *, updated: bool = False
) -> None:
    """Each leftover, by ascending record number, joins its nearest centroid; `updated`: which then
    moves.
    """
    centroids = [centroid(points, group) for group in groups]
    for record in sorted(leftovers):
        chosen = nearest_centroid(centroids, points[record])
        groups[chosen].append(record)
        if updated:
            centroids[chosen] = centroid(points, groups[chosen])


def take_apart(
    points: np.ndarray, groups: list[Group], order: Iterable[int], largest: float = math.inf
) -> list[Group]:
    """Fine-tuning: each group in turn gives its records to the nearest other centroids, if that
    lowers the SSE.

    Centroids are fixed meanwhile; a group of `largest` records takes no more. Groups taken apart
    become empty.
    """
    groups = [sorted(group) for group in groups]
    centroids = {g: centroid(points, group) for g, group in enumerate(groups)}
    for g in order:
        trial = [list(group) for group in groups]
        trial[g] = []
        for record in groups[g]:
            others = [h for h in centroids if h != g and len(trial[h]) < largest]
            if not others:
                break
            distances = squared_distances(
                np.array([centroids[h] for h in others]), range(len(others)), points[record]
            )
            trial[others[int(distances.argmin())]].append(record)
        else:
            changed = [h for h in centroids if len(trial[h]) != len(groups[h])]
            before = math.fsum(spread(points, groups[h]) for h in changed)
            after = math.fsum(spread(points, trial[h]) for h in changed if h != g)
            if changed != [] and after < before:
                groups = [sorted(group) for group in trial]
                del centroids[g]
                centroids |= {h: centroid(points, groups[h]) for h in changed if h != g}
    return groups


def split_large(points: np.ndarray, groups: list[Group], k: int, splitter: Splitter) -> list[Group]:
    """Every group of 2k records or more partitioned as if it were all the data; empty groups are
    left out.
    """
    result: list[Group] = []
    for group in groups:
        members = sorted(group)
        if len(members) < 2 * k:
            result.append(members)
        else:
            result += [[members[i] for i in part] for part in splitter(points[members], k)]
    return [group for group in result if group]


def widest_first(points: np.ndarray, groups: list[Group]) -> list[int]:
    """The numbers of the groups by descending spread; the one formed first of several."""
    return sorted(range(len(groups)), key=lambda g: (-spread(points, groups[g]), g))


def pairs_of_groups(
    points: np.ndarray, k: int, *, while_at_least: int
) -> tuple[list[Group], list[int]]:
    """The loop that the MDAV family shares: the groups it forms, two a turn, and the records it
    leaves.
    """
    groups: list[Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= while_at_least:
        r = farthest(points, remaining, centroid(points, remaining))
        groups.append(nearest(points, remaining, points[r], k))
        remaining = without(remaining, groups[-1])
        s = farthest(points, remaining, points[r])
        groups.append(nearest(points, remaining, points[s], k))
        remaining = without(remaining, groups[-1])
    return groups, remaining


def farthest_group(points: np.ndarray, remaining: list[int], k: int) -> Group:
    """The record farthest from the centroid of those left, and its nearest."""
    r = farthest(points, remaining, centroid(points, remaining))
    return nearest(points, remaining, points[r], k)


def mdav_groups(points: np.ndarray, k: int, leftovers: str = "block") -> list[Group]:
    """MDAV in the order of forming: Chettri and Borah 2012, algorithm 1, whose leftovers join as a
    block.

    `nearest-updated` is the ending of Mortazavi, Jalili and Gohargazi 2013; `nearest` is that of
    MDAV1.
    """
    groups, remaining = pairs_of_groups(points, k, while_at_least=2 * k)
    if len(remaining) >= k:
        groups.append(remaining)
    elif leftovers == "block":
        join_as_block(points, groups, remaining)
    else:
        join_one_by_one(points, groups, remaining, updated=leftovers == "nearest-updated")
    return groups


def mdav1_groups(points: np.ndarray, k: int) -> list[Group]:
    """MDAV-1 in the order of forming: Lin, Wen, Hsieh and Chang 2010, as in Chettri and Borah 2012,
    algorithm 3.
    """
    groups, remaining = pairs_of_groups(points, k, while_at_least=2 * k)
    if len(remaining) >= k:
        groups.append(farthest_group(points, remaining, k))
        remaining = without(remaining, groups[-1])
    join_one_by_one(points, groups, remaining)
    return groups


def tfrp1_groups(points: np.ndarray, k: int) -> list[Group]:
    """TFRP-1 in the order of forming: Chang, Li and Huang 2007."""
    groups: list[Group] = []
    remaining = list(range(len(points)))
    corners = [np.full(points.shape[1], value) for value in (points.min(), points.max())]
    while len(remaining) >= k:
        r = farthest(points, remaining, corners[len(groups) % 2])
        groups.append(nearest(points, remaining, points[r], k))
        remaining = without(remaining, groups[-1])
    join_one_by_one(points, groups, remaining)
    return groups


def labels_from_groups(n: int, groups: Iterable[Iterable[int]]) -> np.ndarray:
    """int32 labels, groups numbered by their lowest record; every record must be in exactly one
    group.
    """
    ordered = sorted((sorted(group) for group in groups), key=lambda group: group[0])
    assert sorted(record for group in ordered for record in group) == list(range(n))
    labels = np.empty(n, dtype=np.int32)
    for label, group in enumerate(ordered):
        labels[group] = label
    return labels


def exact_sum(arrays: Iterable[np.ndarray]) -> float:
    """The correctly rounded sum of all numbers in some arrays."""
    return math.fsum(number for array in arrays for number in array.ravel().tolist())


def spread(points: np.ndarray, records: Iterable[int]) -> float:
    """The sum of squared distances of some records to their centroid, rounded once."""
    members = list(records)
    return exact_sum([(points[members] - centroid(points, members)) ** 2])


def sse(points: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squared distances of the records to the centroids of their groups."""
    terms: list[float] = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        terms.extend(squared_distances(points, members, centroid(points, members)).tolist())
    return math.fsum(terms)


def information_loss(points: np.ndarray, labels: np.ndarray) -> float:
    """100 SSE / SST, in percent."""
    return 100.0 * sse(points, labels) / sse(points, np.zeros(len(points), dtype=np.int32))


# Inputs on which implementations go wrong: exact ties, duplicates, constant columns, bad scales.


def _grid(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(0, int(rng.integers(2, 6)), (n, d)).astype(float)


def _gaussian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def _heavy_tails(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.lognormal(0.0, 2.5, (n, d))


def _duplicated_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    distinct = rng.normal(size=(max(1, n // int(rng.integers(2, 9))), d))
    return distinct[rng.integers(0, len(distinct), n)]


def _constant_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    points = rng.normal(size=(n, d))
    points[:, rng.random(d) < 0.5] = 0.1
    points[:, rng.integers(d)] = -7.3
    return points


def _all_identical(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.tile(rng.normal(size=d), (n, 1))


def _large_offset(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return 1e9 + (rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(0, 4, (n, d)))


def _tiny(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return 1e-9 * rng.normal(size=(n, d))


def _mixed_scales(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, d)


def _circle(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """All at (nearly) one distance from the centroid: rounding alone decides who is farthest."""
    angles = 2.0 * np.pi * np.arange(n) / n
    points = np.zeros((n, d))
    points[:, 0] = np.cos(angles)
    points[:, -1] = np.sin(angles)
    return rng.permutation(points)


def _mirrored(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Every record has its mirror image, in small integers: the centroid is 0 and the ties are
    exact.
    """
    half = rng.integers(-3, 4, (n // 2, d)).astype(float)
    return rng.permutation(np.vstack([half, -half, np.zeros((n % 2, d))]))


def _equidistant(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Corners of a simplex, again and again: any two distinct points are equally far apart."""
    return np.eye(d)[rng.integers(0, d, n)]


def _clustered(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Tight clusters of about as many records as a group has: here variable-size methods extend
    theirs.
    """
    centres = 10.0 * rng.normal(size=(max(1, n // int(rng.integers(3, 12))), d))
    return centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, d))


def _one_decimal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Ties of real surveys: rounded values that binary fractions cannot hold exactly."""
    return np.round(rng.normal(size=(n, d)), 1)


KINDS = (
    _grid,
    _gaussian,
    _heavy_tails,
    _duplicated_rows,
    _constant_columns,
    _all_identical,
    _large_offset,
    _tiny,
    _mixed_scales,
    _circle,
    _mirrored,
    _equidistant,
    _clustered,
    _one_decimal,
)


def hard_points(rng: np.random.Generator, kind: int | None = None) -> np.ndarray:
    """Between 2 and 200 records in 1 to 15 columns, of one of the kinds above (drawn when not
    given).
    """
    n = int(rng.integers(2, 26) if rng.random() < 0.3 else rng.integers(20, 201))
    d = int(rng.integers(1, 5) if rng.random() < 0.5 else rng.integers(1, 16))
    make = KINDS[int(rng.integers(len(KINDS))) if kind is None else kind]
    return np.ascontiguousarray(make(rng, n, d), dtype=np.float64)


def hard_problem(seed: int) -> tuple[np.ndarray, int]:
    """Points and k; consecutive seeds go through the kinds in turn."""
    rng = np.random.default_rng(seed)
    points = hard_points(rng, seed % len(KINDS))
    return points, int(rng.integers(2, min(10, len(points)) + 1))
