"""The parts of a report that are words: what was done and why it is safe, what each column is for,
the limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from microagg.formatting import counted, listed, promised, promised_units
from microagg.release.report.claims import on_naming, sentences_on_rules
from microagg.release.report.document import Block, Grid, Paragraph, Section, Warn
from microagg.release.report.front import entity_of
from microagg.release.report.subject import Subject
from microagg.table.schema import Role

WHAT_HAPPENED = {
    Role.IDENTIFIER: ("names a person directly", "left out"),
    Role.QUASI: ("others may know it", "replaced by the mean of its group"),
    Role.CONFIDENTIAL: ("sensitive", "released unchanged"),
    Role.WEIGHT: ("how many units a record stands for", "replaced by the mean of its group"),
    Role.STRATUM: ("the part of the sample", "released unchanged; no group crosses it"),
    Role.UNIT: ("the household, company or patient of a record", "left out"),
    Role.KEEP: ("none of these, by the data holder's choice", "released unchanged"),
}
KNOWN_WHOLE = (
    "Someone who knows a whole household may still find it, because several records together may "
    "fit in one way only."
)
ONE_BY_ONE = 24  # columns with a line each in the table of roles
OF_WEIGHT = {"keep": "released unchanged", "drop": "left out"}


def opening(subject: Subject) -> Section:
    """Return the section on what was done, the guarantees in words and each column's role."""
    safe = subject.k_anonymous
    blocks: list[Block] = [Paragraph(_what_was_done(subject))]
    blocks.append(Paragraph(_why_it_is_safe(subject)) if safe else Warn(_what_is_not_safe(subject)))
    if promised(subject.manifest):
        blocks.append(Paragraph(_why_values_are_safe(subject)))
    if units := promised_units(subject.manifest, subject.digits):
        blocks.append(Paragraph(_why_units_are_safe(units)))
    if stays := _what_stays(subject):
        blocks.append(Paragraph(stays))
    if subject.public:
        blocks.append(Paragraph(_what_is_shown(subject)))
    return Section("What was done, and what it protects", tuple(blocks))


def _what_was_done(subject: Subject) -> str:
    quasi = subject.columns(Role.QUASI)
    values = "these values" if len(quasi) > 1 else "this value"
    compared = "each column by itself" if _by_column(subject) else "these columns"
    released = "one value for the whole group: a mean, a median or the most frequent value"
    if only_means(subject):
        (noun,) = {entry.noun for entry in subject.aggregates.values()}
        released = f"the group's {noun}"
    by = "them" if len(quasi) > 1 else "it"
    return (
        f"Others may know {counted(len(quasi), 'column')} and could find a record by {by}: "
        f"{listed(quasi)}. Records that are alike in {compared} were put into groups of at least "
        f"{subject.k}, and {values} replaced by {released} (microaggregation)."
    )


def only_means(subject: Subject) -> bool:
    """Return True if all columns have one aggregate, and it keeps totals."""
    entries = set(subject.aggregates.values())
    return len(entries) == 1 and all(entry.keeps_totals for entry in entries)


def _why_it_is_safe(subject: Subject) -> str:
    return (
        f"Each combination of values in these columns is shared by {subject.k} or more records, so "
        f"someone who knows them for one record finds at least {subject.k} that fit equally well. "
        "This was counted on the released table."
    )


def _why_values_are_safe(subject: Subject) -> str:
    meaning = {
        "l": "knowing the class of a person does not tell the person's value (l-diversity)",
        "t": "a class reveals hardly more than the whole table does (t-closeness)",
    }
    meanings = [meaning[name] for name in ("l", "t") if subject.manifest["guarantee"].get(name)]
    return f"Confidential values are protected, too: {'; '.join(meanings)}."


def _why_units_are_safe(kept: list[str]) -> str:
    return f"{' '.join(kept)} Units were counted before their number was removed. {KNOWN_WHOLE}"


def _what_is_not_safe(subject: Subject) -> str:
    sizes = subject.class_sizes
    below = int(sizes[sizes < subject.k].sum())
    return (
        f"This release is not {subject.k}-anonymous. {counted(below, 'record')} of "
        f"{int(sizes.sum()):,} {'has' if below == 1 else 'have'} a combination of values that "
        "fewer "
        f"than {subject.k} share. The method protects each column by itself: every single value is "
        f"shared by at least {subject.k} records, but several values together may fit one record "
        "only."
    )


def _what_stays(subject: Subject) -> str:
    sentences = [naming] if (naming := on_naming(subject.manifest)) else []
    sentences += sentences_on_rules(subject.manifest.get("sums") or ())
    return " ".join(sentences)


def _unchanged(subject: Subject) -> list[str]:
    """Return the columns that are released unchanged and are no part of a class."""
    weights = subject.columns(Role.WEIGHT) if subject.weight_becomes == "keep" else []
    return [*subject.columns(Role.KEEP), *weights]


