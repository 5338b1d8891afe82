"""Catalogue of notes: one entry for each code with its sentence, hint, severity and description.

Notes of a release come in the order of these entries. `note_rules` says when they are due, except
for the last ones, which are made where files are read, written and compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg.release.note import Count, Note, NoteEntry, Severity

INFO, CHECK, DECIDE = Severity.INFO, Severity.CHECK, Severity.DECIDE

_ENTRIES = (
    NoteEntry(
        "not-k-anonymous",
        DECIDE,
        "NOT {k}-anonymous: this method protects each column alone; {records} of {all_records} "
        "records have a combination of values that fewer than {k} share",
        "The method protects each column alone, and combinations of values are rarer than k.",
    ),
    NoteEntry(
        "dominated-groups",
        DECIDE,
        "one record dominates, so that the group's mean all but tells its value (more than "
        "{dominant:g} % of the total, or the second largest works it out to within {within:g} %): "
        "{items}",
        "In some groups one record is so large that the mean nearly reveals its value.",
        "a cap (such as {fix}) or a larger k helps",
        "{column!r} in {groups:,} of {all_groups:,} groups",
    ),
    NoteEntry(
        "k-is-2",
        DECIDE,
        "k is 2: of two records in a group, whoever knows one knows the other",
        "With k = 2 each member of a group can work out the other.",
        "{fix} prevents that",
    ),
    NoteEntry(
        "capped-values",
        INFO,
        "capped, and the loss measured against what they were: {items:,}",
        "Values beyond a cap were set to it before groups were formed.",
        item="{values:,} {values:value|values} of {column!r}",
    ),
    NoteEntry(
        "true-values",
        DECIDE,
        "values of single records are released as they are: {items}",
        "Groups release a value that one of their records has.",
        item="{aggregate} of {column!r}{groups:? (one that no other record has, in "
        "{groups:,} of {all_groups:,} groups)}",
    ),
    NoteEntry(
        "labels-from-file",
        INFO,
        "labels of {labelled:one column|{labelled} columns} were taken from {file!r}",
        "Labels of columns were read from the file that lies beside the table.",
    ),
    NoteEntry(
        "more-sheets",
        CHECK,
        "the Excel file has {sheets:one more sheet|{sheets} more sheets} besides the one that was "
        "read",
        "An Excel file has sheets that were not read.",
        "name another with sheet",
    ),
    NoteEntry(
        "kinds-from-labels",
        CHECK,
        "{columns}: taken for {kind}, as measure levels and labels say",
        "The labels of a file decided whether a column is nominal or ordinal.",
        "say kinds where that is wrong",
    ),
    NoteEntry(
        "declared-missing",
        INFO,
        "{columns}: codes that the file declares missing are kept apart from values: no mean "
        "includes them",
        "Codes that a file declares missing are not averaged.",
    ),
    NoteEntry(
        "medians-of-labelled-codes",
        INFO,
        "{columns}: all values are labelled codes, so groups release their median, which is one of "
        "them",
        "A column of labelled codes releases medians, as a mean would be no code.",
    ),
    NoteEntry(
        "partly-labelled",
        CHECK,
        "{columns}: some values have labels and are taken for numbers all the same",
        "Some values of a column of numbers have labels and may be codes.",
        "name those that are none with special",
    ),
    NoteEntry(
        "dropped-records",
        CHECK,
        "left out, because a quasi-identifier was missing: {records:,} records",
        "Records with a missing quasi-identifier were left out, as asked for.",
    ),
    NoteEntry(
        "gaps-on-minmax",
        CHECK,
        "on the scale minmax a gap in a skewed column is near everything: {columns}",
        "On the scale minmax a missing value lies close to most values of a skewed column.",
        "{fix} keeps it apart",
    ),
    NoteEntry(
        "approximate-distances",
        INFO,
        "of more than 64 values, so that groups were searched with distances that are equal within "
        "some percent, while loss is counted exactly: {columns}",
        "A column has so many categories that the search approximates their distances.",
    ),
    NoteEntry(
        "equal-columns",
        CHECK,
        "{columns} hold the same, so that it counts {times} times",
        "Columns hold the same cells, which count several times.",
        "leave all but one out, or lower their importance",
    ),
    NoteEntry(
        "values-like-markers",
        CHECK,
        "NA, null and the like were taken for values, because there is other text beside them: "
        "{columns}",
        "Texts such as NA were taken for values and not for missing ones.",
        "{fix} makes them missing",
    ),
    NoteEntry(
        "numbers-as-text",
        CHECK,
        "{column!r} holds numbers as text, and they were taken for categories",
        "A column of text holds numbers only and was grouped as categories.",
        "{fix} takes them for numbers",
    ),
    NoteEntry(
        "constant-columns",
        INFO,
        "constant, so without influence on the groups: {columns:quoted,}",
        "Columns with one value have no influence on the groups.",
    ),
    NoteEntry(
        "rounding-loss",
        CHECK,
        "rounding to the columns' own precision raised IL from {unrounded:.3g} to {loss:.3g} %",
        "Rounding means to the decimals of their columns added to the loss.",
        "{fix} avoids it",
    ),
    NoteEntry(
        "kept-columns",
        DECIDE,
        "kept as they are, and able to single people out: {columns:quoted,}",
        "Columns are released as they are, so people may be recognised by them.",
    ),
    NoteEntry(
        "rounded-like-most",
        INFO,
        "a few values have more decimals than the others, and means are rounded like most values: "
        "{items:,}",
        "Means have the decimals of most values of their column.",
        item="{column!r} to steps of {step}",
    ),
    NoteEntry(
        "rounded-by-spread",
        INFO,
        "no fixed number of decimals, so means are rounded by how far values are spread: {items:,}",
        "Means of values without fixed decimals are rounded by the spread of the column.",
        item="{column!r} to steps of {step}",
    ),
    NoteEntry(
        "sums-kept",
        INFO,
        "sums found in the table, and kept by rounding their parts: {rules:;}",
        "Sums between columns were found, and they hold in the release.",
    ),
    NoteEntry(
        "sum-not-kept",
        CHECK,
        "the sum {rule} holds in the table but is not kept, because {reason}",
        "A sum between columns holds in the table and not in the release.",
    ),
    NoteEntry(
        "only-confidential-value",
        DECIDE,
        "one value only in the whole table, so that everybody in a class shares it and nothing "
        "hides it, in all {groups:,} groups ({records:,} records): {column!r}",
        "A confidential column has the same value in all records, which discloses it.",
    ),
    NoteEntry(
        "shared-confidential-value",
        DECIDE,
        "{groups:,} of {all_groups:,} groups ({records:,} records) share one value of {column!r}: "
        "whoever is known to be in one of them is known to have it",
        "In some groups everyone has the same confidential value, so membership reveals it.",
        "{fix} prevents that",
    ),
    NoteEntry(
        "several-spellings",
        CHECK,
        "{column!r} spells values in several ways: {texts} of its texts count as another one, "
        "because case, width, white space and how a number is written make no difference ({hint})",
        "Texts of a confidential column that differ in their spelling only count as one value.",
        "{fix} counts letters",
    ),
    NoteEntry(
        "similar-texts",
        CHECK,
        "{column!r} has {texts} texts that are much like another one and count as values of their "
        "own",
        "Texts of a confidential column are nearly the same and may mean the same.",
        "if they mean the same, mend them",
    ),
    NoteEntry(
        "formulas",
        CHECK,
        "a spreadsheet may run texts of {columns:quoted,} as formulas (they begin with =, +, - or "
        "@)",
        "Texts of the release would run as formulas in a spreadsheet.",
        "for csv files that go to one, {fix} puts an apostrophe before them",
    ),
    NoteEntry(
        "unknown-confidential-values",
        CHECK,
        "l counts known values only: {records:,} of {all_records:,} records have none in "
        "{column!r}, where it is missing or a special code",
        "Missing values of a confidential column do not count for l.",
        "where a gap is an answer (such as no diagnosis), fill it in before",
    ),
    NoteEntry(
        "units",
        DECIDE,
        "units: {units:,} different ones in {column!r}, {large_units:,} of them with {k} or more "
        "records; every class has {k} of them, but that does not protect against somebody who "
        "knows a whole household, company or patient",
        "Units are protected, but not against somebody who knows all records of one.",
    ),
    NoteEntry(
        "strata-left-out",
        CHECK,
        "left out, because their stratum has fewer than k = {k} records or cannot keep what is "
        "promised: {records:,} records in {strata:,} strata; totals are without them",
        "Strata that are too small for the guarantee were left out, as asked for.",
    ),
    NoteEntry(
        "small-strata",
        CHECK,
        "{strata:,} strata of {median:,.0f} records in the median: groups within strata so small "
        "lose much",
        "Strata are so small that groups within them lose much.",
        "coarser strata, or fewer columns of them, lose less",
    ),
    NoteEntry(
        "heavy-records",
        DECIDE,
        "one record has more than half of the weight, so that it all but decides the means, in "
        "{groups:,} of {all_groups:,} groups",
        "In some groups one record has more than half of the weight and decides the mean.",
        "a larger k helps",
    ),
    NoteEntry(
        "sum-of-weights-changed",
        CHECK,
        "rounding the weights to the precision of {column!r} changed their sum by {percent:+.2g} %",
        "Rounding changed the sum of the weights.",
        "{fix} avoids it",
    ),
    NoteEntry(
        "weighted-totals-changed",
        CHECK,
        "with the released weights, weighted totals change: {items}",
        "Weighted totals of columns differ between table and release.",
        item="{column!r} {percent:+.1f} %",
    ),
    NoteEntry(
        "kept-weight",
        DECIDE,
        "the weight {column!r} is kept as it is, and with it {records:,} of {all_records:,} "
        "records stand alone",
        "The weight is released as it is, and records may be recognised by it.",
        "{fix} releases the mean of each group instead",
    ),
    NoteEntry(
        "could-name-somebody",
        DECIDE,
        "{column!r} is released as it is and could name somebody ({reason})",
        "A column that is released as it is looks like names, addresses or numbers of people.",
        "make it an identifier to leave it out",
    ),
    NoteEntry(
        "nearly-unique",
        DECIDE,
        "nearly every record has a value of its own, released as it is, by which whoever knows it "
        "finds the record: {columns:quoted}",
        "A column that is released as it is has another value in nearly every record.",
        "make it quasi-identifying, or an identifier to leave it out",
    ),
    NoteEntry(
        "index-could-name-people",
        DECIDE,
        "the table's index could name people (each has its own text, or it is called so): it is "
        "never saved, but release.table still has it",
        "The index of a table of pandas could name people, and the release in memory keeps it.",
        "drop it before handing that on",
    ),
    NoteEntry(
        "other-groups",
        DECIDE,
        "the same table was grouped otherwise for {releases:quoted,5}: whoever has both releases "
        "sets the groups against each other, and a person is then among those only who are in both",
        "The same table was released before with other groups.",
        "publish one of them",
    ),
    NoteEntry(
        "shared-records",
        DECIDE,
        "most of these records are also in the table that was released as {releases:quoted,5}: "
        "comparing both releases narrows down who a person is",
        "Most records were released before as part of another table.",
        "publish only one of them",
    ),
    NoteEntry(
        "out-of-core",
        INFO,
        "worked on beyond memory: units, texts that spell one value in several ways, values of "
        "single records that are released as they are, and a kept weight beside other kept columns "
        "are told about in notes on tables in memory only",
        "The table was too large for memory, so that some notes were not looked for.",
    ),
    NoteEntry(
        "empty-texts",
        CHECK,
        "{columns}: {format} knows no empty text, so that it is missing there",
        "The format of the file cannot tell an empty text from a missing one.",
    ),
    NoteEntry(
        "memory-exceeded",
        INFO,
        "this table was worked on in memory as a whole, which may take up to about {megabytes:,.0f} "
        "MB besides the libraries; memory is heeded for parquet, Arrow and text files of more than "
        "{records:,} records",
        "A table that cannot be worked on in blocks may have taken more memory than allowed.",
    ),
    NoteEntry(
        "one-process",
        INFO,
        "worked on by this process alone: a cluster shares the blocks of files with more records "
        "than one block has",
        "The table is one block, so the workers of a cluster had no part in it.",
    ),
    NoteEntry(
        "manifest-in-store",
        DECIDE,
        "the internal manifest lies in the store beside the table, where no mode keeps it from "
        "others: whoever may read that folder of the store may read it",
        "Everybody who may read a folder of a store may read the internal manifest there.",
    ),
    NoteEntry(
        "release-unknown",
        CHECK,
        "the manifest does not say what the release was like, so that nothing tells whether this "
        "is the same",
        "A repeated release cannot be compared with the first.",
    ),
    NoteEntry(
        "same-release",
        INFO,
        "the same release as the manifest describes, to the digit",
        "A repeated release is the same as the first.",
    ),
    NoteEntry(
        "another-release",
        DECIDE,
        "NOT the release that the manifest describes: {reason}",
        "A repeated release differs from the first, and was written as asked for.",
    ),
)
CATALOGUE: dict[str, NoteEntry] = {entry.code: entry for entry in _ENTRIES}
"""Entries by their codes, in the order of the notes of a release."""


def make_note(
    code: str, columns: Sequence[str] = (), *, fix: Mapping[str, Any] | None = None, **counts: Count
) -> Note:
    """Return a note by the code of its entry.

    >>> make_note("dropped-records", records=1200)
    'left out, because a quasi-identifier was missing: 1,200 records'
    """
    return CATALOGUE[code].note(columns, counts, fix)
