"""Check a bound certificate: "no grouping of these records into groups of at least k loses less
than this".

This file is meant to be read. It shares no code with the solver that writes certificates, and runs
alone: `python verify_bound.py CERT DATA` (or `microagg verify-bound CERT DATA`): exit code 0 the
claim holds, 3 it does not, 2 unreadable.

**What is claimed.** The loss of a grouping is the sum of cost(S) over its groups S, where cost(S)
is the sum of squared distances of the members to their mean, which equals (1/|S|) Σ_{i<j in S}
d²_ij. Splitting a group of 2k or more records never raises the loss, so some best grouping has only
groups with k <= |S| <= 2k-1. A certificate gives a number pi_i for each record, and *cuts*: sets c
of 2m+1 records with a penalty p_c >= 0. Suppose that for EVERY set S of k to 2k-1 records

    (*)    v(S) = Σ_{i in S} pi_i - Σ_c p_c·floor(|S ∩ c|/2) - cost(S)  <=  0.

Add (*) over the groups of a grouping. Each record is in one group, and the groups share out the
2m+1 records of a cut, so that Σ_S floor(|S ∩ c|/2) <= m. Hence loss >= Σ_i pi_i - Σ_c p_c·m,
whatever the grouping: the claim may not exceed this sum. How pi and cuts were found does not
matter. All there is to check is (*), and that the data are those of the certificate.

**How every S is checked without listing all.** Take one size s. Put on each pair of records the
weight w_ij = d²_ij/s - (pi_i + pi_j)/(s-1) + Σ_{c holding i and j} p_c/o_c, with o_c the largest
odd number not above min(2m+1, s). The pairs inside S then sum to w(S) <= -v(S): costs and pi come
out exactly; t = |S ∩ c| records of a cut make t(t-1)/2 pairs, and t(t-1)/2 divided by o_c is at
most floor(t/2), because t odd has (t-1)/2·t and t <= o_c, and t even has t/2·(t-1) and t-1 <= o_c.
So a set that breaks (*) has w(S) < 0. Now take from a set S of t >= 3 records the member whose
weights to the others (its *star*) sum to the most. The stars sum to 2w(S), so the largest is at
least 2w(S)/t, and what is left has w <= w(S)·(t-2)/t: negative again. Going on, every S with w(S) <
0 is reached from a pair with w < 0 by adding one record at a time, through sets that are all
negative, and each time the record added is the one that would be taken out again. Among equal stars
the highest record number is taken out, so each set has exactly one set that it comes from and is
met exactly once. At full size s the sets met are compared with (*) itself. Sets that are not met
satisfy (*).

**Rounding.** Weights are rounded down to whole multiples of a power of two and kept as 64-bit
integers, so sums and ties along the way are exact (weights too large to occur in a negative set are
lowered to `cap` first; lowering a weight only makes more sets be met). What remains is the rounding
of the weights and of v(S), at most `error`, and it must not exceed half of eps = 1e-9·SST/n. Sets
are let pass with v(S) up to eps as computed, thus 1.5·eps in truth; a grouping has at most n/k
groups; so n/k·1.5·eps is taken off the sum.

**Limits.** Memory is 8n² bytes: not above 20,000 records. Where more than 50 million sets would
have to be met the answer is "not confirmed". Time is about n nanoseconds times a small factor for
each set met.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MOST_RECORDS = 20_000
MOST_SETS = 50_000_000
CELLS = (
    1 << 18
)  # how many numbers an array of one step holds: small enough for the processor's cache

Cuts = list[tuple[list[int], float]]  # records and penalty of each


@dataclass(frozen=True)
class Verdict:
    """What the checker found: `worst` is the largest v(S) among the sets compared with (*), 0
    where none exceeds it.

    >>> verdict = check_certificate({"format": "something else"}, np.zeros((4, 1)))
    >>> verdict.holds, verdict.reason
    (False, "the certificate's format is not microagg-bound/1.")
    >>> print(Verdict(True, "", k=3, records=9, sse=2.5, il=12.5, columns=("age", "rent"), scale="zscore"))
    Proven: every grouping of these 9 records by 'age', 'rent' (scale zscore) into groups of at least 3 has an information \
