"""A proposal of roles and kinds, to be confirmed: from names, types and counts alone, each with its
reason in words.
"""

from __future__ import annotations

import html
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.table.patterns import expand_names
from microagg.table.schema import Kind, Role

if TYPE_CHECKING:
    from rich.console import Group

ASKED = "asked"
"""What stands for all columns of the question whether they hold numbers or codes."""
MOST_COLUMNS = 30
"""Columns of one kind that are asked about one by one; of more it is asked once."""
SHOWN_OF_MANY = 3
OF_NAMES = (Role.QUASI, Role.IDENTIFIER, Role.CONFIDENTIAL, Role.STRATUM)
OF_ONE_NAME = (Role.WEIGHT, Role.UNIT)


@dataclass(frozen=True)
class Question:
    """What a proposal cannot decide from names, types and counts.

    >>> print(Question("codes", ("sex", "region"), "Are {} numbers or codes?"))
    Are 'sex' and 'region' numbers or codes?
    """

    about: str
    """codes, money, weight, unit or amounts."""
    columns: tuple[str, ...]
    text: str
    """The question, with {} for the columns."""
    answers: tuple[str, ...] = ()
    """What a file of settings may answer for a column: a role, numbers or codes; the first is what
    is proposed. None where the answer lies in the table itself.
    """
    advice: str = ""
    """How to answer it where `anonymize` is called."""

    def __str__(self) -> str:
        return f"{self.asks} {self.advice}".rstrip()

    @property
    def is_one(self) -> bool:
        """Whether it is asked once for all of its columns, because there are too many to ask about
        each.

        >>> Question("codes", tuple(f"q{i}" for i in range(31)), "Are {} numbers or codes?").asks
        "Are 'q0', 'q1', 'q2' and 28 others numbers or codes?"
        """
        return len(self.columns) > MOST_COLUMNS

    @property
    def asks(self) -> str:
        """The question alone, for where the answers stand beside it."""
        names = [f"'{_shown(name)}'" for name in self.columns]
        if self.is_one:
            names = [*names[:SHOWN_OF_MANY], f"{len(names) - SHOWN_OF_MANY:,} others"]
        together = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        return self.text.replace("{}", together)


@dataclass(frozen=True)
class Proposed:
    """What is proposed for one column."""

    name: str
    role: Role
    kind: Kind
    reason: str
    distinct: int
    """Different values, missing ones set aside."""
    records: int
    said: Kind | None = None
    """The kind that has to be said, because the type of the column suggests another."""
    na: tuple[str, ...] = ()
    """Texts that mean a missing value among its numbers, and have to be said."""


