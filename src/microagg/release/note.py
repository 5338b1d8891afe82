"""Notes on a release as data: a code, counts and a fix, with the sentence made of them.

The sentences stand in `note_catalogue`; `note_rules` says when a note is due. Templates are those
of `str.format` with three additions:

- ``{records:record|records}`` gives the first word for 1 and the second for any other count,
- ``{alone:?, of them {alone:,} unique}`` gives the rest of the field unless the count is 0,
- lists of words take ``quoted``, a separator and the most that are shown: ``{columns:quoted,5}``;
  without a separator the last two are joined by "and".
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from microagg.formatting import listed
from microagg.sentences import FormatSetting, as_argument

Count = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]
_LIST = re.compile(r"(?P<quoted>quoted)?(?P<separator>[,;])?(?P<most>\d+)?")


class Severity(StrEnum):
    """Degree of attention that a note asks of the data holder."""

    INFO = "info"
    """Nothing to do."""
    CHECK = "check"
    """Look whether the data were understood as they are meant."""
    DECIDE = "decide"
    """A risk: change a setting, or accept it knowingly."""
    STOP = "stop"
    """A release that is not to be published as it is."""


@dataclass(frozen=True)
class Occurrence:
    """One case of a note: the columns it concerns, its counts, and the settings that would help."""

    columns: tuple[str, ...] = ()
    counts: Mapping[str, Count] = field(default_factory=dict)
    """Names of templates with their counts. One that belongs to columns has a number for each."""
    fix: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NoteEntry:
    """An entry of the catalogue: all that is said of one kind of note.

    >>> entry = NoteEntry("small-k", Severity.DECIDE, "k is {k}", "k is small.", "{fix} helps")
    >>> entry.note(counts={"k": 2}, fix={"k": 3})
    'k is 2; k=3 helps'
    """

    code: str
    severity: Severity
    sentence: str
    """Template; the hint follows it after a semicolon, or stands where ``{hint}`` does."""
    description: str
    """One sentence for the documentation."""
    hint: str = ""
    """Template of what to do; ``{fix}`` stands for the settings that would help."""
    item: str = ""
    """Template for each column where counts belong to columns; ``{items}`` lists them."""

    def note(
        self,
        columns: Sequence[str] = (),
        counts: Mapping[str, Count] | None = None,
        fix: Mapping[str, Any] | None = None,
    ) -> Note:
        """Return the note on these columns and counts."""
        return Note(self, Occurrence(tuple(columns), counts or {}, fix or {}))

    def outline(self) -> str:
        """Return the whole text with the names of counts in place of them, for documentation.

        >>> entry = NoteEntry("few", Severity.INFO, "{records:,} {records:record|records}", "Few.")
        >>> entry.outline()
        '{records} records'
        """
        hint, item = _outline(self.hint), _outline(self.item)
        text = _outline(self.sentence).replace("{items}", f"[{item}] …")
        if "{hint}" in text:
            return text.replace("{hint}", hint)
        return f"{text}; {hint}" if hint else text


class Note(str):
    """A sentence for the data holder that carries the data it was made of.

    It is a text, so that it is searched, compared and joined as any other: ``"age" in note``.

    >>> entry = NoteEntry("kept", Severity.DECIDE, "kept: {columns}", "Columns that are kept.")
    >>> note = entry.note(["town"])
    >>> note, note.code, note.columns
    ('kept: town', 'kept', ('town',))
    """

    entry: NoteEntry
    occurrence: Occurrence

    def __new__(cls, entry: NoteEntry, occurrence: Occurrence) -> Note:
        """Render the sentence with settings as Python takes them."""
        note = super().__new__(cls, _render(entry, occurrence, as_argument))
        note.__dict__.update(entry=entry, occurrence=occurrence)
        return note

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse any change: a note is as unchangeable as its text."""
        raise AttributeError(f"a note cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the data; the text is made of them."""
        return Note, (self.entry, self.occurrence)

    @property
    def code(self) -> str:
        """The name of its kind, which stays when a sentence is reworded."""
        return self.entry.code

    @property
    def severity(self) -> Severity:
        """Degree of attention that it asks for."""
        return self.entry.severity

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it concerns."""
        return self.occurrence.columns

    @property
    def counts(self) -> Mapping[str, Count]:
        """The numbers of its sentence; never a value of the data."""
        return self.occurrence.counts

    @property
    def fix(self) -> Mapping[str, Any]:
        """The settings that would help."""
        return self.occurrence.fix

    @property
    def hint(self) -> str:
        """Advice, with settings as Python takes them; empty where there is nothing to do."""
        return _hint(self.entry, self.occurrence, as_argument)

    def render(self, format_setting: FormatSetting) -> str:
        """Return the sentence with settings in another notation, such as that of a shell."""
        return _render(self.entry, self.occurrence, format_setting)

    def render_hint(self, format_setting: FormatSetting) -> str:
        """Return the advice with settings in another notation."""
        return _hint(self.entry, self.occurrence, format_setting)

    def as_data(self, format_setting: FormatSetting = as_argument) -> dict[str, Any]:
        """Return all of it as plain data for JSON."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "text": self.render(format_setting),
            "columns": list(self.columns),
            "counts": {name: _plain(count) for name, count in self.counts.items()},
            "hint": _hint(self.entry, self.occurrence, format_setting),
            "fix": dict(self.fix),
        }


