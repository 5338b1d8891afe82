"""The public report discloses nothing of single records: canaries in every column, extremes
replaced.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.measures.measure import Pair
from microagg.measures.pairing import pair_of
from microagg.measures.registry import assess_pair
from microagg.release.report.building import build_document
from microagg.release.report.document import Document, Picture
from microagg.release.report.html import to_html
from microagg.release.report.markdown import to_markdown
from microagg.release.report.plain import to_json

QUASI = ["turnover", "change", "share"]
OUTLIERS = {"turnover": 4815162.25, "change": -2342108.75, "share": 31.4159265}
TEXTS = ("canary-disease", "canary-village", "canary-name", "canary-id")
SEED = 987654321987


def table() -> pa.Table:
    """Records with a canary in every column: an extreme one, or an odd one inside."""
    rng = np.random.default_rng(4)
    n = 400
    columns: dict[str, Any] = {
        "canary-id": [f"person {j}" for j in range(n)],
        "turnover": rng.lognormal(5, 1, n).round(2),
        "change": rng.normal(0, 30, n).round(2),
        "share": rng.uniform(0, 60, n).round(7),
        "disease": rng.choice(["none", "asthma"], n).tolist(),
        "village": rng.choice(["north", "south"], n).tolist(),
    }
    for position, name in enumerate(QUASI):
        columns[name][17 + 50 * position] = OUTLIERS[name]
    columns["disease"][30], columns["village"][40], columns["canary-id"][50] = TEXTS[:3]
    return pa.table(columns)


def reported(source: pa.Table, *, public: bool, k: int = 5, method: str = "mdav") -> Document:
    release = ma.anonymize(
        source,
        k=k,
        quasi=QUASI,
        identifier=["canary-id"],
        confidential=["disease"],
        keep=["village"],
        method=method,
        seed=SEED,
    )
    before, after = (nw.from_native(t, eager_only=True) for t in (source, release.table))
    pair = pair_of(before, after, quasi=QUASI, confidential=["disease"], keep=["village"], k=k)
    return build_document(
        manifest=release.public_manifest if public else release.manifest,
        public=public,
        pair=pair,
        class_sizes=release.anonymity.sizes,
        figures=assess_pair(pair),
        notes=release.notes,
    )


def forms(document: Document) -> dict[str, str]:
    return {"html": to_html(document), "markdown": to_markdown(document), "json": to_json(document)}


def disguises(source: pa.Table) -> dict[str, str]:
    """The numeric canaries as they might slip out: to six digits, plain, standardised, min-max, as
    logarithms.
    """
    shapes = {}
    for name, value in OUTLIERS.items():
        column = source.column(name).to_numpy()
        scaled = {
            "plain": value,
            "doubled": 2 * value,
            "standardised": (value - column.mean()) / column.std(),
            "from zero to one": (value - column.min()) / np.ptp(column),
            "range": np.ptp(column),
            "distance from the mean": value - column.mean(),
            "logarithm": np.log10(abs(value)),
        }
        for how, number in scaled.items():
            cut = re.sub(r"\D", "", f"{abs(number):.12f}").lstrip("0")[:6]
            rounded = f"{abs(number):.5e}".partition("e")[0].replace(".", "")
            for digits in (cut, rounded):
                if len(set(digits)) > 2:  # 1.00000 and the like say nothing
                    shapes[f"{name}, {how}, {'cut' if digits is cut else 'rounded'}"] = (
                        digits.rstrip("0")
                    )
    return shapes


def digits_only(text: str) -> str:
    return re.sub(r"(?<=\d)[.,](?=\d)", "", text)


@pytest.mark.parametrize("method", ["mdav", "individual-ranking"])
def test_no_canary_sings(method: str) -> None:
    source = table()
    for form, text in forms(reported(source, public=True, method=method)).items():
        for canary in (*TEXTS, str(SEED), "person 1"):
            assert canary not in text, (form, canary)
        plain = digits_only(text)
        for how, digits in disguises(source).items():
            assert digits not in plain, (form, how)


def test_the_internal_report_does_tell() -> None:
    """So that the test above is able to fail."""
    source = table()
    for text in forms(reported(source, public=False)).values():
        plain = digits_only(text)
        shapes = disguises(source)
        assert shapes["turnover, plain, rounded"] in plain
        assert shapes["change, plain, rounded"] in plain
        assert str(SEED) in text
        assert "canary-id" in text


@pytest.mark.slow
def test_the_internal_manifest_given_by_mistake() -> None:
    source = table()
    release = ma.anonymize(
        source,
        k=5,
        quasi=QUASI,
        identifier=["canary-id"],
        confidential=["disease"],
        keep=["village"],
        seed=SEED,
    )
    pair = Pair(np.zeros((400, 3)), np.zeros((400, 3)), tuple(QUASI))
    document = build_document(
        manifest=release.manifest,
        public=True,
        pair=pair,
        class_sizes=release.anonymity.sizes,
        figures=[],
    )
    for text in forms(document).values():
        assert str(SEED) not in text
        assert release.manifest["input"]["digest"] not in text
        assert "centre" not in text
        assert "canary-id" not in text


def pair_and_extremes() -> tuple[Pair, dict[str, Any]]:
    source = table()
    release = ma.anonymize(source, k=5, quasi=QUASI, rest="drop", seed=1)
    original = np.column_stack([source.column(name).to_numpy() for name in QUASI])
    released = np.column_stack([release.table.column(name).to_numpy() for name in QUASI])
    arguments = {
        "manifest": release.public_manifest,
        "public": True,
        "class_sizes": release.anonymity.sizes,
        "figures": [],
    }
    return Pair(original, released, tuple(QUASI), k=5), arguments


@pytest.mark.slow
def test_the_original_table_changes_nothing() -> None:
    pair, arguments = pair_and_extremes()
    document = build_document(pair=pair, **arguments)
    captions = {
        b.caption for part in document.sections for b in part.blocks if isinstance(b, Picture)
    }
    assert captions >= set(QUASI)
    for extreme in (77777777.75, 1e15):
        changed = pair.original.copy()
        changed[17, 0] = extreme
        changed[67, 1] = -extreme
        assert build_document(pair=replace(pair, original=changed), **arguments) == document


@pytest.mark.slow
def test_pictures_of_the_public_report_show_the_release() -> None:
    pair, arguments = pair_and_extremes()
    values, correlations = build_document(pair=pair, **arguments).sections[3:5]
    for picture in (block for block in values.blocks if isinstance(block, Picture)):
        j = QUASI.index(picture.caption)
        named = (x for row in picture.data.rows for x in re.findall(r"[−\d][\d,.]*", row[0]))
        edges = sorted({float(x.replace(",", "").replace("−", "-")) for x in named})
        places = np.searchsorted(edges, pair.released[:, j], side="right")
        counts = np.bincount(places, minlength=len(edges) + 1)
        assert [float(row[1]) for row in picture.data.rows] == [
            round(c / 4, 1) for c in counts.tolist()
        ]
    (heat,) = (block for block in correlations.blocks if isinstance(block, Picture))
    expected = np.corrcoef(pair.released.T)
    for row, numbers in zip(heat.data.rows, expected, strict=True):
        assert [float(cell.replace("−", "-")) for cell in row[1:]] == [
            round(x, 2) for x in numbers.tolist()
        ]


@pytest.mark.slow
def test_a_public_report_has_figures_of_the_release_alone() -> None:
    document = reported(table(), public=True)
    text = to_markdown(replace(document, sections=document.sections[3:6]))
    for number in re.findall(r"\d[\d,]*\.\d+", text):
        significant = re.sub(r"\D", "", number).lstrip("0")
        assert len(significant) <= 3, number
    assert "highest chance to re-identify a person" in text.lower()
    for title in ("min-max", "one record makes up", "squared errors", "linked", "Kolmogorov"):
        assert title not in text
    (whole,) = (section for section in document.sections if section.title == "The released values")
    assert "Discernibility" in to_markdown(replace(document, sections=(whole,))), (
        "defined, so shown"
    )
