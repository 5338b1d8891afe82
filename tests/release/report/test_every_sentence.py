"""Sentences of reports on totals, categories, uniqueness and correlations, recomputed by pandas."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as ma
from microagg.release.effects import signed_percent
from microagg.release.report.building import build_document
from microagg.release.report.document import Picture
from microagg.release.report.plain import to_json

NUMBERS = ["wage", "rent"]
CATEGORIES = ["town", "trade"]


def table_of(rng: np.random.Generator) -> pd.DataFrame:
    n = int(rng.integers(30, 90))
    wage = np.round(rng.lognormal(3.0, 1.0, n), 2)
    rent = np.round(wage * rng.uniform(0.2, 0.6, n), 1)
    for column in (wage, rent):
        column[rng.uniform(size=n) < rng.choice([0.0, 0.1, 0.4])] = np.nan
    return pd.DataFrame(
        {
            "wage": wage,
            "rent": rent,
            "town": rng.choice(list("ABCDEFGH"), n, p=[0.3, 0.3, 0.2, 0.1, 0.04, 0.03, 0.02, 0.01]),
            "trade": rng.choice(["x", "y", "z"], n),
            "kept": rng.integers(0, int(rng.integers(2, 40)), n),
        }
    )


def texts(release: ma.Release, *, public: bool) -> str:
    document = build_document(
        manifest=release.manifest, public=public, pair=release.pair,
        class_sizes=release.anonymity.sizes, figures=[], notes=release.notes,
        lost=release.lost_categories,
    )  # fmt: skip
    return " ".join(re.sub(r"\\n", " ", to_json(document)).split())


def check_totals(before: pd.DataFrame, after: pd.DataFrame, inside: str, outside: str) -> None:
    for name in NUMBERS:
        change = 100 * (after[name].sum() - before[name].sum()) / abs(before[name].sum())
        words = signed_percent(change)
        assert words == "0 %" or f"{name} {words}" in inside, (name, words)
    assert "where values were missing" in outside
    assert "stay, up to rounding" not in outside


def check_categories(before: pd.DataFrame, after: pd.DataFrame, inside: str, outside: str) -> None:
    for name in CATEGORIES:
        lost = sorted(set(before[name]) - set(after[name]))
        match = re.search(rf"Categories lost in {name}: ([^.]*)\.", inside)
        assert (re.findall(r"\b[A-Zxyz]\b", match[1]) if match else []) == lost, name
        assert f"Categories lost in {name}" not in outside


def check_uniqueness(after: pd.DataFrame, *reports: str) -> None:
    unique = int((after.groupby(list(after), dropna=False).transform("size") == 1).sum())
    for text in reports:
        match = re.search(r"([\d,]+) of ([\d,]+) records can be singled out", text)
        assert (int(match[1]) if match else 0) == unique


def check_correlations(release: ma.Release, before: pd.DataFrame, after: pd.DataFrame) -> None:
    document = build_document(
        manifest=release.manifest, public=False, pair=release.pair,
        class_sizes=release.anonymity.sizes, figures=[], notes=release.notes,
    )  # fmt: skip
    (section,) = [part for part in document.sections if part.title.startswith("Correlations")]
    pictures: list[Any] = [block for block in section.blocks if isinstance(block, Picture)]
    for frame, picture in zip((before, after), pictures, strict=False):
        shown = picture.data.rows[0][2]
        expected = frame["wage"].corr(frame["rent"])
        if np.isnan(expected):
            assert shown == "–"
        else:
            assert float(shown.replace("−", "-")) == pytest.approx(expected, abs=0.00501)
    check_largest_change(
        " ".join(getattr(block, "text", "") for block in section.blocks), before, after
    )


def check_largest_change(text: str, before: pd.DataFrame, after: pd.DataFrame) -> None:
    """The sentence on the largest change of a correlation, and its numbers of pairs."""
    claim = re.search(
        r"between (\w+) and (\w+): from (\S+) \((\d+) complete pairs?\) to (\S+) "
        r"\((\d+) complete pairs?\)",
        text,
    )
    if claim is None:
        assert "No correlation changed" in text or "nothing to correlate" in text
        return
    one, other, *figures = claim.groups()
    for frame, value, pairs in ((before, *figures[:2]), (after, *figures[2:])):
        expected = frame[one].corr(frame[other])
        assert float(value.replace("−", "-")) == pytest.approx(expected, abs=0.00501)
        assert int(pairs) == int(frame[[one, other]].notna().all(axis=1).sum())


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = table_of(rng)
    release = ma.anonymize(
        pa.Table.from_pandas(before, preserve_index=False),
        int(rng.integers(2, 7)),
        quasi=[*NUMBERS, *CATEGORIES],
        keep=["kept"],
        method="mdav",
        seed=seed,
    )
    after = release.table.to_pandas()
    inside, outside = texts(release, public=False), texts(release, public=True)
    check_totals(before, after, inside, outside)
    check_categories(before, after, inside, outside)
    check_uniqueness(after, inside, outside)
    check_correlations(release, before, after)
    assert json.loads(to_json(build_document(
        manifest=release.manifest, public=True, pair=release.pair,
        class_sizes=release.anonymity.sizes, figures=[],
    )))["first_page"]["signature"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_sentences_are_true(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4, 300))
def test_sentences_are_true_of_many(seed: int) -> None:
    check(seed)