loss of at least 12.5 % (SSE 2.5).
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

    def __str__(self) -> str:
        """The answer in one sentence: what is proven of what, or why nothing is."""
        if not self.holds:
            return f"NOT PROVEN: {self.reason}"
        named = self.columns if isinstance(self.columns, tuple) else None
        columns = f"{self.columns} columns" if named is None else ", ".join(map(repr, named))
        weighed = ", ".join(f"{times:g}" for times in self.importance)
        scale = f"{self.scale}, squares counted {weighed} times" if weighed else self.scale
        return (
            f"Proven: every grouping of these {self.records} records by {columns} (scale "
            f"{scale}) into groups of at least "
            f"{self.k} has an information loss of at least {self.il:.6g} % (SSE {self.sse:.10g})."
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
    """Check a certificate that has been read already; `values` are the n x d numbers before
    scaling.

    >>> certificate = {"format": "microagg-bound/1", "k": 2, "records": 4, "pi": [0.25, 0.25, 0.25, 0.25], "cuts": [],
    ...                "claim": {"sse": 0.999, "il": 99.9 / 101}}
    >>> values = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> digest = hashlib.sha256(b"4 1\\n" + values.astype("<f8").tobytes()).hexdigest()
    >>> certificate["data"] = {"columns": None, "scale": "none", "centre": [0.0], "width": [1.0], "digest": digest}
    >>> check_certificate(certificate, values).holds
    True
    """
    found: dict[str, Any] = {
        "k": 0,
        "records": 0,
        "sse": math.nan,
        "il": math.nan,
        "sets_examined": 0,
        "worst": 0.0,
    }
    try:
        with np.errstate(
            all="ignore"
        ):  # overflow ends in numbers that are not finite, which are refused
            _check(content, np.ascontiguousarray(values, dtype=np.float64), found)
    except _RejectedError as rejected:
        return Verdict(False, str(rejected), **found)
    return Verdict(True, "the claim holds.", **found)


def _check(content: Any, values: np.ndarray, found: dict[str, Any]) -> None:
    form = _field(content, "format", str)
    _require(form == "microagg-bound/1", "the certificate's format is not microagg-bound/1.")
    n, k = _field(content, "records", int), _field(content, "k", int)
    claim = _field(content, "claim", dict)
    sse, il = _numbers([claim.get("sse"), claim.get("il")], 2, "claim").tolist()
    found.update(k=k, records=n, sse=sse, il=il)
    pi = _numbers(_field(content, "pi", list), n, "pi")
    cuts = [_cut(cut, n) for cut in _field(content, "cuts", list)]
    data = _field(content, "data", dict)
    points = _points(data, values, n)
    found.update(columns=tuple(_columns(data) or ()) or points.shape[1], scale=data["scale"])
    if "importance" in data:
        found.update(importance=tuple(_field(data, "importance", list)))
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
    if sse <= 0.0:
        return  # true of any grouping
    eps = 1e-9 * sst / n
    if n < 2 * k:  # there is one grouping only: all together
        proven = sst - eps
    else:
        for size in range(k, 2 * k):
            _check_size(points, pi, cuts, size, eps, found)
        penalties = [
            penalty for records, penalty in cuts for _ in range(len(records) // 2)
        ]  # m times each
        proven = math.fsum([*pi.tolist(), *(-penalty for penalty in penalties)]) - n / k * 1.5 * eps
    _require(sse <= proven, "the claim exceeds what the numbers of the certificate prove.")


def _check_size(
    points: np.ndarray, pi: np.ndarray, cuts: Cuts, size: int, eps: float, found: dict
) -> None:
    """Compare every set of this size that might break (*) with (*)."""
    largest = float(np.abs(pi).max())
    if size * largest <= eps:
        return  # no v(S) exceeds eps
    cuts_of: list[list[int]] = [[] for _ in pi]
    for number, (records, _) in enumerate(cuts):
        for record in records:
            cuts_of[record].append(number)
    most = max(len(numbers) for numbers in cuts_of)
    error = (points.shape[1] * size + most + 10) * 2.0**-52 * size * largest
    _require(
        error <= eps / 2,
        "the certificate's numbers are too uneven to be checked in double precision.",
    )

    # as a table, filled up with the number of a last cut that costs nothing
    table = np.array(
        [numbers + [len(cuts)] * (most - len(numbers)) for numbers in cuts_of], dtype=np.int64
    )
    penalties = np.array([penalty for _, penalty in cuts] + [0.0])
    step = 1 + CELLS // (len(penalties) + size * (points.shape[1] + most))
    for sets in _negative_sets(_weights(points, pi, cuts, size, eps), size, found):
        for start in range(0, len(sets), step):
            some = sets[start : start + step]
            places = (
                table[some].reshape(len(some), -1) + len(penalties) * np.arange(len(some))[:, None]
            )
            shared = np.bincount(places.ravel(), minlength=len(some) * len(penalties))  # |S ∩ c|
            relief = (shared.reshape(len(some), -1) // 2) @ penalties
            excess = pi[some].sum(axis=1) - relief - _costs(points, some)  # v(S)
            found["worst"] = max(found["worst"], float(excess.max()))
            _require(
                bool((excess <= eps).all()), "some group costs less than the certificate says."
            )


def _weights(points: np.ndarray, pi: np.ndarray, cuts: Cuts, size: int, eps: float) -> np.ndarray:
    """w of all pairs, each raised by its part of eps, as integers; 0 on the diagonal. v(S) > eps
    still makes w(S) < 0.
    """
    n, d = points.shape
    pairs = size * (size - 1) // 2
    cap = pairs * 2.0 * float(np.abs(pi).max()) / (size - 1)  # no weight is below -cap/pairs
    scale = 2.0 ** (60 - math.frexp(cap * pairs)[1])
    weights = np.empty((n, n), dtype=np.int64)
    for low in range(0, n, 256):
        rows = slice(low, low + 256)
        squares = sum((points[rows, j, None] - points[None, :, j]) ** 2 for j in range(d))
        block = squares / size - (pi[rows, None] + pi[None, :]) / (size - 1) + eps / pairs
        weights[rows] = np.floor(np.minimum(block, cap) * scale)
    for records, penalty in cuts:
        odd = (min(len(records), size) - 1) // 2 * 2 + 1
        share = math.floor(min(penalty / odd, cap) * scale)
        inside = np.ix_(records, records)
        weights[inside] = np.minimum(weights[inside] + share, math.floor(cap * scale))
    np.fill_diagonal(weights, 0)
    return weights


def _negative_sets(weights: np.ndarray, size: int, found: dict) -> Iterator[np.ndarray]:
    """All sets of `size` records with w(S) < 0, each once: arrays of a row of record numbers per
    set.
    """
    step = 1 + CELLS // len(weights)
    for low in range(0, len(weights), step):
        first, second = np.nonzero(np.triu(weights[low : low + step] < 0, low + 1))
        waiting = [(np.column_stack([first + low, second]), weights[first + low, second])]
        while waiting:  # the last first, so that few wait
            sets, totals = waiting.pop()
            if len(sets) > step:
                waiting.append((sets[step:], totals[step:]))
                sets, totals = sets[:step], totals[:step]
            found["sets_examined"] += len(sets)
            _require(
                found["sets_examined"] <= MOST_SETS,
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
    """The scaled points, after making sure that data and scaling are those that the certificate
    names.
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
    """The place of each value among all, from 1; equal values share the mean of their places."""
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


def _cut(cut: Any, n: int) -> tuple[list[int], float]:
    records = _field(cut, "records", list)
    proper = all(type(record) is int and 0 <= record < n for record in records)
    proper = proper and len(set(records)) == len(records) and len(records) in range(3, 1000, 2)
    _require(proper, "a cut is not a set of 3, 5, 7, ... or 999 records.")
    penalty = float(_numbers([cut.get("penalty")], 1, "penalty")[0])
    _require(penalty >= 0.0, "a penalty is negative.")
    return records, penalty


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
            str(place) for place in range(columns is not None, len(rows[0]) + (columns is not None))
        ]
        # columns that are named 1, 2, 3 and not in the first row are those of a file without a
        # header
        nameless = columns is None or (
            set(columns) <= set(counted) and not set(columns) <= set(rows[0])
        )
        header = counted if nameless else rows.pop(0)
        if all(header.count(name) == 1 for name in columns or header):
            places = [header.index(name) for name in columns or header]
            return np.array([[float(row[place]) for place in places] for row in rows])
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
