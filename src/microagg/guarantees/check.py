"""Check of k-anonymity, l-diversity, t-closeness and units on any table, whichever tool made it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack

import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.declared import (
    DIVERSITY,
    EXACT,
    NO_CONFIDENTIAL,
    C,
    GuaranteeOptions,
    L,
    T,
)
from microagg.guarantees.k import Anonymity, anonymity
from microagg.guarantees.promise import Guarantees
from microagg.guarantees.suppression import (
    STAR,
    check_suppressed,
    find_suppressed,
    has_stars,
    parse_markers,
)
from microagg.table.columns.frames import open_frame, to_arrow
from microagg.table.columns.labels import as_labels_say
from microagg.table.confidential import attributes_of, units_of
from microagg.table.keyword_options import takes_options
from microagg.table.kind_parameters import OF_COLUMNS, MeaningOptions, column_settings
from microagg.table.name_parameters import ColumnName, Names
from microagg.table.parameters import K
from microagg.table.patterns import expand_names
from microagg.table.suggestions import describe_columns

Checked = TypeVar("Checked", bound=Callable[..., Any])


def _in_either_order(check: Checked) -> Checked:
    """Accept `k` and `quasi` in the order of `anonymize`, too: a number is k, names are quasi."""

    @functools.wraps(check)
    def call(table: Any, *args: Any, **named: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            if len(args) > 1 and "quasi" not in named:
                args = (args[1], args[0], *args[2:])
            elif len(args) == 1 and "quasi" in named and "k" not in named:
                named, args = {**named, "k": args[0]}, ()
        return check(table, *args, **named)

    return call  # pyright: ignore[reportReturnType]


class CheckOptions(GuaranteeOptions, MeaningOptions, total=False):
    """Keywords of `check` that `anonymize` has, too."""


_MEANINGS = [item for item in OF_COLUMNS if item.name in inspect.get_annotations(MeaningOptions)]
_DECLARED = {item.name: item for item in (L, T, DIVERSITY, C, EXACT, *_MEANINGS)}


@_in_either_order
@takes_options(CheckOptions, _DECLARED)
def check(
    table: Any,
    quasi: Sequence[str] | str,
    k: int,
    confidential: Sequence[str] | str = (),
    *,
    unit: str | int | None = None,
    stratum: Sequence[str] | str = (),
    suppressed: Sequence[str] | str = (),
    **options: Unpack[CheckOptions],
) -> Anonymity:
    """Check whether a table is k-anonymous, l-diverse and t-close, and return its classes.

    Classes are counted as the strictest reader sees them: where 0 and -0, or NaN and missing
    values, occur together, they are different, and ``counted_by`` is "bits" instead of "value".

    Parameters
    ----------
    table : pandas, polars or Arrow table, or 2-D NumPy array
        Table of any tool. Missing values count as equal.
    quasi : list of str
        Quasi-identifying columns.
    k : int
        Smallest number of records that may share a combination. `quasi` and `k` may be swapped.
    confidential : list of str
        Columns that `l` and `t` apply to, each separately.
    unit : str, optional
        Column of the household, company or patient of a record. Every class must have k different
        ones, none with more than half of its records.
    l, t : float, optional
        Required l-diversity and t-closeness.
    diversity : {"distinct", "entropy", "recursive"}
        Definition of l-diversity.
    c : float, optional
        Factor of recursive diversity.
    exact : bool
        Compare texts to the letter. Otherwise texts that differ in case, width or white space only,
        and numbers written in several ways, are one value.
    kinds : dict, optional
        "numeric", "ordinal" or "nominal" where the type of a confidential column differs.
    nominal : list of str
        Columns of categories.
    ordinal : dict or list of str, optional
        Columns with an order, and that order.
    stratum : list of str
        Further columns that records of a class must share.
    special : dict, optional
        Codes that are no values: ``{"wage": [97]}``. They do not count for `l`.
    na : list
        Further markers of missing values.
    suppressed : list of str
        Markers of suppressed cells, such as "*"; "" stands for blank cells. Records with every
        quasi-identifier suppressed are counted (``.suppression.rows``) and left out. Of the others,
        ``.holds`` takes a suppressed cell for a value of its own, which is stricter;
        ``.suppression.holds`` lets it fit any value.

    Returns
    -------
    Anonymity
        The classes, and what they miss. It is true if all guarantees hold.

    Raises
    ------
    InputError
        If a column does not exist or an argument is invalid.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    >>> check(table, ["age"], k=2).holds
    True
    >>> check(table, ["age"], k=2, confidential=["ill"], l=2).holds
    False
    >>> check(table, ["age"], k=2, confidential=["ill"], l=2, na=["yes"]).findings[0].worst
    1.0
    >>> homes = table.append_column("home", pa.array([1, 1, 1, 2]))
    >>> check(homes, ["age"], k=2, unit="home").failing.tolist()
    [0]
    """
    frame = open_frame(table)
    names, strata, hidden, belongs = _columns_of(
        frame.columns, quasi=quasi, stratum=stratum, confidential=confidential, unit=unit
    )
    chosen_options: dict[str, Any] = {
        name: options.get(name, item.default) for name, item in _DECLARED.items()
    }
    column_options = column_settings(**{item.name: chosen_options[item.name] for item in _MEANINGS})
    _check_known(frame.columns, *column_options.kinds, *column_options.special)
    column_options = as_labels_say(column_options, frame.to_native())
    names += strata
    k = K.parse(k)
    needed = (chosen_options[item.name] for item in (L, T, DIVERSITY, C))
    promise = Guarantees.of(*needed, units=None if belongs is None else k)
    if promise.is_about_values and not hidden:
        raise InputError(NO_CONFIDENTIAL)
    chosen = to_arrow(frame.select(*dict.fromkeys([*names, *hidden, *filter(None, [belongs])])))
    markers = parse_markers(suppressed)
    if markers:
        of_quasi = names[: len(names) - len(strata)]
        cells = find_suppressed(chosen, of_quasi, markers)
        classes, rest = check_suppressed(chosen, of_quasi, strata, k, cells)
        chosen = chosen.take(rest)
    else:
        classes = replace(anonymity(chosen, names, k), notes=_proposed(chosen, names))
    if not promise or chosen.num_rows == 0:
        return classes
    attributes = attributes_of(
        chosen,
        hidden,
        exact=EXACT.parse(chosen_options["exact"]),
        kinds=column_options.kinds,
        ordinal=column_options.levels,
        special=column_options.special,
        na=column_options.na,
    )
    units = None if belongs is None else units_of(chosen, belongs, na=column_options.na)
    return replace(
        classes, findings=promise.evaluate(classes.labels, len(classes.sizes), attributes, units)
    )


def _columns_of(
    columns: Sequence[str],
    *,
    quasi: Sequence[str] | str,
    stratum: Sequence[str] | str,
    confidential: Sequence[str] | str,
    unit: str | int | None,
) -> tuple[list[str], list[str], list[str], str | None]:
    """Return the quasi-identifying, further shared, confidential and unit columns, validated."""
    names, strata, hidden = (
        list(expand_names(Names(role, "").parse(chosen), columns, role))
        for role, chosen in (("quasi", quasi), ("stratum", stratum), ("confidential", confidential))
    )
    strata = [name for name in strata if name not in names]
    belongs = ColumnName("unit", "", "put them together into one column first").parse(unit)
    _check_known(columns, *names, *strata, *hidden, *([] if belongs is None else [belongs]))
    if belongs in (*names, *strata, *hidden):
        raise InputError(f"column {belongs!r} was given two roles, unit and another; choose one.")
    if not names:
        raise InputError("name at least one quasi-identifying column.")
    return names, strata, hidden, belongs


def _check_known(columns: Sequence[str], *names: str) -> None:
    """Raise if a name is none of the columns."""
    for name in names:
        if name not in columns:
            raise InputError(f"there is no column {name!r}; {describe_columns(name, columns)}.")


def _proposed(table: pa.Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return a note that proposes to name the marker of suppressed cells, where columns have
    one.
    """
    stars = has_stars(table, names)
    if not stars:
        return ()
    return (
        f"{STAR} counts as a value of its own in {', '.join(map(repr, stars))}; if it "
        f"stands for suppressed values, suppressed={STAR!r} counts "
        "them apart.",
    )
