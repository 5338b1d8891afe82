"""The limits of SPSS, Stata and SAS files: the last value that comes back, and the first that is
refused.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.files.stats.held_labels import held_by, tags_for
from microagg.files.stats.names import RULES, propose_names
from microagg.files.stats.targets import LARGEST, SMALLEST, TARGETS
from microagg.files.stats.writing import _shown
from microagg.table.columns.labels import Labels, code_of_tag

ENDINGS = {"SPSS": ".sav", "Stata": ".dta", "SAS": ".xpt"}


def column(*values: Any, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def back(folder: Path, package: str, values: pa.ChunkedArray) -> list[Any]:
    path = folder / f"out{ENDINGS[package]}"
    write_table(pa.table({"x": values}), path)
    return read_table(path).column("x").to_pylist()


@pytest.mark.parametrize(
    ("package", "largest", "too_large"),
    [("SPSS", 1.7e308, 1.75e308), ("Stata", 8.9e307, 8.95e307), ("SAS", 8.9e74, 8.95e74)],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_numbers(
    tmp_path: Path, package: str, largest: float, too_large: float, sign: float
) -> None:
    *values, gap = back(tmp_path, package, column(sign * largest, 0.5, None))
    assert values == pytest.approx([sign * largest, 0.5], rel=1e-15)
    assert gap is None
    with pytest.raises(ma.InputError, match="larger or smaller"):
        back(tmp_path, package, column(0.5, sign * too_large))


def test_the_smallest_numbers(tmp_path: Path) -> None:
    assert back(tmp_path, "SAS", column(0.0, 6e-79, -6e-79)) == pytest.approx([0, 6e-79, -6e-79])
    for small in (5e-79, -5e-79):
        with pytest.raises(ma.InputError, match="larger or smaller"):
            back(tmp_path, "SAS", column(1.5, small))
        for package in ("SPSS", "Stata"):
            assert back(tmp_path, package, column(1.5, small)) == [1.5, small]


@pytest.mark.parametrize(
    ("package", "first_day"), [("SPSS", -141_427), ("Stata", -679_350), ("SAS", -138_061)]
)
def test_the_first_and_the_last_day(tmp_path: Path, package: str, first_day: int) -> None:
    days = [first_day, first_day + 1, 0, 2_932_896, None]
    kept = column(*days, kind=pa.int32()).cast(pa.date32())
    assert back(tmp_path, package, kept) == kept.to_pylist()
    midnights = kept.cast(pa.timestamp("ms"))
    assert back(tmp_path, package, midnights) == midnights.to_pylist()
    for outside in (first_day - 1, 2_932_897):
        wrong = pa.array([0, outside], pa.int32()).cast(pa.date32())
        with pytest.raises(ma.InputError, match="dates that"):
            back(tmp_path, package, pa.chunked_array([wrong]))
    early = pa.array([first_day * 86_400_000 - 1], pa.timestamp("ms"))
    with pytest.raises(ma.InputError, match="dates that"):
        back(tmp_path, package, pa.chunked_array([early]))


@pytest.mark.parametrize("package", ENDINGS)
def test_moments_and_times(tmp_path: Path, package: str) -> None:
    stamps = column(
        datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000),
        datetime.datetime(2024, 1, 31, 12, 30),
        None,
    ).cast(pa.timestamp("ms"))
    assert back(tmp_path, package, stamps) == stamps.to_pylist()
    times = column(datetime.time(0, 0, 1), datetime.time(23, 59, 59), None, kind=pa.time32("s"))
    assert back(tmp_path, package, times) == times.to_pylist()
    assert back(tmp_path, package, column(True, False, None)) == [1, 0, None]


@pytest.mark.parametrize("package", ["SPSS", "SAS"])
def test_the_longest_text(tmp_path: Path, package: str) -> None:
    longest = "ü" * 16_383 + "x"
    assert back(tmp_path, package, column(longest, "a", "")) == [longest, "a", None]
    with pytest.raises(ma.InputError, match="text longer"):
        back(tmp_path, package, column(longest + "x"))
    with pytest.raises(ma.InputError, match="ends in blanks"):
        back(tmp_path, package, column("a", "a "))
    assert back(tmp_path, package, column(" a", "a b")) == [" a", "a b"]


@pytest.mark.parametrize("package", ENDINGS)
@pytest.mark.parametrize("number", [SMALLEST, SMALLEST - 1, LARGEST, LARGEST + 1, 2**53, -(2**53)])
def test_whole_numbers_of_every_size(tmp_path: Path, package: str, number: int) -> None:
    assert back(tmp_path, package, column(number, 0, None)) == [number, 0, None]


@pytest.mark.parametrize(
    ("numbers", "means", "shown"),
    [
        ([1.0, -20.0], "whole", "F8.0"),
        ([1_234_567.0], "whole", "F9.0"),
        ([0.5, 1.25], "number", "F8.2"),
        ([1234.5], "number", "F8.1"),
        ([1234567.5], "number", "F10.1"),
        ([1 / 3], "number", "F9.6"),
        ([1e300], "number", "F19.1"),
        ([], "number", "F8.1"),
        ([float("nan"), -12_345_678.0], "whole", "F10.0"),
    ],
)
def test_columns_are_shown_wide_enough(numbers: list[float], means: str, shown: str) -> None:
    assert _shown(TARGETS["SPSS"], means, column(*numbers, kind=pa.float64())) == shown


def test_tags_of_missing_codes() -> None:
    original = code_of_tag("b")
    labels = Labels(missing=(-9, original, (97.0, 99.0)))
    assert tags_for(labels, column(1, 97, original, 99, -9, None)) == {
        original: "b",
        -9: "a",
        97: "c",
        99: "d",
    }
    assert tags_for(labels, column(1, 2)) == {}
    assert tags_for(Labels(missing=("x",)), column("x")) == {}
    codes = list(range(-30, 0))
    for count in (26, 27):
        tags = tags_for(Labels(missing=tuple(codes[:count])), column(1, *codes[:count]))
        assert len(tags) == (26 if count == 26 else 0)
        assert len(set(tags.values())) == len(tags)


def test_what_each_package_holds_of_labels() -> None:
    labels = Labels("Age", {1: "one", 2.5: "part", LARGEST + 1: "far", -9: "gone"}, "scale", (-9,))
    numbers = column(1.0, 2.5, -9.0)
    assert held_by("SAS", labels, numbers) == Labels("Age")
    assert held_by("SPSS", labels, numbers) == labels
    tag = code_of_tag("a")
    assert held_by("Stata", labels, numbers) == Labels("Age", {1: "one", tag: "gone"}, "", (tag,))
    for package in ENDINGS:
        assert held_by(package, Labels(), numbers) == Labels()
    texts = Labels(
        "Town", {"u": "Ulm", "": "none", 1: "number", "x" * 121: "long"}, "nominal", ("?",)
    )
    held = held_by("SPSS", texts, column("u", "?"))
    assert held == Labels("Town", {"u": "Ulm"}, "nominal", ("?",))
    assert held_by("Stata", texts, column("u")) == Labels("Town")
    truths = Labels("Sick", {1: "yes"}, "nominal", (0,))
    assert held_by("SPSS", truths, column(True)) == Labels("Sick", {}, "nominal")
    assert held_by("Stata", truths, column(True)) == Labels("Sick")


@pytest.mark.parametrize(
    ("missing", "held"),
    [
        (("a", "b", "c"), ("a", "b", "c")),
        (("a", "b", "c", "d"), ()),
        (("x" * 8,), ("x" * 8,)),
        (("x" * 9,), ()),
        (("a", 7), ()),
    ],
)
def test_missing_texts_as_spss_declares_them(missing: tuple[Any, ...], held: Any) -> None:
    assert held_by("SPSS", Labels("", {}, "", missing), column("a", "z")).missing == held


@pytest.mark.parametrize(
    ("missing", "values", "held"),
    [
        ((1, 2, 3), [1, 9], (1, 2, 3)),
        (((1.0, 2.0), (5.0, 6.0)), [9], ()),
        (((1.0, 2.0), 5), [9], ((1.0, 2.0), 5)),
        (((1.0, 2.0), 5, 6), [9], ()),
        ((1, 2, 3, 4), [9], ((1.0, 4.0),)),
        ((1, 2, 3, 40), [9], ((1.0, 3.0), 40)),
        ((1, 20, 30, 40), [9], ((20.0, 40.0), 1)),
        ((1, 20, 30, 40), [1, 40], ((1.0, 40.0),)),
        ((1, 20, 30, 40), [9, 25, 35], ()),
        ((1, 20, 30, 40), [9, 39], ()),
    ],
)
def test_missing_numbers_as_spss_declares_them(
    missing: tuple[Any, ...], values: list[int], held: tuple[Any, ...]
) -> None:
    """No value that is not missing lies in a range."""
    assert held_by("SPSS", Labels("", {}, "", missing), column(*values)).missing == held


@pytest.mark.parametrize("package", ["SPSS", "Stata"])
def test_labels_are_cut_from_the_byte_on_that_does_not_fit(package: str) -> None:
    target, numbers = TARGETS[package], column(1)
    label = "x" * (target.label - 2) + "ü"
    whole = Labels(label, {1: "y" * target.value})
    assert held_by(package, whole, numbers) == whole
    held = held_by(package, Labels(label + "x", {1: "y" * (target.value + 1)}), numbers)
    assert held.label == "x" * (target.label - 3) + "…"
    assert held.values[1] == "y" * (target.value - 3) + "…"


@pytest.mark.parametrize("package", RULES)
def test_the_longest_names(package: str) -> None:
    rules = RULES[package]
    assert rules.fits("a" * rules.longest)
    assert not rules.fits("a" * (rules.longest + 1))
    if rules.unit == "bytes" and package == "SPSS":
        assert rules.fits("ü" * 32)
        assert not rules.fits("ü" * 33)
    names = [
        "x" * (rules.longest + 5),
        "x" * (rules.longest + 6),
        "1st",
        "",
        "a b",
        "a_b",
        "if",
        "_all_",
        "to",
    ]
    wrong = [name for name in names if not rules.fits(name)]
    proposed = propose_names(package, names, wrong)
    assert list(proposed) == wrong
    assert all(map(rules.fits, proposed.values()))
    keys = [rules.key(name) for name in (*proposed.values(), *(set(names) - set(wrong)))]
    assert len(set(keys)) == len(keys)
    assert proposed["a b"] == "a_b_2"
    assert proposed[names[0]] == "x" * rules.longest
    assert proposed[names[1]] == "x" * (rules.longest - 2) + "_2"


@pytest.mark.parametrize("change", ["one byte more", "one byte less", "no mark", "fewer records"])
def test_transport_files_are_whole(tmp_path: Path, change: str) -> None:
    path = tmp_path / "out.xpt"
    write_table(pa.table({"x": range(50), "y": range(50)}), path)
    content = path.read_bytes()
    assert len(content) % 80 == 0
    assert read_table(path).num_rows == 50
    path.write_bytes(
        {
            "one byte more": content + b" ",
            "one byte less": content[:-1],
            "no mark": b"X" + content[1:],
            "fewer records": content[:-240],
        }[change]
    )
    with pytest.raises(ma.InputError, match=r"not a readable SAS|is no SAS"):
        read_table(path)


@pytest.mark.parametrize("ending", [".dta", ".sav", ".xpt"])
def test_empty_and_cut_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    write_table(pa.table({"x": range(50)}), path)
    content = path.read_bytes()
    for cut in (0, 3, 20, len(content) // 2, len(content) - 5):
        path.write_bytes(content[:cut])
        with pytest.raises(ma.InputError):
            read_table(path)
