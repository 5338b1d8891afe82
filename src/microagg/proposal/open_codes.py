"""Columns of whole numbers that may be codes: settled by nominal or numeric, asked about otherwise.

A mean of codes is no code, so that a file is refused until these columns are declared; a call of
`anonymize` warns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.proposal.proposal import ASKED, propose_for_file
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.table.columns.profile import ColumnProfile
    from microagg.table.schema import ColumnSettings
    from microagg.table.variable import Cells

FIRST = 1 << 12  # records looked at first: most columns show more values there
LARGEST = 1 << 26  # bytes of a file that is read once more for this question alone
OFTEN = 5  # records with the same code, on average
AVERAGED = (None, "mean")


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
    declared = _declared({**settings, "kinds": kinds}).kinds
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

    Large files are not read a second time for that.
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
    from microagg.proposal.rules import may_be_codes
    from microagg.table.columns.frames import open_frame
    from microagg.table.columns.profile import profile_column
    from microagg.table.kind_parameters import NA
    from microagg.table.patterns import expand_names

    declared, format = _declared(settings), format_of(path)
    frame = open_frame(read_table(path, **reading))
    names = expand_names(settings.get("quasi", ()), list(frame.columns), "quasi")
    typed, na = format.typed and not format.mixed, NA.parse(settings.get("na", ()))
    return [
        name
        for name in names
        if name in frame.columns
        and name not in declared.kinds
        and declared.aggregate.get(name) in AVERAGED
        and _repeats(look := profile_column(frame, name, typed=typed, na=na))
        and may_be_codes(look)
    ]


def _repeats(look: ColumnProfile) -> bool:
    """Check if values repeat as codes do; in a small table all numbers have few values."""
    return look.values >= OFTEN * look.distinct


def _declared(settings: Mapping[str, Any]) -> ColumnSettings:
    """Return the declarations of columns, in which "asked" is left out."""
    from microagg.table.kind_parameters import column_settings

    names = ("kinds", "ordinal", "aggregate")
    nominal = [name for name in settings.get("nominal", ()) if name != ASKED]
    others = {name: settings[name] for name in names if name in settings}
    return column_settings(**others, nominal=nominal)


def averaged_codes(cells: Cells, declared: ColumnSettings) -> list[str]:
    """Return the columns of numbers that may be codes, are averaged, and were not declared."""
    import numpy as np

    from microagg.proposal.name_hints import NameHint, hint_of_name
    from microagg.proposal.rules import FEW

    def may_be(name: str, values: np.ndarray) -> bool:
        coded, different, known = NameHint.CODE in hint_of_name(name), 0, values
        for part in (values[:FIRST], values):
            known = part[~np.isnan(part)]
            different = len(np.unique(known))
            if (known != np.rint(known)).any() or (different > FEW and not coded):
                return False
        return different > 1 and len(known) >= OFTEN * different

    return [
        variable.name
        for j, variable in enumerate(cells.variables)
        if variable.kind is Kind.NUMERIC
        and not (variable.unit or variable.marks)
        and variable.name not in declared.kinds
        and declared.aggregate.get(variable.name) in AVERAGED
        and may_be(variable.name, cells.values[:, j])
    ]


def warning_about(names: Sequence[str]) -> str:
    """Return the sentence of a warning about averaged codes.

    >>> warning_about(["roof"]).partition(". ")[0]
    "whole numbers that look like codes were averaged: 'roof'"
    """
    return (
        "whole numbers that look like codes were averaged: "
        f"{', '.join(map(repr, names[:12]))}{' …' if len(names) > 12 else ''}. "
        f"Name codes in nominal=[…]; declare numbers with kinds={{{names[0]!r}: 'numeric'}}."
    )
