"""Count k, l and t again from a published table and its public manifest.

This file is meant to be read. It shares no code with microagg, needs numpy alone, and runs alone:
`python verify_release.py TABLE.csv TABLE.csv.public.json`. Exit code 0: all that is promised holds;
3: something does not; 2: the files cannot be read.

**k.** A class holds the records with the same text in every quasi-identifier, stratum and averaged
weight. Each class needs k records.

**l.** Values are equal if they are equal as numbers, or as text without regard to case, width of
letters and repeated blanks (to the letter with the setting "exact"). A blank, or a declared marker,
is no value. Each class needs l different values (distinct); or an entropy of at least log(l); or,
with r_1 >= r_2 >= … the counts of its values, r_1 < c·(r_l + r_(l+1) + …) (recursive).

**t.** The distance between the values of a class and of the whole table: for categories half the
sum of the differences of their shares; for numbers the earth mover's distance over the ranks of
the distinct values, divided by their number less one. Columns with blanks among numbers and
columns whose order is not in the manifest are named as not checked.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SLACK = 1e-6
MARKERS = frozenset({"NA", "N/A", "NaN", "nan", "null", "."})


class UnreadableError(ValueError):
    """A file that cannot be read; the message says why."""


@dataclass
class Recount:
    """Result of counting again: what holds, what does not, and what could not be checked."""

    confirmed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if something was confirmed and nothing failed."""
        return bool(self.confirmed) and not self.failed

    def add(self, passed: bool, text: str) -> None:
        """Add a check and its outcome."""
        (self.confirmed if passed else self.failed).append(text)

    def __str__(self) -> str:
        parts = (("holds", self.confirmed), ("FAILS", self.failed), ("not checked", self.unchecked))
        return "\n".join(f"{word}: {text}" for word, texts in parts for text in texts)


def recount(rows: Sequence[Sequence[str]], manifest: dict[str, Any]) -> Recount:
    """Count the guarantees of a public manifest again; the first row has the names of columns.

    >>> manifest = {"settings": {"k": 2}, "roles": {"age": "quasi"}, "records": 4,
    ...             "guarantee": {"classes": 2, "smallest_class": 2, "k": 2}}
    >>> print(recount([["age"], ["31"], ["31"], ["62"], ["62"]], manifest))
    holds: 4 records
    holds: 2 classes, the smallest of 2; k = 2
    >>> recount([["age"], ["31"], ["31"], ["62"]], manifest).holds
    False
    """
    try:
        return _recount(rows, manifest)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise UnreadableError("the manifest is not a public manifest of this table.") from None


def _recount(rows: Sequence[Sequence[str]], manifest: dict[str, Any]) -> Recount:
    header, *records = rows
    settings, roles, promised = manifest["settings"], manifest["roles"], manifest["guarantee"]
    if len(set(header)) != len(header) or any(len(row) != len(header) for row in records):
        raise UnreadableError("the rows of the table do not all have the columns of its header.")
    result = Recount()
    result.add(len(records) == manifest["records"], f"{len(records)} records")
    missing = [name for name in roles if name not in header]
    if missing:
        result.add(False, f"columns of the manifest are not in the table: {', '.join(missing)}")
        return result
    strangers = [name for name in header if name not in roles]
    if strangers:
        result.add(False, f"columns of the table have no role: {', '.join(strangers)}")
    if promised.get("of", "each combination") != "each combination":
        result.unchecked.append("classes: this method protects each column by itself")
        return result
    shared = [name for name in header if roles[name] in _class_roles(settings)]
    positions = [header.index(name) for name in shared]
    classes: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(records):
        classes.setdefault(tuple(row[j] for j in positions), []).append(i)
    smallest = min(map(len, classes.values()))
    k = int(settings["k"])
    same = len(classes) == promised["classes"] and smallest == promised["smallest_class"]
    result.add(
        smallest >= k and same and promised["k"] == k,
        f"{len(classes)} classes, the smallest of {smallest}; k = {k}",
    )
    members = list(classes.values())
    for name in (name for name in header if roles[name] == "confidential"):
        _check_column(result, name, [row[header.index(name)] for row in records], members, settings)
    return result


def _class_roles(settings: dict[str, Any]) -> set[str]:
    weight = settings.get("aggregate", {}).get(settings.get("weight"), "mean")
    return {"quasi", "stratum", *(["weight"] if weight == "mean" else [])}


