"""Files of SPSS, Stata and SAS: what they cannot hold is refused with a sentence, tags and dates
come back, SAS's own files are read.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import labelled
import microagg as ma
import sas7bdat
from microagg.files.commit.writing import write_table
from microagg.files.formats import format_of
from microagg.files.reading import read_table
from microagg.files.stats import reading
from microagg.files.stats.held_labels import held_by
from microagg.files.stats.sidecar import labels_beside
from microagg.table.columns.labels import Labels, code_of_tag, labels_in, labels_of, with_labels

ENDINGS = (".sav", ".zsav", ".dta", ".xpt")


@pytest.mark.parametrize(
    ("column", "says", "endings"),
    [
        (pa.array([2**53 + 2]), "whole numbers of more than 15 digits", ENDINGS),
        (pa.array([Decimal("12345678901234567.89")]), "decimals of more than 15 digits", ENDINGS),
        (pa.array([float("inf")]), "infinite numbers", ENDINGS),
        (pa.array([1e308]), "numbers larger or smaller", (".dta", ".xpt")),
        (pa.array([1e-300]), "numbers larger or smaller", (".xpt",)),
        (pa.array(["ends in blanks "]), "text that ends in blanks", (".sav", ".zsav", ".xpt")),
        (pa.array(["zero\0byte"]), "text with zero bytes", ENDINGS),
        (pa.array(["ü" * 16_384]), "text longer than 32,767 bytes", (".sav", ".zsav", ".xpt")),
        (pa.array([datetime.date(1500, 1, 1)]), "dates that", (".sav", ".zsav", ".xpt")),
        (pa.array([1], pa.timestamp("us")), "finer than thousandths of a second", ENDINGS),
        (pa.array([1], pa.timestamp("s", "UTC")), "cannot hold all columns", ENDINGS),
        (pa.array([1], pa.duration("s")), "cannot hold all columns", ENDINGS),
        (pa.array([b"x"]), "cannot hold all columns", ENDINGS),
    ],
)
def test_what_such_a_file_cannot_hold_is_refused(
    tmp_path: Path, column: pa.Array, says: str, endings: tuple[str, ...]
) -> None:
    for ending in endings:
        with pytest.raises(ma.InputError, match=says) as refusal:
            write_table(pa.table({"probe": column}), tmp_path / f"out{ending}")
        assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("name", ["two words", "1st", "", "a" * 65, "a-b", "日本" * 11])
@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_no_package_knows(tmp_path: Path, name: str, ending: str) -> None:
    if (name, ending) == ("日本" * 11, ".dta"):  # Stata counts letters, not bytes
        name += "日本" * 6
    with pytest.raises(ma.InputError, match=r"can have a column called .*say rename="):
        write_table(pa.table({name: [1]}), tmp_path / f"out{ending}")


def test_names_that_are_reserved_or_alike(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="a name that Stata keeps for itself"):
        write_table(pa.table({"long": [1]}), tmp_path / "out.dta")
    with pytest.raises(ma.InputError, match="by small letters and capitals"):
        write_table(pa.table({"age": [1], "AGE": [2]}), tmp_path / "out.sav")
    write_table(pa.table({"age": [1], "AGE": [2]}), tmp_path / "out.dta")
    assert read_table(tmp_path / "out.dta").column_names == ["age", "AGE"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_read_in_pieces(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and columns in pieces give the same table as all at once."""
    table = pa.table({f"v{number}": [row * number for row in range(50)] for number in range(7)})
    write_table(table, tmp_path / f"in{ending}")
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 8)
    monkeypatch.setattr(reading, "COLUMNS_AT_ONCE", 3)
    assert read_table(tmp_path / f"in{ending}").to_pydict() == table.to_pydict()


def test_tags_of_stata_are_codes_and_become_tags_again(tmp_path: Path) -> None:
    import polars as pl
    import pyreadstat

    path = tmp_path / "in.dta"
    frame = pl.DataFrame([pl.Series("wage", [1000, "a", 1002, "c", None, 1000], dtype=pl.Object)])
    pyreadstat.write_dta(
        frame,
        path,
        missing_user_values={"wage": ["a", "b", "c"]},
        variable_value_labels={"wage": {"a": "refused", "b": "none"}},
    )
    table = read_table(path)
    a, c = code_of_tag("a"), code_of_tag("c")
    assert table.column("wage").to_pylist() == [1000, a, 1002, c, None, 1000]
    labels = labels_of(table.schema.field("wage"))
    assert labels.values == {a: "refused", code_of_tag("b"): "none"}
    assert set(labels.missing) == {a, code_of_tag("b"), c}
    write_table(table, tmp_path / "out.dta")
    cells, about = labelled.with_pyreadstat(tmp_path / "out.dta")
    assert cells["wage"] == [1000, "a", 1002, "c", None, 1000]
    assert about.variable_value_labels["wage"]["a"] == "refused"
    write_table(table, tmp_path / "out.sav")
    assert labels_of(read_table(tmp_path / "out.sav").schema.field("wage")).is_missing(a)


