"""Text files through the command line: a German one from end to end, malformed ones, and what is
said about files in settings.
"""

from __future__ import annotations

import gzip
import json
import random
import textwrap
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.files import unpacking
from microagg.pipeline.files import anonymize_file
from microagg.release.settings import Settings
from microagg.studies.repeating import repeat_file
from running import Outcome, run

Microagg = Callable[..., Outcome]
QUASI = "Größe,Alter,Einkommen,Geburt"
ROLES = (
    "--quasi",
    QUASI,
    "--identifier",
    "Name",
    "--confidential",
    "Krankheit,Miete",
    "--keep",
    "Ort",
    "--seed",
    "1",
)
SAID = (
    "--encoding",
    "cp1252",
    "--delimiter",
    ";",
    "--decimal",
    ",",
    "--thousands",
    ".",
    "--dates",
    "%d.%m.%Y",
)
NAME = "Müller"


def german_rows(records: int = 40) -> list[str]:
    rng = random.Random(5)
    rows = ["Name;Größe;Alter;Einkommen;Miete;Geburt;Krankheit;Ort"]
    for number in range(records):
        size, income = f"{rng.randint(150, 199)}", rng.randint(90_000, 480_000)
        euros = f"{income // 100:,}".replace(",", ".")
        born = f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.{rng.randint(1950, 2000)}"
        ill, town = rng.choice(["Grippe", "Husten", "Röteln"]), rng.choice(["Köln", "Ulm"])
        rows.append(
            f"{NAME}{number};{size[0]},{size[1:]};{rng.randint(18, 80)};{euros},{income % 100:02d};"
            f"{rng.randint(300, 1500)},50;{born};{ill};{town}"
        )
    return rows


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """Semicolons, decimal commas, points that group digits, days first, CP1252, lines as Windows
    ends them.
    """
    path = tmp_path / "in.csv"
    path.write_bytes("".join(f"{row}\r\n" for row in german_rows()).encode("cp1252"))
    return path


def columns_of(path: Path, encoding: str = "cp1252", delimiter: str = ";") -> dict[str, list[str]]:
    """A text file read without microagg, by its columns."""
    header, *rows = [
        line.split(delimiter) for line in path.read_bytes().decode(encoding).splitlines()
    ]
    return {
        name.strip('"'): [row[index].strip('"') for row in rows]
        for index, name in enumerate(header)
    }


def test_a_german_file_from_end_to_end(microagg: Microagg, german: Path, tmp_path: Path) -> None:
    done = microagg(
        "anonymize", german, "out.csv", "--k", "3", "--l", "2", "--keep-order", *ROLES, *SAID
    )
    assert done.code == 0, done
    assert not [line for line in done.err.splitlines() if line.startswith("note:")], (
        "all of it was told"
    )
    written = (tmp_path / "out.csv").read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") == 41
    released, original = columns_of(tmp_path / "out.csv"), columns_of(german)
    assert (
        min(
            tables.class_sizes(
                list(zip(*(released[name] for name in QUASI.split(",")), strict=True))
            ).values()
        )
        >= 3
    )
    for name in ("Krankheit", "Miete", "Ort"):
        assert released[name] == original[name], "to the letter"
    assert all("," in size and "." not in size for size in released["Größe"] if len(size) > 1)
    assert any("." in income and "," in income for income in released["Einkommen"])
    assert all(len(born) == 10 and born[2] == born[5] == "." for born in released["Geburt"])
    mean = sum(float(x.replace(".", "").replace(",", ".")) for x in released["Einkommen"]) / 40
    before = sum(float(x.replace(".", "").replace(",", ".")) for x in original["Einkommen"]) / 40
    assert abs(mean - before) < 0.01

    assert microagg("check", "out.csv", "--k", "3", "--quasi", QUASI, *SAID).code == 0
    assessed = microagg("assess", german, "out.csv", "--quasi", QUASI, "--k", "3", *SAID)
    assert assessed.code == 0, assessed
    assert "Größe" not in assessed.err
    compared = microagg("compare", german, "--k", "3", "--quasi", QUASI, "--methods", "mdav", *SAID)
    assert compared.code == 0, compared
    again = microagg("repeat", "out.csv.internal.json", german, "again.csv")
    assert again.code == 0, again
    assert (tmp_path / "again.csv").read_bytes() == written