@dataclass(frozen=True, repr=False)
class Proposal:
    """Roles and kinds for the columns of a table, to be confirmed or corrected; it prints
    itself.

    >>> import pyarrow as pa
    >>> proposal = propose(pa.table({"name": ["Ann", "Bob"] * 2, "age": [31, 31, 68, 68], "sex": ["f", "m"] * 2}))
    >>> proposal.roles["name"], proposal.roles["age"], proposal.kinds["sex"]
    ('identifier', 'quasi', 'nominal')
    >>> proposal.settings(k=3)["quasi"]
    ['age', 'sex']
    """

    columns: tuple[Proposed, ...]
    questions: tuple[Question, ...]
    """What somebody who knows the table has to answer; until then everything stays as it is
    proposed.
    """
    rules: tuple[str, ...] = ()
    """Sums that hold in all records between columns that are proposed as quasi-identifying: a
    release keeps them.
    """
    na: tuple[str, ...] = ()
    """Markers of missing values that were named, beyond the usual ones."""

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column."""
        return {column.name: column.role.value for column in self.columns}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind.value for column in self.columns}

    @property
    def reasons(self) -> dict[str, str]:
        """Why each column got its role, in words."""
        return {column.name: column.reason for column in self.columns}

    @property
    def asked(self) -> tuple[str, ...]:
        """The columns of which is asked whether they hold numbers or codes."""
        return tuple(
            name for each in self.questions if each.about == "codes" for name in each.columns
        )

    def names(self, role: Role | str) -> list[str]:
        """The columns of one role, in table order."""
        return [column.name for column in self.columns if column.role == role]

    def settings(self, k: int, *, nominal: Sequence[str] | str = ()) -> dict[str, Any]:
        """What `anonymize` takes to follow the proposal; nominal="asked" settles that all columns
        in question hold codes.

        `ma.anonymize(table, **proposal.settings(k=5))` confirms it.
        """
        given: dict[str, Any] = {"k": k}
        given |= {role.value: names for role in OF_NAMES if (names := self.names(role))}
        given |= {role.value: names[0] for role in OF_ONE_NAME if (names := self.names(role))}
        wanted = [nominal] if isinstance(nominal, str) else list(nominal)
        codes = [name for each in wanted for name in (self.asked if each == ASKED else (each,))]
        released = [each for each in self.columns if each.role in (Role.QUASI, Role.CONFIDENTIAL)]
        codes = [*codes, *(each.name for each in released if each.said is Kind.NOMINAL)]
        if codes:
            given["nominal"] = list(dict.fromkeys(codes))
        kinds = {
            each.name: each.said.value for each in released if each.said and each.name not in codes
        }
        if kinds:
            given["kinds"] = kinds
        if na := [*self.na, *sorted({text for each in released for text in each.na} - {*self.na})]:
            given["na"] = na
        return given

    def command(
        self,
        source: str | Path,
        target: str | Path,
        k: int,
        *,
        nominal: Sequence[str] | str = (),
        **reading: Any,
    ) -> str:
        """The command that follows the proposal, for a shell; `reading` is what was said about
        the file, such as header=False.

        >>> import pyarrow as pa
        >>> propose(pa.table({"age": [30, 30, 40], "net income": [1, 2, 2]})).command("in.csv", "out.csv", 3)
        "microagg anonymize in.csv out.csv --k 3 --quasi age --confidential 'net income'"
        """
        given = self.settings(k, nominal=nominal)
        words = [
            "microagg",
            "anonymize",
            shlex.quote(str(source)),
            shlex.quote(str(target)),
            "--k",
            str(k),
        ]
        for role in OF_NAMES:
            if role.value in given:
                words += [f"--{role.value}", shell_list(given[role.value])]
        for role in OF_ONE_NAME:
            if role.value in given:
                words += [f"--{role.value}", shell_list([given[role.value]])]
        if "nominal" in given:
            words += ["--nominal", shell_list(given["nominal"])]
        for name, kind in given.get("kinds", {}).items():
            words += ["--kind", shlex.quote(f"{name}={kind}")]
        if "na" in given:
            words += [f"--na={shell_list(given['na'])}"]  # may begin with a dash
        for name, value in reading.items():
            flag = name.replace("_", "-")
            switch = f"--{'' if value else 'no-'}{flag}"
            words += [switch] if isinstance(value, bool) else [f"--{flag}", shlex.quote(str(value))]
        return " ".join(words)

    def to_toml(self, k: int = 5, *, nominal: Sequence[str] | str = (), **reading: Any) -> str:
        """The proposal as the text of a settings file, with its reasons as comments and what it
        cannot know marked "decide".

        `Settings.from_file`, and --config of the command line, take it once that is answered.

        >>> import pyarrow as pa
        >>> print(propose(pa.table({"height": [1.7, 1.7, 1.9]})).to_toml(k=3).partition("share.")[2].strip())
        quasi = [
            "height",  # numbers; others may know them (2 different of 3)
        ]
        """
        from microagg.proposal.settings_text import text_of

        return text_of(self, k, nominal=nominal, reading=reading)

    def as_data(self, k: int = 5) -> dict[str, Any]:
        """The proposal as plain data: columns with their roles, kinds and reasons, questions with
        their answers, and the settings.
        """
        return {
            "columns": [
                {
                    "name": each.name,
                    "role": each.role.value,
                    "kind": each.kind.value,
                    "reason": each.reason,
                    "different": each.distinct,
                    "records": each.records,
                }
                for each in self.columns
            ],
            "questions": [
                {
                    "about": each.about,
                    "columns": list(each.columns),
                    "question": str(each),
                    "answers": list(each.answers),
                }
                for each in self.questions
            ],
            "rules": list(self.rules),
            "settings": self.settings(k),
        }

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """The table that is shown: column, role, kind, different values, reason."""
        return [
            (
                _shown(each.name),
                each.role.value,
                each.kind.value,
                f"{each.distinct:,} of {each.records:,}",
                each.reason,
            )
            for each in self.columns
        ]

    def __str__(self) -> str:
        rows = [HEADERS, *self.rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(HEADERS) - 1)]
        lines = ["  ".join([*map(str.ljust, row[:-1], widths), row[-1]]) for row in rows]
        return "\n".join([*lines, *(f"\n{each}" for each in self._sentences())])

    __repr__ = __str__

    def __rich__(self) -> Group:
        """What `rich.print` shows."""
        from rich.console import Group
        from rich.text import Text

        told = (Text(f"\n{each}") for each in self._sentences())
        return Group(self.as_rich_table(), *told)

    def as_rich_table(self) -> Any:
        """The table alone, for rich."""
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
        told = "".join(f"<p>{html.escape(each)}</p>" for each in self._sentences())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{told}"

    @property
    def on_rules(self) -> tuple[str, ...]:
        """A sentence on sums that hold; none where there are none."""
        if not self.rules:
            return ()
        return (
            "Sums that hold in all records, and hold in a release, too: "
            f"{_shown('; '.join(self.rules))}.",
        )

    def _sentences(self) -> list[str]:
        """What is said below the table."""
        return [*map(str, self.questions), *self.on_rules, self._how_to_confirm()]

    def _how_to_confirm(self) -> str:
        if not self.names(Role.QUASI):
            return "No column can be proposed as quasi-identifying; name some with quasi."
        return (
            "Proposed, not decided. If it is right: ma.anonymize(table, **proposal.settings(k=5))"
        )


HEADERS = ("column", "role", "kind", "different", "because")


def propose(table: Any, *, na: Sequence[Any] | str | float = ()) -> Proposal:
    """Propose what each column of a table is for, and what its values are like, from names,
    types and counts alone.

    `table` is a pandas, polars or Arrow table, or a NumPy matrix; `na` names markers of missing
    values, as in `anonymize`. Nothing is decided by it: print it, answer its questions, and hand
    `proposal.settings(k)`, corrected where needed, to `anonymize`.

    >>> import pyarrow as pa
    >>> table = pa.table({"e-mail": ["a@x.org", "b@x.org"], "age": [30, 30], "salary": [1000, 2000]})
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


