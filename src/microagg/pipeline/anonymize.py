"""anonymize(): the public function that protects a table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg.pipeline.in_memory import protect
from microagg.pipeline.sources import is_open_file, is_path, read_source
from microagg.problem.problem import Progress
from microagg.release.release import Release
from microagg.release.selecting import names_of_selectors
from microagg.release.settings import Settings, settings_from
from microagg.table.columns.frames import (
    open_frame,
)

Names = Sequence[str | int] | str | int


def anonymize(
    table: Any,
    k: int | None = None,
    quasi: Names = (),
    identifier: Names = (),
    confidential: Names = (),
    keep: Names = (),
    *,
    weight: str | int | None = None,
    stratum: Names = (),
    unit: str | int | None = None,
    small_strata: str = "error",
    rest: str = "error",
    l: float | None = None,
    t: float | None = None,
    diversity: str = "distinct",
    c: float | None = None,
    exact: bool = False,
    method: str = "auto",
    refine: bool = False,
    scale: str = "zscore",
    kinds: Mapping[str, str] | Sequence[str] | str | None = None,
    nominal: Names = (),
    ordinal: Mapping[str, Any] | Names | None = None,
    importance: Mapping[str, float] | Sequence[str] | str | None = None,
    aggregate: Mapping[str, str] | Sequence[str] | str | None = None,
    hierarchy: Mapping[str, Any] | Sequence[str] | str | None = None,
    missing: str = "group",
    special: Mapping[str, Any] | Sequence[str] | str | None = None,
    na: Sequence[Any] | str | float = (),
    precision: str = "column",
    cap: Mapping[str, Any] | Sequence[str] | str | None = None,
    rules: Sequence[str] | str = (),
    accept_risk: Sequence[str] | str = (),
    publish: Sequence[str] | str = (),
    rename: Mapping[str, str] | Sequence[str] | str | None = None,
    reading: Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    seed: int | None = None,
    date: str | None = None,
    settings: Settings | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **params: Any,
) -> Release:
    """Make a table k-anonymous in its quasi-identifying columns, and l-diverse and t-close in its
    confidential ones if asked.

    `table` is a pandas, polars or Arrow table, a dict of lists, a Series, a record batch, or a
    NumPy matrix (columns are then numbered from 0), or the path of a file or an open file, which is
    read in memory; the release's table has the same type (an Arrow table, of a file), rows and
    index in the order given. Periods of pandas become the moments at which they begin. A LazyFrame
    of polars is collected, a relation of DuckDB fetched, and the release's table is then a polars
    DataFrame or an Arrow table; order the rows of a query whose release is to be made again. Every
    column needs a role; `rest` says what happens to the others ("error", "drop", "keep"). Columns
    are named, chosen by a pattern ("q*"; a column that is named for a role is not taken for another
    by a pattern) or by a selector of narwhals or polars. `weight` is the column of sampling
    weights: means are weighted by it, and each record gets its group's mean weight, so that
    weighted totals stay. `stratum` names columns that are released as they are and that no group
    crosses: records of a class share them, too. Strata with fewer than k records, or that cannot
    keep what is promised, are refused, or left out with small_strata="drop". `unit` is the column
    that says which household, company or patient a record belongs to: it is left out, and every
    class has at least k different ones, none of them with more than half of its records. `l`:
    records that share their quasi-identifying values have at least l well-spread values in each
    confidential column (`diversity`: "distinct", "entropy" or "recursive", the last with `c`); `t`:
    these are spread as in the whole table, up to this earth mover's distance; both take spellings
    of one text for one value unless `exact`. `kinds` says whether a column is "numeric", "ordinal"
    or "nominal" where its type does not; `nominal` names columns of categories, `ordinal` columns
    with an order, and that order ({"education": ["P", "S", "PS"]}). `importance` makes distances in
    a column count so many times. `aggregate` says what a group releases of a column: "mean",
    "median", "mode", "draw", "medoid", "range", or "generalise" with a `hierarchy`, a tree over the
    values. Records with `missing` quasi-identifiers are grouped with their like ("group"), refused
    ("error") or left out ("drop"); `special` names codes that are no values ({"AGEYOUNG": [97]}),
    `na` further markers of missing values. With precision="column" a group's mean is rounded to the
    decimals that most values of its column have, so whole numbers stay whole; where there is no
    such number of decimals, to three to four digits of the column's standard deviation. With "full"
    it is the exact mean. `cap` gives columns a highest value ({"income": "99.5%"} or {"income":
    50000}) or a lowest and a highest ({"income": ("1%", "99%")}), which values beyond become before
    groups are formed; loss is measured against what they were. `rules` declares sums that hold in
    every record (["total = wage + other"]), of up to three columns, each added or subtracted; they
    hold in the release, too, as do sums that are found in the table, unless rules="none". `publish`
    names measures that the public report tells although they come from the original table (1,000
    records and more); without it, that report follows from the released table and the settings.
    `accept_risk` names risks that are taken knowingly ("full-precision", "single-columns",
    "published-measures", "true-values"): without it such a release cannot be saved. `rename` gives
    columns of the release new names ({"net income": "net_income"}), where a file cannot have the
    old ones. `writing` says how `save` writes text files ({"delimiter": ";", "decimal": ","});
    `reading` is what was known about the file that a table came from, which changes nothing here
    and is kept for `repeat`. `refine` improves the groups of any method by local search.
    `progress=True` shows a bar in a notebook or a terminal, and makes the first Ctrl-C (the
    interrupt of a notebook) end a search at its next checkpoint, with the best groups so far:
    `release.stopped` tells; a function is called as progress(done, total) instead. `params` go to
    the method; those of the default are `effort` ("quick", "balanced", "thorough", "prove" or a
    number of steps for each record) and `time_limit` in seconds.

    >>> import pyarrow as pa
    >>> release = anonymize(pa.table({"age": [30, 32, 60, 64]}), k=2, quasi=["age"], seed=0)
    >>> release.table.column("age").to_pylist()
    [31, 31, 62, 62]
    """
    arguments = dict(locals())
    if is_path(table) or is_open_file(table):
        settings = settings_from(arguments).resolved()
        table, file = read_source(table, settings)
        return protect(table, settings, file=file, threads=threads, progress=progress)
    asked = settings_from(names_of_selectors(arguments, lambda: open_frame(table))).resolved()
    return protect(table, asked, threads=threads, progress=progress)
