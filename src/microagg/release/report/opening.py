"""The parts of a report that are words: what was done and why it is safe, what each column is for,
the limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from microagg.errors import InputError
from microagg.formatting import counted, listed, number, promised, promised_units
from microagg.methods.registry import method_named
from microagg.release.publishing import NOT_TOLD, WHY_NOT
from microagg.release.report.claims import (
    on_all_columns,
    on_naming,
    on_totals,
    others_released,
    sentences_on_rules,
)
from microagg.release.report.document import Block, Facts, Grid, Paragraph, Section, Signature, Warn
from microagg.release.report.subject import Subject
from microagg.table.scales import SCALE
from microagg.table.schema import Kind, Role

WHAT_HAPPENED = {
    Role.IDENTIFIER: ("names somebody directly", "left out"),
    Role.QUASI: (
        "others may know it, and find somebody by it",
        "replaced by the mean of its group",
    ),
    Role.CONFIDENTIAL: ("what nobody should learn of a person", "released as it was"),
    Role.WEIGHT: ("how many units a record stands for", "replaced by the mean of its group"),
    Role.STRATUM: (
        "the part of the sample a record is from",
        "released as it was; no group has records of two strata",
    ),
    Role.UNIT: ("the household, company or patient a record belongs to", "left out"),
    Role.KEEP: ("neither of these, says the data holder", "released as it was"),
}
RELEASED = {
    "mean": "the mean of its group",
    "median": "the median of its group, a value that somebody in it has",
    "mode": "the most frequent value of its group",
    "draw": "the value of one record of its group, drawn by lot",
    "medoid": "the value of the most central record of its group",
    "range": "the range of its group, from the least value to the largest",
    "generalise": "the narrowest category that holds all values of its group",
}
# aggregates that show what single records have, and in columns of which kinds that tells of them
TRUE_VALUES = {
    "median": (Kind.NUMERIC,),
    "range": tuple(Kind),
    "draw": tuple(Kind),
    "medoid": tuple(Kind),
}
KNOWN_WHOLE = (
    "It does not protect against somebody who knows a whole household: several of its "
    "records, looked for together, may be told from "
    "others."
)
OF_WEIGHT = {"keep": "released as it was", "drop": "left out"}


def opening(subject: Subject) -> Section:
    """What a person without code reads and signs."""
    safe = subject.k_anonymous
    blocks: list[Block] = [Paragraph(_what_was_done(subject))]
    blocks.append(Paragraph(_why_it_is_safe(subject)) if safe else Warn(_what_is_not_safe(subject)))
    if told := _who_stands_alone(subject):
        blocks.append(told)
    if protected := promised(subject.manifest, subject.digits):
        blocks.append(Paragraph(_why_values_are_safe(subject, protected)))
    if units := promised_units(subject.manifest, subject.digits):
        blocks.append(Paragraph(_why_units_are_safe(subject, units)))
    blocks.append(Paragraph(_what_it_cost(subject)))
    blocks.append(Paragraph(_what_stays(subject)))
    if subject.public:
        blocks.append(Paragraph(_what_this_tells(subject)))
    blocks.append(Facts(tuple(_headlines(subject))))
    blocks.extend(Warn(f"{note[:1].upper()}{note[1:].rstrip('.')}.") for note in subject.notes)
    if not subject.public:
        blocks.append(
            Signature("Read, and approved for release", ("Name and function", "Date", "Signature"))
        )
    return Section("What was done, and what it protects", tuple(blocks))


def _what_was_done(subject: Subject) -> str:
    quasi = subject.columns(Role.QUASI)
    several = len(quasi) > 1
    each = "each column by itself" if _by_column(subject) else "these columns"
    if only_means(subject):
        took = (
            "the group's mean took the place of "
            f"{'these values' if several else 'this value'} in each of its records"
        )
    else:
        took = (
            "one value for the whole group took the place of "
            f"{'these values' if several else 'this value'} in each of its "
            "records: a mean, a median or the most frequent value, as the next part says"
        )
    return (
        f"The table has {counted(int(subject.manifest['records']), 'record')}. "
        f"{counted(len(quasi), 'column')} could tell "
        "whose record it is, since others may know or look up such values: "
        f"{listed(quasi)}. Before the table leaves the "
        f"house, records that are alike in {each} were put together in groups of at "
        f"least {subject.k}, and {took} (microaggregation)."
    )


def only_means(subject: Subject) -> bool:
    """Whether all that groups release are means of numbers."""
    return set(subject.aggregates.values()) <= {"mean"}


def _why_it_is_safe(subject: Subject) -> str:
    k, smallest = subject.k, int(subject.class_sizes.min())
    return (
        "So no record stands alone in these columns. Whoever knows these values of a "
        f"person, and no others, finds at least {k} "
        "records that fit equally well, and picks the right one with a chance of at "
        f"most 1 in {k} ({number(100 / k, 3)} %). This was not "
        "assumed: it was counted on the finished table, which has "
        f"{counted(len(subject.class_sizes), 'such class', 'such classes')}; "
        f"the smallest has {counted(smallest, 'record')}."
    )


def _who_stands_alone(subject: Subject) -> Block | None:
    """What holds where all released columns are known: counted on the release, so everybody may
    know it.
    """
    told = on_all_columns(subject.manifest)
    if not told:
        return None
    if not others_released(subject.manifest):
        return Paragraph(f"{told[:1].upper()}{told[1:]}.")
    more = "That is for these columns alone, and says nothing of the others. With them: "
    if subject.manifest["all_columns"]["unique_records"]:
        return Warn(f"{more}{told}.")
    return Paragraph(f"{more}{told}.")


def _why_values_are_safe(subject: Subject, protected: list[str]) -> str:
    meaning = {
        "l": "whoever knows the class of a person does not know the person's value (l-diversity)",
        "t": "a class tells hardly more of a person than the whole table does (t-closeness)",
    }
    told = [meaning[name] for name in ("l", "t") if subject.manifest["guarantee"].get(name)]
    return (
        "Nor do records of a class, those that share these values, give confidential "
        f"values away. {' '.join(protected)} "
        f"In other words, {'; '.join(told)}. This, too, was counted on the finished table."
    )


def _why_units_are_safe(subject: Subject, kept: list[str]) -> str:
    return (
        "Records of one household, company or patient alone make no class. "
        f"{' '.join(kept)} The column that tells which unit a record "
        f"belongs to was left out, and this was counted by it on the finished table. {KNOWN_WHOLE}"
    )


def _what_is_not_safe(subject: Subject) -> str:
    sizes = subject.class_sizes
    below = int(sizes[sizes < subject.k].sum())
    return (
        f"This release is not {subject.k}-anonymous. {counted(below, 'record')} of "
        f"{int(sizes.sum()):,} "
        f"{'has' if below == 1 else 'have'} a combination of values that fewer than "
        f"{subject.k} share. The method protects "
        f"each column by itself: every single value is shared by at least {subject.k} "
        "records, but whoever knows several "
        "values of a person together may find one record only."
    )


def _what_it_cost(subject: Subject) -> str:
    kept = on_totals(subject)
    if subject.lost == NOT_TOLD:
        return (
            "The price is accuracy. How much of the variation in these columns is gone is "
            f"{NOT_TOLD} here: {WHY_NOT}. {kept}"
        )
    return (
        f"The price is accuracy: {subject.lost} of the variation in these columns is "
        "gone (the information loss IL; 0 % would be the "
        "untouched table, 100 % one in which all records are the "
        f"same{_measured_how(subject)}). {kept}"
    )


def _measured_how(subject: Subject) -> str:
    """On which scale the loss is measured, where it is not the usual one, and what it is there."""
    scale = f"; measured on the scale on which groups were formed, {subject.settings['scale']}"
    if subject.settings["scale"] == SCALE.default:
        return ""
    if "IL_zscore" not in subject.manifest["loss"]:
        return scale
    usual = subject.with_unit(subject.manifest["loss"]["IL_zscore"], "percent")
    return f"{scale}; {usual} in z-scores"


def _what_stays(subject: Subject) -> str:
    dropped = subject.columns(Role.IDENTIFIER)
    confidential, others = subject.columns(Role.CONFIDENTIAL), _unchanged(subject)
    sentences = []
    if dropped:
        sentences.append(f"Left out of the table: {listed(dropped)}.")
    if naming := on_naming(subject.manifest):
        sentences.append(naming)
    if confidential:
        sentences.append(f"Confidential values are released as they were: {listed(confidential)}.")
    if strata := subject.columns(Role.STRATUM):
        sentences.append(
            "Strata are released as they were, and records of a class share them, too: "
            f"{listed(strata)}."
        )
    if others:
        sentences.append(f"Also unchanged, and able to single people out: {listed(others)}.")
    sentences += sentences_on_rules(subject.manifest.get("sums") or ())
    sentences.append("What all this does not protect against is told in the last part, Limits.")
    return " ".join(sentences)


def _unchanged(subject: Subject) -> list[str]:
    """The columns that are released as they were and are no part of a class."""
    weights = subject.columns(Role.WEIGHT) if subject.weight_becomes == "keep" else []
    return [*subject.columns(Role.KEEP), *weights]


def _what_this_tells(subject: Subject) -> str:
    """What a public report is made of, and what was published besides."""
    rule = (
        "This report gives nothing away that the released table does not: all in it "
        "follows from that table and from the "
        "settings, except for the information loss, which is therefore told in whole "
        "percent or not at all"
    )
    named = [measure.title for measure, _ in subject.published]
    named += ["the least information loss"] if subject.manifest.get("bound") else []
    if not named:
        return f"{rule}."
    return (
        f"{rule}, and for what the data holder decided to publish of the original table, in "
        f"a part of its own: {listed(named)}."
    )


def _headlines(subject: Subject) -> Iterator[tuple[str, str, str]]:
    sizes = subject.class_sizes
    reasons = [
        told
        for asked, told in (("missing", "with gaps"), ("small_strata", "of strata too small"))
        if subject.settings.get(asked) == "drop"
    ]
    left_out = (
        f"those {' or '.join(reasons)} were left out before" if reasons else "none was left out"
    )
    yield (
        "Records",
        counted(int(subject.manifest["records"]), "record"),
        f"{left_out}, none was added",
    )
    yield (
        "Smallest class",
        counted(int(sizes.min()), "record"),
        "so many records share a combination of values in the columns named above at "
        f"least; {subject.k} were asked for",
    )
    yield (
        "Chance of finding a person",
        f"{number(100 / float(sizes.min()), 3)} % at most",
        "for somebody who knows all these values of a person and no others, and that the "
        "person is in the table",
    )
    if found := subject.manifest.get("all_columns"):
        yield (
            "Unique records",
            f"{int(found['unique_records']):,} of {int(subject.manifest['records']):,}",
            f"where all {int(found['columns']):,} released columns are known; the "
            "smallest class has "
            f"{counted(int(found['smallest_class']), 'record')} then",
        )
    yield (
        "Information loss (IL)",
        subject.lost,
        "of the variation in these columns, "
        + (
            "standardised"
            if subject.settings["scale"] == "zscore"
            else f"scale {subject.settings['scale']}"
        )
        + "; lower is better",
    )
    yield (
        "Method",
        str(subject.settings["method"]),
        _about_the_method(str(subject.settings["method"])),
    )


def _about_the_method(name: str) -> str:
    try:
        method = method_named(name)
    except InputError:  # a manifest may be older or newer than this registry
        return "how the groups were found"
    return f"{method.summary} ({method.source})"


def roles(subject: Subject) -> Section:
    """Each column: what it is, what happened to it."""
    dropped = subject.columns(Role.IDENTIFIER)
    # nobody gave them a role
    rest = set(dropped) - set(subject.settings.get("identifier", dropped))
    rows = []
    for name, role in subject.manifest["roles"].items():
        what, happened = ("not needed", "left out") if name in rest else WHAT_HAPPENED[Role(role)]
        if role == Role.WEIGHT.value:
            happened = OF_WEIGHT.get(subject.weight_becomes or "", happened)
        if name in subject.aggregates:
            happened = (
                f"replaced by {RELEASED.get(subject.aggregates[name], 'one value for its group')}"
            )
        rows.append((name, "none" if name in rest else role, what, happened))
    return Section(
        "The columns and their roles",
        (
            Paragraph(
                "The roles are the data holder's judgement, and the guarantee is worth "
                "no more than it: it covers the "
                "columns called quasi, with strata and averaged weights, and no others."
            ),
            Grid(("column", "role", "what it is", "what happened to it"), tuple(rows)),
        ),
    )


def limits(subject: Subject) -> Section:
    """What the guarantee does not give."""
    head = ("what is not covered", "why", "what helps")
    return Section(
        "Limits: what k-anonymity does not give",
        (
            Paragraph(
                "k-anonymity keeps a record from being told apart by the "
                "quasi-identifying columns. It is a strong and "
                "simple promise, and it says nothing on the following."
            ),
            Grid(head, tuple(_not_covered(subject))),
        ),
    )


def _not_covered(subject: Subject) -> Iterator[tuple[str, str, str]]:
    confidential, others = subject.columns(Role.CONFIDENTIAL), _unchanged(subject)
    yield (
        "other columns",
        "The guarantee counts only the columns called quasi, strata and averaged "
        "weights. A column with another role that somebody can look up "
        "leads to a record all the same.",
        "Go through the roles with somebody who knows what is known outside.",
    )
    if confidential:
        yield from _homogeneity(subject)
        yield (
            f"confidential values that are known elsewhere: {listed(confidential)}",
            "They are released as they were. A rare or exact value may be recognised by itself.",
            "Coarser values, or the role quasi.",
        )
    if others:
        yield (
            f"columns kept as they are: {listed(others)}",
            "Together with the others they can make a record unique again.",
            "The figures on uniqueness with the kept columns; leave them out where they "
            "are not needed.",
        )
    yield (
        "what an intruder knows besides",
        "Whoever can rule out some records of a class, because those people are known or "
        "differ in a confidential value, "
        "guesses among fewer.",
        "A larger k where people of the same circle use the table.",
    )
    yield (
        "one large value in a class",
        "The mean of a class in which one value is far larger than the others nearly "
        "tells that value.",
        "The figures on dominance in the internal report; top coding before the groups are formed.",
    )
    single = [name for name in subject.names if _shows_single_values(subject, name)]
    if single:
        yield (
            f"true values of single records: {listed(single)}",
            "What these columns release is the value of somebody in the group. A value "
            "that nobody else has is recognised.",
            "Means, or the most frequent value, instead; coarser values before the "
            "groups are formed.",
        )
    yield (
        "several releases of the same records",
        "Classes of two releases can be set against each other: a person is then among "
        "those only who are in both.",
        "Release a table once; a later edition with the same groups.",
    )
    if promised_units(subject.manifest):
        yield (
            "somebody who knows a whole household, company or patient",
            "Every class has records of several units. Whoever knows all records of one "
            "unit can look for the classes that fit each "
            "of them, and together they may fit in one way only.",
            "One record for each unit that is to be protected.",
        )
    else:
        yield (
            "several records of one person",
            f"{subject.k} records are not {subject.k} people where one person, household "
            "or company has several.",
            "The column that tells them as unit; or one record for each unit that is to "
            "be protected.",
        )
    yield (
        "conclusions about groups of people",
        "The table is released so that something can be learned from it, also about "
        "people who are not in it.",
        "No technique; a decision on what the table is for.",
    )
    yield (
        "the law",
        "k-anonymity is a property of a table. Whether data count as anonymous depends "
        "on who gets them and what else "
        "they have.",
        "The judgement of whoever signs.",
    )


def _homogeneity(subject: Subject) -> Iterator[tuple[str, str, str]]:
    if promised(subject.manifest):
        yield (
            "what a class tells all the same of confidential values",
            "Values of a class differ as was promised, each column by itself. They can "
            "still be similar in meaning, some "
            "likelier than others, or tell more where two columns are looked at together.",
            "The figures on diversity (l) and closeness (t) among the risks; a larger l, "
            "a smaller t.",
        )
        return
    yield (
        "the same confidential value in a whole class (homogeneity)",
        "If all records of a class agree in a confidential value, whoever knows that a "
        "person belongs to the class "
        "knows the value, without finding the record.",
        "A promise on confidential values: l (l-diversity) or t (t-closeness), which "
        "were not asked for here; see the "
        "figures on both among the risks.",
    )


def _shows_single_values(subject: Subject, name: str) -> bool:
    kind = subject.released.variables[subject.names.index(name)].kind
    return kind in TRUE_VALUES.get(subject.aggregates[name], ())


def _by_column(subject: Subject) -> bool:
    return subject.manifest["guarantee"]["of"] != "each combination"