def settled(
    given: Mapping[str, Any], source: str | Path, reading: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings with the columns in question in place of nominal="asked"; those that are not used,
    or settled otherwise, stay out.

    A column of that name is that column.

    >>> settled({"nominal": ["sex"]}, "survey.csv", {})
    {'nominal': ['sex']}
    """
    named = list(given.get("nominal", ()))
    if ASKED not in named:
        return dict(given)
    from microagg.table.kind_parameters import column_settings

    proposal = propose_for_file(source, na=given.get("na", ()), **reading)
    if ASKED in proposal.roles:
        return dict(given)
    others = {name: given[name] for name in ("kinds", "ordinal") if name in given}
    said = column_settings(**others).kinds
    columns = list(proposal.roles)
    used = {
        name
        for role in ("quasi", "confidential")
        for name in expand_names(given.get(role, ()), columns, role)
    }
    codes = [name for name in proposal.asked if name in used and name not in said]
    nominal = [name for each in named for name in (codes if each == ASKED else (each,))]
    return {**given, "nominal": list(dict.fromkeys(nominal))}


def shell_list(names: Sequence[str]) -> str:
    """Names as one word for a shell, which the command line reads back to the letter.

    >>> print(shell_list(["age", "net income", "rent, cold"]))
    'age,net income,"rent, cold"'
    """
    odd = set(',"\r\n')
    words = [
        name
        if name.strip() == name != "" and not odd & set(name)
        else '"' + name.replace('"', '""') + '"'
        for name in names
    ]
    return shlex.quote(",".join(words))


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
    """The sums that hold between columns of numbers that are proposed as quasi-identifying."""
    from microagg.table.columns.cells import cells_of
    from microagg.table.relations import independent, records_of
    from microagg.table.schema import Column

    columns = [
        Column(each.name, Role.QUASI, Kind.NUMERIC)
        for each in proposal.columns
        if each.role is Role.QUASI
        and each.kind is Kind.NUMERIC
        and frame[each.name].dtype.is_numeric()
    ]
    records = records_of(cells_of(frame, columns))
    return tuple(rule.text for rule in independent(records.holding(())[1], records.names))


def _shown(name: str) -> str:
    """A name that can be read and does nothing else on a terminal."""
    return "".join(letter if letter.isprintable() else "�" for letter in name)
