"""Rules of a proposal, in their order: units, weights, identifiers, confidential columns.

All other columns are proposed as quasi-identifying. Numbers are never taken for codes, nor unique
amounts for numbers of persons, without an answer of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from microagg.proposal.codes import FEW, may_be_codes
from microagg.proposal.name_hints import NameHint, hint_of_name, is_question
from microagg.proposal.proposal import Proposal, Proposed
from microagg.proposal.question import Question
from microagg.sentences import Assignment, sentence
from microagg.table.columns.profile import MOST_IN_BLOCK, ColumnProfile, profile_column
from microagg.table.schema import Kind, Role

if TYPE_CHECKING:
    import pyarrow as pa

SMALLEST_STRATUM_ON_AVERAGE = 20
MOST_OF_A_UNIT = 200
"""Records of one household or company at most, on average, where it is numbered."""
LARGEST_COUNT = 366
"""Largest count, of visits, days or the like; a larger number identifies something."""

TEXTS = {
    "codes": (
        "Numbers or codes: {}? Their whole numbers may stand for categories. As proposed "
        "they are numbers, and a group gets their mean."
    ),
    "money": (
        "Known to others, or confidential: {}? The names sound like money. As proposed "
        "these are quasi-identifying, and a group shares one amount; what is confidential "
        "instead is released as it is."
    ),
    "amounts": (
        "Amounts, or numbers of persons: {}? Nearly every record has a whole number of "
        "its own there. As proposed these are quasi-identifying, and a group shares one number; "
        "what names a person or a company should be an identifier."
    ),
    "keys": (
        "Numbers or codes of persons, households or companies: {}? Their values repeat, "
        "so one person may have several records. As proposed these are left out, and k counts "
        "records; as unit, k counts persons or companies; a code of something else can be "
        "quasi-identifying."
    ),
    "blocks": (
        "Numbers of persons, households or companies: {}? Records with the same value "
        "stand together. As proposed these are quasi-identifying numbers; as unit, the column is "
        "left out and k counts persons or companies."
    ),
    "people": (
        "Names of persons: {}? The columns are called like persons, and hold a few "
        "different texts. As proposed they are left out."
    ),
    "other text": (
        "Numbers with other text among them: {}? As proposed these are left out. If the text "
        "means missing, name it with na; if it is a code such as not applicable, with special."
    ),
    "weight": "A sampling weight, or the weight of a body: {}? As proposed it is "
    "quasi-identifying.",
    "second weight": "A second sampling weight: {}? A release has one. As proposed it is left out; "
    "it could be quasi-identifying.",
    "gaps in the weight": "What is the weight of records that have none in {}? Fill it in, for "
    "they are refused.",
    "second unit": "Which unit is to be protected? {} could be one, too, and a release has one. As "
    "proposed it is left out.",
    "gaps in the unit": "Which unit have records that have none in {}? Fill it in, for they are "
    "refused.",
}
ADVICE = {
    "codes": sentence(
        "If all of these columns hold codes, say ",
        Assignment("nominal", "asked"),
        "; if some do, ",
        Assignment("nominal", ["…"]),
        " names those.",
    ),
    "weight": "Name it with weight instead of quasi if it is a sampling weight.",
}  # fmt: skip
"""Advice on how to answer in a call of `anonymize`."""
ANSWERS = {
    "codes": ("numbers", "codes"),
    "money": ("quasi", "confidential"),
    "amounts": ("quasi", "identifier"),
    "keys": ("identifier", "unit", "quasi"),
    "blocks": ("quasi", "unit", "identifier"),
    "people": ("identifier", "quasi"),
    "weight": ("quasi", "weight"),
    "second weight": ("identifier", "quasi"),
    "second unit": ("identifier", "unit"),
}
"""Answers that a settings file may give, the careful one first. The other questions are answered in
the table itself.
"""
CALLED = {
    NameHint.PERSON: "called like a person's name",
    NameHint.SOMEBODY: "called like a person, with many different values",
    NameHint.CONTACT: "called like an e-mail, a phone or an address",
    NameHint.IDENTITY: "called like a number of a person",
}


@dataclass
class _State:
    """Roles taken and questions collected so far."""

    taken: set[Role] = field(default_factory=set)
    questions: dict[str, list[str]] = field(default_factory=dict)

    def ask(self, about: str, look: ColumnProfile) -> None:
        self.questions.setdefault(about, []).append(look.name)


_Decided = tuple[Role, str] | None
_Rule = Callable[[ColumnProfile, frozenset[NameHint], _State], _Decided]


def proposal_from(looks: Sequence[ColumnProfile]) -> Proposal:
    """Return a proposal from the profiles of all columns.

    >>> look = ColumnProfile("age", Kind.NUMERIC, records=90, values=90, distinct=40, whole=True)
    >>> proposal_from([look]).roles
    {'age': 'quasi'}
    """
    state = _State()
    columns = []
    for look in looks:
        role, reason = _decided(look, state)
        columns.append(
            Proposed(
                look.name,
                role,
                look.kind,
                reason,
                look.distinct,
                look.records,
                look.declared_kind,
                look.na,
                look.special,
            )
        )
    questions = (
        Question(about, tuple(names), TEXTS[about], ANSWERS.get(about, ()), ADVICE.get(about, ""))
        for about in TEXTS
        if (names := state.questions.get(about))
    )
    return Proposal(tuple(columns), tuple(questions))


def names_somebody(look: ColumnProfile) -> str:
    """Return the reason why a column may name people, by its name and profile; "" if there is none.

    The reason quotes no value.

    >>> names_somebody(ColumnProfile("Telefon", Kind.NOMINAL, 9, values=9, distinct=9, text=True))
    'called like an e-mail, a phone or an address'
    """
    hints = hint_of_name(look.name)
    for what, reason in CALLED.items():
        if what in hints and _can_be(what, look):
            return reason
    return f"holds what look like {look.like}" if look.like else ""


def may_name_people(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Return the columns that may name people, by their names, patterns or nearly unique values.

    Values count if they are text, whole numbers without large gaps (at most twice as many as
    records), or in a column whose name speaks of numbers. Amounts that differ from person to person
    do not count.

    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {
    ...         "Last name": ["A", "A"],
    ...         "note": ["x", "y"],
    ...         "rent": [700.5, 801.25],
    ...         "case_no": [901, 7],
    ...     }
    ... )
    >>> may_name_people(table, table.column_names)
    ['Last name', 'note', 'case_no']
    """
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    return [name for name in names if may_name(profile_column(frame, name))]