def test_the_same_file_without_a_word_said(
    microagg: Microagg, german: Path, tmp_path: Path
) -> None:
    done = microagg(
        "anonymize", german, "out.csv", "--k", "3", "--keep-order", *ROLES, "--dates", "%d.%m.%Y"
    )
    assert done.code == 0, done
    notes = [line for line in done.err.splitlines() if line.startswith("note:")]
    assert len(notes) == 2, notes
    assert "was read as CP1252 (Latin-1); say --encoding cp1252" in notes[0]
    assert "have decimal commas and points that group digits" in notes[1]
    assert "say --decimal , with --thousands . to settle it" in notes[1]
    outcome = microagg("anonymize", german, "told.csv", "--k", "3", "--keep-order", *ROLES, *SAID)
    assert outcome.code == 0, outcome
    assert (tmp_path / "told.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_a_proposal_repeats_what_was_said(microagg: Microagg, german: Path) -> None:
    done = microagg("anonymize", german, "out.csv", "--k", "3", *SAID)
    assert (
        "--encoding cp1252 --delimiter ';' --decimal , --thousands . --dates %d.%m.%Y"
        in " ".join(done.out.split())
    )


def test_a_german_file_becomes_an_english_one(
    microagg: Microagg, german: Path, tmp_path: Path
) -> None:
    english = (
        "--out-delimiter",
        ",",
        "--out-decimal",
        ".",
        "--out-encoding",
        "utf-8",
        "--out-dates",
        "%Y-%m-%d",
        "--out-line-end",
        "lf",
    )
    done = microagg(
        "anonymize", german, "out.csv.gz", "--k", "3", "--keep-order", *ROLES, *SAID, *english
    )
    assert done.code == 0, done
    (tmp_path / "plain.csv").write_bytes(gzip.decompress((tmp_path / "out.csv.gz").read_bytes()))
    columns = columns_of(tmp_path / "plain.csv", "utf-8", ",")
    assert [float(rent) for rent in columns["Miete"]] == [
        float(x.replace(",", ".")) for x in columns_of(german)["Miete"]
    ]
    assert all(float(income) > 100 for income in columns["Einkommen"])
    assert all(born[4] == born[7] == "-" for born in columns["Geburt"])
    manifest = json.loads((tmp_path / "out.csv.gz.internal.json").read_text())
    assert manifest["settings"]["reading"] == {
        "encoding": "cp1252",
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "dates": "%d.%m.%Y",
    }
    assert manifest["settings"]["writing"]["decimal"] == "."
    public = (tmp_path / "out.csv.gz.public.json").read_text()
    assert not any(word in public for word in ("reading", "writing", "cp1252", "thousands"))
    again = microagg("repeat", "out.csv.gz.internal.json", german, "again.csv.gz")
    assert again.code == 0, again
    assert (tmp_path / "again.csv.gz").read_bytes() == (tmp_path / "out.csv.gz").read_bytes()


def test_markers_as_the_issue_prints_them(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "a,b\n" + "".join(f"{a},{a}\n" for a in ("1", "NA", ".", "-9", "2", "3", "-9", "4"))
    )
    done = microagg(
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "2",
        "--quasi",
        "a,b",
        "--na",
        "NA,.,-9",
        "--seed",
        "1",
    )
    assert done.code == 0, done
    assert set(columns_of(tmp_path / "out.csv", "utf-8", ",")["a"]) <= {"-9", "1", "2", "3", "4"}


def test_a_manifest_of_before_is_repeated(tmp_path: Path) -> None:
    """Options of files stood beside the settings once."""
    rows = [f"{age};{age * 7}" for age in range(30, 42)]
    source = tmp_path / "in.csv"
    source.write_text("\n".join([*rows, ""]))
    anonymize_file(
        source,
        tmp_path / "out.csv",
        3,
        quasi=["1", "2"],
        seed=1,
        reading={"header": False},
        writing={"escape_formulas": True},
    )
    manifest = json.loads((tmp_path / "out.csv.internal.json").read_text())
    old = {
        name: value
        for name, value in manifest["settings"].items()
        if name not in ("reading", "writing")
    }
    manifest |= {"settings": old, "input": {**manifest["input"], "reading": {"header": False}}}
    manifest["dialect"] = {"delimiter": ";", "escape_formulas": True}
    (tmp_path / "old.internal.json").write_text(json.dumps(manifest))
    release = repeat_file(tmp_path / "old.internal.json", source, tmp_path / "again.csv")
    assert release.notes[0].startswith("the same release")
    assert (release.settings.reading, release.settings.writing) == (
        {"header": False},
        {"escape_formulas": True},
    )
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_settings_say_how_files_are_read_and_written(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("".join(f"{age}|{age},5\n" for age in range(30, 42)))
    settings = Settings.of(
        k=3,
        quasi=["1", "2"],
        seed=1,
        reading={"header": False, "decimal": ","},
        writing={"delimiter": "tab", "decimal": "."},
    )
    anonymize_file(source, tmp_path / "out.txt", settings=settings)
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert lines[0] == '"1"\t"2"'
    assert all("," not in line and line.count("\t") == 1 for line in lines)
    anonymize_file(source, tmp_path / "commas.txt", settings=settings, writing={"decimal": ","})
    assert "," in (tmp_path / "commas.txt").read_text()
    release = ma.anonymize(
        pa.table({"age": [30.5, 32.0, 60.25, 64.0]}),
        k=2,
        quasi=["age"],
        writing={"decimal": ",", "delimiter": ";"},
        seed=0,
    )
    release.save(tmp_path / "memory.csv")
    assert "31,2" in (tmp_path / "memory.csv").read_text()
    for wrong, says in (
        ({"reading": {"colour": "red"}}, "files are not read by an option 'colour'"),
        ({"writing": {"header": True}}, "files are not written by an option 'header'"),
        ({"reading": {"decimal": ";"}}, "decimal must be one of"),
        ({"writing": {"encoding": "klingon"}}, "encoding must be the name of an encoding"),
        ({"reading": ["decimal"]}, "reading must be a dictionary"),
    ):
        with pytest.raises(ma.InputError, match=says):
            Settings.of(k=3, **wrong)


PLAIN = "age,income,name\n" + "".join(f"{30 + i},{1000 + 7 * i},{NAME}{i}\n" for i in range(12))
PACKED = gzip.compress(PLAIN.encode())
STANDARD = pa.compress(PLAIN.encode(), "zstd", asbytes=True)


def rows(*changed: str, header: str = "age,income,name") -> bytes:
    return "\n".join([header, *PLAIN.splitlines()[1:6], *changed, ""]).encode()


MALFORMED: dict[str, tuple[str, bytes, str]] = {
    "empty": ("in.csv", b"", "is empty"),
    "only a line end": ("in.csv", b"\n", "begins with an empty line"),
    "only blanks": ("in.csv", b"   \n\n", "begins with an empty line"),
    "only a mark": ("in.csv", b"\xef\xbb\xbf", "is empty"),
    "only a mark of UTF-16": ("in.csv", b"\xff\xfe", "is empty"),
    "only a header": ("in.csv", b"age,income,name\n", "no records"),
    "only a header without an end": ("in.csv", b"age,income,name", "no records"),
    "a row too short": ("in.csv", rows("31,5"), "row 6"),
    "a row too long": ("in.csv", rows("31,5,x,y"), "row 6"),
    "mixed separators": ("in.csv", rows("31;5;x", "32;6;y"), "row 6"),
    "semicolons below commas": ("in.csv", b"age,income,name\n31;5;x\n32;6;y\n", "row 1"),
    "commas below semicolons": ("in.csv", b"age;income;name\n31,5,x\n32,6,y\n", "row 1"),
    "tabs below commas": ("in.tsv", b"age,income,name\n31\t5\tx\n", "row 1"),
    "a quote that stays open": ("in.csv", rows('31,5,"x', "32,6,y", "33,7,z"), "never closed"),
    "a quote that opens in a number": ("in.csv", rows('31,"5,x', "32,6,y"), ""),
    "the same name twice": ("in.csv", rows(header="age,age,name"), "same name more than once"),
    "a first row that is a record": ("in.csv", rows(header="29,900,x"), "say --no-header"),
    "a zero byte": ("in.csv", rows("31,5,\0x"), "zero bytes"),
    "a zero byte in a number": ("in.csv", rows("3\x001,5,x"), "zero bytes"),
    "nothing but zeros": ("in.csv", bytes(5000), "zero bytes"),
    "a letter cut off": (
        "in.csv",
        rows("31,5,x").replace(b"ller", b"ller\xc3\xbc") + b"\xc3",
        "in UTF-8 but for some bytes",
    ),
    "two encodings in one file": (
        "in.csv",
        rows("31,5,x") + "32,6,Grün\n".encode("cp1252"),
        "in UTF-8 but for some bytes",
    ),
    "the wrong codepage": (
        "in.csv",
        rows("31,5,x").decode().encode("cp850"),
        "neither in UTF-8 nor",
    ),
    "half of a letter of UTF-16": ("in.csv", PLAIN.encode("utf-16") + b"a", "is not in utf-16-le"),
    "a lone surrogate": (
        "in.csv",
        PLAIN.encode("utf-16") + b"\x00\xd8a\x00",
        "is not in utf-16-le",
    ),
    "UTF-32": ("in.csv", PLAIN.encode("utf-32"), "UTF-32"),
    "an Excel file": ("in.csv", b"PK\x03\x04" + bytes(range(256)), "a zip or Excel file"),
    "an old Excel file": ("in.csv", b"\xd0\xcf\x11\xe0" + bytes(range(256)), "an old Excel file"),
    "a parquet file": ("in.csv", b"PAR1" + bytes(range(256)), "a parquet file"),
    "a PDF": ("in.txt", b"%PDF-1.7\n%\xe2\xe3\n", "a PDF"),
    "an SPSS file": ("in.txt", b"$FL2@(#) SPSS DATA FILE" + bytes(99), "an SPSS file"),
    "a packed file by another name": ("in.csv", PACKED, "is packed with gzip"),
    "another packing": ("in.csv.gz", STANDARD, "is not packed with gzip"),
    "a packing that is none": ("in.csv.gz", PLAIN.encode(), "is not packed with gzip"),
    "the other packing": ("in.csv.zst", PACKED, "is not packed with zstd"),
    "a packed file cut off": ("in.csv.gz", PACKED[: len(PACKED) // 2], "is damaged"),
    "a packed file without its sum": ("in.tsv.gz", PACKED[:-4], "is damaged"),
    "a packed file with a wrong sum": (
        "in.csv.gz",
        PACKED[:-8] + b"\1\2\3\4" + PACKED[-4:],
        "is damaged",
    ),
    "rubbish behind a packed file": ("in.csv.gz", PACKED + b"rubbish", "is damaged"),
    "a packed file with wrong bytes": (
        "in.txt.zst",
        STANDARD[:20] + b"\xff" * 9 + STANDARD[29:],
        "is damaged",
    ),
    "a packed file cut off, zstd": ("in.txt.zst", STANDARD[:-5], "is damaged"),
    "nothing, packed": ("in.csv.gz", gzip.compress(b""), "is empty"),
    "an empty file that should be packed": ("in.csv.zst", b"", ""),
    "zeros, packed": ("in.csv.gz", gzip.compress(bytes(1 << 20)), "zero bytes"),
    "more than fits": (
        "in.csv.gz",
        gzip.compress(PLAIN.encode() + b"31,5,x\n" * 200_000),
        "unpacks to a table",
    ),
    "more than fits, zstd": (
        "in.tsv.zst",
        pa.compress(PLAIN.encode() + b"31,5,x\n" * 200_000, "zstd", asbytes=True),
        "unpacks to a table",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 20)
    name, content, says = MALFORMED[case]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "out.csv").write_text("age\n1\n")
    before = tables.snapshot(tmp_path)
    outcome = microagg(
        "anonymize", name, "out.csv", "--k", "3", "--quasi", "age,income", "--identifier", "name"
    )
    outcome.refused(says)
    outcome.silent_about({NAME, "Grün", "rubbish"})
    assert tables.snapshot(tmp_path) == before


def test_enough_malformed_files() -> None:
    assert len(MALFORMED) >= 40


@pytest.mark.slow
def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    """200 MB of rows, packed into less than one, where 256 MB are free."""
    packer, rows = zlib.compressobj(9, wbits=31), b"31,5\n" * (1 << 20)
    with (tmp_path / "in.csv.gz").open("wb") as file:
        file.write(packer.compress(b"age,income\n"))
        for _ in range(40):
            file.write(packer.compress(rows))
        file.write(packer.flush())
    script = textwrap.dedent(
        """
        import sys
        from microagg.files import unpacking
        unpacking.available_memory = lambda: 1 << 28
        from microagg.cli.commands import main
        sys.argv = ["microagg", "check", "in.csv.gz", "--k", "3", "--quasi", "age"]
        try:
            main()
        finally:
            # not getrusage: that counts what the parent held before this program was started
            held = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
            print(int(held[0].split()[1]) // 1024)
        """
    )
    done = run("-c", script, folder=tmp_path)
    assert done.code == 2, done
    assert "unpacks to a table" in done.err
    assert int(done.out.split()[-1]) < 400, "megabytes, Python and its libraries included"
