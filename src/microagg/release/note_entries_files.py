"""Notes on files: entries of those that are made where files are read, written and compared."""

from __future__ import annotations

from microagg.release.note import NoteEntry, Severity

INFO, CHECK, DECIDE, STOP = Severity.INFO, Severity.CHECK, Severity.DECIDE, Severity.STOP

FILE_NOTES = (
    NoteEntry(
        "other-groups",
        DECIDE,
        "you released this table before with other groups, as {releases:quoted,5}; comparing both "
        "releases narrows down who a person is",
        "The same table was released before with other groups.",
        "publish only one of them; `microagg attack --with` measures what both give together",
    ),
    NoteEntry(
        "shared-records",
        DECIDE,
        "most of these records are also in the table that was released as {releases:quoted,5}: "
        "comparing both releases narrows down who a person is",
        "Most records were released before as part of another table.",
        "publish only one of them; `microagg attack --with` measures what both give together",
    ),
    NoteEntry(
        "out-of-core",
        INFO,
        "large-table mode: these checks were not run: sizes of units, spellings of one text, "
        "values of single records that groups show, and a kept weight beside other kept columns",
        "The table was too large for memory, so that some checks were not run.",
    ),
    NoteEntry(
        "empty-texts",
        CHECK,
        "{columns}: {format} files have no empty text, so it is missing there",
        "The format of the file cannot tell an empty text from a missing one.",
    ),
    NoteEntry(
        "memory-exceeded",
        INFO,
        "the memory limit was not applied, because it applies to parquet, Arrow and text files of "
        "more than {records:,} records only; this table took up to about {megabytes:,.0f} MB "
        "besides the libraries",
        "A table that cannot be worked on in blocks may have taken more memory than allowed.",
    ),
    NoteEntry(
        "one-process",
        INFO,
        "this process did all the work: the table is one block, and a cluster only shares larger "
        "tables",
        "The table is one block, so the workers of a cluster had no part in it.",
    ),
    NoteEntry(
        "manifest-in-store",
        DECIDE,
        "the internal manifest is in the store beside the table, so everyone who may read that "
        "folder may read it",
        "Everybody who may read a folder of a store may read the internal manifest there.",
    ),
    NoteEntry(
        "release-unknown",
        CHECK,
        "the manifest has no digest of the release, so it cannot be compared with this one",
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
        STOP,
        "NOT the release that the manifest describes: {reason}",
        "A repeated release differs from the first, and was written as asked for.",
    ),
)
