"""Rules of notes: for each code the function that says from facts when a note is due.

A rule yields an `Occurrence` for each note, with the counts that the template of its entry names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from microagg.release.effects import signed_percent
from microagg.release.note import Note, Occurrence
from microagg.release.note_catalogue import CATALOGUE
from microagg.release.note_facts import NoteFacts, RoundedColumn

NoteRule = Callable[[NoteFacts], Iterator[Occurrence]]
RULES: dict[str, NoteRule] = {}
FEW_GROUPS = 10  # a median stratum with room for fewer groups gets a note
RELATIVE_LOSS, ABSOLUTE_LOSS = 1.02, 0.01  # rounding that adds less to IL is not worth a note
WEIGHT_SUM_CHANGE = 1e-6  # relative: smaller changes are those of floating-point numbers
WEIGHTED_TOTAL_CHANGE = 0.05  # percent: rounding means changes totals by less, as a rule
TOTAL_CHANGE, FAR_OFF = 1.0, 10.0  # percent
GAPS_BLANK = 3  # with this k, one missing value blanks the other two of a group of three


def notes_from(facts: NoteFacts) -> tuple[Note, ...]:
    """Return all notes that are due to the facts of a release, in the order of the catalogue.

    >>> notes_from(NoteFacts(k=2))
    ('k is 2: each of the two records of a group can work out the other; use k=3',)
    """
    return tuple(
        Note(entry, occurrence)
        for code, entry in CATALOGUE.items()
        if code in RULES
        for occurrence in RULES[code](facts)
    )


def rule(code: str) -> Callable[[NoteRule], NoteRule]:
    """Register the rule of an entry of the catalogue."""
    if code not in CATALOGUE or code in RULES:
        raise ValueError(f"no entry for a rule, or a second rule: {code}")

    def register(function: NoteRule) -> NoteRule:
        RULES[code] = function
        return function

    return register


@rule("not-k-anonymous")
def _not_k_anonymous(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.unprotected_records:
        counts = {"k": facts.k, "records": facts.unprotected_records, "all_records": facts.records}
        yield Occurrence(counts=counts)


@rule("dominated-groups")
def _dominated_groups(facts: NoteFacts) -> Iterator[Occurrence]:
    if not facts.dominated:
        return
    from microagg.measures.risk.dominance import DOMINANT, P

    counts = {
        "groups": [column.groups for column in facts.dominated],
        "all_groups": [column.all_groups for column in facts.dominated],
        "dominant": DOMINANT,
        "within": P,
    }
    columns = tuple(column.column for column in facts.dominated)
    yield Occurrence(columns, counts, {"cap": "NAME=99.5%"})


@rule("k-is-2")
def _k_is_2(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.k == 2:
        yield Occurrence(fix={"k": 3})


@rule("capped-values")
def _capped_values(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.capped:
        yield Occurrence(tuple(facts.capped), {"values": list(facts.capped.values())})


@rule("true-values")
def _true_values(facts: NoteFacts) -> Iterator[Occurrence]:
    columns = facts.true_values
    if columns:
        counts = {
            "aggregate": [column.aggregate for column in columns],
            "groups": [column.groups for column in columns],
            "all_groups": [column.all_groups for column in columns],
        }
        yield Occurrence(tuple(column.column for column in columns), counts)


LISTED: dict[str, Callable[[NoteFacts], Iterable[str]]] = {
    "declared-missing": lambda facts: facts.labels.declared_missing,
    "medians-of-labelled-codes": lambda facts: facts.labels.medians,
    "partly-labelled": lambda facts: facts.labels.partly_labelled,
    "approximate-distances": lambda facts: facts.approximated,
    "constant-columns": lambda facts: facts.constant,
    "kept-columns": lambda facts: facts.kept,
}
"""Notes that list columns and have no counts, with the columns they list."""


def _register_simple_rules() -> None:
    """Register notes that list columns, and those whose counts the reader of a file left."""

    def listing(columns_in: Callable[[NoteFacts], Iterable[str]]) -> NoteRule:
        def listed(facts: NoteFacts) -> Iterator[Occurrence]:
            if columns := tuple(columns_in(facts)):
                yield Occurrence(columns)

        return listed

    def rule_of(code: str) -> NoteRule:
        def from_file(facts: NoteFacts) -> Iterator[Occurrence]:
            if code in facts.file:
                yield Occurrence(counts=facts.file[code])

        return from_file

    for code in ("labels-from-file", "more-sheets"):
        rule(code)(rule_of(code))
    for code, columns_in in LISTED.items():
        rule(code)(listing(columns_in))


_register_simple_rules()


@rule("kinds-from-labels")
def _kinds_from_labels(facts: NoteFacts) -> Iterator[Occurrence]:
    for kind, columns in facts.labels.kinds.items():
        if columns:
            yield Occurrence(tuple(columns), {"kind": kind})


@rule("dropped-records")
def _dropped_records(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.dropped_records:
        yield Occurrence(counts={"records": facts.dropped_records})


@rule("gaps-on-minmax")
def _gaps_on_minmax(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.columns_with_gaps and facts.scale == "minmax":
        yield Occurrence(tuple(facts.columns_with_gaps), fix={"scale": "zscore"})


@rule("equal-columns")
def _equal_columns(facts: NoteFacts) -> Iterator[Occurrence]:
    for columns in facts.equal_columns:
        yield Occurrence(tuple(columns), {"times": len(columns)})


@rule("values-like-markers")
def _values_like_markers(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.values_like_markers:
        yield Occurrence(tuple(facts.values_like_markers), fix={"na": "NA"})


@rule("numbers-as-text")
def _numbers_as_text(facts: NoteFacts) -> Iterator[Occurrence]:
    for column in facts.numbers_as_text:
        yield Occurrence((column,), fix={"kinds": {column: "numeric"}})


@rule("rounding-loss")
def _rounding_loss(facts: NoteFacts) -> Iterator[Occurrence]:
    added = facts.loss - facts.loss_unrounded
    if facts.loss > RELATIVE_LOSS * facts.loss_unrounded and added > ABSOLUTE_LOSS:
        counts = {"unrounded": facts.loss_unrounded, "loss": facts.loss}
        yield Occurrence(counts=counts)


@rule("rounded-like-most")
def _rounded_like_most(facts: NoteFacts) -> Iterator[Occurrence]:
    yield from _rounded([column for column in facts.rounded if column.reason == "most"])


@rule("rounded-by-spread")
def _rounded_by_spread(facts: NoteFacts) -> Iterator[Occurrence]:
    yield from _rounded([column for column in facts.rounded if column.reason == "spread"])


def _rounded(columns: list[RoundedColumn]) -> Iterator[Occurrence]:
    steps = {
        column.column: f"{Decimal(1).scaleb(-column.decimals):f}"
        for column in columns
        if column.decimals is not None
    }
    if steps:
        yield Occurrence(tuple(steps), {"step": list(steps.values())})


@rule("sums-kept")
def _sums_kept(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.rules_found:
        yield Occurrence(counts={"rules": tuple(facts.rules_found)})


@rule("sum-not-kept")
def _sum_not_kept(facts: NoteFacts) -> Iterator[Occurrence]:
    for text, reason in facts.rules_lost:
        yield Occurrence(counts={"rule": text, "reason": reason})


@rule("only-confidential-value")
def _only_confidential_value(facts: NoteFacts) -> Iterator[Occurrence]:
    for column in facts.shared_values:
        if column.records_of_only_value is not None:
            counts = {"groups": column.groups, "records": column.records_of_only_value}
            yield Occurrence((column.column,), counts)


@rule("shared-confidential-value")
def _shared_confidential_value(facts: NoteFacts) -> Iterator[Occurrence]:
    for column in facts.shared_values:
        if column.groups and column.records_of_only_value is None:
            counts = {
                "groups": column.groups,
                "all_groups": column.all_groups,
                "records": column.records,
            }
            yield Occurrence((column.column,), counts, {"l": 2})


@rule("several-spellings")
def _several_spellings(facts: NoteFacts) -> Iterator[Occurrence]:
    for column, texts in facts.spellings.items():
        if texts:
            yield Occurrence((column,), {"texts": texts}, {"exact": True})


@rule("similar-texts")
def _similar_texts(facts: NoteFacts) -> Iterator[Occurrence]:
    for column, texts in facts.similar_texts.items():
        if texts:
            yield Occurrence((column,), {"texts": texts})


@rule("formulas")
def _formulas(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.formulas:
        yield Occurrence(tuple(facts.formulas), fix={"escape_formulas": True})


@rule("unknown-confidential-values")
def _unknown_confidential_values(facts: NoteFacts) -> Iterator[Occurrence]:
    for column, records in facts.records_without_value.items():
        if records:
            counts = {"records": records, "all_records": facts.records}
            yield Occurrence((column,), counts)


@rule("units")
def _units(facts: NoteFacts) -> Iterator[Occurrence]:
    units = facts.units
    if units is not None:
        counts = {"units": units.units, "large_units": units.large_units, "k": facts.k}
        yield Occurrence((units.column,), counts)


@rule("strata-left-out")
def _strata_left_out(facts: NoteFacts) -> Iterator[Occurrence]:
    strata = facts.strata
    if strata is not None and strata.records_left_out:
        counts = {
            "k": facts.k,
            "records": strata.records_left_out,
            "strata": strata.strata_left_out,
        }
        yield Occurrence(counts=counts)


@rule("small-strata")
def _small_strata(facts: NoteFacts) -> Iterator[Occurrence]:
    strata = facts.strata
    if strata is not None and strata.strata > 1 and strata.median_size < FEW_GROUPS * facts.k:
        yield Occurrence(counts={"strata": strata.strata, "median": strata.median_size})


@rule("heavy-records")
def _heavy_records(facts: NoteFacts) -> Iterator[Occurrence]:
    weight = facts.weight
    if weight is not None and weight.heavy_groups:
        counts = {"groups": weight.heavy_groups, "all_groups": weight.groups}
        yield Occurrence(counts=counts)


@rule("sum-of-weights-changed")
def _sum_of_weights_changed(facts: NoteFacts) -> Iterator[Occurrence]:
    weight = facts.weight
    if weight is not None and abs(weight.sum_change) > WEIGHT_SUM_CHANGE:
        counts = {"percent": 100.0 * weight.sum_change}
        yield Occurrence((weight.column,), counts)


@rule("weighted-totals-changed")
def _weighted_totals_changed(facts: NoteFacts) -> Iterator[Occurrence]:
    changes = {} if facts.weight is None else facts.weight.total_changes
    large = {
        name: percent for name, percent in changes.items() if abs(percent) >= WEIGHTED_TOTAL_CHANGE
    }
    if large:
        yield Occurrence(tuple(large), {"percent": list(large.values())})


@rule("kept-weight")
def _kept_weight(facts: NoteFacts) -> Iterator[Occurrence]:
    weight = facts.weight
    if weight is not None and weight.unique_records is not None:
        counts = {"records": weight.unique_records, "all_records": facts.records}
        yield Occurrence((weight.column,), counts, {"aggregate": {weight.column: "mean"}})


@rule("could-name-somebody")
def _could_name_somebody(facts: NoteFacts) -> Iterator[Occurrence]:
    if not facts.names_accepted:
        yield from _naming(facts)


@rule("could-name-accepted")
def _could_name_accepted(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.names_accepted:
        yield from _naming(facts)


def _naming(facts: NoteFacts) -> Iterator[Occurrence]:
    for column, reason in facts.naming.items():
        yield Occurrence((column,), {"reason": reason})


@rule("unique-records")
def _unique_records(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.unique_records and not facts.unprotected_records:
        counts = {"records": facts.unique_records, "all_records": facts.records}
        yield Occurrence(counts=counts)


@rule("categories-lost")
def _categories_lost(facts: NoteFacts) -> Iterator[Occurrence]:
    losing = [effect for effect in facts.effects if effect.lost]
    if losing:
        counts = {
            "lost": [effect.lost for effect in losing],
            "before": [effect.categories[0] for effect in losing if effect.categories],
            "records": [effect.lost_records for effect in losing],
        }
        yield Occurrence(tuple(effect.name for effect in losing), counts)


@rule("totals-far-off")
def _totals_far_off(facts: NoteFacts) -> Iterator[Occurrence]:
    for changed in _changed_totals(facts, FAR_OFF, math.inf):
        blanked = any(effect.blanked for effect in facts.effects if effect.name in changed.columns)
        fix = {"k": GAPS_BLANK + 1} if blanked and facts.k <= GAPS_BLANK else {}
        yield Occurrence(changed.columns, {**changed.counts, "limit": FAR_OFF}, fix)


@rule("totals-changed")
def _totals_changed(facts: NoteFacts) -> Iterator[Occurrence]:
    yield from _changed_totals(facts, TOTAL_CHANGE, FAR_OFF)


def _changed_totals(facts: NoteFacts, least: float, below: float) -> Iterator[Occurrence]:
    """Yield the columns whose total changed by so many percent, the largest change first."""
    changes = {
        effect: effect.total_change
        for effect in facts.effects
        if effect.total_change is not None and least <= abs(effect.total_change) < below
    }
    effects = sorted(changes, key=lambda effect: -abs(changes[effect]))
    if effects:
        counts = {
            "percent": [signed_percent(changes[effect]) for effect in effects],
            "blanked": [effect.blanked for effect in effects],
        }
        yield Occurrence(tuple(effect.name for effect in effects), counts)


@rule("nearly-unique")
def _nearly_unique(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.nearly_unique:
        yield Occurrence(tuple(facts.nearly_unique))


@rule("index-could-name-people")
def _index_could_name_people(facts: NoteFacts) -> Iterator[Occurrence]:
    if facts.index_may_name:
        yield Occurrence()
