"""anonymize(): the way of the data from a table to a verified release, and the release itself."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.bounds.bound import Bound
from microagg.engine.run import problem_with, run_method
from microagg.guarantees.k import Anonymity, verify
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.pairing import pair_of
from microagg.measures.registry import assess_pair
from microagg.problem.problem import Problem, Progress, checked_k
from microagg.problem.watch import ctrl_c_heard
from microagg.release.cells import confidential_of, read_cells, shown_cells, units_in, without_gaps
from microagg.release.changes import Change, changes
from microagg.release.choosing import loses_less, quick_groups, with_groups_of
from microagg.release.conversions import Conversions, labelled_like
from microagg.release.exposure import exposure_of
from microagg.release.manifest import FORMAT, internal_manifest, manifest_paths, public_manifest
from microagg.release.measuring import (
    can_be_read_again,
    is_table_of_numbers,
    loss_of,
    refuse_unsearchable,
)
from microagg.release.notes_on_columns import (
    notes_on_cells,
    notes_on_columns,
    notes_on_markers,
    notes_on_numbers_as_text,
    notes_on_precision,
    warning_of_single_columns,
)
from microagg.release.notes_on_gaps import notes_on_gaps
from microagg.release.notes_on_labels import notes_on_empty_texts, notes_on_labels
from microagg.release.notes_on_names import note_on_index, notes_on_names
from microagg.release.notes_on_texts import notes_on_texts
from microagg.release.notes_on_units import notes_on_units
from microagg.release.publishing import refuse_publishing
from microagg.release.renaming import renamed_frame, with_new_names
from microagg.release.report.building import build_document, build_first_page
from microagg.release.report.document import Document
from microagg.release.report.notebook import summary_html
from microagg.release.report.summary import headline_of
from microagg.release.report.terminal import summary_for_terminal
from microagg.release.report.viewing import ReportView, first_page
from microagg.release.risks import notes_on_disclosure, notes_on_earlier_releases, refuse_unaccepted
from microagg.release.rules import (
    kept_rules,
    notes_on_rules,
    released_records,
    released_variables,
    rules_as_data,
)
from microagg.release.saving import refuse_report_place, renderer, save_release
from microagg.release.selecting import expand_patterns, names_of_selectors
from microagg.release.settings import Settings, settings_from
from microagg.release.shared_values import notes_on_shared_values
from microagg.release.shuffling import shuffled_rows
from microagg.release.sources import is_open_file, is_path, read_source
from microagg.release.strata import Strata, class_columns, in_strata, notes_on_strata, refuse_columnwise
from microagg.release.true_values import (
    frequencies_in,
    notes_on_true_values,
    refuse_near_unique,
    risks_of_aggregates,
    risks_of_categories,
    single_categories,
)
from microagg.release.weighting import Weighting, notes_on_weights, released_weight, weighted, weighting_of
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.capping import cap_cells, cap_values, note_on_capped
from microagg.table.confidential import Attribute, typed_like
from microagg.table.encoder import Space
from microagg.table.io.arrow import give_back
from microagg.table.io.frames import (
    column_facts,
    open_frame,
    refuse_odd_types,
    same_type,
    to_arrow,
    values_of,
)
from microagg.table.io.giving import Known, given_back, in_one_form
from microagg.table.io.labels import with_labels_in_use
from microagg.table.io.marks import marked_like, notes_of
from microagg.table.io.parts import as_target, format_to_write
from microagg.table.io.sidecar import labels_beside, sidecar_of
from microagg.table.io.spelling import texts_like
from microagg.table.io.text_types import with_values
from microagg.table.io.writing import write_text
from microagg.table.relations import records_of
from microagg.table.schema import Role, Schema, assign_roles
from microagg.table.variable import Cells

Names = Sequence[str | int] | str | int
_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data


@dataclass(frozen=True, repr=False)
class Release(Conversions):
    """A table that holds its guarantee, and how it came about.

    `labels` and `manifest` are for the data holder; `table`, once saved, and `public_manifest` are for everybody.
    """

    table: Any
    labels: np.ndarray
    loss: dict[str, float]
    manifest: dict[str, Any]
    schema: Schema
    anonymity: Anonymity
    notes: tuple[str, ...] = ()
    bound: Bound | None = None
    """The proven lower bound on the loss of any grouping, with effort="prove"; its certificate stays inside."""
    stopped: str | None = None
    """Why the search ended early; None if it did not."""
    _arrow: pa.Table = field(repr=False, kw_only=True)
    _original: nw.DataFrame[Any] = field(repr=False, kw_only=True)
    _cells: tuple[Cells, Cells] | None = field(default=None, repr=False, kw_only=True)
    """The quasi-identifying cells before and after, where they are not plain numbers."""
    _risks: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    """Risks that the table tells, to be accepted before anything is saved."""
    _units: Attribute | None = field(default=None, repr=False, kw_only=True)
    """The unit that each record belongs to, which is withheld; what is written is verified by it."""
    _written: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    """What saving adds to the manifest: where to, in which order of rows."""

    @property
    def public_manifest(self) -> dict[str, Any]:
        """What may be published of the manifest: nothing of single records, seed, digest or scaling."""
        return public_manifest(self.manifest)

    @functools.cached_property
    def settings(self) -> Settings:
        """What was asked for, and what was decided where it was left open: enough to ask for the same again."""
        return Settings.from_data(self.manifest["settings"]).of_table(self._original.to_native())

    @functools.cached_property
    def pair(self) -> Pair:
        """The table before and after, as numbers that measures work on; the data holder's side only."""
        asked = self.settings.columns
        quasi, weight = self.schema.names(Role.QUASI), self.schema.one(Role.WEIGHT)
        kept = [weight] if weight and self.settings.weight_becomes == "keep" else []
        pair = pair_of(
            self._original, nw.from_native(self._arrow, eager_only=True),
            quasi=quasi, confidential=self.schema.names(Role.CONFIDENTIAL), keep=[*self.schema.names(Role.KEEP), *kept],
            shared=class_columns(self.schema, self.settings)[len(quasi):], weight=weight, k=self.settings.k,
            exact=self.settings.exact, kinds=asked.kinds, ordinal=asked.levels, special=asked.special, na=asked.na,
            cells=self._cells,
        )  # fmt: skip
        if weight is not None and not kept:
            pair = replace(pair, released_weights=self._released_weights(weight))
        if self._cells is not None and self.labels.ndim == 1:
            pair = replace(pair, labels=self.labels)
        if self.settings.cap:
            capped = {name: cap for name, cap in self.settings.cap.items() if name in pair.names}
            pair = replace(pair, capped=cap_values(pair.original, pair.names, capped)[0])
        return pair

    def _released_weights(self, weight: str) -> np.ndarray:
        """The weights that everybody sees; 1 where there are none."""
        released = nw.from_native(self._arrow, eager_only=True)
        return (
            values_of(released, [weight])[:, 0]
            if weight in released.columns
            else np.ones(self._arrow.num_rows)
        )

    @property
    def is_mixed(self) -> bool:
        """Whether there is more among the quasi-identifiers than plain numbers: categories, dates, gaps, ranges."""
        return self._cells is not None

    @property
    def changes(self) -> dict[str, Change]:
        """What became of the cells, column by column: those unchanged in percent, the mean change, gaps filled and made; for inside eyes."""
        return changes(self.pair.before, self.pair.after)

    @functools.cached_property
    def figures(self) -> tuple[tuple[Measure, Figure], ...]:
        """Every measure of loss and of risk that fits the release, with what it found."""
        figures = tuple(assess_pair(self.pair))
        self.pair.forget()
        return figures

    @property
    def risk(self) -> dict[str, float]:
        """What an intruder gains, by the names of the measures, such as linkage and prosecutor.

        Measures that need numbers leave columns of categories, and those with gaps, out; the internal report says which.
        """
        return {measure.name: figure.value for measure, figure in self.figures if measure.side == "risk"}

    def report(self, path: str | Path | None = None, *, public: bool = False) -> Path | ReportView:
        """Write the report as .html, .md or .json; with `public` one that follows from the released table and the settings.

        A public one has IL in whole percent besides, for 100 records and more, and what `publish` names. The internal one, which is not for everybody, is readable by its owner only.
        Without a `path` the report is returned: a notebook shows it as a page, a terminal its first part.
        """
        if public:
            refuse_unaccepted(self.settings, self._risks)
        if path is None:
            return ReportView.of(self._document(public=public))
        path = Path(path)
        refuse_report_place(path)
        write_text(path, renderer(path)(self._document(public=public)), private=not public)
        return path

    def first_page(self) -> str:
        """Return the first part of the internal report as text for a terminal; nothing is measured for it."""
        manifest, sizes = {**self.manifest, **self._written}, self.anonymity.sizes
        return first_page(
            build_first_page(manifest=manifest, pair=self.pair, class_sizes=sizes, notes=self.notes)
        )

    def _document(self, *, public: bool) -> Document:
        return build_document(
            manifest={**self.manifest, **self._written}, public=public, pair=self.pair,
            class_sizes=self.anonymity.sizes, figures=self.figures, notes=() if public else self.notes,
            shown=self._shown(),
        )  # fmt: skip

    def _shown(self) -> Cells | None:
        """The released cells as a public report shows them; None where they are plain numbers."""
        if self._cells is None:
            return None
        return shown_cells(self._arrow, self._cells[1], self.schema, self.settings)

    def _repr_html_(self) -> str:
        return summary_html(manifest=self.manifest, class_sizes=self.anonymity.sizes, notes=self.notes)

    def __rich__(self) -> Any:
        """What `rich.print` shows."""
        return summary_for_terminal(
            manifest=self.manifest, class_sizes=self.anonymity.sizes, notes=self.notes
        )

    def __repr__(self) -> str:
        headline = headline_of(self.manifest, self.anonymity.sizes)
        return f"<Release: {headline}, k = {self.settings.k}, IL = {self.loss['IL']:.4f} %>"

    def save(self, path: str | Path, *, keep_order: bool = False, **options: Any) -> list[Path]:
        """Write the table and both manifests, and labels that its format cannot hold; returns their paths. Rows are shuffled unless `keep_order`.

        A path with a separator at its end is a folder of parquet parts. The file is written beside its place, read back and verified
        before it takes it. `options` are those of its format, before those
        that the setting `writing` has: `delimiter`, `encoding`, `decimal`, `thousands`, `dates` and `line_end` of a text file, and
        `escape_formulas` for one that goes to a spreadsheet. A release that takes a risk which
        `accept_risk` does not name is refused. Another release of the same table in that folder is told about in a note.
        """
        return self._save_at(as_target(path), keep_order=keep_order, **options)

    def _save_at(self, path: Path, *, keep_order: bool, **options: Any) -> list[Path]:
        """The same, at a place that `as_target` gave."""
        refuse_unaccepted(self.settings, self._risks)
        self._note(notes_on_earlier_releases(path, self.manifest))
        self._note(notes_on_empty_texts(path, self._arrow))
        self._written.update(
            save_release(self, path, keep_order=keep_order, options={**self.settings.writing, **options})
        )
        beside = sidecar_of(path)
        return [
            path,
            *manifest_paths(path),
            *([beside] if labels_beside(self._arrow, format_to_write(path)) else []),
        ]

    def _note(self, notes: tuple[str, ...]) -> None:
        """Add what is found out only when it is known where a release goes."""
        object.__setattr__(self, "notes", (*self.notes, *(note for note in notes if note not in self.notes)))

    def _attributes(self, written: pa.Table) -> tuple[Attribute, ...]:
        """The confidential columns of a file, in which everything may be text, as what they are in the table."""
        names = self.schema.names(Role.CONFIDENTIAL)
        return confidential_of(typed_like(written.select(names), self._arrow), names, self.settings)

    def _shuffled_rows(self) -> np.ndarray:
        return shuffled_rows(self.manifest, len(self.labels))


