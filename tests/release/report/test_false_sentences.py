"""Sentences that were false: gaps, codes, names, figures without meaning, and pages on them.

Totals, correlations, unique records and lost categories are in `test_claims`.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import microagg as ma
import small_blocks
from dask_clusters import small_budget
from microagg.cli.commands import app
from microagg.cli.watching import warnings_as_notes
from microagg.errors import CodesWarning
from microagg.files.formats import formats, known_suffixes
from microagg.measures.loss.prediction import regression_kept
from microagg.measures.measure import Figure, Pair, Sample
from microagg.measures.registry import measure_named
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease
from microagg.proposal import open_codes
from microagg.proposal.open_codes import check_codes, settled
from microagg.release.note_entries import RELEASE_NOTES
from microagg.release.report.figure_tables import figures_grids
from microagg.release.report.subject import Subject
from microagg.release.settings import Settings

ROOT = Path(__file__).parents[3]


def dwellings(n: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    roof = rng.choice([1, 2, 4, 5, 6, 8], n)
    return {"roof": roof, "rent": np.round(rng.lognormal(6.0, 0.5, n), 2), "region": roof * 100}


def test_values_blanked_are_counted_on_page_one() -> None:
    """Item 2: real values vanish beside the gaps of others, and page one said nothing."""
    rng = np.random.default_rng(5)
    assets = [None if i % 5 < 3 else float(v) for i, v in enumerate(rng.lognormal(8, 1, 100))]
    table = pa.table({"age": rng.integers(20, 90, 100), "assets": pa.array(assets)})
    settings = {"quasi": ["age", "assets"], "importance": {"assets": 0.01}, "method": "mdav"}
    release = ma.anonymize(table, 3, seed=1, **settings)
    before, after = (t.column("assets").to_pandas() for t in (table, release.table))
    blanked = int((before.notna() & after.isna()).sum())
    assert blanked > 5, "the counterexample is one"
    decisions = [point.text for point in release.verdict.decisions]
    assert any(f"({blanked} values blanked" in text for text in decisions)


class TestCodes:
    """Item 6: whole numbers that look like codes were averaged in silence."""

    def test_a_call_warns_and_names_the_parameter(self) -> None:
        table = pa.table(dwellings())
        with pytest.warns(CodesWarning, match=r"'roof', 'region'.*nominal=.*kinds={'roof'"):
            release = ma.anonymize(table, 3, quasi=["roof", "rent", "region"], method="mdav")
        invented = set(release.table.column("roof").to_pylist()) - set(dwellings()["roof"].tolist())
        assert invented, "codes that never existed"

    @pytest.mark.parametrize(
        "answer",
        [
            {"nominal": ["roof", "region"]},
            {"kinds": {"roof": "numeric", "region": "numeric"}},
            {"aggregate": {"roof": "median", "region": "median"}},
            {"ordinal": ["roof", "region"]},
        ],
    )
    def test_an_answer_settles_it(self, answer: dict[str, Any], tmp_path: Path) -> None:
        pa.csv.write_csv(pa.table(dwellings()), tmp_path / "in.csv")
        check_codes({"quasi": ["roof", "rent", "region"], **answer}, tmp_path / "in.csv", {})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ma.anonymize(
                pa.table(dwellings()), 3, quasi=["roof", "rent", "region"], method="mdav",
                accept_risk="true-values", **answer,
            )  # fmt: skip

    def test_a_file_is_refused_until_then(self, tmp_path: Path) -> None:
        path = tmp_path / "in.csv"
        pa.csv.write_csv(pa.table(dwellings()), path)
        settings = {"quasi": ["r*"]}
        with pytest.raises(ma.InputError, match=r"numbers or codes: 'roof', 'region'\?"):
            check_codes(settings, path, {})
        for answer in ({"nominal": ["asked"]}, {"kinds": {"asked": "numeric"}}):
            check_codes(settled({**settings, **answer}, path, {}), path, {})
        declared = settled({**settings, "kinds": {"asked": "numeric"}}, path, {})
        assert declared["kinds"] == {"roof": "numeric", "region": "numeric"}

    @pytest.mark.parametrize("memory", [None, 1])
    def test_a_file_in_python_warns_in_memory_and_out_of_core(
        self, memory: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small_blocks.make_small(monkeypatch.setattr)
        monkeypatch.setattr(MemoryBudget, "checked", small_budget())
        path, target = tmp_path / "in.csv", tmp_path / "out.csv"
        pa.csv.write_csv(pa.table(dwellings(1500)), path)
        settings: dict[str, Any] = {"quasi": ["roof", "rent", "region"], "memory": memory}
        with pytest.warns(CodesWarning, match="averaged: 'roof', 'region'") as caught:
            release = ma.anonymize_file(path, target, 3, **settings)
        assert isinstance(release, OnDiskRelease) is (memory is not None)
        assert [warning.filename for warning in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ma.anonymize_file(path, target, 3, nominal=["roof", "region"], **settings)

    def test_a_file_too_large_for_the_question_is_noted_on_the_command_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(open_codes, "LARGEST", 0)
        path = tmp_path / "in.csv"
        pa.csv.write_csv(pa.table(dwellings()), path)
        with warnings_as_notes():
            command = [str(path), str(tmp_path / "out.csv"), "--k", "3", "--quasi", "roof,rent"]
            app(
                ["anonymize", *command, "--rest", "drop", "--method", "mdav"], standalone_mode=False
            )
        error = " ".join(capsys.readouterr().err.split())
        assert "averaged: 'roof'. Declare codes with --nominal roof, numbers with" in error
        assert "--kind roof=numeric" in error

    def test_small_tables_and_measurements_are_not_asked_about(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ma.anonymize({"age": [30, 31, 45, 46, 60, 61]}, 2, quasi=["age"], method="mdav")
            rents = {"rent": dwellings()["rent"]}
            ma.anonymize(pa.table(rents), 3, quasi=["rent"], method="mdav")


class TestNames:
    """Item 7: a table with names was written, and notes recommended what is refused."""

    @pytest.mark.parametrize("column", ["person", "e_mail"])
    def test_columns_that_name_people_need_a_word(self, column: str, tmp_path: Path) -> None:
        table = ma.datasets.residents(60).select([column, "income", "rent"])
        settings: dict[str, Any] = {"quasi": ["income", "rent"], "keep": [column], "method": "mdav"}
        release = ma.anonymize(table, 5, **settings)
        for refused in (
            lambda: release.save(tmp_path / "a.csv"),
            lambda: release.report(public=True),
        ):
            with pytest.raises(ma.InputError, match="accept_risk='named-columns'"):
                refused()
        assert not list(tmp_path.iterdir())
        assert release.verdict.status == "stop"
        ma.anonymize(table, 5, accept_risk="named-columns", **settings).save(tmp_path / "a.csv")

    def test_no_note_recommends_what_is_refused(self) -> None:
        for entry in RELEASE_NOTES:
            assert "precision" not in f"{entry.hint} {entry.item} {entry.sentence}", entry.code


class TestFigures:
    """Item 8: figures that mean nothing are left out with their reason."""

    def grid(self, name: str, figure: Figure) -> tuple[str, str]:
        pair = Pair(np.zeros((4, 1)), np.zeros((4, 1)), ("a",))
        manifest = {"settings": {"k": 2}, "roles": {"a": "quasi"}}
        subject = Subject(manifest, False, ("a",), pair.after, np.array([4]), ())
        shown = list(figures_grids(subject, [(measure_named(name), figure)]))
        text = " ".join(getattr(block, "text", "") for block in shown)
        rows = [row for block in shown for row in getattr(block, "rows", ())]
        return text, rows[0][1] if rows else ""

    def test_nothing_to_predict(self) -> None:
        undefined = 0
        for seed in range(8):
            noise = np.random.default_rng(seed).normal(size=(40, 2))
            figure = regression_kept(Pair(noise, noise[::-1].copy(), ("a", "b")))
            predictable = figure.details["r2_original"] > 0
            assert bool(figure.undefined) is not predictable
            undefined += not predictable
            text, shown = self.grid("regression-kept", figure)
            assert bool(shown) is predictable
            assert ("nothing can be predicted" in text) is not predictable
        assert undefined, "the counterexample is one"

    @pytest.mark.parametrize(("value", "error"), [(0.1567, 20.0), (1035.0, 140_000.0)])
    def test_errors_larger_than_the_figure(self, value: float, error: float) -> None:
        figure = Figure(value, sample=Sample(100, error))
        text, shown = self.grid("il", figure)
        assert "its error from sampling is larger than the figure" in text
        assert not shown

    def test_rounding_is_zero(self) -> None:
        assert self.grid("il", Figure(2.22e-14)) == ("", "0 %")


class TestPages:
    """Item 9: sentences of pages and help."""

    def test_what_can_be_written(self) -> None:
        refused = [suffix for entry in formats() if entry.read_only for suffix in entry.suffixes]
        assert refused == [".sas7bdat"]
        assert ".sas7bdat" not in known_suffixes(written=True)

    def test_promises_have_their_exceptions(self) -> None:
        security = " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())
        readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
        assert "opens no network connection" not in security
        assert "individual-ranking" in security
        assert "single-columns" in security
        for claim in ("weighted totals stay", "no code that never existed", "nothing but make"):
            assert claim not in readme.lower()
        scale = (ROOT / "docs" / "scale.md").read_text("utf-8")
        assert "300 MB" not in scale + (ROOT / "docs" / "guide.md").read_text("utf-8")

    def test_the_changelog_names_all_commands_once(self) -> None:
        changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
        entries = re.findall(r"^- (.*?)(?=^- |\Z)", changelog, re.DOTALL | re.MULTILINE)
        assert len(entries) == len(set(entries))
        commands = {item.name or item.callback.__name__ for item in app.registered_commands}
        for name in commands:
            assert re.search(rf"\b{name.replace('_', '-')}\b", changelog), name

    def test_readme_is_short(self) -> None:
        assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_pandas_agrees_on_lost_values() -> None:
    """The count on page one is the one of the table."""
    table = pd.DataFrame({"a": [1.0, None, None, 4.0, 5.0, 6.0], "b": range(6)})
    release = ma.anonymize(table, 3, quasi=["a", "b"], method="mdav", seed=1)
    change = release.changes["a"]
    lost = int((table["a"].notna() & release.table["a"].isna()).sum())
    assert change.blanked == lost
    assert Settings.of(k=3, quasi="a").k == 3
