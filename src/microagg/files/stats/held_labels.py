"""Labels and missing codes that files of SPSS, Stata and SAS can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from microagg.files.stats.targets import LARGEST, SMALLEST, TARGETS
from microagg.table.columns.arrow import is_text
from microagg.table.columns.labels import (
    Code,
    Labels,
    code_of_tag,
    occurring,
    plain_code,
    tag_of_code,
)

CUT = "…"


def tags_for(labels: Labels, column: pa.ChunkedArray) -> dict[Code, str]:
    """Return Stata's tag for each code that is declared missing and occurs: its own, else a free
    one.

    >>> tags_for(Labels(missing=(-9, -8)), pa.chunked_array([[1, -8, -9]]))
    {-9: 'a', -8: 'b'}
    """
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        return {}
    codes = sorted(code for code in occurring(column) if labels.is_missing(code))
    original = {code: tag for code in codes if (tag := tag_of_code(code)) and tag != "_"}
    free = [tag for tag in "abcdefghijklmnopqrstuvwxyz" if tag not in original.values()]
    others = [code for code in codes if code not in original]
    if len(others) > len(free):
        return {}
    tags = original | dict(zip(others, free, strict=False))
    return {code: tags[code] for code in codes}


def held_by(package: str, labels: Labels, column: pa.ChunkedArray) -> Labels:
    """Return the labels of a column that a file of a package holds, as they are read back."""
    if not labels:
        return labels
    target = TARGETS[package]
    label = _cut(labels.label, target.label)
    if package == "SAS":
        return Labels(label)
    text = is_text(column.type) or pa.types.is_dictionary(column.type)
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values = {
        code: _cut(value_label, target.value)
        for code, value_label in labels.values.items()
        if value_label
    }
    if not (text or plain):
        return Labels(label, {}, labels.measure if target.measures else "")
    values = {
        code: value_label for code, value_label in values.items() if isinstance(code, str) == text
    }
    if package == "SPSS":
        missing = _declared(labels, column, text=text)
        if text:
            values = {
                code: value_label for code, value_label in values.items() if _can_be_labelled(code)
            }
        return Labels(label, values, labels.measure, missing)
    if text:
        return Labels(label)
    tags = tags_for(labels, column)
    for code in tags:
        values.setdefault(code, str(code) if tag_of_code(code) is None else "")
    recoded = replace(labels, label=label, values=values, measure="", missing=tuple(tags)).recoded(
        {code: code_of_tag(tag) for code, tag in tags.items()}
    )
    kept = {
        code: value_label
        for code, value_label in recoded.values.items()
        if value_label
        and not isinstance(code, str)
        and (code in recoded.missing or (code == int(code) and SMALLEST <= code <= LARGEST))
    }
    return Labels(
        label, dict(sorted(kept.items())), "", tuple(sorted(recoded.missing, reverse=True))
    )  # fmt: skip


def _can_be_labelled(code: Code) -> bool:
    return isinstance(code, str) and 0 < len(code.encode()) <= 120


def _cut(text: str, longest: int) -> str:
    """Shorten a text to a number of bytes; the sidecar file has the whole of it."""
    if len(text.encode()) <= longest:
        return text
    return text.encode()[: longest - len(CUT.encode())].decode(errors="ignore").rstrip() + CUT


def _declared(labels: Labels, column: pa.ChunkedArray, *, text: bool) -> tuple[Any, ...]:
    """Return missing codes as SPSS declares them: three, or a range and one more; none if
    impossible.
    """
    if text:
        codes = [
            code for code in labels.missing if isinstance(code, str) and len(code.encode()) <= 8
        ]
        return tuple(codes) if len(codes) == len(labels.missing) <= 3 else ()
    ranges = [code for code in labels.missing if isinstance(code, tuple)]
    codes = sorted(code for code in labels.missing if not isinstance(code, tuple | str))
    if not ranges and len(codes) <= 3:
        return tuple(codes)
    if len(ranges) == 1 and len(codes) <= 1:
        return (*ranges, *codes)
    values = [value for value in occurring(column) if not labels.is_missing(value)]
    if ranges:
        return ()
    for low, high, rest in (
        (codes[0], codes[-1], []),
        (codes[0], codes[-2], codes[-1:]),
        (codes[1], codes[-1], codes[:1]),
    ):
        if not any(not isinstance(value, str) and low <= value <= high for value in values):
            return ((float(low), float(high)), *map(plain_code, rest))
    return ()