def _check_column(
    result: Recount,
    name: str,
    texts: list[str],
    members: list[list[int]],
    settings: dict[str, Any],
) -> None:
    l, t = settings.get("l"), settings.get("t")
    if l is None and t is None:
        return
    if name in settings.get("special", {}):
        result.unchecked.append(f"{name}: it has special codes")
        return
    values = _values(texts, settings)
    numeric = all(value is None or isinstance(value, float) for value in values)
    if l is not None:
        diversity, c = settings.get("diversity", "distinct"), settings.get("c")
        worst = all(_is_diverse([values[i] for i in rows], l, diversity, c) for rows in members)
        result.add(worst, f"{name}: l = {l:g} ({diversity})")
    if t is None:
        return
    ordered = (
        name in settings.get("ordinal", []) or settings.get("kinds", {}).get(name) == "ordinal"
    )
    nominal = (
        name in settings.get("nominal", []) or settings.get("kinds", {}).get(name) == "nominal"
    )
    gaps = any(value is None for value in values)
    if (ordered and not numeric) or (gaps and numeric and not nominal):
        result.unchecked.append(f"{name}: t, for its order or its gaps")
        return
    largest = _largest_distance(values, members, nominal=nominal or not numeric)
    result.add(largest <= t + SLACK, f"{name}: t = {t:g} (largest distance {largest:.6f})")


def _values(texts: list[str], settings: dict[str, Any]) -> list[float | str | None]:
    """Return numbers as numbers, other text in one spelling, and None for what is missing."""
    gaps = {"", *map(str, settings.get("na", []))}
    rest = [text.strip() for text in texts if text.strip() not in gaps]
    if all(_number(text) is not None or text in MARKERS for text in rest):
        gaps |= MARKERS
    exact = bool(settings.get("exact"))
    return [None if text.strip() in gaps else _value(text, exact=exact) for text in texts]


def _value(text: str, *, exact: bool) -> float | str:
    number = _number(text.strip())
    if number is not None:
        return number
    if exact:
        return text
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _is_diverse(values: list[Any], l: float, diversity: str, c: float | None) -> bool:
    counts = sorted(Counter(v for v in values if v is not None).values(), reverse=True)
    if not counts:
        return False
    if diversity == "entropy":
        shares = np.array(counts) / sum(counts)
        return float(-(shares * np.log(shares)).sum()) >= math.log(l) - SLACK
    if diversity == "recursive":
        return c is not None and counts[0] < c * sum(counts[int(l) - 1 :])
    return len(counts) >= l


def _largest_distance(values: list[Any], members: list[list[int]], *, nominal: bool) -> float:
    keys = ["" if value is None else value for value in values] if nominal else values
    distinct = sorted(set(keys), key=lambda key: (isinstance(key, str), key))
    code = {key: j for j, key in enumerate(distinct)}
    codes = np.array([code[key] for key in keys])
    whole = np.bincount(codes, minlength=len(distinct)) / len(codes)
    largest = 0.0
    for rows in members:
        share = np.bincount(codes[rows], minlength=len(distinct)) / len(rows)
        if nominal:
            distance = np.abs(share - whole).sum() / 2.0
        else:
            distance = np.abs(np.cumsum(share - whole))[:-1].sum() / max(1, len(distinct) - 1)
        largest = max(largest, float(distance))
    return largest


def read_rows(path: Path, delimiter: str = ",", encoding: str = "utf-8-sig") -> list[list[str]]:
    """Return the rows of a text file as text."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            return [row for row in csv.reader(file, delimiter=delimiter) if row]
    except (OSError, UnicodeError, csv.Error):
        raise UnreadableError(f"{path.name} cannot be read as text with commas.") from None


def main(arguments: Sequence[str]) -> int:
    """Check a table against its public manifest; return the exit code."""
    if len(arguments) != 2:
        print("usage: verify_release.py TABLE.csv TABLE.csv.public.json", file=sys.stderr)
        return 2
    try:
        manifest = json.loads(Path(arguments[1]).read_text("utf-8"))
        result = recount(read_rows(Path(arguments[0])), manifest)
    except (UnreadableError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result)
    return 0 if result.holds else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
