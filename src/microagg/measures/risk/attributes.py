"""Attribute disclosure: what a class tells about the confidential values of everyone in it,
identified or not.

Each confidential column is taken by itself, and the most telling class of the most telling column
decides. Atoms, that is missing values and special codes, count as for the guarantees: they are no
values, but part of the distribution that t compares.
"""

from __future__ import annotations

import numpy as np

from microagg.errors import InputError
from microagg.guarantees.l import distinct_values, even_values
from microagg.guarantees.tally import Tally, distances, tally
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.table.variable import NO_ATOM


def distinct_l(pair: Pair) -> Figure:
    """The smallest number of distinct values of a confidential column in a class; 0 if some class
    has none, but atoms.

    >>> released = np.array([[1.0], [1.0], [2.0], [2.0]])
    >>> pair = Pair(released, released, ("age",), confidential={"disease": np.array([0, 1, 1, 1])})
    >>> distinct_l(pair).value
    1.0
    """
    columns = {}
    for name, _, _ in _confidential(pair):
        columns[name] = float(distinct_values(pair.once(_tally, name, False)).min())
    return Figure(min(columns.values()), columns)


def entropy_l(pair: Pair) -> Figure:
    """exp(the smallest entropy of a confidential column in a class): as uncertain as among so many
    equally likely values.

    >>> released = np.array([[1.0], [1.0], [2.0], [2.0]])
    >>> pair = Pair(released, released, ("age",), confidential={"disease": np.array([0, 1, 1, 0])})
    >>> round(entropy_l(pair).value, 6)
    2.0
    """
    columns = {}
    for name, _, _ in _confidential(pair):
        columns[name] = float(even_values(pair.once(_tally, name, _is_weighted(pair))).min())
    return Figure(min(columns.values()), columns)


def t_closeness(pair: Pair) -> Figure:
    """The largest earth mover's distance between a confidential column in a class and in the
    whole table.

    Nominal values are all equally far apart, so it is half the sum of the differences of their
    shares. Ordered and numeric values are as far apart as their places among the distinct values,
    divided by the longest way; what atoms add to that is told in `guarantees/t.py`.

    >>> released = np.array([[1.0], [1.0], [2.0], [2.0]])
    >>> pair = Pair(released, released, ("age",),
    ...     confidential={"wage": np.array([1.0, 2.0, 3.0, 4.0])})
    >>> round(t_closeness(pair).value, 6)
    0.333333
    """
    columns, means = {}, {}
    for name, _, nominal in _confidential(pair):
        counts = pair.once(_tally, name, _is_weighted(pair))
        apart = distances(counts, nominal=nominal)
        columns[name] = float(apart.max())
        means[f"mean of {name}"] = float(np.clip(apart.mean(), 0.0, 1.0))
    return Figure(max(columns.values()), columns, means)


def spread_within(pair: Pair) -> Figure:
    """The smallest sum, over the records of a class and the confidential columns, of distances
    from the class's mean.

    Distances are |x - mean of the class| / standard deviation of the column; of nominal values,
    between the indicator of the record's category and the shares of all categories in the class,
    divided by the deviation of the indicators (for two categories that is the same as for numbers 0
    and 1). A constant column adds nothing, and an atom neither: means, shares and deviations are
    those of the values.

    >>> released = np.array([[1.0], [1.0], [2.0], [2.0]])
    >>> pair = Pair(released, released, ("age",),
    ...     confidential={"wage": np.array([1.0, 3.0, 1.0, 3.0])})
    >>> spread_within(pair).value
    2.0
    """
    classes, columns = pair.classes, {}
    spreads = np.zeros(len(classes))
    for name, column, nominal in _confidential(pair):
        valid = np.ones(len(column), bool)
        if name in pair.atoms:
            valid &= pair.atoms[name] == NO_ATOM
        if column.dtype.kind == "f":
            valid &= ~np.isnan(column)
        values, labels = column[valid], classes.labels[valid]
        spread = (_nominal_spreads if nominal else _numeric_spreads)(values, labels, len(classes))
        here = np.bincount(labels, spread, len(classes))
        spreads += here
        columns[name] = float(here.min())
    details = {"mean over classes": float(spreads.mean()), "largest": float(spreads.max())}
    return Figure(float(spreads.min()), columns, details)


