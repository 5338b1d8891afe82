"""Check a bound certificate: "no grouping of these records into groups of at least k loses less
than this".

This file is meant to be read. It shares no code with the solver that writes certificates, and runs
alone: `python verify_bound.py CERT DATA` (or `microagg verify-bound CERT DATA`): exit code 0 the
claim holds, 3 it does not, 2 unreadable. It is longer than other files so that it stays one.

**What is claimed.** The loss of a grouping is the sum of cost(S) over its groups S, where cost(S)
is the sum of squared distances of the members to their mean, which equals (1/|S|) Σ_{i<j in S}
d²_ij. Splitting a group of 2k or more records never raises the loss, so some best grouping has only
groups with k <= |S| <= 2k-1. A certificate gives a number pi_i for each record, and *cuts*: sets c
of records, each with a whole number p >= 2 and a penalty q_c >= 0. Suppose that for EVERY set S of
k to 2k-1 records

    (*)    v(S) = Σ_{i in S} pi_i - Σ_c q_c·floor(|S ∩ c|/p) - cost(S)  <=  0.

Add (*) over the groups of a grouping. Each record is in one group, and the groups share out the
records of a cut, so that Σ_S floor(|S ∩ c|/p) <= floor(|c|/p). Hence the loss is at least
L = Σ_i pi_i - Σ_c q_c·floor(|c|/p), whatever the grouping: the claim may not exceed this. How pi
and cuts were found does not matter. All there is to check is (*), and that the data are those of
the certificate.

**Without cuts, size k is enough.** Suppose (*) holds up to e for all sets of k records, and take a
set S of s >= k. Average (*) over all k-subsets of S: each record is in a share k/s of them, each
pair in k(k-1)/(s(s-1)). With D the sum of the squared distances of all pairs in S:
(k/s)·Σ_S pi <= (k-1)/(s(s-1))·D + e, so Σ_S pi <= (k-1)/(k(s-1))·D + e·s/k. As s(k-1) <= k(s-1),
that is at most D/s + e·s/k = cost(S) + e·s/k. Over a grouping the sizes s add up to n, so the
tolerances add up to e·n/k, as they do below.

**How every S is checked without listing all.** Take one size s. Put on each pair of records the
weight w_ij = d²_ij/s - (a_i + a_j)/(s-1) + Σ_{c holding i and j} 2·b_c·q_c, where
a_i = pi_i + Σ_{c holding i} b_c·q_c·(p-2) and b_c is the least of floor(t/p)/(t(t-p+1)) for
p <= t <= min(|c|, s). The pairs inside S then sum to w(S) <= -v(S): costs and pi come out exactly,
and t = |S ∩ c| records of a cut add b_c·q_c·(t(t-1) - (p-2)t) = q_c·b_c·t(t-p+1), which is at most
q_c·floor(t/p): for t >= p by the choice of b_c, and below p it is not above 0. So a set that breaks
(*) has w(S) < 0. Now take from a set S of t >= 3 records the member whose weights to the others
(its *star*) sum to the most. The stars sum to 2w(S), so the largest is at least 2w(S)/t, and what
is left has w <= w(S)·(t-2)/t: negative again. Going on, every S with w(S) < 0 is reached from a
pair with w < 0 by adding one record at a time, through sets that are all negative, and each time
the record added is the one that would be taken out again. Among equal stars the highest record
number is taken out, so each set has exactly one set that it comes from and is met exactly once. At
full size s the sets met are compared with (*) itself. Sets that are not met satisfy (*).

**Branches.** A claim c above L needs a *tree*. The loss of a grouping is at least L plus -v(S)
for each of its groups S. So a grouping that loses less than c has only groups with
-v(S) < room = c - L. These are listed here, by the same way with room / (number of pairs) taken
off each weight. An inner node of the tree names two records: in any grouping they are together or
apart, and there is a branch for either. Each leaf has other pi and penalties (of the same cuts).
If they satisfy (*) for the listed sets that fit the decisions above the leaf (no group with one of
two records that are together, or with both of two that are apart), then a grouping that fits them,
made of listed sets, loses at least the leaf's L. So if no leaf's L is below c, nothing loses less
than c. Where the certificate has a grouping that loses no more than c, that is an optimum.

**Rounding.** Weights are rounded down to whole multiples of a power of two and kept as 64-bit
integers, so sums and ties along the way are exact (weights too large to occur in a negative set are
lowered to `cap` first; lowering a weight only makes more sets be met). What remains is the rounding
of the weights and of v(S), at most `error`, and it must not exceed half of eps = 1e-9·SST/n. Sets
are let pass with v(S) up to eps as computed, thus 1.5·eps in truth; a grouping has at most n/k
groups; so n/k·1.5·eps is taken off each L. A grouping counts as optimal if it loses at most
1e-8·SST more than what is proven.

**Limits.** Memory is 8n² bytes: not above 20,000 records. Where more than 50 million sets would
have to be met, or a million listed, the answer is "not confirmed". Time is about n nanoseconds
times a small factor for each set met.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MOST_RECORDS = 20_000
MOST_SETS = 50_000_000
MOST_LISTED = 1_000_000
MOST_NODES = 100_000
OPTIMAL = 1e-8  # of SST
CELLS = 1 << 18  # numbers in an array of one step: few enough for the processor's cache

Cuts = list[tuple[list[int], int, float]]  # records, p and penalty of each


@dataclass(frozen=True)
class Verdict:
    """The checker's answer: `worst` is the largest v(S) that was met, 0 where none exceeds it.

    >>> verdict = check_certificate({"format": "something else"}, np.zeros((4, 1)))
    >>> verdict.holds, verdict.reason
    (False, "the certificate's format is not microagg-bound/2.")
    >>> print(Verdict(True, "", k=3, records=9, sse=2.5, il=12.5, columns=("age",), scale="zscore"))
    Proven: every grouping of these 9 records by 'age' (scale zscore) into groups of at least 3 \
