"""Microaggregator: the scikit-learn transformer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from microagg.errors import InputError
from microagg.estimator.containers import container_like, is_frame, open_input
from microagg.estimator.groups import ReleasedGroups
from microagg.estimator.merge_equal import equal_rows_together
from microagg.estimator.rows import UNKNOWN, KnownRows, new_salt, row_digests
from microagg.estimator.settings import check_gaps, settings_of
from microagg.guarantees.k import verify
from microagg.pipeline.aggregation import released_frame
from microagg.pipeline.run_method import problem_with, run_method
from microagg.refine.merging import repair
from microagg.release.cells import confidential_of, read_cells
from microagg.release.measuring import check_unsearchable, loss_of
from microagg.release.risks import check_unaccepted
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.release.true_values import (
    check_near_unique,
    frequencies_in,
    risks_of_aggregates,
    risks_of_categories,
    single_categories,
)
from microagg.release.weighting import weighted, weighting_of
from microagg.table.aggregate import aggregated
from microagg.table.columns.frames import column_facts, to_arrow
from microagg.table.columns.used_categories import of_used_values
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Role, assign_roles
from microagg.table.variable import Cells, missing_cells


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer that gives each row the values of its group of similar rows.

    All columns are quasi-identifying, but for those that `confidential` and `weight` name. `fit`
    finds the groups. `transform` gives a row of the fitted data, known again by a salted hash, the
    values of its own group; so `fit_transform(X)`, and `transform` of all fitted rows together, is
    a k-anonymous table. Equal rows are always in one group. Any other row gets the values of the
    nearest group.

    What that promises: whatever is transformed, what comes out is one of the released rows, each
    shared by at least k of the fitted records, so nothing of the fitted data comes out that the
    release does not tell. What it does not: a table of other rows is not k-anonymous (one new row
    alone may fall into a group), only `ma.anonymize` of that table is; and which group a new row
    falls into tells something about that row to whoever sees the result.

    `confidential` columns are no part of distances, and come out as they go in. With `l` (and
    `diversity`, `c`) and `t`, each group of the fitted rows keeps l-diversity and t-closeness in
    each of them, verified by `fit`; what is transformed later is not checked. `weight` is the
    column of sampling weights: means are weighted by it, and rows get the mean weight of their
    group. Columns are named as in a data frame, or by their number in a matrix; patterns such as
    "q*" choose several.

    A fitted estimator is internal, like an internal manifest: keep it, and its pickle, where the
    data are. It holds no original row, but the released values, the group of each record
    (`labels_`) and a salted hash of each row. The salt is drawn anew by each fit, not from
    `random_state`: no hash can be computed beforehand or compared with that of another fit. But
    whoever holds the estimator can test whether a guessed row is one of the fitted ones.

    Ranges and generalised values, and leaving records out, are no transformation of rows: they are
    refused. Data frames keep the types of their columns; columns of a matrix are numbered from 0.
    Gaps are allowed, infinity is not.

    Parameters
    ----------
    k : int
        Smallest number of fitted rows that may share their values.
    effort : str or float, optional
        Effort of the search, by default "quick".
    confidential, weight : list of str and str, optional
        Columns that are not quasi-identifying.
    l, t, diversity, c : optional
        Guarantees on confidential columns, as in `anonymize`.
    params : dict, optional
        Further parameters of the method.
    random_state : int, optional
        Seed. With the same one the same data give the same groups.
    threads : int, optional
        Number of threads. It does not change the groups.
    method, refine, scale, kinds, nominal, ordinal, importance, aggregate, hierarchy, missing, \
special, na, precision, accept_risk, exact : optional
        As in `anonymize`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Group of each fitted row.
    loss_ : dict of str to float
        Information loss: "IL" in percent and "SSE".
    n_features_in_, feature_names_in_
        As in every scikit-learn transformer.

    Raises
    ------
    InputError
        By `fit`, if a parameter is invalid or the table cannot be grouped.

    Examples
    --------
    >>> import microagg as ma
    >>> estimator = ma.Microaggregator(k=2, random_state=0).fit([[30.0], [32.0], [60.0], [64.0]])
    >>> estimator.labels_.tolist(), estimator.transform([[32.0], [50.0]]).tolist()
    ([0, 0, 1, 1], [[31.0], [62.0]])
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 32, 60, 64], "ill": ["no", "no", "yes", "no"]})
    >>> ma.Microaggregator(k=2, confidential="ill", l=2, random_state=0).fit_transform(
    ...     table
    ... ).to_pydict()["age"]
    [46, 46, 46, 46]
    """

    def __init__(
        self,
        k: int = 5,
        *,
        method: str = "auto",
        effort: str | float | None = None,
        refine: bool = False,
        scale: str = "zscore",
        kinds: Mapping[str, str] | Sequence[str] | str | None = None,
        nominal: Sequence[str | int] | str | int | None = None,
        ordinal: Mapping[str, Any] | Sequence[str | int] | str | None = None,
        importance: Mapping[str, float] | Sequence[str] | str | None = None,
        aggregate: Mapping[str, str] | Sequence[str] | str | None = None,
        hierarchy: Mapping[str, Any] | Sequence[str] | str | None = None,
        missing: str = "group",
        special: Mapping[str, Any] | Sequence[str] | str | None = None,
        na: Sequence[Any] | str | float | None = None,
        precision: str = "column",
        accept_risk: Sequence[str] | str | None = None,
        confidential: Sequence[str | int] | str | int | None = None,
        weight: str | int | None = None,
        l: float | None = None,
        t: float | None = None,
        diversity: str = "distinct",
        c: float | None = None,
        exact: bool = False,
        params: Mapping[str, Any] | None = None,
        random_state: Any = None,
        threads: int | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.effort = effort
        self.refine = refine
        self.scale = scale
        self.kinds = kinds
        self.nominal = nominal
        self.ordinal = ordinal
        self.importance = importance
        self.aggregate = aggregate
        self.hierarchy = hierarchy
        self.missing = missing
        self.special = special
        self.na = na
        self.precision = precision
        self.accept_risk = accept_risk
        self.confidential = confidential
        self.weight = weight
        self.l = l
        self.t = t
        self.diversity = diversity
        self.c = c
        self.exact = exact
        self.params = params
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> Microaggregator:
        """Find groups of at least k similar rows, and verify what they release.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or array-like of shape (n, d)
            Rows of the original.
        y : object
            Ignored.

        Returns
        -------
        Microaggregator
            The fitted estimator.

        Raises
        ------
        InputError
            If a parameter is invalid, or the rows cannot be grouped. Nothing is kept then.

        Examples
        --------
        >>> Microaggregator(k=2).fit([[30.0], [32.0], [60.0], [64.0]]).labels_.tolist()
        [0, 0, 1, 1]
        """
        table = self._checked(X, reset=True)
        frame = open_input(table)
        settings = settings_of(self, inspect.signature(Microaggregator).parameters, frame.columns)
        if len(frame) < settings.k:
            raise InputError(
                f"there are fewer rows (n_samples = {len(frame)}) than k = {settings.k}; "
                f"choose a smaller k."
            )
        schema = assign_roles(column_facts(frame), settings.roles, settings.rest, settings.columns)
        weighting = weighting_of(frame, schema, settings)
        cells = read_cells(frame, schema, settings)
        check_gaps(settings, missing_cells(cells), cells.names)
        check_unaccepted(settings, risks_of_aggregates(cells, settings.aggregate))
        check_near_unique(cells.variables, frequencies_in(cells), settings)

        space = Space.fit(cells, settings.scale, settings.importance)
        check_unsearchable(space, settings)
        salt = new_salt()
        digests = row_digests(frame.select(*cells.names), salt)
        hidden = schema.names(Role.CONFIDENTIAL)
        attributes = (
            confidential_of(to_arrow(frame.select(*hidden)), hidden, settings) if hidden else ()
        )
        labels = self._grouped(space, cells, settings, digests, attributes)
        weighting = weighted(weighting, labels, settings)
        made = aggregated(
            cells,
            labels,
            how=settings.aggregates,
            precision=settings.precision,
            k=settings.k,
            seed=settings.seed or 0,
            space=space,
            weights=None if weighting is None else weighting.before,
        )
        check_unaccepted(
            settings, risks_of_categories(single_categories(made, frequencies_in(cells))[0])
        )
        released = released_frame(frame, schema, made, weighting, settings.precision)
        shared = class_columns(schema, settings)
        anonymity = verify(to_arrow(released.select(*shared)), shared, settings.k, len(frame))
        settings.promise.verify(anonymity.labels, len(anonymity.sizes), attributes)

        columns_as, first = settings.columns, _one_row_each(released.select(*shared), labels)
        self._groups = ReleasedGroups.of(
            first.select(*cells.names),
            np.bincount(labels),
            tuple(column for column in schema.columns if column.role is Role.QUASI),
            scale=settings.scale,
            importance=settings.importance,
            special=columns_as.special,
            na=columns_as.na,
            hierarchies=columns_as.hierarchy,
        )
        self._released = first.to_native()
        self._rows = KnownRows.of(salt, digests, labels)
        self.labels_ = labels
        self.loss_ = loss_of(space, cells, made, released, settings, labels, anonymity.labels)[0]
        return self

    def transform(self, X: Any) -> Any:
        """Return the values of its group for each fitted row, those of the nearest for any other.

        Only the fitted rows, all of them, make a k-anonymous table; see the class for others.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or array-like of shape (n, d)
            Rows with the columns of the fitted ones.

        Returns
        -------
        table or ndarray
            Rows of the type of `X`: a data frame of the same library with the same index, or a
            matrix.

        Examples
        --------
        >>> estimator = Microaggregator(k=2).fit([[30.0], [32.0], [60.0], [64.0]])
        >>> estimator.transform([[32.0], [50.0]]).tolist()
        [[31.0], [62.0]]
        """
        check_is_fitted(self)
        table = self._checked(X, reset=False)
        frame = open_input(table)
        quasi = frame.select(*self._groups.cells.names)
        groups = self._rows.groups(quasi)
        new = groups == UNKNOWN
        if new.any():
            groups[new] = self._groups.nearest(quasi[np.flatnonzero(new)])
        replaced = nw.from_native(self._released, eager_only=True).columns
        if set(replaced) == set(frame.columns):
            return container_like(self._released, groups, table)
        values = container_like(self._released, groups, frame.select(*replaced).to_native())
        columns = nw.from_native(values, eager_only=True)
        whole = frame.with_columns(*(columns[name] for name in replaced))
        return container_like(whole.to_native(), np.arange(len(whole)), table)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Validate the input with scikit-learn, which stores names and number of columns; return
        frame or matrix.
        """
        if is_frame(X):
            X = X.collect() if isinstance(nw.from_native(X), nw.LazyFrame) else X
            if 0 not in X.shape:
                validate_data(self, X, reset=reset, skip_check_array=True)
                return X
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")

    def _grouped(
        self,
        space: Space,
        cells: Cells,
        settings: Settings,
        digests: np.ndarray,
        attributes: tuple[Attribute, ...],
    ) -> np.ndarray:
        """The groups that the method finds, changed so that equal rows are in one of them; those
        that miss l or t by that are merged.
        """
        points, method = space.points(cells), settings.chosen_method
        columns = None if cells.is_plain else len(cells.variables)
        problem = problem_with(
            settings.promise, method, points, settings.k, attributes, self.threads, columns=columns
        )
        result = run_method(
            method, problem, settings.params, seed=settings.seed or 0, refine=settings.refine
        )
        row = np.unique(digests, return_inverse=True)[1].reshape(-1)
        return repair(problem, equal_rows_together(result.labels, row, points, settings.k))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _one_row_each(released: nw.DataFrame[Any], labels: np.ndarray) -> nw.DataFrame[Any]:
    """The released row of each group, with categories that occur and no others."""
    _, first = np.unique(labels, return_index=True)
    rows = released[first]
    if rows.implementation.is_pandas_like():
        rows = nw.from_native(rows.to_native().reset_index(drop=True), eager_only=True)
    return rows.with_columns(*(of_used_values(rows[name]) for name in rows.columns))
