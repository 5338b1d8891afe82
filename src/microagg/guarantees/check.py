"""Is any table, ours or not, k-anonymous, l-diverse and t-close, and of how many units are its
classes?
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.declared import EXACT
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
from microagg.table.kind_parameters import column_settings
from microagg.table.parameters import ColumnName, K, Names
from microagg.table.patterns import expand_names
from microagg.table.suggestions import describe_columns

Checked = TypeVar("Checked", bound=Callable[..., Any])


def _in_either_order(check: Checked) -> Checked:
    """Let k and quasi be given in the order of `anonymize`, too: a number is k, names are quasi."""

    @functools.wraps(check)
    def call(table: Any, *args: Any, **named: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            if len(args) > 1 and "quasi" not in named:
                args = (args[1], args[0], *args[2:])
            elif len(args) == 1 and "quasi" in named and "k" not in named:
                named, args = {**named, "k": args[0]}, ()
        return check(table, *args, **named)

    return call  # pyright: ignore[reportReturnType]


@_in_either_order
def check(
    table: Any,
    quasi: Sequence[str] | str,
    k: int,
    confidential: Sequence[str] | str = (),
    *,
    unit: str | int | None = None,
    l: float | None = None,
    t: float | None = None,
    diversity: str = "distinct",
    c: float | None = None,
    exact: bool = False,
    kinds: Mapping[str, str] | None = None,
    nominal: Sequence[str] | str = (),
    ordinal: Mapping[str, Any] | Sequence[str] | str | None = None,
    stratum: Sequence[str] | str = (),
    special: Mapping[str, Any] | None = None,
    na: Sequence[Any] | str = (),
    suppressed: Sequence[str] | str = (),
) -> Anonymity:
    """Check whether a table is k-anonymous (and l-diverse, and t-close), and find the classes
    that are not.

    `table` is a pandas, polars or Arrow table or a NumPy matrix, whoever made it; missing values
    count as equal. Classes are counted as the strictest reader sees them: where 0 and -0, or NaN
    and missing values, stand side by side, they are different, and `counted_by` is "bits" instead
    of "value". `l` and `t` apply to each of the `confidential` columns separately; `diversity` is
    "distinct", "entropy" or "recursive", the last with `c`. Texts that differ in case, width or
    white space only, and numbers written in several ways, are one value; with `exact` texts are
    compared to the letter. Records of a class share their `stratum` columns, too.

    `kinds` says whether a confidential column is "numeric", "ordinal" or "nominal" where its type
    suggests something else; `nominal` names such columns for short, and `ordinal` gives the order
    of a column's levels (or names columns whose type has one). For l, neither a missing value nor a
    `special` code ({"wage": [97]}) is a value; `na` adds markers of missing values. With `unit`,
    the column that tells which household, company or patient a record belongs to, every class must
    have k different ones, none with more than half of its records.

    `suppressed` names what other tools write in the place of suppressed values, such as "*"; ""
    stands for blank cells. Records of which every quasi-identifier is suppressed are counted and
    set aside (``.suppression.rows``). Of the others, ``.holds`` takes a suppressed cell for a value
    of its own, which is the stricter reading; ``.suppression.holds`` lets it fit any value.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    >>> check(table, ["age"], k=2).holds, check(table, ["age"], k=2, confidential=["ill"], l=2).holds
    (True, False)
    >>> check(table, ["age"], k=2, confidential=["ill"], l=2, na=["yes"]).findings[0].worst
    1.0
    >>> check(table.append_column("home", pa.array([1, 1, 1, 2])), ["age"], k=2, unit="home").failing.tolist()
    [0]
    """
    frame = open_frame(table)
    names, strata, hidden = (
        list(expand_names(Names(what, "").parse(chosen), frame.columns, what))
        for what, chosen in (("quasi", quasi), ("stratum", stratum), ("confidential", confidential))
    )
    strata = [name for name in strata if name not in names]
    belongs = ColumnName("unit", "", "put them together into one column first").parse(unit)
    withheld = [] if belongs is None else [belongs]
    for name in (*names, *strata, *hidden, *withheld):
        if name not in frame.columns:
            raise InputError(
                f"there is no column {name!r}; {describe_columns(name, frame.columns)}."
            )
    if belongs in (*names, *strata, *hidden):
        raise InputError(f"column {belongs!r} was given two roles, unit and another; choose one.")
    if not names:
        raise InputError("name at least one quasi-identifying column.")
    asked = column_settings(kinds=kinds, nominal=nominal, ordinal=ordinal, special=special, na=na)
    for name in (*asked.kinds, *asked.special):
        if name not in frame.columns:
            raise InputError(
                f"there is no column {name!r}; {describe_columns(name, frame.columns)}."
            )
    asked = as_labels_say(asked, frame.to_native())
    names += strata
    k = K.parse(k)
    promise = Guarantees.of(l, t, diversity, c, units=None if belongs is None else k)
    if promise.is_about_values and not hidden:
        raise InputError(
            "l and t apply to confidential columns; name at least one with confidential."
        )
    chosen = to_arrow(frame.select(*dict.fromkeys([*names, *hidden, *withheld])))
    markers = parse_markers(suppressed)
    if markers:
        of_quasi = names[: len(names) - len(strata)]
        cells = find_suppressed(chosen, of_quasi, markers)
        found, rest = check_suppressed(chosen, of_quasi, strata, k, cells)
        chosen = chosen.take(rest)
    else:
        found = replace(anonymity(chosen, names, k), notes=_proposed(chosen, names))
    if not promise or chosen.num_rows == 0:
        return found
    attributes = attributes_of(
        chosen,
        hidden,
        exact=EXACT.parse(exact),
        kinds=asked.kinds,
        ordinal=asked.levels,
        special=asked.special,
        na=asked.na,
    )
    units = None if belongs is None else units_of(chosen, belongs, na=asked.na)
    return replace(
        found, findings=promise.evaluate(found.labels, len(found.sizes), attributes, units)
    )


def _proposed(table: pa.Table, names: Sequence[str]) -> tuple[str, ...]:
    """Propose to name the marker of suppressed cells where columns have one."""
    stars = has_stars(table, names)
    if not stars:
        return ()
    return (
        f"{STAR} counts as a value of its own in {', '.join(map(repr, stars))}; if it "
        f"stands for suppressed values, suppressed={STAR!r} counts "
        "them apart.",
    )