@dataclass(frozen=True)
class Prepared:
    """What a search is about to get."""

    frame: nw.DataFrame[Any]
    """The records that take part."""
    schema: Schema
    problem: Problem
    strata: Strata | None


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
    """Make a table k-anonymous in its quasi-identifying columns, and l-diverse and t-close in its confidential ones if asked.

    `table` is a pandas, polars or Arrow table, a dict of lists, a Series, a record batch, or a NumPy matrix (columns are then numbered from
    0), or the path of a file or an open file, which is read in memory; the release's
    table has the same type (an Arrow table, of a file), rows and index in the order given. Periods of pandas become the moments at which they begin. A LazyFrame of polars is collected, a relation of DuckDB fetched, and
    the release's table is then a polars DataFrame or an Arrow table; order the rows of a query whose release is to be made again. Every column needs a role; `rest` says what happens to
    the others ("error", "drop", "keep"). Columns are named, chosen by a pattern ("q*"; a column that is named for a role is not taken for
    another by a pattern) or by a selector of narwhals or polars. `weight` is the column of sampling weights: means are weighted by it, and each record gets
    its group's mean weight, so that weighted totals stay. `stratum` names columns that are released as they are and that no group
    crosses: records of a class share them, too. Strata with fewer than k records, or that cannot keep what is promised, are refused,
    or left out with small_strata="drop". `unit` is the column that says which household, company or patient a record belongs to: it
    is left out, and every class has at least k different ones, none of them with more than half of its records. `l`: records that share their quasi-identifying values have at least l well-spread
    values in each confidential column (`diversity`: "distinct", "entropy" or "recursive", the last with `c`); `t`: these are
    spread as in the whole table, up to this earth mover's distance; both take spellings of one text for one value unless `exact`.
    `kinds` says whether a column is "numeric", "ordinal" or "nominal" where its type does not; `nominal` names columns of categories,
    `ordinal` columns with an order, and that order ({"education": ["P", "S", "PS"]}). `importance` makes distances in a column count
    so many times. `aggregate` says what a group releases of a column: "mean", "median", "mode", "draw", "medoid", "range", or
    "generalise" with a `hierarchy`, a tree over the values. Records with `missing` quasi-identifiers are grouped with their like
    ("group"), refused ("error") or left out ("drop"); `special` names codes that are no values ({"AGEYOUNG": [97]}), `na` further
    markers of missing values.
    With precision="column" a group's mean is rounded to the decimals that most values of its column have, so whole numbers stay
    whole; where there is no such number of decimals, to three to four digits of the column's standard deviation. With "full" it is the exact mean. `cap` gives columns a highest value ({"income": "99.5%"} or {"income": 50000}) or a lowest and a highest
    ({"income": ("1%", "99%")}), which values beyond become before groups are formed; loss is measured against what they were.
    `rules` declares sums that hold in every record (["total = wage + other"]), of up to three columns, each added or subtracted; they
    hold in the release, too, as do sums that are found in the table, unless rules="none".
    `publish` names measures that the public report tells although they come from the original table (1,000 records and more);
    without it, that report follows from the released table and the settings. `accept_risk` names risks that are taken knowingly
    ("full-precision", "single-columns", "published-measures", "true-values"): without it such a release cannot be saved. `rename` gives
    columns of the release new names ({"net income": "net_income"}), where a file cannot have the old ones. `writing` says
    how `save` writes text files ({"delimiter": ";", "decimal": ","}); `reading` is what was known about the file that a table came
    from, which changes nothing here and is kept for `repeat`. `refine` improves the groups of any method by local search.
    `progress=True` shows a bar in a notebook or a terminal, and makes the first Ctrl-C (the
    interrupt of a notebook) end a search at its next checkpoint, with the best groups so far: `release.stopped` tells; a function is
    called as progress(done, total) instead. `params` go to the method; those of the default are `effort` ("quick", "balanced", "thorough", "prove"
    or a number of steps for each record) and `time_limit` in seconds.

    >>> release = anonymize(pa.table({"age": [30, 32, 60, 64]}), k=2, quasi=["age"], seed=0)
    >>> release.table.column("age").to_pylist()
    [31, 31, 62, 62]
    """
    arguments = dict(locals())
    if is_path(table) or is_open_file(table):
        settings = settings_from(arguments).settled()
        table, file = read_source(table, settings)
        return protect(table, settings, file=file, threads=threads, progress=progress)
    asked = settings_from(names_of_selectors(arguments, lambda: open_frame(table))).settled()
    return protect(table, asked, threads=threads, progress=progress)


