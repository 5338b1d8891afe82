"""Registry of file formats. A new format is one line here: the dotted name of its entry.

The command line lists the suffixes in its help, so a format's module imports pyarrow and the like
inside its functions.
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
"""Suffix of a staged file, which is written beside its target."""

LEFT = re.compile(r"\.[0-9a-f]+\.(.+)\.part", re.DOTALL)
"""Name of a staged file; the group is the name of its target."""


def formats() -> tuple[Format, ...]:
    """Return all formats, in the order of the list.

    >>> [format.suffixes for format in formats()][:2]
    [('.csv',), ('.csv.gz',)]
    """
    return _loaded(FORMATS)


def format_of(path: Path | Url) -> Format:
    """Return the format of a file by its name, after checking that its packages are installed.

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
    _, match = max(fitting, key=lambda pair: pair[0])  # ".csv.gz" is more than ".gz"
    for package in match.needs:
        if importlib.util.find_spec(package) is None:
            raise InputError(needs_extra(f"{match.name} files need", package, match.extra))
    return match


def known_suffixes(*, written: bool = False) -> str:
    """Return the suffixes of all formats, or of those that can be written, as a sentence does.

    >>> ".sas7bdat" in known_suffixes(), ".sas7bdat" in known_suffixes(written=True)
    (True, False)
    """
    return _one_of(
        suffix
        for format in formats()
        if not (written and format.read_only)
        for suffix in format.suffixes
    )


def known_names(*, nested: bool = False) -> str:
    """Return the names of all formats, or of those that hold nested types, as a sentence lists
    them.

    >>> "csv" in known_names(), "csv" in known_names(nested=True)
    (True, False)
    """
    return _one_of(format.name for format in formats() if format.nested or not nested)


def options_for(format: Format, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a format: those given, and defaults. Options of other formats are
    ignored.

    >>> (
    ...     options_for(format_of(Path("a.csv")), {})["delimiter"],
    ...     options_for(format_of(Path("a.parquet")), {"delimiter": ";"}),
    ... )
    (',', {})
    """
    names = {name for format_entry in formats() for name in format_entry.options}
    for name in options:
        if name not in names:
            raise InputError(
                f"files have no option {name!r}; there are: {', '.join(sorted(names))}."
            )
    return {name: options.get(name, default) for name, default in format.options.items()}


def reading_options() -> dict[str, Parameter]:
    """Return the reading options of all formats.

    >>> "header" in reading_options()
    True
    """
    return {declared.name: declared for format in formats() for declared in format.reading}


def options_said(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options of reading, whatever the format.

    >>> options_said({"header": False, "delimiter": "tab"})
    {'header': False, 'delimiter': '\\t'}
    """
    parameters = reading_options()
    for name in options:
        if name not in parameters:
            raise InputError(
                f"files are not read by an option {name!r}; there are: {', '.join(parameters)}."
            )
    return {name: parameters[name].parse(value) for name, value in options.items()}


def options_to_read(format: Format, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options of reading, and return those that the format has. Others are ignored.

    >>> (
    ...     options_to_read(format_of(Path("a.csv")), {"header": False}),
    ...     options_to_read(format_of(Path("a.parquet")), {"header": False}),
    ... )
    ({'header': False}, {})
    """
    checked = options_said(options)
    return {
        declared.name: checked[declared.name]
        for declared in format.reading
        if declared.name in checked
    }


def writing_options() -> dict[str, Parameter]:
    """Return the writing options of all formats.

    >>> "escape_formulas" in writing_options()
    True
    """
    return {declared.name: declared for format in formats() for declared in format.writing}


def options_to_write(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options of writing.

    >>> options_to_write({"delimiter": "tab", "decimal": ","})
    {'delimiter': '\\t', 'decimal': ','}
    """
    parameters = writing_options()
    for name in options:
        if name not in parameters:
            raise InputError(
                f"files are not written by an option {name!r}; there are: {', '.join(parameters)}."
            )
    return {
        name: parameters[name].parse(value) for name, value in options.items() if value is not None
    }


def options_shared(
    source: Path,
    target: Path,
    options: Mapping[str, Any] | None = None,
    detected: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the options of `source` that the format of `target` has, so that the release looks
    alike.

    `options` of the user take precedence. `detected` are the options that reading has detected, if
    they are available.
    """
    from microagg.files.columnar.parquet_folder import format_to_write

    format, chosen = format_to_write(target), dict(options or {})
    original = format_of(source).detect(source) if detected is None else detected
    mine = format_of(source).fixed_options
    shared = {
        name: value
        for name, value in original.items()
        if name in format.options and name not in (*format.fixed_options, *mine)
    }
    if "decimal" in chosen and chosen["decimal"] == shared.get("thousands"):
        shared.pop("thousands")  # it cannot be both
    together = {**shared, **chosen}
    if (
        together.get("decimal") == ","
        and "delimiter" in format.options
        and "delimiter" not in (*together, *format.fixed_options)
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
