"""Labels on their way through a release: what they tell where nobody says otherwise, and what goes
out again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import labelled
import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.files.stats.sidecar import sidecar_of
from microagg.pipeline.files import anonymize_file
from microagg.release.settings import Settings
from microagg.studies.assess import assess_files
from microagg.studies.compare import compare
from microagg.studies.repeating import repeat_file
from microagg.table.columns.labels import Labels, labels_in, with_labels

QUASI = ["age", "sex", "education", "wage"]
SETTINGS: dict[str, Any] = {"quasi": QUASI, "confidential": ["ill"], "method": "mdav", "seed": 3}


def survey(records: int = 60) -> pa.Table:
    rng = np.random.default_rng(7)
    wage = np.where(rng.random(records) < 0.2, -9, rng.integers(1000, 5000, records))
    table = pa.table(
        {
            "age": rng.integers(18, 90, records),
            "sex": rng.integers(1, 3, records),
            "education": rng.integers(1, 6, records),
            "wage": pa.array(wage, mask=rng.random(records) < 0.1),
            "ill": rng.integers(1, 4, records),
        }
    )
    return with_labels(
        table,
        {
            "age": Labels("Age in years"),
            "sex": Labels("Sex", {1: "female", 2: "male", 3: "canary of nobody"}),
            "education": Labels("Education", {n: f"level {n}" for n in range(1, 8)}, "ordinal"),
            "wage": Labels("Wage", {-9: "refused", -8: "canary of none"}, "scale", (-9, -8)),
            "ill": Labels(
                "Illness", {1: "flu", 2: "gout", 3: "pox", 9: "canary of the well"}, "nominal"
            ),
        },
    )


def kinds_of(release: ma.Release) -> dict[str, str]:
    return {column.name: column.kind.value for column in release.schema.columns}


def test_labels_tell_kinds_and_atoms() -> None:
    release = ma.anonymize(survey(), 3, **SETTINGS)
    assert kinds_of(release) == {
        "age": "numeric",
        "sex": "nominal",
        "education": "ordinal",
        "wage": "numeric",
        "ill": "nominal",
    }
    released = release.table.column("wage").to_pylist()
    assert -9 in released
    assert all(value is None or value == -9 or 1000 <= value < 5000 for value in released), (
        "no mean with a code in it"
    )
    notes = " ".join(release.notes)
    assert "sex and ill: taken for nominal" in notes
    assert "education: taken for ordinal" in notes
    assert "wage: codes that the file declares missing are kept, and no mean includes them" in notes
    assert "-9" not in notes


def test_what_somebody_says_wins() -> None:
    release = ma.anonymize(
        survey(), 3, **SETTINGS, kinds={"education": "nominal", "ill": "ordinal"}, na=["-9"]
    )
    kinds = kinds_of(release)
    assert (kinds["education"], kinds["ill"], kinds["sex"]) == ("nominal", "ordinal", "nominal")
    assert release.settings.columns.special == {}
    both = ma.anonymize(survey(), 3, **SETTINGS, special={"wage": [1000]})
    assert both.settings.columns.special["wage"] == (1000, -9)
    assert Settings.from_data(both.manifest["settings"]).special == {"wage": (1000,)}, (
        "only what was said"
    )


def test_a_labelled_code_stays_one_of_its_codes() -> None:
    """Also where they are said to be numbers: the lower median, by sorting each group."""
    table = survey()
    release = ma.anonymize(
        table, 3, **SETTINGS, kinds={"sex": "numeric"}, accept_risk=["true-values"]
    )
    sex = table.column("sex").to_numpy()
    for group in np.unique(release.labels):
        members = np.sort(sex[release.labels == group])
        released = release.table.column("sex").to_numpy()[release.labels == group]
        assert set(released.tolist()) == {int(members[(len(members) - 1) // 2])}
    assert any(
        "sex: all values are labelled codes, so groups show the code in the middle (median)" in note
        for note in release.notes
    )
    with pytest.raises(
        ma.InputError, match=r"all values of column 'sex' have labels.*choose median"
    ):
        ma.anonymize(table, 3, **SETTINGS, kinds={"sex": "numeric"}, aggregate={"sex": "mean"})
    with pytest.raises(ma.InputError, match="is nominal, and mean is no aggregate"):
        ma.anonymize(table, 3, **SETTINGS, aggregate={"sex": "mean"})


@pytest.mark.parametrize("aggregate", ["median", "mode", "draw", "medoid"])
def test_every_aggregate_of_codes_releases_codes_with_labels(aggregate: str) -> None:
    release = ma.anonymize(survey(), 3, **SETTINGS, aggregate={"education": aggregate})
    labels = labels_in(release._arrow)["education"]
    assert set(release.table.column("education").to_pylist()) == set(labels.values)


def test_labels_of_what_is_not_released_are_nowhere(tmp_path: Path) -> None:
    write_table(survey(), tmp_path / "in.sav")
    (tmp_path / "out").mkdir()
    for ending in (".csv", ".parquet", ".arrow", ".xlsx", ".sav", ".zsav", ".dta", ".xpt"):
        anonymize_file(
            tmp_path / "in.sav",
            tmp_path / "out" / f"out{ending}",
            3,
            **SETTINGS,
            report=tmp_path / "out" / f"r{ending}.html",
        )
    for path in (tmp_path / "out").iterdir():
        assert b"canary" not in path.read_bytes(), path.name
        if path.suffix == ".zsav":
            assert "canary" not in str(labels_in(read_table(path)))
    release = ma.anonymize(read_table(tmp_path / "in.sav"), 3, **SETTINGS)
    assert "canary" not in str(release.table.schema.metadata) + str(
        [f.metadata for f in release.table.schema]
    )
    ranges = ma.anonymize(
        survey(), 3, **SETTINGS, aggregate={"wage": "range"}, accept_risk=["true-values"]
    )
    assert labels_in(ranges._arrow)["wage"] == Labels("Wage")


def test_public_files_follow_from_the_release(tmp_path: Path) -> None:
    """Two originals that differ in labels of values that nobody has give the same public files."""
    one = survey()
    other = with_labels(one, {"sex": Labels("Sex", {1: "female", 2: "male", 4: "another"})})
    made = []
    for number, table in enumerate((one, other)):
        folder = tmp_path / str(number)
        folder.mkdir()
        ma.anonymize(table, 3, **SETTINGS, date="2031-01-01").save(folder / "out.csv")
        made.append(
            [
                (folder / name).read_bytes()
                for name in ("out.csv", "out.csv.public.json", "out.csv.labels.json")
            ]
        )
    assert made[0] == made[1]


def test_spss_to_stata_for_another_reader(tmp_path: Path) -> None:
    write_table(survey(), tmp_path / "in.sav")
    anonymize_file(tmp_path / "in.sav", tmp_path / "out.dta", 3, **SETTINGS)
    cells, about = labelled.with_pyreadstat(tmp_path / "out.dta")
    original = labels_in(survey())
    assert about.column_names_to_labels == {name: labels.label for name, labels in original.items()}
    for name in ("sex", "education", "wage", "ill"):
        codes = set(cells[name]) - {None}
        held = about.variable_value_labels[name]
        had = {"a": "refused"} if name == "wage" else original[name].values
        assert {code: held[code] for code in codes if code in had} == {
            code: had[code] for code in codes if code in had
        }
        assert set(held) <= codes, "labels of values that occur, and no others"
        if name != "wage":
            assert codes == set(held), "no code without a label"
    assert about.missing_user_values == {"wage": ["a"]}


def test_all_commands_agree(tmp_path: Path) -> None:
    source = tmp_path / "in.sav"
    write_table(survey(), source)
    table = read_table(source)
    proposal = ma.propose(table)
    assert proposal.kinds == {
        "age": "numeric",
        "sex": "nominal",
        "education": "ordinal",
        "wage": "numeric",
        "ill": "nominal",
    }
    assert not set(proposal.asked) & {"sex", "education"}, "what labels tell is not asked"
    result = ma.check(table, ["sex"], 2, confidential=["wage"], l=2)
    plain = ma.check(
        survey()
        .replace_schema_metadata(None)
        .cast(pa.schema([pa.field(f.name, f.type) for f in survey().schema])),
        ["sex"],
        2,
        confidential=["wage"],
        l=2,
        special={"wage": [-9]},
    )
    assert result.findings[0].worst == plain.findings[0].worst
    release = anonymize_file(source, tmp_path / "out.sav", 3, **SETTINGS, keep_order=True)
    measured = assess_files(source, tmp_path / "out.sav", quasi=QUASI, confidential=["ill"], k=3)
    assert measured.figure("il").value == pytest.approx(release.loss["IL"])
    rows = compare(
        source, quasi=QUASI, confidential=["ill"], ks=[3], methods=["mdav"], seeds=[3]
    ).rows
    assert rows[0].figures["il"] == pytest.approx(release.loss["IL"])
    again = repeat_file(tmp_path / "out.sav.internal.json", source, tmp_path / "again.sav")
    assert "the same release as the manifest describes" in again.notes[0]
    assert (tmp_path / "again.sav").read_bytes() == (tmp_path / "out.sav").read_bytes()


def test_a_file_beside_holds_what_the_format_cannot(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    release = ma.anonymize(survey(), 3, **SETTINGS)
    places = release.save(path)
    assert places[-1] == sidecar_of(path)
    assert labels_in(read_table(path)) == labels_in(release._arrow)
    again = anonymize_file(path, tmp_path / "again.sav", 3, **SETTINGS)
    assert kinds_of(again) == kinds_of(release)
    assert any(
        note == "labels of 5 columns were taken from 'out.csv.labels.json'" for note in again.notes
    )
    assert not sidecar_of(tmp_path / "again.sav").exists(), "SPSS files hold all labels"
    _, about = labelled.with_pyreadstat(tmp_path / "again.sav")
    assert about.variable_measure["education"] == "ordinal"


def test_labels_that_lie_there_are_replaced_or_emptied(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    ma.anonymize(survey(), 3, **SETTINGS).save(path)
    bare = pa.table({name: survey().column(name) for name in ("age", "ill")})
    bare = bare.cast(pa.schema([pa.field(field.name, field.type) for field in bare.schema]))
    ma.anonymize(bare, 3, quasi=["age"], keep=["ill"], method="mdav", seed=1).save(path)
    assert json.loads(sidecar_of(path).read_text())["columns"] == {}
    assert labels_in(read_table(path)) == {}
    sidecar_of(path).write_text("somebody's notes")
    with pytest.raises(
        ma.InputError, match="is there and is not a file of labels, so it is not replaced"
    ):
        ma.anonymize(survey(), 3, **SETTINGS).save(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"microagg": "labels", "format": 1}',
     b'{"microagg": "labels", "format": 1, "columns": {"age": 3}}',
     b'{"microagg": "labels", "format": 1, "columns": {"age": {"values": [[[], "x"]]}}}',
     b"\xff\xfe", b"[" * 100_000,
     b'{"microagg": "labels", "format": 1, "columns": {"age": {"measure": "canary"}}}'],
)  # fmt: skip
def test_a_damaged_file_of_labels_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.csv").write_text("age\n31\n32\n")
    sidecar_of(tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(
        ma.InputError,
        match=r"does not hold labels as microagg writes them; correct it, or remove it\.$",
    ) as refusal:
        read_table(tmp_path / "in.csv")
    assert "canary" not in str(refusal.value)


def test_names_that_the_target_cannot_have_are_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(
        pa.table({"net wage": [1, 2, 3, 4], "my name": ["a", "b", "c", "d"]}),
        tmp_path / "in.parquet",
    )
    monkeypatch.setattr(
        "microagg.pipeline.files.protect", lambda *_, **__: pytest.fail("work was done")
    )
    with pytest.raises(ma.InputError, match="no Stata file can have a column called 'net wage'"):
        anonymize_file(
            tmp_path / "in.parquet",
            tmp_path / "out.dta",
            2,
            quasi=["net wage"],
            identifier=["my name"],
        )