@ctrl_c_heard()
def protect(
    table: Any,
    settings: Settings,
    *,
    file: str | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    before_search: Callable[[Prepared], object] | None = None,
    format: int = FORMAT,
) -> Release:
    """The way of the data, from a table and settings to a release that holds its guarantee.

    `file` is the name of the file that the table was read from; the internal manifest keeps it.
    `before_search` gets what the search is about to get, and may raise: a dry run goes no further.
    `format` is that of the manifest: an older one is repeated by its own rules.
    """
    # what was asked for
    settings = settings.settled()
    given = open_frame(table)
    names = list(given.columns)
    settings = with_new_names(expand_patterns(settings, names))
    given = renamed_frame(given, settings.rename)
    settings = settings.of_table(given.to_native())
    schema = assign_roles(column_facts(given), settings.roles, settings.rest, settings.said)
    method, promise = settings.chosen_method, settings.promise
    refuse_columnwise(schema, settings)
    # raises where a weight is wrong or a unit missing, with its row in the table that was given
    weighting_of(given, schema, settings)
    units_in(given, schema, settings)
    frame, dropped = without_gaps(given, schema, settings)
    frame, strata = in_strata(frame, schema, settings)
    k = checked_k(settings.k, len(frame))
    quasi, hidden = schema.names(Role.QUASI), schema.names(Role.CONFIDENTIAL)
    refuse_publishing(settings.publish, len(frame))

    # space and partition
    cells = read_cells(frame, schema, settings)
    refuse_near_unique(cells.variables, frequencies_in(cells), settings)
    rules = kept_rules(records_of(cells), cells.variables, settings, by_column=method.scope == "column")
    grouped, capped = cap_cells(cells, settings.cap)
    space = Space.fit(grouped, settings.scale, settings.importance)
    refuse_unsearchable(space, settings)
    # a search needs the room; plain values can be read again
    points = space.points(grouped, out=grouped.values if cells.is_plain else None)
    used = {column.name for column in schema.columns if column.role is not Role.IDENTIFIER}
    withheld = [name for name in given.columns if name not in used]
    source = to_arrow(given, withheld)
    refuse_odd_types(frame, schema.released())
    attributes = confidential_of(source if frame is given else to_arrow(frame, withheld), hidden, settings)
    units = units_in(frame, schema, settings)
    give_back()
    columns = None if cells.is_plain else len(cells.variables)
    problem = problem_with(promise, method, points, k, attributes, threads, units, columns)
    if before_search is not None:
        before_search(Prepared(frame, schema, problem, strata))
    _log.info("grouping %d records on %d axes, k = %d, method %s", *problem.points.shape, k, method.name)
    begun = time.perf_counter()
    found = run_method(
        method,
        problem,
        settings.params,
        seed=settings.seed or 0,
        refine=settings.refine,
        progress=progress,
        strata=None if strata is None else strata.labels,
    )
    quick = quick_groups(method, problem, settings, found, None if strata is None else strata.labels)
    _log.info("%d groups found in %.2f s", found.labels.max() + 1, time.perf_counter() - begun)
    settings = replace(settings, params={**settings.params, **found.params})
    plain = cells.is_plain
    del problem, points, grouped
    if plain:
        del cells
        cells = read_cells(frame, schema, settings)

    # aggregate and verify
    averaged, _ = cap_cells(cells, settings.cap)
    weighting = weighting_of(frame, schema, settings)
    weights = None if weighting is None else weighting.before

    release_of = functools.partial(
        aggregated, averaged, how=settings.aggregates, precision=settings.precision, k=k, seed=settings.seed or 0,
        space=space, exact=cells, texts=texts_like(frame), weights=weights, kept=rules.sums,
    )  # fmt: skip
    # loss is measured against what was there before any cap, on the scale that it has without one
    measured = Space.fit(cells, settings.scale, settings.importance) if capped else space
    made = release_of(found.labels)
    if quick is not None and loses_less(measured, cells, other := release_of(quick.labels), made):
        found, made = with_groups_of(found, quick), other
    labels = found.labels
    weighting = weighted(weighting, labels, settings)
    released = with_released(frame, schema, made, weighting, settings.precision)
    coarse = [variable.name for variable in made.cells.variables if variable.coarse]
    arrow = with_labels_in_use(marked_like(to_arrow(released), source, coarse))
    give_back()
    anonymity = verify(arrow, class_columns(schema, settings), k, len(frame), method.scope)
    findings = promise.verify(
        anonymity.labels, len(anonymity.sizes), confidential_of(arrow, hidden, settings), units
    )
    anonymity = replace(anonymity, findings=findings)
    _log.info("verified %d classes, the smallest of %d records", len(anonymity.sizes), anonymity.sizes.min())

    # measure and release
    notes = notes_on_disclosure(k, averaged, labels, anonymity.labels, made, weights) + note_on_capped(capped)
    notes += notes_on_true_values(averaged, made)
    singles, _ = single_categories(made, frequencies_in(averaged))
    bound = found.bound and found.bound.about(averaged, quasi, space)
    del averaged, release_of
    groups = labels if labels.ndim == 2 else anonymity.labels
    loss, share, unrounded = loss_of(measured, cells, made, released, settings, labels, groups)
    weighting = weighting and weighting.with_totals(frame, schema, settings, made)
    manifest = internal_manifest(
        settings=settings, schema=schema, found=found, space=space, made=made, source=source.rename_columns(names), file=file,
        loss=loss, largest_share=share, anonymity=anonymity, capped=capped, dropped=dropped,
        exposure=exposure_of(with_values(arrow), schema, anonymity),
        rules=rules_as_data(settings, released_records(arrow, released_variables(cells.variables, settings))),
        strata=None if strata is None else strata.as_data(), weighting=None if weighting is None else weighting.as_data(),
        format=format,
    )  # fmt: skip
    notes += notes_of(given.to_native()) + notes_on_labels(source, schema, settings)
    notes += notes_on_cells(cells, measured, settings, dropped) + notes_on_markers(source)
    notes += notes_on_numbers_as_text(cells.variables, settings)
    notes += notes_on_columns(schema, space, loss["IL"], unrounded)
    notes += notes_on_precision(quasi, made.decimals, made.reasons) + notes_on_rules(rules)
    notes += notes_on_shared_values(anonymity.labels, attributes) + notes_on_texts(attributes, arrow)
    notes += notes_on_gaps(promise, attributes) + notes_on_units(units, k) + notes_on_strata(strata, k)
    notes += notes_on_weights(weighting, labels, arrow, schema, settings)
    notes += notes_on_names(frame, schema) + note_on_index(table)
    if anonymity.scope == "column" and not anonymity.holds:
        notes = (warning_of_single_columns(anonymity), *notes)
    return Release(
        labelled_like(same_type(released, table), arrow), labels, loss, manifest, schema, anonymity, notes, bound, found.stopped,
        _arrow=arrow, _original=frame, _cells=None if _are_numbers(frame, cells, made) else (cells, made.cells),
        _risks=risks_of_aggregates(cells, settings.aggregates) + risks_of_categories(singles), _units=units,
    )  # fmt: skip


def _are_numbers(frame: nw.DataFrame[Any], cells: Cells, made: Aggregated) -> bool:
    """Whether the quasi-identifiers are plain numbers before and after, which can be read from the tables at any time."""
    return is_table_of_numbers(cells) and made.is_plain and can_be_read_again(frame, cells.names)


def with_released(
    frame: nw.DataFrame[Any],
    schema: Schema,
    made: Aggregated,
    weighting: Weighting | None,
    precision: str,
    known: Mapping[str, Known] = {},
) -> nw.DataFrame[Any]:
    """The table with every quasi-identifier replaced by its group's, in the types that came in; identifiers dropped.

    Strata are as they were, but with one zero and one missing value: some readers would see further classes.

    `known` is needed where the frame is a part of a table.
    """
    cells, whole = made.cells, precision == "column"
    columns = [
        given_back(
            frame[variable.name],
            variable,
            cells.values[:, j],
            cells.atoms_of(j),
            whole=whole,
            known=known.get(variable.name),
        )
        for j, variable in enumerate(cells.variables)
    ]
    columns += released_weight(frame, weighting, whole=whole, known=known)
    columns += [in_one_form(frame[name]) for name in schema.names(Role.STRATUM)]
    return frame.with_columns(*columns).select(*schema.released())