has an information loss of at least 12.5 % (SSE 2.5).
    """

    holds: bool
    reason: str
    k: int = 0
    records: int = 0
    sse: float = math.nan
    il: float = math.nan
    sets_examined: int = 0
    worst: float = 0.0
    columns: tuple[str, ...] | int = 0
    """The names of the columns, or how many where they have none."""
    scale: str = ""
    importance: tuple[float, ...] = ()
    """How many times the squared distances of each column count; empty where all count once."""
    optimal: bool = False
    """Whether the certificate has a grouping that loses no more than what is proven."""
    leaves: int = 0
    """The number of leaves of the certificate's tree; 0 without a tree."""

    def __str__(self) -> str:
        """Return the answer in one sentence: what is proven of which data, or why nothing is."""
        if not self.holds:
            return f"NOT PROVEN: {self.reason}"
        named = self.columns if isinstance(self.columns, tuple) else None
        columns = f"{self.columns} columns" if named is None else ", ".join(map(repr, named))
        weighed = ", ".join(f"{times:g}" for times in self.importance)
        scale = f"{self.scale}, squares counted {weighed} times" if weighed else self.scale
        optimal = " The grouping in the certificate is optimal." if self.optimal else ""
        return (
            f"Proven: every grouping of these {self.records} records by {columns} (scale "
            f"{scale}) into groups of at least {self.k} has an information loss of at least "
            f"{self.il:.6g} % (SSE {self.sse:.10g}).{optimal}"
        )


class UnreadableError(ValueError):
    """A file cannot be read as what it should be; the sentence quotes nothing of it."""


class _RejectedError(Exception):
    """Why the certificate does not hold."""


