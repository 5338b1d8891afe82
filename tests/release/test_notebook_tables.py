"""Tables that a notebook shows of results, and the one sentence of a wrong input."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma


@pytest.fixture(scope="module")
def release() -> ma.Release:
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(18, 90, 60), "<rent>": rng.integers(0, 9_000, 60)})
    return ma.anonymize(table, 5, quasi=["age", "<rent>"], method="mdav", seed=1)


def texts(shown: Any) -> list[str]:
    """Return the cells of a table in HTML."""
    html = shown._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == html.count("</tr>")
    assert "<rent>" not in html
    return re.findall(r"<t[dh]>(.*?)</t[dh]>", html)


def test_results_have_tables(release: ma.Release) -> None:
    check = texts(ma.check(release.table, 5, quasi=["age", "<rent>"]))
    assert check[check.index("guarantee") + 1] == "5-anonymous"
    assert check[check.index("smallest class") + 1] == str(release.anonymity.sizes.min())
    assert "NOT kept" in texts(ma.check(release.table, 60, quasi=["age", "<rent>"]))
    assert {method.name for method in ma.methods()} <= set(texts(ma.methods()))
    figures = texts(release.figures)
    assert {measure.name for measure, _ in release.figures} <= set(figures)
    changes = texts(release.changes)
    assert changes[changes.index("age") + 2] == f"{release.changes['age'].unchanged:.1f}"
    settings = texts(release.settings)
    assert settings[settings.index("method") + 1] == "mdav"
    assert "missing" not in settings, "defaults are left out"
    preview = texts(ma.preview(pa.table({"age": [1, 2, 3, 40]}), ma.Settings.of(k=2, quasi="age")))
    assert "age" in preview


def test_they_are_what_they_were(release: ma.Release) -> None:
    assert isinstance(release.changes, dict)
    for rows in (release.figures, ma.methods()):
        assert isinstance(rows, tuple)
    assert pickle.loads(pickle.dumps(release.figures)) == release.figures


def test_a_wrong_input_is_one_sentence_in_a_notebook() -> None:
    with pytest.raises(ma.InputError) as caught:
        ma.anonymize({"age": [1, 2]}, 2, quasi=["agee"])
    (line,) = caught.value._render_traceback_()
    assert line.startswith("InputError: there is no column 'agee'")
    assert not hasattr(ma.GuaranteeError("a bug"), "_render_traceback_")
