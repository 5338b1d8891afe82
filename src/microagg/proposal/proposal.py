"""Proposal of roles and kinds, from names, types and counts, each with its reason."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.proposal.column_text import printable, shell_list
from microagg.proposal.question import ASKED, Question
from microagg.table.schema import Kind, Role

if TYPE_CHECKING:
    from rich.console import Group

OF_NAMES = (Role.QUASI, Role.IDENTIFIER, Role.CONFIDENTIAL, Role.STRATUM)
OF_ONE_NAME = (Role.WEIGHT, Role.UNIT)


@dataclass(frozen=True)
class Proposed:
    """Proposal for one column."""

    name: str
    role: Role
    kind: Kind
    reason: str
    distinct: int
    """Different values, missing ones set aside."""
    records: int
    declared_kind: Kind | None = None
    """Kind that must be declared, because the type of the column suggests another."""
    na: tuple[str, ...] = ()
    """Texts that mean a missing value among its numbers, and must be declared."""
    special: tuple[int, ...] = ()
    """Special codes among its numbers, such as 97."""


@dataclass(frozen=True, repr=False)
class Proposal:
    """Roles and kinds for the columns of a table, to be confirmed or corrected; it prints itself.

    >>> import pyarrow as pa
    >>> proposal = propose(
    ...     pa.table({"name": ["Ann", "Bob"] * 2, "age": [31, 31, 68, 68], "sex": ["f", "m"] * 2})
    ... )
    >>> proposal.roles["name"], proposal.roles["age"], proposal.kinds["sex"]
    ('identifier', 'quasi', 'nominal')
    >>> proposal.settings(k=3)["quasi"]
    ['age', 'sex']
    """

    columns: tuple[Proposed, ...]
    questions: tuple[Question, ...]
    """Questions for people who know the table; until they are answered, the proposal stands."""
    rules: tuple[str, ...] = ()
    """Sums that hold in all records between columns proposed as quasi-identifying; a release keeps
    them.
    """
    na: tuple[str, ...] = ()
    """Markers of missing values that were named, beyond the usual ones."""

    @property
    def roles(self) -> dict[str, str]:
        """Role of each column."""
        return {column.name: column.role.value for column in self.columns}

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each column."""
        return {column.name: column.kind.value for column in self.columns}

    @property
    def reasons(self) -> dict[str, str]:
        """Why each column got its role, in words."""
        return {column.name: column.reason for column in self.columns}

    @property
    def asked(self) -> tuple[str, ...]:
        """Columns of the question if they hold numbers or codes."""
        return tuple(
            name
            for question in self.questions
            if question.about == "codes"
            for name in question.columns
        )

    @property
    def special(self) -> dict[str, tuple[int, ...]]:
        """Special codes of released columns of numbers, which no mean includes."""
        released = [item for item in self.columns if item.role in (Role.QUASI, Role.CONFIDENTIAL)]
        return {item.name: item.special for item in released if item.special}

    def names(self, role: Role | str) -> list[str]:
        """Return the columns of one role, in table order."""
        return [column.name for column in self.columns if column.role == role]

    def settings(self, k: int, *, nominal: Sequence[str] | str = ()) -> dict[str, Any]:
        """Return the arguments of `anonymize` that follow the proposal.

        nominal="asked" declares that all columns in question hold codes. `ma.anonymize(table,
        **proposal.settings(k=5))` confirms the proposal.
        """
        arguments: dict[str, Any] = {"k": k}
        arguments |= {role.value: names for role in OF_NAMES if (names := self.names(role))}
        arguments |= {role.value: names[0] for role in OF_ONE_NAME if (names := self.names(role))}
        wanted = [nominal] if isinstance(nominal, str) else list(nominal)
        codes = [
            name for column in wanted for name in (self.asked if column == ASKED else (column,))
        ]
        released = [
            column for column in self.columns if column.role in (Role.QUASI, Role.CONFIDENTIAL)
        ]
        codes = [
            *codes,
            *(column.name for column in released if column.declared_kind is Kind.NOMINAL),
        ]
        if codes:
            arguments["nominal"] = list(dict.fromkeys(codes))
        kinds = {
            column.name: column.declared_kind.value
            for column in released
            if column.declared_kind and column.name not in codes
        }
        if kinds:
            arguments["kinds"] = kinds
        if na := [
            *self.na,
            *sorted({text for column in released for text in column.na} - {*self.na}),
        ]:
            arguments["na"] = na
        special = {name: [*kept] for name, kept in self.special.items() if name not in codes}
        return arguments | ({"special": special} if special else {})

    def command(
        self,
        source: str | Path,
        target: str | Path,
        k: int,
        *,
        nominal: Sequence[str] | str = (),
        **reading: Any,
    ) -> str:
        """Return the shell command that follows the proposal; `reading` are options of the file.

        >>> import pyarrow as pa
        >>> propose(pa.table({"age": [30, 30, 40], "net income": [1, 2, 2]})).command(
        ...     "in.csv", "out.csv", 3
        ... )
        "microagg anonymize in.csv out.csv --k 3 --quasi age --confidential 'net income'"
        """
        settings = self.settings(k, nominal=nominal)
        words = [
            "microagg",
            "anonymize",
            shlex.quote(str(source)),
            shlex.quote(str(target)),
            "--k",
            str(k),
        ]
        for role in OF_NAMES:
            if role.value in settings:
                words += [f"--{role.value}", shell_list(settings[role.value])]
        for role in OF_ONE_NAME:
            if role.value in settings:
                words += [f"--{role.value}", shell_list([settings[role.value]])]
        if "nominal" in settings:
            words += ["--nominal", shell_list(settings["nominal"])]
        from microagg.proposal.codes import OFTEN

        numbers = [
            column.name
            for column in self.columns
            if column.name in self.asked
            and column.name in settings.get("quasi", ())
            and column.name not in settings.get("nominal", ())
            and column.records >= OFTEN * column.distinct
        ]
        if numbers:
            words += ["--numeric", shell_list(numbers)]
        for name, kind in settings.get("kinds", {}).items():
            words += ["--kind", shlex.quote(f"{name}={kind}")]
        for name, codes in settings.get("special", {}).items():
            words += ["--special", shlex.quote(f"{name}={','.join(map(str, codes))}")]
        if "na" in settings:
            words += [f"--na={shell_list(settings['na'])}"]  # may begin with a dash
        for name, value in reading.items():
            flag = name.replace("_", "-")
            switch = f"--{'' if value else 'no-'}{flag}"
            words += [switch] if isinstance(value, bool) else [f"--{flag}", shlex.quote(str(value))]
        return " ".join(words)

    def to_toml(self, k: int = 5, *, nominal: Sequence[str] | str = (), **reading: Any) -> str:
        """Return the proposal as the text of a settings file.

        Reasons are comments, and open decisions are marked "decide". `Settings.from_file`, and
        --config of the command line, accept the file once these are answered.

        >>> import pyarrow as pa
        >>> print(
        ...     propose(pa.table({"height": [1.7, 1.7, 1.9]}))
        ...     .to_toml(k=3)
        ...     .partition("share.")[2]
        ...     .strip()
        ... )
        quasi = [
            "height",  # numbers; others may know them (2 different of 3)
        ]
        """
        from microagg.proposal.settings_text import text_of

        return text_of(self, k, nominal=nominal, reading=reading)

    def as_data(self, k: int = 5) -> dict[str, Any]:
        """Return the proposal as plain data: columns, questions and settings."""
        return {
            "columns": [
                {
                    "name": entry.name,
                    "role": entry.role.value,
                    "kind": entry.kind.value,
                    "reason": entry.reason,
                    "different": entry.distinct,
                    "records": entry.records,
                }
                for entry in self.columns
            ],
            "questions": [
                {
                    "about": entry.about,
                    "columns": list(entry.columns),
                    "question": str(entry),
                    "answers": list(entry.answers),
                }
                for entry in self.questions
            ],
            "rules": list(self.rules),
            "settings": self.settings(k),
        }

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return the rows of the table: column, role, kind, different values, reason."""
        return [
            (
                printable(column.name),
                column.role.value,
                column.kind.value,
                f"{column.distinct:,} of {column.records:,}",
                column.reason,
            )
            for column in self.columns
        ]

    def __str__(self) -> str:
        rows = [HEADERS, *self.rows()]
        widths = [max(len(row[index]) for row in rows) for index in range(len(HEADERS) - 1)]
        lines = ["  ".join([*map(str.ljust, row[:-1], widths), row[-1]]) for row in rows]
        return "\n".join([*lines, *(f"\n{sentence}" for sentence in self._sentences())])

    __repr__ = __str__

    def __rich__(self) -> Group:
        """Return the proposal as `rich.print` shows it."""
        from rich.console import Group
        from rich.text import Text

        texts = (Text(f"\n{sentence}") for sentence in self._sentences())
        return Group(self.as_rich_table(), *texts)

    def as_rich_table(self) -> Any:
        """Return the table for rich."""
        from rich.table import Table
        from rich.text import Text

        shown = Table(*HEADERS, box=None, pad_edge=False)
        for row in self.rows():
            shown.add_row(*map(Text, row))
        return shown

    def _repr_html_(self) -> str:
        cells = [[f"<td>{html.escape(cell)}</td>" for cell in row] for row in self.rows()]
        head = "".join(f"<th>{name}</th>" for name in HEADERS)
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self._sentences())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{sentences}"

    @property
    def on_rules(self) -> tuple[str, ...]:
        """Sentences on sums that hold; none if there are none."""
        if not self.rules:
            return ()
        return (
            "Sums that hold in all records, and hold in a release, too: "
            f"{printable('; '.join(self.rules))}.",
        )

    def _sentences(self) -> list[str]:
        """Return the sentences below the table."""
        from microagg.proposal.codes import on_special

        sentences = [*map(str, self.questions), *on_special(self.special), *self.on_rules]
        return [*sentences, self._how_to_confirm()]

    def _how_to_confirm(self) -> str:
        if not self.names(Role.QUASI):
            return "No column can be proposed as quasi-identifying; name some with quasi."
        return (
            "Proposed, not decided. If it is right: ma.anonymize(table, **proposal.settings(k=5))"
        )


HEADERS = ("column", "role", "kind", "different", "because")


def propose(table: Any, *, na: Sequence[Any] | str | float = ()) -> Proposal:
    """Propose the role and kind of each column from names, types and counts alone.

    Nothing is decided by it: print it, answer its questions, and hand `proposal.settings(k)`,
    corrected where needed, to `anonymize`.

    Parameters
    ----------
    table : pandas, polars or Arrow table, or 2-D NumPy array
        One row per person or company. Never modified.
    na : list, optional
        Markers of missing values, as in `anonymize`.

    Returns
    -------
    Proposal
        Proposed roles and kinds with their reasons, and open questions.

    Raises
    ------
    InputError
        If the table has a type that cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {"e-mail": ["a@x.org", "b@x.org"], "age": [30, 30], "salary": [1000, 2000]}
    ... )
    >>> propose(table).roles
    {'e-mail': 'identifier', 'age': 'quasi', 'salary': 'confidential'}
    """
    return _proposed(table, typed=True, na=na)


def propose_for_file(
    path: str | Path, *, na: Sequence[Any] | str | float = (), **reading: Any
) -> Proposal:
    """Propose what the columns of a file are for; `reading` is what is known about the file, such
    as header=False.

    `na` names markers of missing values beyond the usual ones.
    """
    from microagg.files.formats import format_of
    from microagg.files.reading import read_table

    format = format_of(Path(path))
    return _proposed(read_table(path, **reading), typed=format.typed and not format.mixed, na=na)


def _proposed(table: Any, *, typed: bool, na: Sequence[Any] | str | float) -> Proposal:
    from microagg.proposal.rules import proposal_from
    from microagg.table.columns.frames import open_frame
    from microagg.table.columns.profile import profile_column
    from microagg.table.kind_parameters import column_settings

    frame = open_frame(table)
    markers = column_settings(na=na).na
    looks = [profile_column(frame, name, typed=typed, na=markers) for name in frame.columns]
    proposal = proposal_from(looks)
    return replace(proposal, na=markers, rules=_rules_in(frame, proposal))


def _rules_in(frame: Any, proposal: Proposal) -> tuple[str, ...]:
    """Return the sums that hold between numeric columns proposed as quasi-identifying."""
    from microagg.table.columns.cells import cells_of
    from microagg.table.relations import independent, records_of
    from microagg.table.schema import Column

    columns = [
        Column(column.name, Role.QUASI, Kind.NUMERIC)
        for column in proposal.columns
        if column.role is Role.QUASI
        and column.kind is Kind.NUMERIC
        and frame[column.name].dtype.is_numeric()
    ]
    records = records_of(cells_of(frame, columns))
    return tuple(rule.text for rule in independent(records.holding(())[1], records.names))
