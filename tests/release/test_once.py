"""Facts that a release and its reports need are computed once: counted, call by call."""

from __future__ import annotations

import collections
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.measures.measure import Pair
from microagg.measures.registry import assess_pair
from microagg.table.columns.digests import digest_of_whole_columns as digest_of

ROLES: dict[str, Any] = {
    "quasi": tables.QUASI,
    "identifier": "name",
    "confidential": "disease",
    "keep": "code",
}
CLASSES_OF_A_TABLE, CLASSES_OF_A_PAIR = "class_labels", "classes_of_released"
POINTS, MEANS = "standardise", "aggregated"


@contextmanager
def counted() -> Iterator[collections.Counter[str]]:
    """Count how often each function of the package is called, by its name."""
    calls: collections.Counter[str] = collections.Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "microagg" in frame.f_code.co_filename:
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(
    "settings",
    [{}, {"l": 2}, {"scale": "minmax", "precision": "full", "accept_risk": "full-precision"}],
)
def test_a_release_computes_classes_in_memory_and_on_the_file(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    with counted() as calls:
        # a longer search is compared with quick, so that means are computed twice
        release = ma.anonymize(tables.people(30), 4, **ROLES, seed=1, effort="quick", **settings)
        # of what the guarantee is about, and of all that is released
        assert (calls[CLASSES_OF_A_TABLE], calls[MEANS]) == (2, 1)
        release.save(tmp_path / "out.csv")
    assert (calls[CLASSES_OF_A_TABLE], calls[MEANS], calls[POINTS]) == (3, 1, 0)


def test_a_report_computes_classes_and_points_once_more(tmp_path: Path) -> None:
    release = ma.anonymize(tables.people(30), 4, **ROLES, l=2, seed=1)
    with counted() as calls:
        release.report(tmp_path / "internal.html")
        release.report(tmp_path / "public.html", public=True)
    assert calls[CLASSES_OF_A_TABLE] == 0
    assert (calls[CLASSES_OF_A_PAIR], calls[POINTS], calls[MEANS]) == (1, 1, 0)


def test_checking_a_table_computes_its_classes_once() -> None:
    with counted() as calls:
        result = ma.check(tables.people(12), tables.QUASI, 2, ["disease"], l=2)
    assert calls[CLASSES_OF_A_TABLE] == 1
    assert np.array_equal(np.bincount(result.labels), result.sizes)
    assert np.array_equal(result.labels[result.first_rows - 1], np.arange(len(result.sizes)))


def test_what_a_pair_knows_is_its_own_and_can_be_forgotten() -> None:
    ages = np.array([[1.0], [2.0], [5.0], [9.0]])
    released = np.array([[1.5], [1.5], [7.0], [7.0]])
    pair = Pair(ages, released, ("age",), kept={"sex": np.array([0, 1, 0, 0])})
    assert pair.standard is pair.standard
    assert pair.classes is pair.classes
    assert (len(pair.classes), len(pair.classes_with_kept)) == (2, 3)
    assert Pair(ages, ages, ("age",)).classes_with_kept.labels.tolist() == [0, 1, 2, 3]
    once, figures = pair.standard, assess_pair(pair)
    pair.forget()
    assert pair.standard is not once
    assert assess_pair(pair) == figures


def test_one_method_is_imported_for_one_name() -> None:
    code = (
        "import sys; from microagg.methods.registry import method_named; method_named('mdav'); "
        "print([name for name in sys.modules if name.startswith('microagg.methods.') and "
        "name.count('.') > 2])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "['microagg.methods.mdav.mdav']"


def test_the_digest_is_that_of_names_gaps_and_values_written_out() -> None:
    whole, texts = [3, None, -1], ["Zürich", None, "a\0b"]
    table = pa.table(
        {
            "n": pa.chunked_array([whole[:1], whole[1:]]),
            "t": pa.chunked_array([texts[:2], texts[2:]]),
        }
    )
    expected = hashlib.sha256()
    present = bytes([0b10100000])
    expected.update(b"n\0whole\x003\0" + present + np.array([3, 0, -1], np.int64).tobytes())
    letters = [(text or "").encode() for text in texts]
    lengths = np.array([len(text) for text in letters], np.int64).tobytes()
    expected.update(b"t\0text\x003\0" + present + lengths + b"".join(letters))
    assert (
        digest_of(table)
        == digest_of(pa.concat_tables([table.slice(0, 1), table.slice(1)]))
        == expected.hexdigest()
    )
