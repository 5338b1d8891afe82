"""Facts behind the notes on columns: their labels, texts and values that could name somebody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.files.columnar.parquet_folder import format_to_write
from microagg.files.text.formulas import formulas_in
from microagg.proposal.rules import names_somebody
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.release.note_facts import LabelFacts, NoteFacts
from microagg.release.note_rules import notes_from
from microagg.release.settings import Settings
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.labels import Understood, labels_in, understood_in
from microagg.table.columns.profile import ColumnProfile, profile_column
from microagg.table.schema import Role, Schema

RELEASED_UNCHANGED = (Role.CONFIDENTIAL, Role.KEEP, Role.STRATUM)
LABELLED_ROLES = (Role.QUASI, Role.CONFIDENTIAL)


def label_facts(source: pa.Table, schema: Schema, settings: Settings) -> LabelFacts:
    """Return what labels decided of quasi-identifying and confidential columns."""
    if not labels_in(source):
        return LabelFacts()
    options, quasi = settings.column_options, schema.names(Role.QUASI)
    understood = understood_in(source, schema.names(*LABELLED_ROLES))
    kinds = {
        kind: [
            name
            for name, column in understood.items()
            if column.kind == kind and name not in options.kinds
        ]
        for kind in ("nominal", "ordinal")
    }
    medians = [
        name
        for name, aggregate in settings.columns.aggregate.items()
        if options.aggregate.get(name) != aggregate and name in quasi
    ]
    return LabelFacts(
        kinds,
        [name for name, column in understood.items() if _has_missing_codes(name, column, settings)],
        medians,
        [name for name, column in understood.items() if column.partly and name in quasi],
    )


def _has_missing_codes(name: str, column: Understood, settings: Settings) -> bool:
    """Return True if codes are kept apart because the file declares them missing."""
    codes = settings.columns.special.get(name, ())
    declared = settings.column_options.special.get(name, ())
    return any(code in codes for code in column.special if code not in declared)


def formula_columns(table: pa.Table) -> list[str]:
    """Return the columns in which a spreadsheet would run a text.

    >>> formula_columns(pa.table({"remark": ["=1+1"], "note": ["fine"]}))
    ['remark']
    """
    return [name for name in table.column_names if formulas_in(table.column(name))]


def unchanged_profiles(frame: nw.DataFrame[Any], schema: Schema) -> list[ColumnProfile]:
    """Return the profiles of the columns that are released as they are."""
    return [
        profile_column(frame, column.name)
        for column in schema.columns
        if column.role in RELEASED_UNCHANGED
    ]


def naming_columns(profiles: Sequence[ColumnProfile]) -> tuple[dict[str, str], list[str]]:
    """Return the columns that could name somebody with the reason, and those nearly unique.

    >>> phones = ["+49 30 1234567", "+49 30 7654321"]
    >>> frame = nw.from_native(pa.table({"phone": phones}), eager_only=True)
    >>> naming_columns([profile_column(frame, "phone")])
    ({'phone': 'called like an e-mail, a phone or an address'}, [])
    """
    reasons = {profile.name: names_somebody(profile) for profile in profiles}
    unique = [
        profile.name for profile in profiles if profile.nearly_unique and not reasons[profile.name]
    ]
    return {name: reason for name, reason in reasons.items() if reason}, unique


def notes_on_naming(profiles: Sequence[ColumnProfile]) -> list[Note]:
    """Return the notes on columns that are to be released unchanged and could name somebody.

    >>> frame = nw.from_native(pa.table({"phone": ["+49 30 1234567"]}), eager_only=True)
    >>> [note.code for note in notes_on_naming([profile_column(frame, "phone")])]
    ['could-name-somebody']
    """
    reasons, unique = naming_columns(profiles)
    return list(notes_from(NoteFacts(k=3, naming=reasons, nearly_unique=unique)))


def index_may_name(table: Any) -> bool:
    """Return True if a pandas index could name people. It is never saved, but stays in memory.

    >>> index_may_name(pa.table({"age": [30, 40]}))
    False
    """
    index = getattr(table, "index", None)
    if not hasattr(index, "get_level_values"):  # not of pandas
        return False
    return any(_could_name(profile) for profile in _index_profiles(index))


def _index_profiles(index: Any) -> list[ColumnProfile]:
    """Return the profile of each level of an index of pandas, under its name."""
    profiles = []
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        name = values.name if isinstance(values.name, str) and values.name else "index"
        series = values.to_series(index=range(len(values)))
        frame = nw.from_native(series.to_frame(name), eager_only=True)
        profiles.append(profile_column(frame, name))
    return profiles


def _could_name(profile: ColumnProfile) -> bool:
    return bool(names_somebody(profile)) or (profile.text and profile.nearly_unique)


def notes_on_empty_texts(path: Path, table: pa.Table) -> tuple[Note, ...]:
    """Return a note on columns whose empty texts a file of this format holds as missing."""
    file_format = format_to_write(path)
    if file_format.empties:
        return ()
    names = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if is_text(column.type) and pc.any(pc.equal(column, "")).as_py()
    ]
    return (make_note("empty-texts", names, format=file_format.one_file),) if names else ()
