"""From how many records on, and up to which share of one group, anything of the original is told to
everybody.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.release.manifest import public_manifest
from microagg.release.publishing import check_publishing, is_published, published_loss, steady


def manifest(
    records: int = 100, il: float = 5.432, share: Any = 0.02, **more: Any
) -> dict[str, Any]:
    return {"records": records, "loss": {"IL": il, "SSE": 1.0}, "largest_share": share, **more}


@pytest.mark.parametrize(
    ("content", "published"),
    [
        (manifest(), "5 %"),
        (manifest(records=99), "not told"),
        (manifest(records=10_000), "5 %"),
        (manifest(share=0.1), "5 %"),
        (manifest(share=math.nextafter(0.1, 1.0)), "not told"),
        (manifest(share=1.0), "not told"),
        (manifest(share=math.nan), "not told"),
        (manifest(share=None), "not told"),
        (manifest(il=0.999), "below 1 %"),
        (manifest(il=1.0), "1 %"),
        (manifest(il=0.0), "below 1 %"),
        (manifest(il=99.6), "100 %"),
    ],
)
def test_the_loss_is_told_in_whole_percent_or_not_at_all(
    content: dict[str, Any], published: str
) -> None:
    assert published_loss(content)["IL"] == published
    assert set(published_loss(content)) <= {"IL", "why"}


def test_both_reasons_not_to_tell_it_read_alike() -> None:
    assert published_loss(manifest(records=99)) == published_loss(manifest(share=0.5))


def test_what_a_public_manifest_tells_stays_what_it_is() -> None:
    once = published_loss(manifest())
    assert published_loss({"records": 100, "loss": once}) == once


@pytest.mark.parametrize(
    ("records", "named", "public"),
    [
        (1000, ["bound"], True),
        (999, ["bound"], False),
        (1000, [], False),
        (1000, ["il"], False),
        (5000, ["il", "bound"], True),
    ],
)
def test_what_is_named_is_public_from_a_thousand_records_on(
    records: int, named: list[str], public: bool
) -> None:
    bound = {"IL": 4.5678, "optimal": False, "gap": 1.2345}
    content = manifest(records, settings={"publish": named}, bound=bound, roles={})
    assert is_published("bound", content) == public
    published = public_manifest(content)
    assert published.get("bound") == ({"IL": 4.6, "optimal": False, "gap": 1.2} if public else None)


def test_too_few_records_to_publish_anything_are_refused() -> None:
    check_publishing(["il"], 1000)
    check_publishing([], 3)
    with pytest.raises(
        ma.InputError, match="publish is for tables of 1,000 records and more, and this one has 999"
    ):
        check_publishing(["il"], 999)


def test_a_figure_does_not_depend_on_the_order_of_a_sum() -> None:
    for digits, value in ((2, 0.125), (3, 1.2345), (6, 0.1234565)):
        near = [math.nextafter(value, end) for end in (-math.inf, math.inf)]
        assert len({steady(figure, digits) for figure in (value, *near)}) == 1
    assert steady(1234.5678, 2) == 1200.0
    assert math.isinf(steady(math.inf, 2))
    assert math.isnan(steady(math.nan, 2))


def test_a_public_manifest_tells_nothing_of_the_original(tmp_path: Path) -> None:
    """Everything that it may have, by name: what is new stays inside until somebody puts it
    here.
    """
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "name": [f"n{number}" for number in range(60)],
            "age": rng.integers(20, 80, 60),
            "w": rng.integers(1, 9, 60),
            "area": np.arange(60) % 2,
            "home": np.arange(60) // 2,
            "ill": rng.choice(["a", "b", "c"], 60),
        }
    )
    release = ma.anonymize(
        table,
        k=3,
        quasi=["age"],
        identifier=["name"],
        weight="w",
        stratum=["area"],
        unit="home",
        confidential=["ill"],
        l=2,
        cap={"age": "90%"},
        seed=17,
        effort="quick",
    )
    release.save(tmp_path / "out.csv")
    public = json.loads((tmp_path / "out.csv.public.json").read_bytes())
    assert set(public) == {
        "format",
        "microagg",
        "release",
        "settings",
        "records",
        "roles",
        "guarantee",
        "all_columns",
        "may_identify",
        "loss",
        "rows",
        "output",
        "sums",
    } | (set(public) & {"dialect"})
    assert public["output"] == {"file": "out.csv"}
    assert public["guarantee"]["units"] == {
        "every_class": "has records of 3 or more different units and has no unit with more than "
        "half of "
        "its records"
    }
    assert set(public["roles"]) == {"age", "w", "area", "ill"}
    assert not {"seed", "identifier", "unit"} & set(public["settings"])
    text = (tmp_path / "out.csv.public.json").read_text()
    for secret in (
        release.manifest["input"]["digest"],
        "n17",
        '"low"',
        '"above"',
        "sum_changed_by",
    ):
        assert secret not in text