def _what_is_shown(subject: Subject) -> str:
    """Return what a public report is computed from, and what else was published."""
    rule = (
        "Everything in this report follows from the released table and the settings, except for "
        "the information loss, which is given in whole percent or withheld"
    )
    named = [measure.title for measure, _ in subject.published]
    named += ["the least information loss"] if subject.manifest.get("bound") else []
    if not named:
        return f"{rule}."
    return f"{rule}, and for figures of the original table in a part of their own: {listed(named)}."


def roles(subject: Subject) -> Section:
    """Each column: what it is, what happened to it."""
    dropped = subject.columns(Role.IDENTIFIER)
    # nobody gave them a role
    rest = set(dropped) - set(subject.settings.get("identifier", dropped))
    by_meaning: dict[tuple[str, str, str], list[str]] = {}
    for name, role in subject.manifest["roles"].items():
        what, happened = ("not needed", "left out") if name in rest else WHAT_HAPPENED[Role(role)]
        if role == Role.IDENTIFIER.value and name not in rest:
            what = f"names a {entity_of(subject)} directly"
        if role == Role.WEIGHT.value:
            happened = OF_WEIGHT.get(subject.weight_becomes or "", happened)
        if name in subject.aggregates:
            happened = f"replaced by {subject.aggregates[name].phrase}"
        by_meaning.setdefault(("none" if name in rest else role, what, happened), []).append(name)
    if len(subject.manifest["roles"]) > ONE_BY_ONE:
        rows = [(", ".join(names), *meaning) for meaning, names in by_meaning.items()]
    else:
        rows = [(name, *meaning) for meaning, names in by_meaning.items() for name in names]
    return Section(
        "The columns and their roles",
        (
            Paragraph("Protection is only as good as the choice of columns below."),
            Grid(("column", "role", "what it is", "what happened to it"), tuple(rows)),
        ),
    )


def limits(subject: Subject) -> Section:
    """Return the section on what the guarantee does not cover."""
    head = ("not covered", "why", "what helps")
    return Section(
        "Limits: what k-anonymity does not give", (Grid(head, tuple(_not_covered(subject))),)
    )


def _not_covered(subject: Subject) -> Iterator[tuple[str, str, str]]:
    confidential, others = subject.columns(Role.CONFIDENTIAL), _unchanged(subject)
    yield (
        "other columns",
        "Only quasi-identifiers, strata and averaged weights are counted. A column with another "
        "role can still lead to a record if others can look it up.",
        "Go through the roles with someone who knows what others know.",
    )
    if confidential:
        yield _same_values(subject)
        yield (
            "confidential values known elsewhere",
            f"{_capital(listed(confidential))}: released unchanged, so a rare or exact value may "
            "be recognised.",
            "Coarser values, or the role quasi.",
        )
    if others:
        yield (
            "columns kept unchanged",
            f"{_capital(listed(others))}: together with the others they can make a record unique.",
            "Leave out what is not needed.",
        )
    yield (
        "what an intruder knows besides",
        "Someone who can rule out some records of a class guesses among fewer.",
        "A larger k where people of the same circle use the table.",
    )
    yield (
        "one large value in a class",
        "If one value is far larger than the others, the mean nearly reveals it.",
        "Cap large values before groups are formed.",
    )
    single = [name for name in subject.names if _shows_single_values(subject, name)]
    if single:
        yield (
            "true values of single records",
            f"{_capital(listed(single))}: groups show a value of one record, and a value that only "
            "one record has is recognised.",
            "Means, or the most frequent value, instead; coarser values before.",
        )
    yield (
        "several releases of the same records",
        "Comparing two releases narrows down who a person is.",
        "Release a table once; a later edition with the same groups.",
    )
    yield _several_records(subject)
    yield (
        "conclusions and law",
        "What is learned about groups of people, and whether data count as anonymous, depends on "
        "who gets the table and what else they have.",
        "The judgement of the person who signs.",
    )


def _several_records(subject: Subject) -> tuple[str, str, str]:
    if promised_units(subject.manifest):
        return (
            "a whole household, company or patient",
            KNOWN_WHOLE,
            "One record for each unit that is to be protected.",
        )
    return (
        "several records of one person",
        f"{subject.k} records are not {subject.k} people where one of them has several.",
        "Name the column of persons or households as unit.",
    )


def _same_values(subject: Subject) -> tuple[str, str, str]:
    if promised(subject.manifest):
        return (
            "what a class still reveals",
            "Confidential values of a class differ as guaranteed, each column by itself. They can "
            "still be similar in meaning, or reveal more in combination.",
            "A larger l, a smaller t.",
        )
    return (
        "the same confidential value in a whole class",
        "If everyone in a class has the same value, membership reveals it.",
        "l-diversity (l) or t-closeness (t), which were not asked for here.",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shows_single_values(subject: Subject, name: str) -> bool:
    entry = subject.aggregates[name]
    if entry.is_coarse:  # the released kind is no longer that of the column
        return bool(entry.true_values_in)
    return subject.released.variables[subject.names.index(name)].kind in entry.true_values_in


def _by_column(subject: Subject) -> bool:
    return subject.manifest["guarantee"]["of"] != "each combination"
