"""Labels of columns: what is read of them, which of them are in use, and what they mean."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.columns.labels import (
    TAGS,
    Labels,
    Understood,
    as_labels_say,
    code_of_tag,
    in_use,
    labels_in,
    occurring,
    plain_code,
    tag_of_code,
    understood,
    with_labels,
)
from microagg.table.schema import ColumnSettings, Kind


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_comes_back_from_its_number(tag: str) -> None:
    code = code_of_tag(tag)
    assert tag_of_code(code) == tag
    assert tag_of_code(float(code)) == tag
    assert code_of_tag(tag.upper()) == code


def test_numbers_beside_the_tags_have_none() -> None:
    codes = sorted(map(code_of_tag, TAGS))
    assert codes == list(range(codes[0], codes[0] + len(TAGS)))
    for code in (codes[0] - 1, codes[-1] + 1, codes[0] + 0.5, 0, -9, "a", "97"):
        assert tag_of_code(code) is None


FULL = Labels("Sex", {1: "f", 2: "m", "x": "other"}, "nominal", (-9, (97.0, 99.0), "k.A."))


def test_labels_come_back_from_their_data() -> None:
    for labels in (FULL, Labels(), Labels("Sex"), Labels(measure="ordinal"), Labels(missing=(3,))):
        assert Labels.from_data(labels.as_data()) == labels
        assert bool(labels) == (labels != Labels())
    assert Labels.from_data({"values": [[1.0, "f"]], "missing": [[2, 3]]}) == Labels(
        values={1: "f"}, missing=((2.0, 3.0),)
    )


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        ["label"],
        {"label": "Sex", "other": 1},
        {"label": 1},
        {"measure": "scalar"},
        {"measure": None},
        {"values": {"1": "f"}},
        {"values": [[1, "f", "g"]]},
        {"values": [[1]]},
        {"values": [(1, "f")]},
        {"values": [[1, 2]]},
        {"values": [[True, "f"]]},
        {"values": [[math.nan, "f"]]},
        {"values": [[None, "f"]]},
        {"missing": "97"},
        {"missing": {"97": 1}},
        {"missing": [None]},
        {"missing": [[1, 2, 3]]},
        {"missing": [[1]]},
    ],
)
def test_other_data_are_no_labels(data: Any) -> None:
    with pytest.raises(ValueError, match=r"no labels|no code"):
        Labels.from_data(data)


@pytest.mark.parametrize(
    ("code", "plain"),
    [(3.0, 3), (3.5, 3.5), ("3", "3"), (2.0**53, 2.0**53), (-(2.0**53) + 1, 1 - 2**53)]
    + [(math.inf, math.inf), (7, 7)],
)
def test_codes_are_found_by_value(code: Any, plain: Any) -> None:
    assert (plain_code(code), type(plain_code(code))) == (plain, type(plain))


def test_both_ends_of_a_range_are_missing() -> None:
    codes = [-9, -8, 96.9, 97, 98.5, 99, 99.1, "k.A.", "97", "x"]
    assert [code for code in codes if FULL.is_missing(code)] == [-9, 97, 98.5, 99, "k.A."]


def test_recoded_labels() -> None:
    recoded = FULL.recoded({2: 7, -9: -1, "x": "y", 97.0: 1})
    assert dict(recoded.values) == {1: "f", 7: "m", "y": "other"}
    assert recoded.missing == (-1, (97.0, 99.0), "k.A.")
    assert (recoded.label, recoded.measure) == ("Sex", "nominal")


def column(*values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def test_only_values_that_occur_keep_their_labels() -> None:
    used = in_use(FULL, column(2, 98, 97, 5, None))
    assert list(used.values.items()) == [(2, "m")]
    assert used.missing == (97, 98)
    assert (used.label, used.measure) == ("Sex", "nominal")
    grades = {"low": "L", "high": "H", "mid": "M"}
    texts = column("mid", "high", "low")
    assert list(in_use(Labels("", grades, "ordinal"), texts).values) == ["low", "high", "mid"]
    assert list(in_use(Labels("", grades, "nominal"), texts).values) == ["high", "low", "mid"]
    numbers = {3: "c", 1: "a", 2: "b"}
    assert list(in_use(Labels("", numbers, "ordinal"), column(1, 2, 3)).values) == [1, 2, 3]
    assert occurring(column(1.0, math.nan, None, 2.5)) == {1, 2.5}
    assert occurring(column("a", None).cast(pa.dictionary(pa.int8(), pa.string()))) == {"a"}
    assert occurring(column(True)) == set()


@pytest.mark.parametrize(
    ("labels", "values", "expected"),
    [
        (Labels(), [1, 2], Understood()),
        (Labels("Age"), [1, 2], Understood()),
        (Labels("", {1: "f", 2: "m"}), [1, 2], Understood(Kind.NOMINAL, (), True)),
        (Labels("", {1: "f", 2: "m"}), [1, 3], Understood(None, (), False, True)),
        (Labels("", {1: "f"}, "", (3,)), [1, 3], Understood(Kind.NOMINAL, (3,), True)),
        (Labels("", {1: "f"}, "ordinal"), [1, 3], Understood(Kind.ORDINAL, (), False)),
        (Labels("", {1: "f"}, "ordinal"), [1], Understood(Kind.ORDINAL, (), True)),
        (Labels("", {9: "f"}), [1], Understood()),
        (Labels("", {9: "f"}, "", ((5.0, 7.0), 9)), [9, 7, 5, 1], Understood(None, (5, 7, 9))),
        (Labels("", {}, "nominal"), [None, None], Understood(Kind.NOMINAL)),
        (Labels("", {}, "scale"), [1, 2], Understood()),
        (
            Labels("", {"b": "B", "c": "C", "a": "A"}, "ordinal"),
            ["a", "b"],
            Understood(Kind.ORDINAL, (), True, levels=("b", "a")),
        ),
        (Labels("", {"b": "B"}, "ordinal"), ["a", "b"], Understood(None, (), False)),
        (Labels("", {"b": "B"}, "nominal"), ["b"], Understood(None, (), True)),
    ],
)
def test_what_labels_mean(labels: Labels, values: list[Any], expected: Understood) -> None:
    kind = pa.int64() if values[0] is None else None
    assert understood(labels, pa.chunked_array([pa.array(values, kind)])) == expected


def test_what_the_user_says_comes_before_labels() -> None:
    table = with_labels(
        pa.table({"sex": [1, 2, 2], "age": [31, -9, 97], "town": ["a", "b", "a"]}),
        {
            "sex": Labels("", {1: "f", 2: "m"}),
            "age": Labels("", {}, "", (-9, 97)),
            "town": Labels("", {"b": "B", "a": "A"}, "ordinal"),
        },
    )
    assert list(labels_in(table)) == ["sex", "age", "town"]
    settings = as_labels_say(ColumnSettings(), table)
    assert settings.kinds == {"sex": Kind.NOMINAL, "town": Kind.ORDINAL}
    assert settings.levels == {"town": ("b", "a")}
    assert settings.special == {"age": (-9, 97)}
    settings = as_labels_say(ColumnSettings(na=("97",), special={"age": (98, -9)}), table)
    assert settings.special == {"age": (98, -9)}
    kinds = {"sex": Kind.NUMERIC, "age": Kind.NOMINAL, "town": Kind.NOMINAL}
    settings = as_labels_say(ColumnSettings(kinds=kinds), table)
    assert settings.kinds == kinds
    assert settings.aggregate == {"sex": "median"}
    assert settings.special == {}
    assert settings.levels == {}
    levels = {"age": ("-9", "31", "97")}
    ordinal = ColumnSettings(kinds={"age": Kind.ORDINAL}, levels=levels)
    assert as_labels_say(ordinal, table).special == {}
    with pytest.raises(ma.InputError, match="'sex' have labels, and their mean"):
        as_labels_say(ColumnSettings(kinds=kinds, aggregate={"sex": "mean"}), table)