def may_name(look: ColumnProfile) -> bool:
    """Check if a column may name people; more distinct values never make that less likely."""
    # whoever says that nobody is named leaves no doubt: a name says so whatever the values
    hints = hint_of_name(look.name)
    return NameHint.PERSON in hints or bool(names_somebody(look) or _alone_in(look, hints))


def _can_be(what: NameHint, look: ColumnProfile) -> bool:
    """Check if a column can hold what its name hints at.

    Names are text, and numbers of persons are no fractions, dates or answers.
    """
    if look.dates or look.boolean or not (look.text or look.whole):
        return False
    if what is NameHint.PERSON:
        return look.text and not (is_question(look.name) and look.distinct <= FEW)
    if what is NameHint.SOMEBODY:  # that somebody is a student, yes or no, names nobody
        return look.distinct > FEW and not _counts_something(look)
    if what is NameHint.CONTACT and _counts_something(look):
        return False
    few = 2 if look.text and not is_question(look.name) else FEW
    return look.distinct > few or look.values < 5 * look.distinct


def _counts_something(look: ColumnProfile) -> bool:
    """Check if whole numbers are counts, such as visits to a doctor.

    Counts are small, and have 0 and gaps or many records each.
    """
    small = look.whole and look.span <= LARGEST_COUNT
    return small and ((not look.positive and look.distinct <= look.span) or _has_many_records(look))


def _has_many_records(look: ColumnProfile) -> bool:
    """Check if a value has too many records, on average, to be the number of a person."""
    return look.values >= MOST_IN_BLOCK * look.distinct


def _decided(look: ColumnProfile, state: _State) -> tuple[Role, str]:
    hints = hint_of_name(look.name)
    rules: tuple[_Rule, ...] = (_unusable, _weight, _unit, _identifier, _stratum, _confidential)
    for rule in rules:
        decided = rule(look, hints, state)
        if decided is not None:
            break
    else:
        decided = Role.QUASI, _why_quasi(look)
    if decided[0] in (Role.QUASI, Role.CONFIDENTIAL):
        _ask(look, hints, decided[0], state)
    return decided


