"""Public facts follow from the released table and the settings: other originals with the same
release give the same files.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.measures.measure import Pair
from microagg.measures.registry import assess_pair
from microagg.methods.method import Grouping
from microagg.methods.registry import method_named
from microagg.release.manifest import public_manifest
from microagg.release.note_catalogue import make_note
from microagg.release.publishing import NOT_TOLD
from microagg.release.release import Release
from microagg.release.report.building import build_document
from microagg.release.report.html import to_html
from microagg.release.report.plain import to_json
from microagg.table.variable import Cells
from mixed_tables import mixed_cells, mixed_groups, released_cells, words

METHODS = [method.name for method in ma.methods()]
FORMS = (".html", ".md", ".json")
NIGHTLY = 200
QUICK: dict[str, dict[str, Any]] = {
    "auto": {"effort": "quick"},
    "lns": {"effort": "quick"},
    "genetic": {"generations": 5},
}


def table_of(number: int, records: int, columns: int) -> pa.Table:
    """Made-up records: whole numbers to be grouped, a confidential column, one that is kept."""
    rng = np.random.default_rng(number)
    quasi = {f"q{j}": rng.integers(0, 100_000, records) * 10 for j in range(columns)}
    return pa.table(
        {
            **quasi,
            "ill": [f"illness {code}" for code in rng.integers(0, 4, records)],
            "town": [f"town {code}" for code in rng.integers(0, 3, records)],
        }
    )


def asked_for(number: int, columns: int) -> dict[str, Any]:
    """Settings, different from pair to pair."""
    method = METHODS[number % len(METHODS)]
    return {
        "k": 3 + number % 3,
        "quasi": [f"q{j}" for j in range(columns)],
        "confidential": ["ill"],
        "keep": ["town"],
        "method": method,
        "precision": ("column", "full")[number // 2 % 2],
        "scale": ("zscore", "minmax", "rank")[number // 3 % 3],
        "l": 2 if number % 4 == 1 and method_named(method).scope == "record" else None,
        "accept_risk": ["full-precision", "single-columns"],
        **QUICK.get(method, {}),
    }


def other_table(
    table: pa.Table, labels: np.ndarray, spread: int, rng: np.random.Generator
) -> pa.Table:
    """Another original with the same means in each group of each column: whole numbers that add up
    to 0 are added.
    """
    for j, name in enumerate(name for name in table.column_names if name.startswith("q")):
        groups = labels[:, j] if labels.ndim == 2 else labels
        values = table.column(name).to_numpy().copy()
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            noise = rng.integers(-spread, spread + 1, len(rows))
            noise[0] -= noise.sum()
            values[rows] += noise
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def rows_of(release: Release) -> list[str]:
    return sorted(map(repr, release.table.to_pylist()))


def public_files(release: Release, folder: Path) -> dict[str, str]:
    """Everything that is written for everybody besides the table."""
    folder.mkdir(exist_ok=True)
    _, _, manifest = release.save(folder / "out.csv")
    reports = (release.report(folder / f"report{form}", public=True) for form in FORMS)
    return {path.name: path.read_text("utf-8") for path in (manifest, *reports)}


def without_loss(text: str) -> str:
    """Return a file without IL, which may differ: the scale on the first page, the manifest."""
    il = r"(?:below 1 %|\d+ %|not told)"
    places = (
        r'()<div class="front-scale">.*?</p></div>',
        r'("scale": )\{[^{}]*\}',
        r"(Information loss \(IL\): )[^\n]*",
        rf"(loss\\?(?:\"|&quot;): )\{{[^}}]*?{il}[^}}]*\}}",
    )
    for pattern in places:
        text, count = re.subn(pattern, r"\1#", text, flags=re.DOTALL if "front" in pattern else 0)
        assert count <= 1
    return text


def two_releases(
    number: int, records: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Release, Release]:
    """Releases of two very different originals: the same rows in another order, found by another
    seed in another way.
    """
    columns = method_named(METHODS[number % len(METHODS)]).columns or 2 + number % 2
    settings, first_table = asked_for(number, columns), table_of(number, records, columns)
    first = ma.anonymize(first_table, **settings, seed=number, date="2026-01-01")
    rng = np.random.default_rng(number + 1_000)
    order = rng.permutation(records)
    second_table = other_table(first_table, first.labels, 30_000, rng).take(pa.array(order))
    labels = first.labels[order]
    with monkeypatch.context() as patched:
        patched.setattr(
            "microagg.pipeline.in_memory.run_method",
            lambda *_, **__: found_elsewhere(labels, settings),
        )
        second = ma.anonymize(second_table, **settings, date="2026-02-02")
    assert rows_of(first) == rows_of(second)
    assert first.loss["SSE"] != second.loss["SSE"]
    assert first.manifest["input"]["digest"] != second.manifest["input"]["digest"]
    return first, second


def found_elsewhere(labels: np.ndarray, settings: dict[str, Any]) -> Grouping:
    """The same groups under other numbers, after a search that went another way."""
    params = {"stop_after": 7} if method_named(settings["method"]).has_checkpoints else {}
    bound = SimpleNamespace(
        il=0.125, optimal=False, solver_optimal=False, about=lambda *_: None, gap=lambda _: 0.125
    )
    return Grouping(labels.max() - labels, ("a canary was chosen",), params, "time", bound)


def the_same_but_for_the_loss(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = 24 + 5 * (number % 13) if number % 2 else 200 + number % 150
    first, second = two_releases(number, records, monkeypatch)
    one, other = public_files(first, folder / "one"), public_files(second, folder / "other")
    assert set(one) == set(other)
    losses = {json.loads(files["out.csv.public.json"])["loss"]["IL"] for files in (one, other)}
    assert records >= 100 or losses == {NOT_TOLD}
    for name, text in one.items():
        assert "canary" not in other[name]
        assert "0.125" not in other[name] or "0.125" in text
        if losses == {NOT_TOLD}:
            assert text == other[name], name
        else:
            assert without_loss(text) == without_loss(other[name]), name
            assert len(losses) == 1 or text != other[name], "the test would not see a difference"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(METHODS)), ids=METHODS)
def test_other_originals_give_the_same_files(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_same_but_for_the_loss(number, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(1_000, 1_000 + NIGHTLY))
def test_other_originals_give_the_same_files_with_pictures(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_same_but_for_the_loss(number, tmp_path, monkeypatch)


@pytest.mark.slow
def test_other_originals_give_the_same_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (METHODS.index("mdav") + 1, METHODS.index("individual-ranking")):
        the_same_but_for_the_loss(number, tmp_path, monkeypatch)


@pytest.mark.slow
def test_other_originals_whose_groups_are_found_again(tmp_path: Path) -> None:
    """Nothing forced here: originals that differ so little that the method finds the same groups by
    itself.
    """
    same = 0
    for number, method in enumerate(METHODS):
        columns = method_named(method).columns or 2
        settings = {**asked_for(number, columns), "scale": "zscore"}
        table = table_of(number, 40, columns)
        first = ma.anonymize(table, **settings, seed=1)
        second = ma.anonymize(
            other_table(table, first.labels, 1, np.random.default_rng(number)), **settings, seed=1
        )
        if rows_of(first) == rows_of(second):
            same += 1
            assert public_files(first, tmp_path / "one") == public_files(
                second, tmp_path / "other"
            ), method
    assert same > 0.8 * len(METHODS)


def test_an_attack_on_six_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the release and tries every original that fits its means finds no figure that
    tells them apart.
    """
    values = [31, 33, 35, 60, 63, 64]
    true = ma.anonymize(pa.table({"age": values}), k=3, quasi=["age"], method="mdav", seed=1)
    monkeypatch.setattr(
        "microagg.pipeline.in_memory.run_method", lambda *_, **__: Grouping(true.labels)
    )

    def text_of(ages: tuple[int, ...]) -> str:
        release = ma.anonymize(
            pa.table({"age": list(ages)}), k=3, quasi=["age"], method="mdav", seed=1
        )
        assert rows_of(release) == rows_of(true)
        document = build_document(
            manifest=release.manifest,
            public=True,
            pair=release.pair,
            class_sizes=release.anonymity.sizes,
            figures=release.figures,
            notes=release.notes,
        )
        return to_json(document) + json.dumps(release.public_manifest)

    seen = text_of(tuple(values))
    groups = [
        [
            ages
            for ages in itertools.combinations_with_replacement(range(mean - 3, mean + 4), 3)
            if round(sum(ages) / 3) == mean
        ]
        for mean in sorted(set(true.table.column("age").to_pylist()))
    ]
    candidates = [(*one, *other) for one, other in itertools.product(*groups)]
    assert len(candidates) > 400
    some = candidates[:: len(candidates) // 40]
    assert sum(text_of(ages) == seen for ages in some) == len(some) >= 40


def other_mixed(cells: Cells, labels: np.ndarray, number: int) -> tuple[Cells, Cells]:
    """Another original with the same released cells, and those: in terms of its own, rows in
    another order.

    Members of a group that released a value get gaps and values around it, levels are numbered
    otherwise and some are new.
    """
    released = released_cells(cells, labels)
    rng = np.random.default_rng(number)
    order = rng.permutation(len(cells))
    assert released.atoms is not None
    values, atoms = released.values.copy(), released.atoms.copy()
    for group in range(int(labels.max()) + 1):
        first, second = np.flatnonzero(labels == group)[:2]
        moved = rng.integers(1, 90)
        values[first, 1:3] += moved
        values[second, 1:3] -= moved
        values[first, 0], atoms[first, 0] = np.nan, int(rng.integers(0, 2))
        values[first, 3], atoms[first, 3] = np.nan, 0
        values[first, 4] = rng.integers(0, 6)
    income, age, born, school, town = cells.variables
    variables = (
        income, age, replace(born, origin=(born.origin - 500) * 86_400, unit="s"), school,
        replace(town, levels=("Aachen", *town.levels[:-1], "Zürich", None)),
    )  # fmt: skip

    def in_other_terms(values: np.ndarray, atoms: np.ndarray) -> Cells:
        values = values[order]
        values[:, 2] = (values[:, 2] + 500) * 86_400
        values[:, 4] += np.where(values[:, 4] == len(town.levels) - 1, 2, 1)
        return Cells(variables, values, atoms[order])

    original, again = in_other_terms(values, atoms), in_other_terms(released.values, released.atoms)
    assert sorted(map(repr, words(again))) == sorted(map(repr, words(released)))
    assert sorted(map(repr, words(original))) != sorted(map(repr, words(cells)))
    return original, again


def mixed_document(before: Cells, after: Cells, labels: np.ndarray, *, public: bool) -> str:
    """The report, with all figures that can be had."""
    pair = Pair.of_cells(before, after, labels=labels, k=4)
    figures = assess_pair(pair)
    names = pair.quasi
    manifest = {
        "settings": {
            "k": 4,
            "method": "mdav",
            "scale": "zscore",
            "aggregate": {},
            "missing": "group",
        },
        "records": len(before),
        "roles": dict.fromkeys(names, "quasi"),
        "guarantee": {"of": "each combination"},
        "loss": {"IL": {m.name: f.value for m, f in figures}["il"]},
        "largest_share": 0.01,
    }
    document = build_document(
        manifest=manifest,
        public=public,
        pair=pair,
        class_sizes=np.sort(pair.classes.sizes),
        figures=figures,
        notes=[make_note("kept-columns", ["a canary"])],
    )
    return to_json(document) + to_html(document)


@pytest.mark.parametrize("number", range(12))
def test_other_mixed_originals_give_the_same_report(number: int) -> None:
    cells, labels = mixed_cells(number), mixed_groups(number)
    after = released_cells(cells, labels)
    original, again = other_mixed(cells, labels, number)
    order = np.random.default_rng(number).permutation(len(cells))
    one = mixed_document(cells, after, labels, public=True)
    other = mixed_document(original, again, labels[order], public=True)
    assert one == other
    for secret in ("canary", "filled", "blanked", "cells unchanged", "Aachen", "Zürich"):
        assert secret not in one
    inside = mixed_document(cells, after, labels, public=False)
    assert inside != mixed_document(original, again, labels[order], public=False)
    assert "filled" in inside


@pytest.mark.slow
def test_other_mixed_originals_give_the_same_pictures() -> None:
    cells, labels = mixed_cells(3), mixed_groups(3)
    original, again = other_mixed(cells, labels, 3)
    order = np.random.default_rng(3).permutation(len(cells))
    one = mixed_document(cells, released_cells(cells, labels), labels, public=True)
    assert one == mixed_document(original, again, labels[order], public=True)


def grouped(records: int, **more: Any) -> Release:
    rng = np.random.default_rng(records)
    table = pa.table(
        {"a": rng.uniform(50, 90, records).round(2), "b": rng.uniform(size=records).round(4)}
    )
    return ma.anonymize(table, k=5, quasi=["a", "b"], method="mdav", seed=3, **more)


def test_the_loss_is_told_in_whole_percent_from_a_hundred_records_on() -> None:
    assert grouped(99).public_manifest["loss"]["IL"] == NOT_TOLD
    release = grouped(300)
    assert release.public_manifest["loss"] == {"IL": f"{release.loss['IL']:.0f} %"}
    assert 1 < release.loss["IL"] < 50
    assert release.manifest["largest_share"] < 0.1
    assert public_manifest({**release.manifest, "records": 99})["loss"]["IL"] == NOT_TOLD
    assert (
        public_manifest({**release.manifest, "records": 100})["loss"]
        == release.public_manifest["loss"]
    )


def test_the_loss_is_not_told_where_one_group_makes_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = np.append(rng.integers(0, 100, 150), 1_000_000)
    release = ma.anonymize(
        pa.table({"income": values}), k=3, quasi=["income"], method="mdav", seed=1
    )
    assert release.manifest["largest_share"] > 0.9
    assert release.public_manifest["loss"]["IL"] == NOT_TOLD
    few = ma.anonymize(
        pa.table({"income": values[:50]}), k=3, quasi=["income"], method="mdav", seed=1
    )
    assert few.public_manifest["loss"] == release.public_manifest["loss"], (
        "which reason it was tells something"
    )
    assert "not told" in release.report(tmp_path / "r.md", public=True).read_text()


def test_where_a_search_ended_is_not_told() -> None:
    table = table_of(1, 60, 2).select(["q0", "q1"])
    release = ma.anonymize(table, k=3, quasi=["q0", "q1"], effort=50, stop_after=2, seed=1)
    assert release.manifest["settings"]["params"]["stop_after"] == 2
    assert release.manifest["chosen"]
    public = release.public_manifest
    assert public["settings"]["params"] == {"effort": 50}
    assert not {"chosen", "stopped_early", "bound", "largest_share"} & set(public)


def test_what_is_published_by_name(tmp_path: Path) -> None:
    release = grouped(
        1_000, publish=["kolmogorov-smirnov", "il1s-percent"], accept_risk="published-measures"
    )
    figures = {measure.name: figure.value for measure, figure in release.figures}
    shown = release.report(tmp_path / "r.md", public=True).read_text()
    _, _, part = shown.partition("What was published of the original table")
    part, _, _ = part.partition("The manifest is the record")
    for name in ("kolmogorov-smirnov", "il1s-percent"):
        assert f"{figures[name]:.2g} " in part
    for number in re.findall(r"\d[\d,]*\.\d+", part):
        assert len(re.sub(r"\D", "", number).lstrip("0")) <= 2, number
    assert "asserstein" not in shown
    assert (
        "figures of the original table in a part of their own: IL1s per record and "
        "Kolmogorov-Smirnov" in shown
    )
    assert release.public_manifest["settings"]["publish"] == ["kolmogorov-smirnov", "il1s-percent"]
    silent = grouped(1_000).report(tmp_path / "s.md", public=True).read_text()
    assert "olmogorov" not in silent
    assert "What was published" not in silent


def test_a_bound_is_published_by_name() -> None:
    manifest = {**grouped(1_000).manifest, "bound": {"IL": 1.2345, "optimal": False}}
    assert "bound" not in public_manifest(manifest)
    manifest["settings"] = {**manifest["settings"], "publish": ["bound"]}
    assert public_manifest(manifest)["bound"] == {"IL": 1.2, "optimal": False}
    assert "bound" not in public_manifest({**manifest, "records": 999}), "whatever the settings say"


@pytest.mark.parametrize(
    ("records", "names", "says"),
    [
        (999, ["il"], "publish is for tables of 1,000 records and more"),
        (1_000, ["ks"], "publish does not know the measure 'ks'; choose from il,"),
        (1_000, ["k"], "anyone can compute k from the released table; leave it out of publish"),
        (1_000, ["dominance"], "dominance could reveal single records"),
        (1_000, ["il-minmax"], "il-minmax could reveal single records"),
        (1_000, 3.5, "publish must be a name or a list"),
    ],
)
def test_what_cannot_be_published(records: int, names: Any, says: str) -> None:
    with pytest.raises(ma.InputError, match=re.escape(says)):
        grouped(records, publish=names)
