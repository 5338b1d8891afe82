"""From how many records on, and up to which share of one group, anything of the original is told to everybody."""

from __future__ import annotations

import math
from typing import Any

import pytest

import microagg as ma
from microagg.release.manifest import public_manifest
from microagg.release.publishing import is_published, refuse_publishing, steady, told_loss


def manifest(records: int = 100, il: float = 5.432, share: Any = 0.02, **more: Any) -> dict[str, Any]:
    return {"records": records, "loss": {"IL": il, "SSE": 1.0}, "largest_share": share, **more}


@pytest.mark.parametrize(
    ("found", "told"),
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
def test_the_loss_is_told_in_whole_percent_or_not_at_all(found: dict[str, Any], told: str) -> None:
    assert told_loss(found)["IL"] == told
    assert set(told_loss(found)) <= {"IL", "why"}


def test_both_reasons_not_to_tell_it_read_alike() -> None:
    assert told_loss(manifest(records=99)) == told_loss(manifest(share=0.5))


def test_what_a_public_manifest_tells_stays_what_it_is() -> None:
    once = told_loss(manifest())
    assert told_loss({"records": 100, "loss": once}) == once


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
    found = manifest(records, settings={"publish": named}, bound=bound, roles={})
    assert is_published("bound", found) == public
    told = public_manifest(found)
    assert told.get("bound") == ({"IL": 4.6, "optimal": False, "gap": 1.2} if public else None)


def test_too_few_records_to_publish_anything_are_refused() -> None:
    refuse_publishing(["il"], 1000)
    refuse_publishing([], 3)
    with pytest.raises(
        ma.InputError, match="publish is for tables of 1,000 records and more, and this one has 999"
    ):
        refuse_publishing(["il"], 999)


def test_a_figure_does_not_depend_on_the_order_of_a_sum() -> None:
    for digits, value in ((2, 0.125), (3, 1.2345), (6, 0.1234565)):
        near = [math.nextafter(value, end) for end in (-math.inf, math.inf)]
        assert len({steady(each, digits) for each in (value, *near)}) == 1
    assert steady(1234.5678, 2) == 1200.0
    assert math.isinf(steady(math.inf, 2))
    assert math.isnan(steady(math.nan, 2))
