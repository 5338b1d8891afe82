"""Risks of a release beyond its guarantee: those to be accepted, and notes on the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.aggregates import AGGREGATES
from microagg.table.name_parameters import MultiChoice

if TYPE_CHECKING:
    from microagg.release.settings import Settings

NAMED_COLUMNS = "named-columns"
LARGEST_MANIFEST = 50_000_000  # bytes: what is larger is no manifest of ours


@dataclass(frozen=True)
class Risk:
    """A risk that must be accepted by its name."""

    name: str
    taken: Callable[[Settings], bool] | None
    """Whether settings take it; None if that depends on the table, so that it is found on the way.
    """
    means: str
    """What it risks, as the beginning of a sentence; see `meaning`."""

    def meaning(self) -> Sentence:
        """Return the beginning of the sentence, with the aggregates that publish true values."""
        *first, last = (entry.name for entry in AGGREGATES.values() if entry.true_values_in)
        names = f"{', '.join(first)} or {last}"
        return sentence(self.means).changed(lambda part: part.format(true_values=names))


RISKS = (
    Risk(
        "full-precision",
        lambda settings: settings.precision == "full",
        sentence(
            Assignment("precision", "full"),
            " releases exact means, so someone who knows all others of a group can compute the "
            "last one's value exactly",
        ),
    ),
    Risk(
        "single-columns",
        lambda settings: settings.chosen_method.scope == "column",
        "this method protects each column alone, so someone who knows several values of a "
        "person may find a single record",
    ),
    Risk(
        "published-measures",
        lambda settings: bool(settings.publish),
        "published measures come from the original values; together with the released table "
        "they may reveal some of them",
    ),
    Risk(
        "true-values",
        None,
        "groups show true values of single records (by {true_values}, or as the most frequent "
        "category of a group in which all differ), and some of them only one record has, so "
        "someone who knows the value recognises the record; use means, or a hierarchy with "
        "generalise, or leave out the column or its rare values",
    ),
    Risk(
        NAMED_COLUMNS,
        None,
        "columns that may name people are released unchanged (notes list them); make them "
        "identifiers, which leaves them out",
    ),
)

ACCEPT_RISK = MultiChoice(
    "accept_risk",
    tuple(risk.name for risk in RISKS),
    "Risks that you accept by name. Without it such a release is not saved.",
)


def check_unaccepted(settings: Settings, table_risks: Collection[str] = ()) -> None:
    """Raise unless each risk that these settings take is accepted by its name; called before
    anything is written.

    `table_risks` names the risks that only the table shows (see `risks_of_aggregates`).

    `found` names the risks that only the table tells (see `risks_of_aggregates`).

    >>> from microagg.release.settings import Settings
    >>> check_unaccepted(Settings.of(k=3, precision="full", accept_risk="full-precision"))
    """
    missing = [
        risk
        for risk in RISKS
        if _taken(risk, settings, table_risks) and risk.name not in settings.accept_risk
    ]
    if missing:
        meanings = (
            sentence(risk.meaning(), " (", Assignment("accept_risk", risk.name), " accepts that); ")
            for risk in missing
        )
        raise InputError(sentence(*meanings, "nothing was written."))


def with_risks_accepted(settings: Settings) -> Settings:
    """Return the settings of an earlier release with all their risks accepted."""
    # what only the table tells was accepted then, or there was nothing to accept
    table_risks = settings.accept_risk
    return settings.but(
        accept_risk=[risk.name for risk in RISKS if _taken(risk, settings, table_risks)]
    )


def _taken(risk: Risk, settings: Settings, table_risks: Collection[str]) -> bool:
    return risk.name in table_risks if risk.taken is None else risk.taken(settings)


def notes_on_earlier_releases(target: Path, manifest: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return notes on other releases in the folder of `target` that group the same people in
    another way, by their internal manifests.

    The same table is known by its digest, one that has most of its records in common by the sketch
    of its rows.
    """
    from microagg.release.manifest import manifest_paths

    own_manifest = manifest_paths(target)[0].name
    same, similar = [], []
    for path in sorted(target.parent.glob("*.internal.json")):
        if path.name == own_manifest:
            continue
        earlier, name = _read(path), path.name.removesuffix(".internal.json")
        if _groups_otherwise(earlier, manifest):
            same.append(name)
        elif _is_of_other_records(earlier, manifest):
            similar.append(name)
    notes = []
    if same:
        notes.append(make_note("other-groups", releases=same))
    if similar:
        notes.append(make_note("shared-records", releases=similar))
    return tuple(notes)


def _groups_otherwise(earlier: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    source, earlier_settings = earlier.get("input"), earlier.get("settings")
    if not isinstance(source, dict) or not isinstance(earlier_settings, dict):
        return False
    if source.get("digest") != manifest["input"]["digest"]:
        return False
    # the same columns at the same loss, to the last digit, are the same groups, whatever else was
    # asked for
    same = (
        earlier_settings.get("quasi") == manifest["settings"]["quasi"]
        and earlier.get("loss") == manifest["loss"]
    )
    return not same


def _is_of_other_records(earlier: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Return True if an earlier release is of another table that shares most of its records with
    this one.
    """
    from microagg.table.columns.row_sketch import is_mostly_shared

    source = earlier.get("input")
    if not isinstance(source, dict) or source.get("digest") == manifest["input"]["digest"]:
        return False
    return is_mostly_shared(earlier.get("sketch"), manifest.get("sketch"))


def _read(path: Path) -> dict[str, Any]:
    """Return a manifest; an empty one for any other file."""
    try:
        content = (
            json.loads(path.read_text("utf-8")) if path.stat().st_size <= LARGEST_MANIFEST else None
        )
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
