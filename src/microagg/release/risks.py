"""What a release risks beyond its guarantee: asked about before anything leaves the house, or told
in a note.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.table.parameters import MultiChoice
from microagg.table.schema import Kind

if TYPE_CHECKING:
    import numpy as np

    from microagg.release.settings import Settings
    from microagg.table.aggregate import Aggregated
    from microagg.table.variable import Cells

LARGEST_MANIFEST = 50_000_000  # bytes: what is larger is no manifest of ours


@dataclass(frozen=True)
class Risk:
    """A risk that somebody has to accept by its name."""

    name: str
    taken: Callable[[Settings], bool] | None
    """Whether settings take it; None if that depends on the table, so that it is found on the way.
    """
    means: str
    """What it risks, as the beginning of a sentence."""


RISKS = (
    Risk(
        "full-precision",
        lambda settings: settings.precision == "full",
        "precision='full' releases exact means, so that whoever knows the others of a "
        "group computes the last one's value to "
        "the digit",
    ),
    Risk(
        "single-columns",
        lambda settings: settings.chosen_method.scope == "column",
        "this method protects each column alone, so that whoever knows several values of "
        "a person may find one record only",
    ),
    Risk(
        "published-measures",
        lambda settings: bool(settings.publish),
        "measures that are published come from the original values, so that with the "
        "released table they can give some of "
        "them back",
    ),
    Risk(
        "true-values",
        None,
        "values of single records are released as they are (by median, draw, medoid or "
        "range, or as the most frequent category of "
        "a group in which all differ), some of which one record alone has, so that "
        "whoever knows a value recognises whose it is; "
        "means, a hierarchy with generalise, or leaving out the column or its rare "
        "values avoid that",
    ),
)

ACCEPT_RISK = MultiChoice(
    "accept_risk",
    tuple(risk.name for risk in RISKS),
    "Risks that are taken knowingly; without it, such a release is neither saved nor "
    "reported to the public.",
)


def check_unaccepted(settings: Settings, found: Collection[str] = ()) -> None:
    """Raise unless every risk that these settings take is accepted by its name; to be called before
    anything is written.

    `found` names the risks that only the table tells (see `risks_of_aggregates`).

    >>> from microagg.release.settings import Settings
    >>> check_unaccepted(Settings.of(k=3, precision="full", accept_risk="full-precision"))
    """
    missing = [
        risk
        for risk in RISKS
        if _taken(risk, settings, found) and risk.name not in settings.accept_risk
    ]
    if missing:
        told = "; ".join(
            f"{risk.means} (accept_risk='{risk.name}' accepts that)" for risk in missing
        )
        raise InputError(f"{told}; nothing was written.")


def with_risks_accepted(settings: Settings) -> Settings:
    """The same settings, all their risks accepted: those of a release that was made before."""
    # what only the table tells was accepted then, or there was nothing to accept
    found = settings.accept_risk
    return settings.but(accept_risk=[risk.name for risk in RISKS if _taken(risk, settings, found)])


def _taken(risk: Risk, settings: Settings, found: Collection[str]) -> bool:
    return risk.name in found if risk.taken is None else risk.taken(settings)


def notes_on_disclosure(
    k: int,
    cells: Cells,
    labels: np.ndarray,
    classes: np.ndarray,
    found: Aggregated | None = None,
    weights: np.ndarray | None = None,
) -> tuple[str, ...]:
    """What the released means tell of single records: groups that one value dominates, and k = 2.
    Names no value.

    `cells` are those that were averaged, `labels` the groups (for each column, where they differ),
    `classes` the records that are alike in all that is released, `found` what was released of mixed
    tables: only values that made a mean count, and a total of times says nothing, nor does one of 0
    and 1. With `weights`, a record makes up its weighted value.
    """
    import numpy as np

    from microagg.measures.risk.classes import classes_of
    from microagg.measures.risk.dominance import dominated_groups, is_indicator

    told, alike = [], None
    for j, variable in enumerate(cells.variables):
        if (
            variable.kind is not Kind.NUMERIC
            or variable.unit
            or (found is not None and found.how[j] != "mean")
        ):
            continue
        own = classes if labels.ndim == 1 else labels[:, j]
        column = (
            cells.values[:, j] + float(variable.origin) if variable.origin else cells.values[:, j]
        )
        counted = ~np.isnan(column)
        if found is not None and not found.is_plain:
            counted &= ~np.isnan(found.cells.values[:, j])
        if is_indicator(column[counted]):
            continue
        column = column if weights is None else column * weights
        if counted.all() and labels.ndim == 1:
            groups = alike = alike or classes_of([own])
        else:
            groups = classes_of([own[counted]])
        if dominated := dominated_groups(column[counted], groups):
            told.append(dominance_counts(variable.name, dominated, len(groups)))
    return notes_on_dominance(told, k)


def notes_on_dominance(told: Sequence[str], k: int) -> tuple[str, ...]:
    """The same from columns and how many of their groups are dominated, in words.

    >>> notes_on_dominance((), 2)
    ('k is 2: of two records in a group, whoever knows one knows the other; k=3 prevents that',)
    """
    from microagg.formatting import listed
    from microagg.measures.risk.dominance import DOMINANT, P

    notes = []
    if told:
        notes.append(
            f"one record dominates, so that the group's mean all but tells its value "
            f"(more than {DOMINANT:g} % of the total, or "
            f"the second largest works it out to within {P:g} %): {listed(told)}; a cap "
            f"(such as cap='NAME=99.5%') or a "
            "larger k helps"
        )
    if k == 2:
        notes.append(
            "k is 2: of two records in a group, whoever knows one knows the other; k=3 "
            "prevents that"
        )
    return tuple(notes)


def dominance_counts(name: str, dominated: int, groups: int) -> str:
    """In how many groups of a column one record dominates, in words.

    >>> dominance_counts("rent", 2, 1000)
    "'rent' in 2 of 1,000 groups"
    """
    return f"{name!r} in {dominated:,} of {groups:,} groups"


def notes_on_earlier_releases(target: Path, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Which other releases in the folder of `target` group the same people in another way, by their
    internal manifests.

    The same table is known by its digest, one that has most of its records in common by the sketch
    of its rows.
    """
    from microagg.release.manifest import manifest_paths

    own = manifest_paths(target)[0].name
    same, similar = [], []
    for path in sorted(target.parent.glob("*.internal.json")):
        if path.name == own:
            continue
        earlier, name = _read(path), path.name.removesuffix(".internal.json")
        if _groups_otherwise(earlier, manifest):
            same.append(name)
        elif _is_of_other_records(earlier, manifest):
            similar.append(name)
    notes = []
    if same:
        notes.append(
            f"the same table was grouped otherwise for {_listed(same)}: whoever has both "
            f"releases sets the groups against each "
            "other, and a person is then among those only who are in both; publish one of them"
        )
    if similar:
        notes.append(
            f"most of these records are also in the table that was released as "
            f"{_listed(similar)}: comparing both releases narrows "
            "down who a person is; publish only one of them"
        )
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (
        f" and {len(names) - 5} more" if len(names) > 5 else ""
    )


def _groups_otherwise(earlier: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    source, asked = earlier.get("input"), earlier.get("settings")
    if not isinstance(source, dict) or not isinstance(asked, dict):
        return False
    if source.get("digest") != manifest["input"]["digest"]:
        return False
    # the same columns at the same loss, to the last digit, are the same groups, whatever else was
    # asked for
    same = (
        asked.get("quasi") == manifest["settings"]["quasi"]
        and earlier.get("loss") == manifest["loss"]
    )
    return not same


def _is_of_other_records(earlier: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Whether an earlier release is of another table that has most of its records in common with
    this one.
    """
    from microagg.table.columns.row_sketch import is_mostly_shared

    source = earlier.get("input")
    if not isinstance(source, dict) or source.get("digest") == manifest["input"]["digest"]:
        return False
    return is_mostly_shared(earlier.get("sketch"), manifest.get("sketch"))


def _read(path: Path) -> dict[str, Any]:
    """A manifest, if it is one; whatever else lies there is passed over."""
    try:
        content = (
            json.loads(path.read_text("utf-8")) if path.stat().st_size <= LARGEST_MANIFEST else None
        )
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