def _unusable(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    if not look.readable:
        return Role.IDENTIFIER, "of a type that cannot be released"
    return None if look.values else (Role.IDENTIFIER, "holds no value")


def _weight(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    """Decide on one sampling weight; names that say only "weight", and further ones, become
    questions.
    """
    if not (hints & {NameHint.WEIGHT, NameHint.BARE_WEIGHT} and look.positive):
        return None
    if NameHint.WEIGHT not in hints:
        state.ask("weight", look)
        return (
            Role.QUASI,
            "positive numbers; body weight or sampling weight, the name does not tell",
        )
    if Role.WEIGHT in state.taken:
        state.ask("second weight", look)
        return Role.IDENTIFIER, "sounds like a second sampling weight"
    state.taken.add(Role.WEIGHT)
    if look.values < look.records:
        state.ask("gaps in the weight", look)
    return Role.WEIGHT, "sounds like a sampling weight, and is positive"


def _unit(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    if NameHint.UNIT not in hints or look.nearly_unique or not 1 < look.distinct < look.values:
        return None
    if look.whole and look.values > MOST_OF_A_UNIT * look.distinct:  # the size of a family, say
        return None
    if Role.UNIT in state.taken:
        state.ask("second unit", look)
        return Role.IDENTIFIER, "sounds like a second household, company or patient"
    state.taken.add(Role.UNIT)
    if look.values < look.records:
        state.ask("gaps in the unit", look)
    return Role.UNIT, "sounds like a household, a company or a patient, and repeats"


def _identifier(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    if why := names_somebody(look):
        if (
            hints & {NameHint.IDENTITY, NameHint.SOMEBODY}
            and not hints & {NameHint.PERSON, NameHint.CONTACT}
            and not look.like
        ):
            _ask_if_repeated(look, state)
        return Role.IDENTIFIER, why
    if look.mixed and not look.mostly_repeated:
        state.ask("other text", look)
        return Role.IDENTIFIER, "numbers or dates with other text among them"
    if why := _alone_in(look, hints):
        return Role.IDENTIFIER, why
    if look.text and NameHint.SOMEBODY in hints and 2 < look.distinct <= FEW:
        state.ask("people", look)
        return Role.IDENTIFIER, "called like a person, and text"
    if look.text and not look.mostly_repeated:
        return (
            Role.IDENTIFIER,
            "text, and more than 5 % of it occurs once, so it could name people",
        )
    return _key(look, hints, state)


def _key(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    """Decide on columns that number persons or companies with several records each."""
    if (
        look.dates
        or look.boolean
        or hints & {NameHint.CODE, NameHint.CONFIDENTIAL}
        or look.distinct <= FEW
    ):
        return None
    number = look.whole and (look.stands_together or look.span > LARGEST_COUNT)
    if not _has_many_records(look) and (
        (NameHint.KEY in hints and (number or look.text)) or look.coded
    ):
        state.ask("keys", look)
        return Role.IDENTIFIER, "the numbers or codes of something, and they repeat"
    return None


def _ask_if_repeated(look: ColumnProfile, state: _State) -> None:
    """Ask if a repeated number that names somebody is the unit to protect."""
    if not look.nearly_unique and look.distinct > FEW and not _has_many_records(look):
        state.ask("keys", look)


def _alone_in(look: ColumnProfile, hints: frozenset[NameHint]) -> str:
    """Return the reason why nearly unique values identify records; "" if they are amounts, or
    repeat.
    """
    if not look.nearly_unique:
        return ""
    if look.text:
        return "text, and nearly every record has its own"
    if look.whole:
        owned = NameHint.OWNER in hints and not hints & {NameHint.MONEY, NameHint.CONFIDENTIAL}
        if owned or hints & {NameHint.NUMBER, NameHint.TAX, NameHint.UNIT, NameHint.KEY}:
            return "called like a number of something, and nearly every record has its own"
        if look.span <= 2 * look.values and NameHint.AGE not in hints and look.values > FEW:
            return "whole numbers that count the records, nearly one by one"
    return ""


def _stratum(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    large = look.values >= SMALLEST_STRATUM_ON_AVERAGE * max(look.distinct, 1)
    return (
        (Role.STRATUM, "called a stratum, and its values repeat often")
        if NameHint.STRATUM in hints and large
        else None
    )


def _confidential(look: ColumnProfile, hints: frozenset[NameHint], state: _State) -> _Decided:
    return (
        (Role.CONFIDENTIAL, "the name suggests sensitive data")
        if NameHint.CONFIDENTIAL in hints
        else None
    )


def _why_quasi(look: ColumnProfile) -> str:
    if look.na:
        return "numbers or dates, and texts that mean missing; others may know them"
    if look.dates:
        return "dates or times; others may know them"
    if look.kind is Kind.NUMERIC:
        return f"numbers{' with special codes' if look.special else ''}; others may know them"
    if look.kind is Kind.ORDINAL:
        return "ordered categories that repeat; others may know them"
    return "categories that repeat; others may know them"


def _ask(look: ColumnProfile, hints: frozenset[NameHint], role: Role, state: _State) -> None:
    """Ask what names, types and counts leave open about a released column."""
    if look.kind is not Kind.NUMERIC or look.dates:
        return
    if may_be_codes(look):
        state.ask("codes", look)
    if role is not Role.QUASI:
        return
    if (
        look.whole
        and look.in_blocks
        and not hints & {NameHint.MONEY, NameHint.TAX, NameHint.AGE, NameHint.BARE_WEIGHT}
    ):
        state.ask("blocks", look)
    if hints & {NameHint.MONEY, NameHint.TAX}:
        state.ask("money", look)
    elif look.whole and look.nearly_unique and not hints & {NameHint.WEIGHT, NameHint.BARE_WEIGHT}:
        state.ask("amounts", look)