def _numeric_spreads(values: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The distance of each value from the mean of its class."""
    if len(values) == 0 or values.min() == values.max():
        return np.zeros(len(values))
    # measured from one of them, no digits are lost on large numbers
    scaled = values / 2.0 - values[0] / 2.0
    scaled /= np.abs(scaled).max()
    present = np.maximum(np.bincount(labels, minlength=classes), 1)
    means = np.bincount(labels, scaled, classes) / present
    return np.abs(scaled - means[labels]) / scaled.std()


def _nominal_spreads(values: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The distance of each category's indicator from the shares in its class."""
    codes = np.unique(values, return_inverse=True)[1].reshape(-1)
    categories = int(codes.max(initial=-1)) + 1
    if categories <= 1:
        return np.zeros(len(values))
    overall = np.bincount(codes).astype(np.float64)
    deviation = np.sqrt(1.0 - np.square(overall / overall.sum()).sum())
    pairs, entries, amounts = np.unique(
        labels.astype(np.int64) * categories + codes, return_inverse=True, return_counts=True
    )
    holders = pairs // categories
    likely = amounts / np.bincount(labels, minlength=classes)[holders]
    starts = np.flatnonzero(np.diff(holders, prepend=-1))
    squares = np.repeat(
        np.add.reduceat(likely * likely, starts), np.diff(np.append(starts, len(holders)))
    )
    return (np.sqrt(np.maximum(1.0 - 2.0 * likely + squares, 0.0)) / deviation)[entries.reshape(-1)]


def _tally(pair: Pair, name: str, weighted: bool) -> Tally:
    """The values of a confidential column counted by class; several measures ask for it."""
    column = pair.ordered[name] if name in pair.ordered else pair.confidential[name]
    weights = pair.weights if weighted else None
    return tally(column, pair.classes.labels, len(pair.classes), weights, pair.atoms.get(name))


def _is_weighted(pair: Pair) -> bool:
    return pair.weights is not None


def _confidential(pair: Pair) -> list[tuple[str, np.ndarray, bool]]:
    """The confidential columns: name, values, and whether they are nominal."""
    ordered = [(name, column, False) for name, column in pair.ordered.items()]
    rest = [
        (name, column, column.dtype.kind != "f")
        for name, column in pair.confidential.items()
        if name not in pair.ordered
    ]
    if not ordered and not rest:
        raise InputError("attribute disclosure is about confidential columns; name at least one.")
    if len(pair.released) == 0:
        raise InputError("attribute disclosure needs at least one record.")
    return rest + ordered


NO_VALUE_KNOWN = (
    "In some class no value is known; 1 says that all records of some class share a confidential "
    "value, or lack one."
)
DISTINCT_L = Measure(
    name="distinct-l",
    title="different confidential values in a class, at least",
    side="risk",
    unit="values",
    lower_is_better=False,
    lowest=0.0,
    highest=np.inf,
    zero_means=NO_VALUE_KNOWN,
    highest_means="Every class has all values: the figure is then the number of distinct values of "
    "the poorest column.",
    source="Machanavajjhala et al. 2007, distinct l-diversity, each confidential column by itself. "
    "Missing values and special codes are no values. Not weighted.",
    compute=distinct_l,
    basis=Basis.CLASS_SAMPLE,
    of="release",
    needs="confidential",
)

ENTROPY_L = Measure(
    name="entropy-l",
    title="effective number of confidential values in a class, at least",
    side="risk",
    unit="values",
    lower_is_better=False,
    lowest=0.0,
    highest=np.inf,
    zero_means=NO_VALUE_KNOWN,
    highest_means="Every class has all values equally often: the figure is then their number.",
    source="Machanavajjhala et al. 2007, entropy l-diversity: exp of the smallest entropy, not "
    "rounded down. "
    "Missing values and special codes are no values. With weights, shares are those of "
    "the weights.",
    compute=entropy_l,
    basis=Basis.CLASS_SAMPLE,
    of="release",
    needs="confidential",
)

T_CLOSENESS = Measure(
    name="t",
    title="distance between confidential values in a class and in the table",
    side="risk",
    unit="on a scale of 0 to 1",
    lower_is_better=True,
    lowest=0.0,
    highest=1.0,
    zero_means="Every class has the confidential values in the same shares as the whole table: a "
    "class tells nothing.",
    highest_means="Some class has only values at one end that hardly anybody else has (1 itself is "
    "never reached).",
    source="Li, Li and Venkatasubramanian 2007: earth mover's distance, equal for nominal "
    "columns, ordered for ordered and "
    "numeric ones (by place among the values that occur). Missing values and special "
    "codes are categories of nominal columns and at distance "
    "1 from everything in others, where it is a bound from above. With weights, shares "
    "are those of the weights.",
    compute=t_closeness,
    basis=Basis.CLASS_SAMPLE,
    of="release",
    needs="confidential",
)

SPREAD_WITHIN = Measure(
    name="sse-i",
    title="spread of confidential values within a class, at least",
    side="risk",
    unit="standard deviations, summed over records and columns",
    lower_is_better=False,
    lowest=0.0,
    highest=np.inf,
    zero_means="In some class every record has the same confidential values.",
    highest_means="No class gathers records of similar confidential values; all records in one "
    "class spread most.",
    source="Abidi, Ben Yahia and Perera 2020, equation 2, called SSE_i there: the smallest over "
    "the classes; the mean is "
    "among the details. Distances, not their squares, on z-scores of the confidential "
    "columns: of the readings of "
    "their formula only this gives figures of the size they print. Not weighted. Nominal "
    "columns, which they do not "
    "have, enter by the indicators of their categories. Missing values and special codes "
    "add nothing.",
    compute=spread_within,
    basis=Basis.CLASS_SAMPLE,
    of="release",
    needs="confidential",
)