def verify(certificate: Path, data: Path) -> Verdict:
    """Check a certificate file against the file of the data it speaks of."""
    try:
        content = json.loads(Path(certificate).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise UnreadableError(
            f"{Path(certificate).name} is no certificate; give the JSON file of one."
        ) from None
    try:
        columns = _columns(_field(content, "data", dict))
    except _RejectedError as rejected:
        return Verdict(False, str(rejected))
    return check_certificate(content, _read_values(Path(data), columns))


def check_certificate(content: Any, values: np.ndarray) -> Verdict:
    """Check a certificate that has been read already; `values` are the n x d unscaled numbers.

    >>> certificate = {
    ...     "format": "microagg-bound/1", "k": 2, "records": 4, "pi": [0.25] * 4, "cuts": [],
    ...     "claim": {"sse": 0.999, "il": 99.9 / 101},
    ... }
    >>> values = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> digest = hashlib.sha256(b"4 1\\n" + values.astype("<f8").tobytes()).hexdigest()
    >>> certificate["data"] = {"columns": None, "scale": "none", "centre": [0.0], "width": [1.0]}
    >>> certificate["data"]["digest"] = digest
    >>> check_certificate(certificate, values).holds
    True
    """
    facts: dict[str, Any] = {
        "k": 0,
        "records": 0,
        "sse": math.nan,
        "il": math.nan,
        "sets_examined": 0,
        "worst": 0.0,
    }
    try:
        with np.errstate(all="ignore"):  # what overflows is not finite, and refused
            _check(content, np.ascontiguousarray(values, dtype=np.float64), facts)
    except _RejectedError as rejected:
        return Verdict(False, str(rejected), **{**facts, "optimal": False})
    return Verdict(True, "the claim holds.", **facts)


def _check(content: Any, values: np.ndarray, facts: dict[str, Any]) -> None:
    form = _field(content, "format", str)
    known = ("microagg-bound/1", "microagg-bound/2")  # in the first, p is 2 throughout
    _require(form in known, "the certificate's format is not microagg-bound/2.")
    n, k = _field(content, "records", int), _field(content, "k", int)
    claim = _field(content, "claim", dict)
    sse, il = _numbers([claim.get("sse"), claim.get("il")], 2, "claim").tolist()
    facts.update(k=k, records=n, sse=sse, il=il)
    pi = _numbers(_field(content, "pi", list), n, "pi")
    cuts = [_cut(cut, n, form) for cut in _field(content, "cuts", list)]
    data = _field(content, "data", dict)
    points = _points(data, values, n)
    facts.update(columns=tuple(_columns(data) or ()) or points.shape[1], scale=data["scale"])
    if "importance" in data:
        facts.update(importance=tuple(_field(data, "importance", list)))
    _require(2 <= k <= n <= MOST_RECORDS, f"2 <= k <= records <= {MOST_RECORDS} is asked for.")

    sst = float(_costs(points, np.arange(n)[None])[0])
    _require(
        sst == 0.0 or 1e-200 < sst < 1e200, "the points are too large or too small to be squared."
    )
    expected = 100.0 * sse / sst if sst else 0.0
    _require(
        math.isclose(il, expected, rel_tol=1e-9, abs_tol=1e-12),
        "claim.il does not match claim.sse.",
    )
    if "grouping" in content:
        loss = _loss(_field(content, "grouping", list), points, k)
        facts["optimal"] = loss - sse <= OPTIMAL * sst
    if sse <= 0.0:
        return  # true of any grouping
    eps = 1e-9 * sst / n
    if n < 2 * k:  # there is one grouping only: all together
        proven = sst - eps
    elif content.get("tree") is not None:
        proven = _proven_by_tree(content["tree"], points, _Prices(pi, cuts), k, sse, eps, facts)
    else:
        prices = _Prices(pi, cuts)
        for size in range(k, 2 * k if any(penalty for _, _, penalty in cuts) else k + 1):
            for _ in _listed_sets(points, prices, size, 0.0, eps, facts):
                pass
        proven = prices.total() - n / k * 1.5 * eps
    _require(sse <= proven, "the claim exceeds what the numbers of the certificate prove.")


def _loss(labels: list, points: np.ndarray, k: int) -> float:
    """Return the loss of a grouping: a number for each record, equal in a group."""
    n = len(points)
    proper = len(labels) == n and all(type(label) is int and 0 <= label < n for label in labels)
    _require(proper, "the certificate has no proper grouping.")
    groups: dict[int, list[int]] = {}
    for record, label in enumerate(labels):
        groups.setdefault(label, []).append(record)
    _require(min(map(len, groups.values())) >= k, "a group of the grouping has too few records.")
    return math.fsum(float(_costs(points, np.array([group]))[0]) for group in groups.values())


@dataclass
class _Prices:
    """The numbers that (*) is about, and for each record the cuts that hold it."""

    pi: np.ndarray
    cuts: Cuts
    cuts_of: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.cuts_of = [[] for _ in self.pi]
        for number, (records, _, _) in enumerate(self.cuts):
            for record in records:
                self.cuts_of[record].append(number)

    def total(self) -> float:
        """Return L, what (*) proves."""
        penalties = [penalty for records, p, penalty in self.cuts for _ in range(len(records) // p)]
        return math.fsum([*self.pi.tolist(), *(-penalty for penalty in penalties)])


def _listed_sets(
    points: np.ndarray, prices: _Prices, size: int, room: float, eps: float, facts: dict
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Compare all sets of this size that might break (*) with (*); yield those of -v(S) < room.

    As arrays of a row for each set: record numbers, cost, and floor(|S ∩ c|/p) of every cut.
    """
    pi, cuts = prices.pi, prices.cuts
    if room == 0.0 and size * float(np.abs(pi).max()) <= eps:
        return  # no v(S) exceeds eps
    shares = [_share(len(records), p, size) * penalty for records, p, penalty in cuts]
    raised = pi.copy()
    for number, (records, p, _) in enumerate(cuts):
        raised[records] += shares[number] * (p - 2)
    most = max(map(len, prices.cuts_of))
    largest = size * float(np.abs(raised).max()) + room
    error = (points.shape[1] * size + most + 10) * 2.0**-52 * largest
    _require(
        error <= eps / 2,
        "the certificate's numbers are too uneven to be checked in double precision.",
    )
    # as a table, filled up with the number of a last cut that costs nothing
    table = np.array(
        [numbers + [len(cuts)] * (most - len(numbers)) for numbers in prices.cuts_of],
        dtype=np.int64,
    )
    penalties = np.array([penalty for _, _, penalty in cuts] + [0.0])
    parts = np.array([p for _, p, _ in cuts] + [2])
    step = 1 + CELLS // (len(penalties) + size * (points.shape[1] + most))
    shift = eps if room == 0.0 else -room - eps
    weights = _weights(points, raised, cuts, shares, size, shift)
    for sets in _negative_sets(weights, size, facts):
        for start in range(0, len(sets), step):
            some = sets[start : start + step]
            entries = (
                table[some].reshape(len(some), -1) + len(penalties) * np.arange(len(some))[:, None]
            )
            shared = np.bincount(entries.ravel(), minlength=len(some) * len(penalties))  # |S ∩ c|
            times, costs = shared.reshape(len(some), -1) // parts, _costs(points, some)
            excess = pi[some].sum(axis=1) - times @ penalties - costs  # v(S)
            facts["worst"] = max(facts["worst"], float(excess.max()))
            _require(
                bool((excess <= eps).all()), "some group costs less than the certificate says."
            )
            near = excess > -room - eps
            yield some[near], costs[near], times[near, :-1]


def _proven_by_tree(
    tree: Any, points: np.ndarray, prices: _Prices, k: int, sse: float, eps: float, facts: dict
) -> float:
    """Return what the tree proves: at most the claim, where groups of less excess are listed."""
    n = len(points)
    tolerance = n / k * 1.5 * eps
    room = max(sse - prices.total() + tolerance, 0.0) + eps
    rows, costs, held = [], [], []
    count = 0
    for size in range(k, min(2 * k - 1, n) + 1):
        for some, cost, times in _listed_sets(points, prices, size, room, eps, facts):
            rows.append(np.pad(some, ((0, 0), (0, 2 * k - 1 - size)), constant_values=n))
            costs.append(cost)
            which, cut = np.nonzero(times)
            held.append((which + count, cut, times[which, cut]))
            count += len(some)
            _require(count <= MOST_LISTED, "not confirmed: too many sets would have to be listed.")
    sets = np.concatenate(rows or [np.empty((0, 2 * k - 1), np.int64)])
    cost = np.concatenate(costs or [np.empty(0)])
    entries = (
        [np.concatenate(x) for x in zip(*held, strict=True)] if held else [np.empty(0, int)] * 3
    )
    waiting = [(tree, np.ones(count, dtype=bool))]
    proven, nodes = sse, 0
    while waiting:
        node, fits = waiting.pop()
        nodes += 1
        _require(nodes <= MOST_NODES, "not confirmed: the tree has too many nodes.")
        _require(type(node) is dict, "a node of the tree is not proper.")
        if "pair" in node:
            first, second = _pair(node, n)
            has_first, has_second = (sets == first).any(axis=1), (sets == second).any(axis=1)
            _require("together" in node and "apart" in node, "a node of the tree lacks a branch.")
            waiting.append((node["together"], fits & (has_first == has_second)))
            waiting.append((node["apart"], fits & ~(has_first & has_second)))
        else:
            proven = min(
                proven, _proven_by_leaf(node, prices, sets, cost, entries, fits, eps) - tolerance
            )
            facts["leaves"] = facts.get("leaves", 0) + 1
    return proven


def _pair(node: dict, n: int) -> tuple[int, int]:
    """Return the two different records of an inner node."""
    pair = _field(node, "pair", list)
    proper = len(pair) == 2 and all(type(x) is int and 0 <= x < n for x in pair)
    _require(proper and pair[0] != pair[1], "a node of the tree has no proper pair.")
    return pair[0], pair[1]


def _proven_by_leaf(
    node: dict,
    prices: _Prices,
    sets: np.ndarray,
    costs: np.ndarray,
    held: list[np.ndarray],
    fits: np.ndarray,
    eps: float,
) -> float:
    """Return the L of a leaf, after comparing all sets that fit with (*)."""
    n = len(prices.pi)
    pi = _numbers(_field(node, "pi", list), n, "pi of a leaf")
    penalties = _numbers(_field(node, "penalties", list), len(prices.cuts), "penalties of a leaf")
    _require(bool((penalties >= 0.0).all()), "a penalty of a leaf is negative.")
    largest = sets.shape[1] * (float(np.abs(pi).max()) + float(penalties.sum()))
    largest += float(costs.max(initial=0.0))
    # a sum of at most as many numbers as a set has records and touches cuts
    terms = 2 * sets.shape[1] + max(map(len, prices.cuts_of)) * sets.shape[1] + 10
    _require(terms * 2.0**-52 * largest <= eps / 2, "the numbers of a leaf are too uneven.")
    which, cut, times = held
    relief = np.bincount(which, times * penalties[cut], minlength=len(sets))
    excess = np.append(pi, 0.0)[sets].sum(axis=1) - relief - costs
    _require(bool((excess[fits] <= eps).all()), "some group costs less than a leaf says.")
    cuts = [
        (records, p, q) for (records, p, _), q in zip(prices.cuts, penalties.tolist(), strict=True)
    ]
    return _Prices(pi, cuts).total()


def _share(records: int, p: int, size: int) -> float:
    """b of a cut: the least of floor(t/p) / (t(t-p+1)), a little lower; 0 where no set of this size
    can hold p of its records.
    """
    ratios = [(t // p) / (t * (t - p + 1)) for t in range(p, min(records, size) + 1)]
    return min(ratios, default=0.0) * (1.0 - 1e-15)


def _weights(
    points: np.ndarray, pi: np.ndarray, cuts: Cuts, shares: list[float], size: int, shift: float
) -> np.ndarray:
    """Return w of all pairs, each raised by its part of `shift`, as integers; 0 on the diagonal.

    pi: the a of the text above. v(S) > shift still makes w(S) < 0.
    """
    n, d = points.shape
    pairs = size * (size - 1) // 2
    # no weight is below -cap/pairs
    cap = pairs * 2.0 * float(np.abs(pi).max()) / (size - 1) + max(-shift, 0.0)
    scale = 2.0 ** (60 - math.frexp(cap * pairs)[1])
    weights = np.empty((n, n), dtype=np.int64)
    for low in range(0, n, 256):
        rows = slice(low, low + 256)
        squares = sum((points[rows, j, None] - points[None, :, j]) ** 2 for j in range(d))
        block = squares / size - (pi[rows, None] + pi[None, :]) / (size - 1) + shift / pairs
        weights[rows] = np.floor(np.minimum(block, cap) * scale)
    for (records, _, _), part in zip(cuts, shares, strict=True):
        share = math.floor(min(2.0 * part, cap) * scale)
        inside = np.ix_(records, records)
        weights[inside] = np.minimum(weights[inside] + share, math.floor(cap * scale))
    np.fill_diagonal(weights, 0)
    return weights


def _negative_sets(weights: np.ndarray, size: int, facts: dict) -> Iterator[np.ndarray]:
    """Yield all sets of `size` records with w(S) < 0, each once, as rows of record numbers."""
    step = 1 + CELLS // len(weights)
    for low in range(0, len(weights), step):
        first, second = np.nonzero(np.triu(weights[low : low + step] < 0, low + 1))
        waiting = [(np.column_stack([first + low, second]), weights[first + low, second])]
        while waiting:  # the last first, so that few wait
            sets, totals = waiting.pop()
            if len(sets) > step:
                waiting.append((sets[step:], totals[step:]))
                sets, totals = sets[:step], totals[:step]
            facts["sets_examined"] += len(sets)
            _require(
                facts["sets_examined"] <= MOST_SETS,
                "not confirmed: too many sets would have to be met.",
            )
            if len(sets) and sets.shape[1] == size:
                yield sets
            elif len(sets):
                waiting.append(_extended(weights, sets, totals))


def _extended(
    weights: np.ndarray, sets: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The negative sets with one record more whose added record is the one that would be taken
    out again.
    """
    stars = weights[sets[:, 0]]  # of every record to each set
    for column in sets.T[1:]:
        stars += weights[column]
    inside = np.take_along_axis(stars, sets, axis=1)
    np.put_along_axis(stars, sets, np.iinfo(np.int64).max, axis=1)  # members are not added again
    which, added = np.nonzero(stars < -totals[:, None])
    members, star, number = sets[which], stars[which, added][:, None], added[:, None]
    others = inside[which] + weights[members, number]  # the members' stars once the record is added
    last = ((others < star) | ((others == star) & (members < number))).all(axis=1)
    return np.hstack([members[last], number[last]]), totals[which[last]] + star[last, 0]


def _costs(points: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """cost(S) of each row of record numbers."""
    members = (
        points[sets] - points[sets[:, :1]]
    )  # seen from the first member: large offsets do no harm
    return np.square(members - members.mean(axis=1, keepdims=True)).sum(axis=(1, 2))


def _points(data: dict[str, Any], values: np.ndarray, n: int) -> np.ndarray:
    """Return the scaled points, after making sure that data and scaling are those that the
    certificate names.
    """
    _require(values.ndim == 2 and len(values) == n, "the data have another number of records.")
    d = values.shape[1]
    columns = _columns(data)
    _require(
        d > 0 and (columns is None or len(columns) == d), "the data have another number of columns."
    )
    _require(bool(np.isfinite(values).all()), "the data hold numbers that are not finite.")
    digest = hashlib.sha256(f"{n} {d}\n".encode() + values.astype("<f8").tobytes()).hexdigest()
    _require(_field(data, "digest", str) == digest, "the data are not those of the certificate.")
    centre = _numbers(_field(data, "centre", list), d, "centre")
    width = _numbers(_field(data, "width", list), d, "width")
    scale = _field(data, "scale", str)
    if scale == "rank":
        values, scale = np.column_stack([_mean_places(column) for column in values.T]), "zscore"
    true_centre, true_width = _scaling(values, scale)
    near = np.abs(centre - true_centre) <= 1e-9 * (np.abs(true_centre) + true_width)
    near &= np.abs(width - true_width) <= 1e-9 * true_width
    _require(bool(near.all()), "centre and width are not those of the data.")
    importance = _numbers(
        _field(data, "importance", list) if "importance" in data else [1] * d, d, "importance"
    )
    _require(bool((importance > 0.0).all()), "an importance is not above 0.")
    points = (values - centre) / width * np.sqrt(importance)
    _require(bool(np.isfinite(points).all()), "the scaled data hold numbers that are not finite.")
    return points


def _mean_places(column: np.ndarray) -> np.ndarray:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    ordered = np.sort(column)
    first = np.searchsorted(ordered, column, side="left")
    after = np.searchsorted(ordered, column, side="right")
    return (first + 1 + after) / 2.0


def _scaling(values: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """Centre and width of each column; where quartiles coincide the standard deviation serves,
    in constant columns 1.
    """
    low, spread = values.min(axis=0), np.ptp(values, axis=0)
    unit = (values - low) / np.where(spread > 0.0, spread, 1.0)
    deviation = spread * np.sqrt(_means(np.square(unit - _means(unit))))
    lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    known = {
        "none": (0.0 * spread, 0.0 * spread + 1.0),
        "zscore": (_means(values), deviation),
        "minmax": (low, spread),
        "robust": (median, np.where(upper > lower, upper - lower, deviation)),
    }
    _require(scale in known, "the scale is none of zscore, minmax, robust, rank, none.")
    return known[scale][0], np.where(spread > 0.0, known[scale][1], 1.0)


def _means(values: np.ndarray) -> np.ndarray:
    return np.array([math.fsum(column) / len(values) for column in values.T.tolist()])


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _RejectedError(reason)


def _field(holder: Any, name: str, kind: type) -> Any:
    """A field of the certificate, of exactly this type (True is no number)."""
    proper = type(holder) is dict and type(holder.get(name)) is kind
    _require(proper, f"the certificate has no proper {name}.")
    return holder[name]


def _numbers(items: list, count: int, name: str) -> np.ndarray:
    """Exactly `count` finite numbers."""
    proper = len(items) == count and all(
        type(item) in (int, float) and abs(item) < 1e300 for item in items
    )
    _require(proper, f"the certificate's {name} must be {count} finite numbers.")
    return np.array(items, dtype=np.float64)


def _columns(data: dict[str, Any]) -> list[str] | None:
    if data.get("columns") is None:
        return None
    columns = _field(data, "columns", list)
    proper = all(type(name) is str for name in columns) and len(set(columns)) == len(columns)
    _require(proper, "the certificate has no proper columns.")
    return columns


def _cut(cut: Any, n: int, form: str) -> tuple[list[int], int, float]:
    records = _field(cut, "records", list)
    p = 2 if form == "microagg-bound/1" else _field(cut, "p", int)
    proper = all(type(record) is int and 0 <= record < n for record in records)
    proper = proper and len(set(records)) == len(records) and 2 <= p <= len(records) <= 999
    _require(proper, "a cut is not a set of at most 999 records, of 2 or more for each part.")
    penalty = float(_numbers([cut.get("penalty")], 1, "penalty")[0])
    _require(penalty >= 0.0, "a penalty is negative.")
    return records, p, penalty


def _read_values(path: Path, columns: list[str] | None) -> np.ndarray:
    """The named columns of a CSV or Parquet file; without names, all of a .npy file or of a CSV
    without a header.
    """
    try:
        if columns is None and path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        if columns is not None and path.suffix == ".parquet":
            from pyarrow import parquet

            table = parquet.read_table(path, columns=columns)
            return np.column_stack([table[name].to_numpy().astype(np.float64) for name in columns])
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(file)
        rows = [row for row in csv.reader(lines, delimiter=max(",;\t", key=lines[0].count)) if row]
        counted = [
            str(number)
            for number in range(columns is not None, len(rows[0]) + (columns is not None))
        ]
        # columns that are named 1, 2, 3 and not in the first row are those of a file without a
        # header
        nameless = columns is None or (
            set(columns) <= set(counted) and not set(columns) <= set(rows[0])
        )
        header = counted if nameless else rows.pop(0)
        if all(header.count(name) == 1 for name in columns or header):
            chosen = [header.index(name) for name in columns or header]
            return np.array([[float(row[number]) for number in chosen] for row in rows])
    except Exception:  # whatever a library says may quote a value
        raise UnreadableError(
            f"{path.name} cannot be read as numbers; give the certificate's data."
        ) from None
    raise UnreadableError(
        f"{path.name} lacks a column that the certificate names, or has it twice."
    )


def main(arguments: list[str]) -> int:
    """Check the certificate and data files named on the command line; print one sentence, return
    the exit code.
    """
    if len(arguments) != 2:
        print("usage: python verify_bound.py CERTIFICATE DATA", file=sys.stderr)
        return 2
    try:
        verdict = verify(Path(arguments[0]), Path(arguments[1]))
    except UnreadableError as error:
        print(error, file=sys.stderr)
        return 2
    print(verdict)
    return 0 if verdict.holds else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
