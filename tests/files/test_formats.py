"""The list of formats: found by suffix, with their options; one line and one module make a new
one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import made_up_format
import microagg as ma
from microagg.files import formats
from microagg.files.columnar.parquet_folder import format_of_part
from microagg.files.commit.writing import write_table
from microagg.files.formats import (
    format_of,
    known_names,
    known_suffixes,
    options_for,
    options_shared,
)
from microagg.files.reading import read_as_numbers, read_table, read_written

TABLE = pa.table({"age": [31, 32, None], "zip": ["007", None, ""]})


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch):
    """Add formats of the made-up module by their lines."""

    def lines(*entries: str) -> None:
        listed = (*made_up_format.FIRST, *(f"made_up_format:{entry}" for entry in entries))
        monkeypatch.setattr(formats, "FORMATS", listed)

    return lines


def test_every_entry_is_declared_in_full() -> None:
    seen: list[str] = []
    for format in formats.formats():
        assert format.name
        assert format.suffixes
        assert all(
            suffix == suffix.lower() and suffix.startswith(".") for suffix in format.suffixes
        )
        assert bool(format.needs) == bool(format.extra)
        seen += format.suffixes
    assert len(set(seen)) == len(seen), "a suffix that two formats claim"


WRITABLE = [format for format in formats.formats() if not format.read_only]


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_every_format_gives_back_what_it_says_it_holds(
    tmp_path: Path, format: formats.Format
) -> None:
    path = tmp_path / f"out{format.suffixes[0]}"
    write_table(TABLE, path)
    texts = pa.table({"age": ["31", "32", None], "zip": ["007", None, ""]})
    expected = (
        TABLE if format.empties else pa.table({"age": [31, 32, None], "zip": ["007", None, None]})
    )
    back = format.read(path, **format.read_back)
    assert back.equals(expected if format.typed else texts)
    assert read_table(path).equals(expected)
    path.unlink()
    nested = pa.table({"a": [[1], [2, 3]]})
    if format.nested:
        write_table(nested, path)
        assert read_table(path).equals(nested)
    else:
        with pytest.raises(ma.InputError, match=rf"{format.one_file} cannot hold all columns"):
            write_table(nested, path)


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_what_a_file_was_written_with_is_found_out(tmp_path: Path, format: formats.Format) -> None:
    path = tmp_path / f"out{format.suffixes[0]}"
    write_table(TABLE, path)
    assert format.detect(path).items() <= format.options.items()


@pytest.mark.slow
@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_the_same_table_is_the_same_bytes_at_another_time(
    tmp_path: Path, format: formats.Format
) -> None:
    path = tmp_path / f"out{format.suffixes[0]}"
    write_table(TABLE, path)
    first = path.read_bytes()
    shown = time.localtime().tm_year
    assert str(shown).encode() not in first
    if format.name not in ("csv", "parquet", "Arrow"):
        time.sleep(1.1)  # headers have seconds
    write_table(TABLE, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("format", [format for format in formats.formats() if format.read_only])
def test_formats_that_are_read_only_say_so(tmp_path: Path, format: formats.Format) -> None:
    path = tmp_path / f"out{format.suffixes[0]}"
    release = ma.anonymize(pa.table({"age": [31, 31, 32, 32]}), 2, quasi=["age"], seed=1)
    with pytest.raises(ma.InputError, match=r"can be read and not written; name a \.xpt file"):
        release.save(path)
    assert not list(tmp_path.iterdir())


def test_a_type_that_no_file_can_hold(tmp_path: Path) -> None:
    odd = pa.table({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(
        ma.InputError, match=r"a parquet file cannot hold all columns of this table; leave out"
    ):
        write_table(odd, tmp_path / "out.parquet")


@pytest.mark.parametrize(
    "name", ["in", "in.txt", ".csv", "csv", "in.csv.part", "in.parquet.csvx", ""]
)
def test_names_that_tell_no_format(add, name: str) -> None:
    add()
    with pytest.raises(ma.InputError, match=r"name a file that ends in \.csv or \.parquet\.$"):
        format_of(Path(name))


def test_a_part_has_the_format_of_its_target() -> None:
    assert format_of_part(Path(".12.out.Parquet.part")) is format_of(Path("out.parquet"))
    with pytest.raises(ma.InputError, match="cannot tell the format"):
        format_of_part(Path(".part"))


def test_options(add, tmp_path: Path) -> None:
    add("RIBBON", "CARD")
    csv, ribbon, card = (format_of(Path(f"a.{name}")) for name in ("csv", "ribbon", "card"))
    assert options_for(csv, {"mark": "#"}) == dict(csv.options), "an option of others"
    assert options_for(ribbon, {"mark": "#"}) == {"mark": "#"}
    assert options_for(card, {"mark": "#"}) == {}
    with pytest.raises(
        ma.InputError,
        match=r"no option 'delimter'; there are: dates, decimal, delimiter, encoding, "
        r"escape_formulas, line_end, mark, thousands\.$",
    ):
        options_for(csv, {"delimter": ";"})
    source = tmp_path / "in.ribbon"
    write_table(TABLE, source, mark="#")
    shared = {name: options_shared(source, Path(f"out.{name}")) for name in ("rib", "card", "csv")}
    assert shared == {"rib": {"mark": "#"}, "card": {}, "csv": {}}


def test_a_made_up_format(add, tmp_path: Path) -> None:
    path = tmp_path / "in.ribbon"
    add()
    with pytest.raises(ma.InputError, match=r"ends in \.csv or \.parquet\.$"):
        write_table(TABLE, path)
    add("RIBBON")
    write_table(TABLE, path, mark="#")
    assert path.read_text() == '#["age", "zip"]\n#["31", "007"]\n#["32", null]\n#[null, ""]\n'
    assert read_table(path).equals(TABLE)
    assert read_written(path, mark="#").schema.types == [pa.string()] * 2
    assert known_suffixes() == ".csv, .parquet, .ribbon or .rib"
    assert known_names() == "csv, parquet or ribbon"
    with pytest.raises(ma.InputError, match=r"ends in \.csv, \.parquet, \.ribbon or \.rib\.$"):
        format_of(Path("in.txt"))
    (tmp_path / "folder.rib").mkdir()
    with pytest.raises(ma.InputError, match="name a csv, parquet or ribbon file"):
        read_table(tmp_path / "folder.rib")
    with pytest.raises(
        ma.InputError, match=r"a ribbon file cannot hold all .*; write a parquet file"
    ):
        write_table(pa.table({"a": [[1]]}), path)


def test_types_are_found_where_a_format_has_none(add, tmp_path: Path) -> None:
    add("RIBBON", "TYPED_CARD")
    for name in ("in.ribbon", "in.card"):
        write_table(pa.table({"age": ["31", "032"], "year": ["1984", "1985"]}), tmp_path / name)
    assert read_table(tmp_path / "in.ribbon").schema.types == [pa.string(), pa.int64()]
    assert read_as_numbers(tmp_path / "in.ribbon").schema.types == [pa.int64(), pa.int64()]
    for read in (read_table, read_as_numbers):
        assert read(tmp_path / "in.card").schema.types == [pa.string(), pa.string()]


def test_the_longest_suffix_counts(add, monkeypatch: pytest.MonkeyPatch) -> None:
    rolled = replace(made_up_format.RIBBON, name="rolled", suffixes=(".ribbon.csv",))
    monkeypatch.setattr(made_up_format, "ROLLED", rolled, raising=False)
    add("ROLLED")
    assert format_of(Path("a.ribbon.csv")).name == "rolled"
    assert format_of(Path("a.csv")).name == "csv"


def test_a_package_that_is_missing(add) -> None:
    add("LACKING")
    says = r"ribbon files need no_such_package, .* pip install 'microagg\[ribbons\]'"
    with pytest.raises(ma.InputError, match=says):
        format_of(Path("in.ribbon"))
    assert format_of(Path("in.csv")).name == "csv"
