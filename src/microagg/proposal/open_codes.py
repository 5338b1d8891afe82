"""Columns of whole numbers that may be codes: settled by nominal or numeric, asked about otherwise.

A mean of codes is no code, so that a file is refused until these columns are declared; a call of
`anonymize` warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError, ReadingWarning
from microagg.proposal.proposal import propose_for_file
from microagg.proposal.question import ASKED

if TYPE_CHECKING:
    from microagg.table.schema import ColumnSettings

LARGEST = 1 << 26  # bytes of a file that is read once more for this question alone


def settled(
    settings: Mapping[str, Any], source: str | Path, reading: Mapping[str, Any]
) -> dict[str, Any]:
    """Replace "asked" in nominal and kinds by the columns in question, used and not declared.

    A column of that name takes precedence.

    >>> settled({"nominal": ["sex"]}, "survey.csv", {})
    {'nominal': ['sex']}
    """
    from microagg.table.kind_parameters import KINDS
    from microagg.table.patterns import expand_names

    kinds = KINDS.parse(settings.get("kinds"))
    named = list(settings.get("nominal", ()))
    if ASKED not in named and ASKED not in kinds:
        return dict(settings)
    proposal = propose_for_file(source, na=settings.get("na", ()), **reading)
    if ASKED in proposal.roles:
        return dict(settings)
    columns, word = list(proposal.roles), kinds.pop(ASKED, None)
    others = [name for name in named if name != ASKED]
    declared = _declared({**settings, "kinds": kinds, "nominal": others}).kinds
    used = {
        name
        for role in ("quasi", "confidential")
        for name in expand_names(settings.get(role, ()), columns, role)
    }
    codes = [name for name in proposal.asked if name in used and name not in declared]
    if word is not None:
        return {**settings, "kinds": {**kinds, **dict.fromkeys(codes, word)}}
    nominal = [name for word in named for name in (codes if word == ASKED else (word,))]
    return {**settings, "nominal": list(dict.fromkeys(nominal))}


def check_codes(
    settings: Mapping[str, Any], source: str | Path, reading: Mapping[str, Any]
) -> None:
    """Refuse quasi-identifying whole numbers of a file that look like codes and are not declared.

    Large files are not read a second time for that; what is wrong with a file is said by the run,
    which may also process it out of core.
    """
    path = Path(source)
    if not path.is_file() or path.stat().st_size > LARGEST:
        return
    if names := _codes_in(path, settings, reading):
        columns = ", ".join(map(repr, names[:12])) + (" …" if len(names) > 12 else "")
        raise InputError(
            f"numbers or codes: {columns}? A mean of codes is no code. Name numbers with --numeric "
            f"and codes with --nominal; the word {ASKED} stands for all of them."
        )


def _codes_in(path: Path, settings: Mapping[str, Any], reading: Mapping[str, Any]) -> list[str]:
    from microagg.files.formats import format_of
    from microagg.files.reading import read_table
    from microagg.proposal.codes import is_averaged, may_be_codes, repeats
    from microagg.table.columns.frames import open_frame
    from microagg.table.columns.profile import profile_column
    from microagg.table.kind_parameters import NA
    from microagg.table.patterns import expand_names

    declared, format = _declared(settings), format_of(path)
    with warnings.catch_warnings():  # the release reads the file, too, and says so then
        warnings.simplefilter("ignore", ReadingWarning)
        try:
            frame = open_frame(read_table(path, **reading))
        except InputError:
            return []
    names = expand_names(settings.get("quasi", ()), list(frame.columns), "quasi")
    typed, na = format.typed and not format.mixed, NA.parse(settings.get("na", ()))
    return [
        name
        for name in names
        if name in frame.columns
        and is_averaged(name, declared)
        and repeats(look := profile_column(frame, name, typed=typed, na=na))
        and may_be_codes(look)
    ]


def _declared(settings: Mapping[str, Any]) -> ColumnSettings:
    """Return the declarations of columns."""
    from microagg.table.kind_parameters import column_settings

    names = ("kinds", "nominal", "ordinal", "aggregate")
    return column_settings(**{name: settings[name] for name in names if name in settings})
