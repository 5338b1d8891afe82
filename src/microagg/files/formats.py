"""The list of all file formats. A new format is one line here: the dotted name of its entry.

The command line names the suffixes in its help, so a format's module imports pyarrow and the like
within its functions.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from microagg.errors import InputError, needs_extra
from microagg.files.format import Format
from microagg.files.stores.locations import Url, parse_location
from microagg.table.columns.text_options import check_same_signs
from microagg.table.parameters import Parameter

FORMATS: tuple[str, ...] = (
    *(f"microagg.files.text.csv_format:{entry}" for entry in ("CSV", "CSV_GZ", "CSV_ZST")),
    *(f"microagg.files.text.csv_format:{entry}" for entry in ("TSV", "TSV_GZ", "TSV_ZST")),
    *(f"microagg.files.text.csv_format:{entry}" for entry in ("TXT", "TXT_GZ", "TXT_ZST")),
    "microagg.files.columnar.parquet_format:PARQUET",
    "microagg.files.columnar.arrow_format:ARROW",
    "microagg.files.excel.xlsx_format:XLSX",
    "microagg.files.stats.spss_format:SAV",
    "microagg.files.stats.spss_format:ZSAV",
    "microagg.files.stats.stata_format:DTA",
    "microagg.files.stats.sas_format:XPT",
    "microagg.files.stats.sas_format:SAS7BDAT",
)

PART = ".part"
"""What is added to the name of a file while it is being written beside its place."""

LEFT = re.compile(r"\.[0-9a-f]+\.(.+)\.part", re.DOTALL)
"""What such a name is, whatever stands in it for the one of the place."""


def formats() -> tuple[Format, ...]:
    """All formats, in the order of the list.

    >>> [format.suffixes for format in formats()][:2]
    [('.csv',), ('.csv.gz',)]
    """
    return _loaded(FORMATS)


def format_of(path: Path | Url) -> Format:
    """The format that a file's name asks for, ready to be used.

    >>> format_of(Path("survey.2024.CSV")).name
    'csv'
    """
    # which refuses addresses that nothing is read from, whose names may hold keys
    parse_location(path)
    name = path.name.lower()
    fitting = [
        (len(suffix), format)
        for format in formats()
        for suffix in format.suffixes
        if name.endswith(suffix) and name != suffix
    ]
    if not fitting:
        raise InputError(
            f"cannot tell the format of {path.name!r}; name a file that ends in {known_suffixes()}."
        )
    _, found = max(fitting, key=lambda pair: pair[0])  # ".csv.gz" is more than ".gz"
    for package in found.needs:
        if importlib.util.find_spec(package) is None:
            raise InputError(needs_extra(f"{found.name} files need", package, found.extra))
    return found


def known_suffixes() -> str:
    """The suffixes of all formats, as a sentence lists them.

    >>> ".parquet" in known_suffixes()
    True
    """
    return _one_of(suffix for format in formats() for suffix in format.suffixes)


def known_names(*, nested: bool = False) -> str:
    """The names of all formats, or of those that hold lists and the like, as a sentence lists them.

    >>> "csv" in known_names(), "csv" in known_names(nested=True)
    (True, False)
    """
    return _one_of(format.name for format in formats() if format.nested or not nested)


def options_for(format: Format, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a format: as given, else as always. Those that only other formats take are
    passed over.

    >>> options_for(format_of(Path("a.csv")), {})["delimiter"], options_for(format_of(Path("a.parquet")), {"delimiter": ";"})
    (',', {})
    """
    known = {name for each in formats() for name in each.options}
    for name in given:
        if name not in known:
            raise InputError(
                f"files have no option {name!r}; there are: {', '.join(sorted(known))}."
            )
    return {name: given.get(name, default) for name, default in format.options.items()}


def reading_options() -> dict[str, Parameter]:
    """What can be said about files to be read, whatever their format.

    >>> "header" in reading_options()
    True
    """
    return {declared.name: declared for format in formats() for declared in format.reading}


def options_said(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said about a file to be read, whatever its format, checked.

    >>> options_said({"header": False, "delimiter": "tab"})
    {'header': False, 'delimiter': '\\t'}
    """
    known = reading_options()
    for name in given:
        if name not in known:
            raise InputError(
                f"files are not read by an option {name!r}; there are: {', '.join(known)}."
            )
    return {name: known[name].parse(value) for name, value in given.items()}


def options_to_read(format: Format, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said about a file to be read, checked. What only other formats take is passed
    over.

    >>> options_to_read(format_of(Path("a.csv")), {"header": False}), options_to_read(format_of(Path("a.parquet")), {"header": False})
    ({'header': False}, {})
    """
    checked = options_said(given)
    return {
        declared.name: checked[declared.name]
        for declared in format.reading
        if declared.name in checked
    }


def writing_options() -> dict[str, Parameter]:
    """What can be said about how files are written, whatever their format.

    >>> "escape_formulas" in writing_options()
    True
    """
    return {declared.name: declared for format in formats() for declared in format.writing}


def options_to_write(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said about how a file is to be written, checked.

    >>> options_to_write({"delimiter": "tab", "decimal": ","})
    {'delimiter': '\\t', 'decimal': ','}
    """
    known = writing_options()
    for name in given:
        if name not in known:
            raise InputError(
                f"files are not written by an option {name!r}; there are: {', '.join(known)}."
            )
    return {name: known[name].parse(value) for name, value in given.items() if value is not None}


def options_shared(
    source: Path,
    target: Path,
    said: Mapping[str, Any] | None = None,
    found: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The options with which `source` was written, as far as the format of `target` takes them:
    what is released looks alike.

    What was `said` about how to write goes before. `found` is what reading found out, where that is
    known.
    """
    from microagg.files.columnar.parquet_folder import format_to_write

    format, told = format_to_write(target), dict(said or {})
    there = format_of(source).detect(source) if found is None else found
    mine = format_of(source).own
    shared = {
        name: value
        for name, value in there.items()
        if name in format.options and name not in (*format.own, *mine)
    }
    if "decimal" in told and told["decimal"] == shared.get("thousands"):
        shared.pop("thousands")  # it cannot be both
    together = {**shared, **told}
    if (
        together.get("decimal") == ","
        and "delimiter" in format.options
        and "delimiter" not in (*together, *format.own)
    ):
        together["delimiter"] = ";"  # as everybody does whose decimals have commas
    check_same_signs({**format.options, **together})
    return together


def _one_of(words: Iterable[str]) -> str:
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


@functools.cache
def _loaded(entries: tuple[str, ...]) -> tuple[Format, ...]:
    return tuple(_load(entry) for entry in entries)


def _load(entry: str) -> Format:
    module, _, attribute = entry.partition(":")
    return getattr(importlib.import_module(module), attribute)