def _plain(count: Count) -> Any:
    return count if isinstance(count, str | int | float) else list(count)


class _Words(tuple[str, ...]):
    """Words in a sentence: ``quoted`` or not, listed with "and" or separated by a sign."""

    def __format__(self, spec: str) -> str:
        match = _LIST.fullmatch(spec)
        if match is None:
            raise ValueError(f"no way to write a list: {spec!r}")
        words = [repr(word) for word in self] if match["quoted"] else list(self)
        most = int(match["most"] or len(words))
        if not match["separator"] and len(words) <= most:
            return listed(words)
        more = f" and {len(words) - most} more" if len(words) > most else ""
        return f"{match['separator'] or ','} ".join(words[:most]) + more


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("?"):
            return format_spec[1:] if value else ""
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        text = super().format_field(value, format_spec)
        return text.replace("-", "−") if isinstance(value, float) else text


_FORMATTER = _Formatter()


def _render(entry: NoteEntry, occurrence: Occurrence, format_setting: FormatSetting) -> str:
    fields = _fields(entry, occurrence, format_setting)
    hint = _FORMATTER.vformat(entry.hint, (), fields)
    sentence = _FORMATTER.vformat(entry.sentence, (), {**fields, "hint": hint})
    return f"{sentence}; {hint}" if hint and "{hint}" not in entry.sentence else sentence


def _hint(entry: NoteEntry, occurrence: Occurrence, format_setting: FormatSetting) -> str:
    return _FORMATTER.vformat(entry.hint, (), _fields(entry, occurrence, format_setting))


def _fields(
    entry: NoteEntry, occurrence: Occurrence, format_setting: FormatSetting
) -> dict[str, Any]:
    """Return everything that a template may name."""
    columns, counts = occurrence.columns, occurrence.counts
    settings = [format_setting(name, value) for name, value in occurrence.fix.items()]
    fields: dict[str, Any] = {
        name: _Words(map(str, count)) if isinstance(count, list | tuple) else count
        for name, count in counts.items()
    }
    fields |= {"columns": _Words(columns), "fix": " or ".join(settings)}
    if len(columns) == 1:
        fields["column"] = columns[0]
    if entry.item:
        fields["items"] = _Words(
            _FORMATTER.vformat(entry.item, (), _fields_of_item(name, index, counts))
            for index, name in enumerate(columns)
        )
    return fields


def _outline(template: str) -> str:
    parts = []
    for text, name, spec, _ in _FORMATTER.parse(template):
        parts.append(text)
        if name is None:
            continue
        spec = spec or ""
        if spec.startswith("?"):
            parts.append(f"[{_outline(spec[1:])}]")
        else:
            parts.append(_outline(spec.split("|")[1]) if "|" in spec else f"{{{name}}}")
    return "".join(parts)


def _fields_of_item(column: str, index: int, counts: Mapping[str, Count]) -> dict[str, Any]:
    of_column = {
        name: count[index] if isinstance(count, list | tuple) else count
        for name, count in counts.items()
    }
    return {**of_column, "column": column}
