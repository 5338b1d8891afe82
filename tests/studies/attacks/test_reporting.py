"""The section of the internal report on attacks: what it says, where it is, and for whom."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import microagg as ma
from microagg.studies.attacks.files import FileAttacks, attack_file, save_results

OPTIONS = {
    "k": 4, "quasi": ["age", "rent", "town"], "confidential": ["illness", "wage"],
    "keep": ["flats"], "seed": 1, "effort": "quick", "accept_risk": ["single-columns"],
}  # fmt: skip


def made_table(records: int = 150) -> pa.Table:
    rng = np.random.default_rng(6)
    return pa.table(
        {
            "age": rng.integers(18, 90, records),
            "rent": rng.lognormal(6.0, 0.5, records).round(2),
            "town": rng.choice(["Rome", "Oslo"], records),
            "illness": rng.choice(["none", "flu", "gout"], records),
            "wage": rng.integers(1000, 9000, records),
            "flats": rng.integers(0, 3, records),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    parquet.write_table(made_table(), folder / "people.parquet")
    ma.anonymize(made_table(), **OPTIONS).save(folder / "out.csv")
    fewer = {**OPTIONS, "k": 5, "seed": 2}
    ma.anonymize(made_table(148), **fewer).save(folder / "last.csv")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> FileAttacks:
    return attack_file(
        folder / "people.parquet",
        ma.Settings.of(**OPTIONS),
        other=folder / "last.csv",
        report=folder / "r.md",
    )


def test_the_internal_report_has_a_section_on_attacks(results: FileAttacks, folder: Path) -> None:
    path = folder / "r.internal.md"
    text = path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    section = text.split("Attacks with a control group")[1].split("\n## ")[0]
    assert text.index("What an intruder gains") < text.index("Attacks with a control group")
    for words in (
        "singling out", "linkability", "inference of illness", "inference of wage",
        "from other records alone", "without town", "on a rerun", "Kept columns", "(flats)",
    ):  # fmt: skip
        assert words in section, words
    release = json.loads((folder / "out.csv.internal.json").read_text())["release"]
    assert release in text


def test_two_releases_are_in_the_report_with_their_totals(
    results: FileAttacks, folder: Path
) -> None:
    section = (folder / "r.internal.md").read_text("utf-8").split("Attacks with a")[1]
    wage = results.together[1]
    assert wage.total_difference is not None  # 150 records and 148
    assert wage.other_totals == ("age", "rent")
    assert "a sum over 2 records: wage, age and rent" in section
    assert results.together[0].both.value >= results.together[0].first.value


def test_a_report_from_python(tmp_path: Path) -> None:
    fewer = {**OPTIONS, "confidential": ["illness"], "rest": "drop", "quasi": ["age", "rent"]}
    release = ma.anonymize(made_table(), **fewer)
    path = ma.attack(made_table(), boosted=False, **fewer).report(release, tmp_path / "r.html")
    text = path.read_text("utf-8")
    assert "Attacks with a control group" in text
    assert "<svg" in text.split("Attacks with a control group")[-1].split("</section>")[0]
    assert release.report().html != text


def test_no_report_but_an_internal_one(results: FileAttacks, folder: Path) -> None:
    assert not (folder / "r.public.md").exists()


def test_saved_results_name_what_was_attacked(results: FileAttacks, folder: Path) -> None:
    path = folder / "attacks.json"
    save_results(path, results)
    saved = json.loads(path.read_text("utf-8"))
    manifest = json.loads((folder / "out.csv.internal.json").read_text())
    assert saved["of"]["settings"]["k"] == 4
    assert "seed" not in saved["of"]["settings"]
    assert len(saved["of"]["input"]) == len(manifest["input"]["digest"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"report": Path("r.txt")}, "has no ending of a report"),
        ({"report": Path("nowhere/r.html")}, "does not exist"),
        ({"other": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_wrong_files_are_named_before_any_work(folder: Path, options: dict, part: str) -> None:
    with pytest.raises(ma.InputError, match=part):
        attack_file(
            folder / "people.parquet",
            ma.Settings.of(**OPTIONS),
            progress=lambda done, total: pytest.fail("work has begun"),
            **options,
        )


def test_results_are_saved_as_json_only(results: FileAttacks, folder: Path) -> None:
    with pytest.raises(ma.InputError, match=r"written as \.json"):
        save_results(folder / "attacks.txt", results)
