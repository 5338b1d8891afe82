"""Resolution of nominal="asked": the columns of the question if they hold numbers or codes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from microagg.proposal.proposal import propose_for_file
from microagg.proposal.question import ASKED
from microagg.table.patterns import expand_names


def settled(
    settings: Mapping[str, Any], source: str | Path, reading: Mapping[str, Any]
) -> dict[str, Any]:
    """Replace nominal="asked" in settings by the columns in question that are used and not
    declared.

    A column of that name takes precedence.

    >>> settled({"nominal": ["sex"]}, "survey.csv", {})
    {'nominal': ['sex']}
    """
    named = list(settings.get("nominal", ()))
    if ASKED not in named:
        return dict(settings)
    from microagg.table.kind_parameters import column_settings

    proposal = propose_for_file(source, na=settings.get("na", ()), **reading)
    if ASKED in proposal.roles:
        return dict(settings)
    others = {name: settings[name] for name in ("kinds", "ordinal") if name in settings}
    declared = column_settings(**others).kinds
    columns = list(proposal.roles)
    used = {
        name
        for role in ("quasi", "confidential")
        for name in expand_names(settings.get(role, ()), columns, role)
    }
    codes = [name for name in proposal.asked if name in used and name not in declared]
    nominal = [
        name
        for name_or_word in named
        for name in (codes if name_or_word == ASKED else (name_or_word,))
    ]
    return {**settings, "nominal": list(dict.fromkeys(nominal))}
