"""Proposal as a settings file: roles with their reasons, and clearly marked open decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from microagg.proposal.codes import on_special
from microagg.table.parameters import K
from microagg.table.schema import Role
from microagg.table.settings_text import (
    ANSWER,
    COLUMNS,
    DECIDE,
    VERSION,
    VERSION_KEY,
    comment,
    entry,
    in_a_comment,
    listed,
    toml_key,
)

if TYPE_CHECKING:
    from microagg.proposal.proposal import Proposal, Proposed
    from microagg.proposal.question import Question

ABOUT = (
    "Settings of a release, proposed from names, types and counts. A proposal is no "
    "decision: confirm or correct the roles below, and "
    f'answer what is marked "{DECIDE}". Every other setting can be added; `microagg '
    "schema` lists them."
)
TO_DECIDE = (
    f'Put one of the words behind it in the place of each "{DECIDE}". The first one '
    "leaves a column as it is proposed, which is the "
    "careful answer; --as-proposed takes it for all that are left. To correct the lists "
    "above instead, leave the line out."
)
NOT_VALUES = "Texts that mean a missing value."
FOR_ALL = (
    "The answer is for all of these columns. Take a column out of the list to decide on it by "
    "itself above."
)
IN_THE_TABLE = "To be settled in the table, not in this file:"
LISTS = {
    Role.QUASI: "Columns by which a person could be found: replaced by values that groups share.",
    Role.IDENTIFIER: "Columns that name a person or company: left out.",
    Role.CONFIDENTIAL: "Sensitive columns: released as they are; see l and t.",
    Role.STRATUM: "Columns of strata: released as they are, and no group has records of two "
    "strata.",
}
ONE_COLUMN = {
    Role.WEIGHT: "The column of sampling weights.",
    Role.UNIT: "The column that says which household, company or patient a record belongs to: left "
    "out, and every class has k of them.",
}


def text_of(
    proposal: Proposal,
    k: int,
    *,
    nominal: Sequence[str] | str = (),
    reading: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a settings file that follows a proposal; `reading` are options of the
    file.
    """
    settings = proposal.settings(k, nominal=nominal)
    parts = [f"{comment(ABOUT)}\n{VERSION_KEY} = {VERSION}", f"{comment(K.help)}\nk = {k}"]
    for role, purpose in LISTS.items():
        columns = [item for item in proposal.columns if item.role is role]
        if columns or role is Role.QUASI:
            members = [(item.name, _reason(item)) for item in columns]
            parts.append(f"{comment(purpose)}\n{listed(role.value, members)}")
    for role, purpose in ONE_COLUMN.items():
        parts += [
            f"{comment(purpose)}\n{entry(role.value, item.name)}  # {in_a_comment(_reason(item))}"
            for item in proposal.columns
            if item.role is role
        ]
    if settings.get("nominal"):
        parts.append(
            f"{comment('Columns of categories, though they are numbers.')}\n"
            f"{entry('nominal', settings['nominal'])}"
        )
    if settings.get("na"):
        parts.append(f"{comment(NOT_VALUES)}\n{entry('na', settings['na'])}")
    if settings.get("kinds"):
        parts.append(_table("kinds", settings["kinds"]))
    if settings.get("special"):
        text = comment(" ".join(on_special(proposal.special)))
        parts.append(f"{text}\n{_table('special', settings['special'])}")
    if reading:
        parts.append(f"{comment('What is known about the file.')}\n{_table('reading', reading)}")
    parts += [comment(item) for item in proposal.on_rules]
    open_questions = [
        item for item in proposal.questions if item.answers and not _settled(item, nominal)
    ]
    parts += [
        f"{comment(IN_THE_TABLE)}\n{comment(item.asks)}"
        for item in proposal.questions
        if not item.answers
    ]
    if open_questions:
        parts.append(comment(TO_DECIDE))
    return "\n\n".join([*parts, *map(_question, open_questions)]) + "\n"


def _reason(column: Proposed) -> str:
    return f"{column.reason} ({column.distinct:,} different of {column.records:,})"


def _settled(question: Question, nominal: Sequence[str] | str) -> bool:
    return question.about == "codes" and "asked" in (
        [nominal] if isinstance(nominal, str) else nominal
    )


def _question(question: Question) -> str:
    words = " or ".join(f'"{word}"' for word in question.answers)
    if question.is_one:
        label = f"{len(question.columns)} columns"
        return "\n".join(
            [
                f"[{toml_key(DECIDE, question.about, label)}]",
                comment(question.asks),
                comment(FOR_ALL),
                f'{ANSWER} = "{DECIDE}"  # {words}',
                entry(COLUMNS, list(question.columns)),
            ]
        )
    lines = [f'{toml_key(name)} = "{DECIDE}"  # {words}' for name in question.columns]
    return "\n".join([f"[{toml_key(DECIDE, question.about)}]", comment(question.asks), *lines])


def _table(name: str, content: Mapping[str, Any]) -> str:
    return "\n".join(
        [f"[{toml_key(name)}]", *(entry(key, value) for key, value in content.items())]
    )
