"""anonymize(): the public function that protects a table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg.pipeline.in_memory import protect
from microagg.pipeline.sources import is_open_file, is_path, read_source
from microagg.problem.problem import Progress
from microagg.proposal.codes import warn_about
from microagg.release.release import Release
from microagg.release.selecting import names_of_selectors
from microagg.release.setting_arguments import settings_from
from microagg.release.settings import Settings
from microagg.table.columns.frames import (
    open_frame,
)

Names = Sequence[str | int] | str | int


def anonymize(
    table: Any,
    k: int | None = None,
    # roles
    quasi: Names = (),
    identifier: Names = (),
    confidential: Names = (),
    keep: Names = (),
    *,
    weight: str | int | None = None,
    stratum: Names = (),
    unit: str | int | None = None,
    rest: str = "error",
    # guarantees
    l: float | None = None,
    t: float | None = None,
    diversity: str = "distinct",
    c: float | None = None,
    exact: bool = False,
    small_strata: str = "error",
    accept_risk: Sequence[str] | str = (),
    # method
    method: str = "auto",
    refine: bool = False,
    scale: str = "zscore",
    seed: int | None = None,
    # columns
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
    rename: Mapping[str, str] | Sequence[str] | str | None = None,
    # running
    publish: Sequence[str] | str = (),
    reading: Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    date: str | None = None,
    title: str = "",
    entity: str = "",
    settings: Settings | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **params: Any,
) -> Release:
    """Return a k-anonymous version of a table.

    Records are grouped so that at least ``k`` of them share each combination of quasi-identifying
    values; the values of a group are replaced by one value. Confidential columns can be l-diverse
    and t-close, too. The result is verified before it is returned.

    Columns are named, chosen by a pattern ("q*") or by a selector of narwhals or polars. A column
    that is named for a role is not taken for another one by a pattern.

    Parameters
    ----------
    table : pandas, polars or Arrow table, dict of lists, 2-D NumPy array, path or open file
        One row per person or company. Never modified. Columns of an array are numbered from 0. A
        file is read in memory. A polars LazyFrame is collected and a DuckDB relation is fetched:
        order the rows of a query if its release is to be repeated. Periods of pandas become the
        moments at which they begin.
    k : int
        Smallest number of records that may share a combination. At least 2.
    quasi : list of str
        *Roles.* Columns that others may know, such as age or postcode. See `propose`.
    identifier : list of str
        Columns that name a person: left out.
    confidential : list of str
        Columns that nobody should learn about a person: released unchanged. See `l` and `t`.
    keep : list of str
        Columns that are released unchanged.
    weight : str, optional
        Column of sampling weights. Means are weighted. Each record gets the mean weight of its
        group, so that weighted totals stay.
    stratum : list of str
        Columns that are released unchanged and that no group crosses. A class shares them.
    unit : str, optional
        Column of the household, company or patient of a record: left out. Every class has at least
        k different units, none of them with more than half of its records.
    rest : {"error", "drop", "keep"}
        Treatment of columns without a role.
    l : float, optional
        *Guarantees.* l-diversity: each class has at least l well-spread values in each confidential
        column.
    t : float, optional
        t-closeness: largest earth mover's distance (0 to 1) between the confidential values of a
        class and of the table.
    diversity : {"distinct", "entropy", "recursive"}
        Definition of l-diversity.
    c : float, optional
        Factor of recursive diversity.
    exact : bool
        Compare confidential texts to the letter for `l` and `t`. Otherwise spellings of one text
        are one value.
    small_strata : {"error", "drop"}
        Treatment of strata with fewer than k records, or that cannot keep the guarantees.
    accept_risk : list of str
        Accepted risks: "full-precision", "single-columns", "published-measures", "true-values",
        "named-columns". A release with another one of them cannot be saved.
    method : str
        *Method.* Name of a method, see `methods`.
    refine : bool
        Improve the groups of any method by local search.
    scale : str
        Scaling of the columns before distances are computed.
    seed : int, optional
        Seed of everything random. The same input, settings and seed give the same release.
    kinds : dict, optional
        *Columns.* "numeric", "ordinal" or "nominal" for columns of which the type suggests another.
    nominal : list of str
        Columns of categories.
    ordinal : dict or list of str, optional
        Columns with an order, and that order: ``{"education": ["P", "S", "PS"]}``.
    importance : dict, optional
        Factors on the distances in columns.
    aggregate : dict, optional
        Released value of a group: "mean", "median", "mode", "draw", "medoid", "range", or
        "generalise" with a `hierarchy`.
    hierarchy : dict, optional
        Trees over the values of columns.
    missing : {"group", "error", "drop"}
        Treatment of records with missing quasi-identifiers: grouped with their like, refused, or
        left out.
    special : dict, optional
        Codes that are no values: ``{"AGEYOUNG": [97]}``.
    na : list
        Further markers of missing values.
    precision : {"column", "full"}
        "column" rounds a mean to the decimals that most values of its column have, so whole numbers
        stay whole. Without such a number of decimals it keeps three to four digits of the column's
        standard deviation. "full" releases the exact mean.
    cap : dict, optional
        Highest value of columns (``{"income": "99.5%"}``, ``{"income": 50000}``), or lowest and
        highest (``{"income": ("1%", "99%")}``). Values beyond are capped before groups are formed;
        the loss is measured against the original values.
    rules : list of str
        Sums of up to three columns that hold in every record (``["total = wage + other"]``). They
        hold in the release, too, and so do sums detected in the table, unless "none".
    rename : dict, optional
        New names of released columns, where a file cannot have the old ones.
    publish : list of str
        *Running.* Measures of the original that the public report shows (1,000 records and more).
        Without them, that report follows from the released table and the settings.
    reading : dict, optional
        Options by which the file of the table was read. Kept for `repeat`.
    writing : dict, optional
        Options of text files for `Release.save`: ``{"delimiter": ";", "decimal": ","}``.
    date : str, optional
        Day in the internal manifest and report, by default today.
    title : str
        Title of the reports.
    entity : str
        What a record stands for in the reports, by default "person", or "company" by the names of
        columns.
    settings : Settings, optional
        All settings at once. Raises if one of them is given as an argument, too.
    threads : int, optional
        Number of threads, by default one for each processor. It never changes the release.
    progress : callable or bool, optional
        Called as ``progress(done, total)``. True shows a bar in a notebook or terminal. The first
        Ctrl-C then ends a search with the best groups so far, see ``release.stopped``.
    **params
        Parameters of the method. Those of the default: `effort` ("quick", "balanced", "thorough",
        "prove" or a number of steps for each record) and `time_limit` in seconds.

    Returns
    -------
    Release
        The protected table with its loss, risks, notes and manifests. The table has the type, order
        of rows and index of the input. It is an Arrow table for a file or a relation, and a polars
        DataFrame for a LazyFrame.

    Raises
    ------
    InputError
        If a column has no role, an argument is invalid, or no grouping satisfies the guarantees.
    GuaranteeError
        If the output misses a guarantee, which is a bug.
    CancelledError
        If the work is stopped before there is a result.

    Examples
    --------
    >>> import pyarrow as pa
    >>> release = anonymize(pa.table({"age": [30, 32, 60, 64]}), k=2, quasi=["age"], seed=0)
    >>> release.table.column("age").to_pylist()
    [31, 31, 62, 62]
    """
    opened, file, chosen = _opened(table, dict(locals()))
    release = protect(opened, chosen, file=file, threads=threads, progress=progress)
    warn_about(release._averaged_codes)
    return release


def _opened(table: Any, arguments: Mapping[str, Any]) -> tuple[Any, str | None, Settings]:
    """Return the table, the name of the file that it was read from, and its settings."""
    if is_path(table) or is_open_file(table):
        settings = settings_from(arguments).resolved()
        return *read_source(table, settings), settings
    names = names_of_selectors(arguments, lambda: open_frame(table))
    return table, None, settings_from(names).resolved()
