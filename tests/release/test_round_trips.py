"""Made tables written to every format and anonymized to every format, read by pandas, polars,
pyreadstat and openpyxl.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import labelled
import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.formats import formats
from microagg.files.reading import read_table
from microagg.files.stats.sidecar import sidecar_of
from microagg.release.settings import Settings
from microagg.table.columns.labels import labels_in, labels_of

ENDINGS = [
    suffix
    for format in formats()
    if format.typed and not format.read_only
    for suffix in format.suffixes
]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


def same_cells(path: Path, table: pa.Table) -> None:
    for library, columns in labelled.read_by_others(path).items():
        wanted = labelled.expected(table, path.suffix, tags=library != "pandas")
        assert list(columns) == list(wanted), library
        for name, cells in wanted.items():
            assert columns[name] == cells, f"{library}, {name}"


def same_labels(path: Path, table: pa.Table) -> None:
    """Assert that pyreadstat finds the labels, measure levels and missing codes."""
    _, about = labelled.with_pyreadstat(path)
    for field in table.schema:
        labels, name = labels_of(field), field.name
        assert (about.column_names_to_labels[name] or "") == labels.label
        text = pa.types.is_string(field.type)
        values = about.variable_value_labels.get(name, {})
        if path.suffix in (".sav", ".zsav"):
            assert values == labels.values
            assert about.variable_measure[name] == (labels.measure or "unknown")
            declared = [entry["lo"] for entry in about.missing_ranges.get(name, [])]
            assert sorted(declared) == sorted(labels.missing)
        elif path.suffix == ".dta" and not text:
            codes = sorted(labels.missing)
            letters = dict(zip(codes, "abc", strict=False))
            assert values == {
                letters.get(code, code): label for code, label in labels.values.items()
            }
            assert about.missing_user_values.get(name, []) == sorted(letters.values())
        else:
            assert values == {}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_that_is_written(tmp_path: Path, seed: int, ending: str) -> None:
    table, path = labelled.made_table(seed), tmp_path / f"out{ending}"
    write_table(table, path)
    same_cells(path, table)
    back = read_table(path)
    for name in table.column_names:
        if (ending, name) != (".dta", "wage"):
            wanted = [labelled.plainly(value) for value in table.column(name).to_pylist()]
            assert [labelled.plainly(value) for value in back.column(name).to_pylist()] == wanted, (
                name
            )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_table_that_is_anonymized(tmp_path: Path, seed: int) -> None:
    source = tmp_path / "in.sav"
    write_table(labelled.made_table(seed, 40), source)
    settings = Settings.of(
        k=3,
        quasi=labelled.QUASI,
        rest="keep",
        method="mdav",
        seed=seed,
        accept_risk=["true-values", "named-columns"],
    )
    release = ma.anonymize(read_table(source), settings=settings)
    for ending in ENDINGS:
        path = tmp_path / f"out{ending}"
        release.save(path, keep_order=True)
        same_cells(path, release._arrow)
        if ending in (".sav", ".zsav", ".dta", ".xpt"):
            same_labels(path, release._arrow)
        assert sidecar_of(path).exists() == (ending not in (".sav", ".zsav"))
        back = labels_in(read_table(path))
        for name, labels in labels_in(release._arrow).items():
            assert back[name].label == labels.label
            assert back[name].measure == labels.measure
            assert sorted(back[name].values.values()) == sorted(labels.values.values())
            assert len(back[name].missing) == len(labels.missing)