def test_files_of_sas(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "age": [31.0, 32.0, None] * 20,
        "town": ["Ulm", "Köln", None] * 20,
        "wage": [1000.5, "A", "_"] * 20,
        "born": [0.0, 366.0, None] * 20,
    }
    path = sas7bdat.write(columns, tmp_path / "in.sas7bdat", {"born": "DATE9"})
    table = read_table(path)
    assert table.column("age").to_pylist()[:3] == [31, 32, None]
    assert table.column("town").to_pylist()[:3] == ["Ulm", "Köln", None]
    assert table.column("born").to_pylist()[:2] == [
        datetime.date(1960, 1, 1),
        datetime.date(1961, 1, 1),
    ]
    assert table.column("wage").to_pylist()[:3] == [1000.5, code_of_tag("A"), code_of_tag("_")]
    labels = labels_in(table)
    assert labels["wage"] == Labels("label of wage", {}, "", (code_of_tag("a"), code_of_tag("_")))
    release = ma.anonymize(table, 3, quasi=["age", "wage"], rest="drop", method="mdav", seed=1)
    assert set(release.table.column("wage").to_pylist()) <= {
        1000.5,
        code_of_tag("a"),
        code_of_tag("_"),
    }


@pytest.mark.parametrize(
    ("missing", "values", "held"),
    [
        ((-9, -8, -7), [1, -9, -8, -7], (-9, -8, -7)),
        (((-99.0, -1.0), 97), [1, -9, 97], ((-99.0, -1.0), 97)),
        ((-9, -8, -7, -6), [1, -9, -8, -7, -6], ((-9.0, -6.0),)),
        ((-9, -8, -7, 97), [1, -9, -8, -7, 97], ((-9.0, -7.0), 97)),
        ((-9, 0, 5, 97), [1, -5, 3, 90, -9, 0, 5, 97], ()),
    ],
)
def test_missing_codes_as_spss_declares_them(
    tmp_path: Path, missing: tuple[Any, ...], values: list[int], held: tuple[Any, ...]
) -> None:
    column, labels = pa.chunked_array([values]), Labels("", {}, "", missing)
    assert held_by("SPSS", labels, column).missing == held
    table = with_labels(pa.table({"probe": column}), {"probe": labels})
    write_table(table, tmp_path / "out.sav")
    back = labels_of(read_table(tmp_path / "out.sav").schema.field("probe"))
    assert set(back.missing) == set(held)
    has_labels = bool(labels_beside(table, format_of(tmp_path / "out.sav")))
    assert has_labels == any(back.is_missing(value) != labels.is_missing(value) for value in values)


@pytest.mark.parametrize("form", ["DATE11", "DATETIME20", "TIME8"])
def test_a_date_with_declared_missing_codes_keeps_them(tmp_path: Path, form: str) -> None:
    """SPSS counts seconds; as a date the code would be a day like any other."""
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    seconds = [86_400.0 * day for day in (140_000, 141_000, 0)]
    frame = pandas.DataFrame({"born": seconds})
    formats, path = {"born": form}, tmp_path / "in.sav"
    if form == "TIME8":
        frame["born"] = seconds = [3600.0, 7200.0, 0.0]
    missing = {"born": [{"lo": 0, "hi": 0}]}
    pyreadstat.write_sav(frame, path, variable_format=formats, missing_ranges=missing)
    column = read_table(path).column("born")
    assert column.to_pylist() == seconds
    assert labels_in(read_table(path))["born"].missing == (0,)
    names = {"born": {0: "unknown"}}
    pyreadstat.write_sav(frame, path, variable_format=formats, variable_value_labels=names)
    assert read_table(path).column("born").to_pylist() == seconds
    assert labels_in(read_table(path))["born"].values == names["born"]
    pyreadstat.write_sav(frame, path, variable_format=formats)
    assert pa.types.is_temporal(read_table(path).column("born").type)


def test_labels_too_long_for_a_format_are_cut_there_and_whole_beside(tmp_path: Path) -> None:
    labels = Labels("ä" * 200, {1: "ö" * 100})
    table = with_labels(pa.table({"probe": [1]}), {"probe": labels})
    for ending in (".sav", ".dta"):
        write_table(table, tmp_path / f"out{ending}")
        back = labels_of(read_table(tmp_path / f"out{ending}").schema.field("probe"))
        assert back.label.endswith("…")
        assert labels.label.startswith(back.label[:-1])
        assert labels_beside(table, format_of(tmp_path / f"out{ending}")) == {"probe": labels}


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_promises_are_verified_in_the_codes_of_the_release(tmp_path: Path, ending: str) -> None:
    """A declared missing code is no value for l, also where a file has another code for it; yes and
    no stay nominal for t.
    """
    table = pa.table(
        {
            "age": [30, 31, 32, 33] * 6,
            "wage": [-9, 1000, 2000, 3000] * 6,
            "member": [True, False] * 12,
        }
    )
    table = with_labels(table, {"wage": Labels(missing=(-9,))})
    release = ma.anonymize(
        table, 4, quasi=["age"], confidential=["wage", "member"], l=2, t=0.6, method="mdav", seed=1
    )
    release.save(tmp_path / f"out{ending}")
    result = ma.check(
        read_table(tmp_path / f"out{ending}"),
        ["age"],
        4,
        confidential=["wage", "member"],
        l=2,
        t=0.6,
        nominal=["member"],
    )
    assert result.findings
    assert [finding.worst for finding in result.findings] == [
        finding.worst for finding in release.anonymity.findings
    ]


def test_files_of_other_programs_are_told_by_their_beginning(tmp_path: Path) -> None:
    for name, beginning in (("a.sav", b"PK\x03\x04 a zip"), ("b.sav", b"\x89HDF and more")):
        (tmp_path / name).write_bytes(beginning)
        with pytest.raises(ma.InputError, match="is not an SPSS file, although its name says so"):
            read_table(tmp_path / name)
