"""Notes on a release: code, severity, sentence, description and hint of each.

`note_rules` says when one is due.
"""

from __future__ import annotations

from microagg.release.note import NoteEntry, Severity

INFO, CHECK, DECIDE, STOP = Severity.INFO, Severity.CHECK, Severity.DECIDE, Severity.STOP

RELEASE_NOTES = (
    NoteEntry(
        "not-k-anonymous",
        STOP,
        "NOT {k}-anonymous: this method protects each column alone; {records:,} of {all_records:,} "
        "records have a combination of values that fewer than {k} share",
        "The method protects each column alone, and combinations of values are rarer than k.",
        "use another method, such as auto, which protects combinations",
    ),
    NoteEntry(
        "dominated-groups",
        DECIDE,
        "one record is so large that the mean of its group nearly reveals its value: {items:5} (it "
        "has more than {dominant:g} % of the total, or the second-largest could estimate it within "
        "{within:g} %)",
        "In some groups one record is so large that the mean nearly reveals its value.",
        "cap large values (such as {fix}) or use a larger k",
        "{column!r} in {groups:,} of {all_groups:,} groups",
    ),
    NoteEntry(
        "could-name-accepted",
        DECIDE,
        "{column!r} is released unchanged and may name people ({reason}), which was accepted",
        "A column that may name people is released, and its risk was accepted by name.",
        "make sure that everyone named has agreed, or leave it out (role identifier)",
    ),
    NoteEntry(
        "unique-records",
        DECIDE,
        "if someone knows every published column, {records:,} of {all_records:,} records can be "
        "singled out",
        "Records are unique in all released columns together.",
        "leave out columns that are not needed, or protect them too (role quasi)",
    ),
    NoteEntry(
        "k-is-2",
        DECIDE,
        "k is 2: each of the two records of a group can work out the other",
        "With k = 2 each member of a group can work out the other.",
        "use {fix}",
    ),
    NoteEntry(
        "capped-values",
        INFO,
        "values beyond the limit were set to it, and the loss counts that: {items:,}",
        "Values beyond a cap were set to it before groups were formed.",
        item="{values:,} {values:value|values} of {column!r}",
    ),
    NoteEntry(
        "true-values",
        DECIDE,
        "groups show a value that one of their records really has: {items:5}",
        "Groups release a value that one of their records has.",
        "accept it where such values are common",
        item=(
            "{column!r} by {aggregate}"
            "{groups:? (in {groups:,} of {all_groups:,} groups a value that only one record has)}"
        ),
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
        "use kinds if this is wrong",
    ),
    NoteEntry(
        "declared-missing",
        INFO,
        "{columns}: codes that the file declares missing are kept, and no mean includes them",
        "Codes that a file declares missing are not averaged.",
    ),
    NoteEntry(
        "medians-of-labelled-codes",
        INFO,
        "{columns}: all values are labelled codes, so groups show the code in the middle (median)",
        "A column of labelled codes releases medians, as a mean would be no code.",
    ),
    NoteEntry(
        "partly-labelled",
        CHECK,
        "{columns}: some values have labels, and all are taken for numbers",
        "Some values of a column of numbers have labels and may be codes.",
        "name the codes among them with special",
    ),
    NoteEntry(
        "dropped-records",
        CHECK,
        "{records:,} {records:record was|records were} left out, because a quasi-identifier is "
        "missing",
        "Records with a missing quasi-identifier were left out, as asked for.",
    ),
    NoteEntry(
        "gaps-on-minmax",
        CHECK,
        "with the scale minmax, missing values of a skewed column count as close to most values: "
        "{columns}",
        "On the scale minmax a missing value lies close to most values of a skewed column.",
        "use {fix} to keep them apart",
    ),
    NoteEntry(
        "categories-lost",
        DECIDE,
        "categories that are gone from the table: {items:5}",
        "Rare categories vanished, because groups release one category for all their records.",
        "to keep them, give the column more importance, or use aggregate draw, a hierarchy or "
        "strata",
        "{column!r} {lost:,} of {before:,} ({records:,} {records:record|records})",
    ),
    NoteEntry(
        "totals-far-off",
        DECIDE,
        "totals changed by {limit:g} % or more: {items:5}",
        "The total of a column changed so much that figures from it mislead.",
        "publish the true totals beside the table, or leave the column out{fix:?, or use {fix}}",
        "{column!r} {percent}"
        "{blanked:? ({blanked:,} values blanked, as most of their group had none)}",
    ),
    NoteEntry(
        "totals-changed",
        CHECK,
        "totals changed: {items:5}",
        "The total of a column changed, by missing values, rounding or an aggregate.",
        item=(
            "{column!r} {percent}"
            "{blanked:? ({blanked:,} values blanked, as most of their group had none)}"
        ),
    ),
    NoteEntry(
        "approximate-distances",
        INFO,
        "many categories, so the search approximates their distances (loss is counted exactly): "
        "{columns}",
        "A column has so many categories that the search approximates their distances.",
    ),
    NoteEntry(
        "equal-columns",
        CHECK,
        "{columns} hold the same values, so these count {times} times",
        "Columns hold the same cells, which count several times.",
        "leave all but one out, or lower their importance",
    ),
    NoteEntry(
        "values-like-markers",
        CHECK,
        "NA, null and the like were taken for values, because the column has other text: {columns}",
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
        "one value only, so ignored when groups were formed: {columns:quoted,}",
        "Columns with one value have no influence on the groups.",
    ),
    NoteEntry(
        "rounding-loss",
        CHECK,
        "rounding raised the loss from {unrounded:.3g} to {loss:.3g} %",
        "Rounding means to the decimals of their columns added to the loss.",
        "leave it: exact averages are riskier",
    ),
    NoteEntry(
        "kept-columns",
        DECIDE,
        "released unchanged, so records may be recognised by them: {columns:quoted,}",
        "Columns are released as they are, so records may be recognised by them.",
        "accept it if nobody outside knows these values",
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
        "no fixed number of decimals, so means are rounded to steps that fit the spread: {items:,}",
        "Means of values without fixed decimals are rounded by the spread of the column.",
        item="{column!r} to steps of {step}",
    ),
    NoteEntry(
        "sums-kept",
        INFO,
        "sums between columns were found, and they hold in the release: {rules:;}",
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
        "{column!r} has one value in the whole table, so all {groups:,} groups ({records:,} "
        "records) reveal it",
        "A confidential column has the same value in all records, which discloses it.",
        "leave the column out if that value is sensitive",
    ),
    NoteEntry(
        "shared-confidential-value",
        DECIDE,
        "in {groups:,} of {all_groups:,} groups ({records:,} records) everyone has the same "
        "{column!r}, so membership reveals it",
        "In some groups everyone has the same confidential value, so membership reveals it.",
        "use {fix}, which asks for different values in every group",
    ),
    NoteEntry(
        "several-spellings",
        CHECK,
        "{column!r} spells values in several ways: {texts} of its texts count as another one, "
        "because case, width, white space and the form of numbers are ignored ({hint})",
        "Texts of a confidential column that differ in their spelling only count as one value.",
        "{fix} counts letters",
    ),
    NoteEntry(
        "similar-texts",
        CHECK,
        "{column!r} has {texts} texts that are nearly the same as another one and count as "
        "separate values",
        "Texts of a confidential column are nearly the same and may mean the same.",
        "if they mean the same, correct them",
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
        "l counts known values only: in {records:,} of {all_records:,} records {column!r} is "
        "missing or a special code",
        "Missing values of a confidential column do not count for l.",
        "where a gap is an answer (such as no diagnosis), fill it in before",
    ),
    NoteEntry(
        "units",
        DECIDE,
        "every class has records of {k} or more different {column!r}, but someone who knows all "
        "records of one may still find it ({large_units:,} of {units:,} have {k} or more records)",
        "Units are protected, but not against somebody who knows all records of one.",
        "accept it, or publish one record for each unit",
    ),
    NoteEntry(
        "strata-left-out",
        CHECK,
        "{records:,} records in {strata:,} strata were left out, because these strata are too "
        "small for the guarantees (k = {k}); totals do not include them",
        "Strata that are too small for the guarantee were left out, as asked for.",
    ),
    NoteEntry(
        "small-strata",
        CHECK,
        "the {strata:,} strata are small (median: {median:,.0f} records), so their groups lose "
        "much",
        "Strata are so small that groups within them lose much.",
        "coarser strata, or fewer columns of them, lose less",
    ),
    NoteEntry(
        "heavy-records",
        DECIDE,
        "in {groups:,} of {all_groups:,} groups one record has more than half of the weight, so "
        "the means nearly reveal its values",
        "In some groups one record has more than half of the weight and decides the mean.",
        "use a larger k",
    ),
    NoteEntry(
        "sum-of-weights-changed",
        CHECK,
        "rounding changed the sum of the weights {column!r} by {percent:+.2g} %",
        "Rounding changed the sum of the weights.",
        "tell users of the table, or store the weights with more decimals",
    ),
    NoteEntry(
        "weighted-totals-changed",
        CHECK,
        "with the released weights, weighted totals change: {items:5}",
        "Weighted totals of columns differ between table and release.",
        item="{column!r} {percent:+.1f} %",
    ),
    NoteEntry(
        "kept-weight",
        DECIDE,
        "the weight {column!r} is released unchanged, and with it {records:,} of {all_records:,} "
        "records are unique",
        "The weight is released as it is, and records may be recognised by it.",
        "use {fix}, the mean of each group",
    ),
    NoteEntry(
        "could-name-somebody",
        STOP,
        "{column!r} is released unchanged and may name people ({reason})",
        "A column that is released unchanged looks like names, addresses or numbers of people.",
        "leave it out (role identifier)",
    ),
    NoteEntry(
        "nearly-unique",
        DECIDE,
        "released unchanged, and nearly every record has its own value, so someone who knows it "
        "finds the record: {columns:quoted}",
        "A column that is released unchanged has another value in nearly every record.",
        "protect it (role quasi) or leave it out (role identifier)",
    ),
    NoteEntry(
        "index-could-name-people",
        DECIDE,
        "the index of the table may name people; it is never saved, but release.table has it",
        "The index of a table of pandas could name people, and the release in memory keeps it.",
        "drop the index before you pass release.table on",
    ),
)
