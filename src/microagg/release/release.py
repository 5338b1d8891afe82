"""Release: the protected table with its loss, risks, notes and manifests."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.bounds.bound import Bound
from microagg.files.columnar.parquet_folder import as_target, format_to_write
from microagg.files.commit.writing import write_text
from microagg.files.stats.sidecar import labels_beside, sidecar_of
from microagg.guarantees.k import Anonymity
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.pairing import pair_of
from microagg.measures.registry import assess_pair
from microagg.release.cells import confidential_of, shown_cells
from microagg.release.changes import Change, changes
from microagg.release.conversions import Conversions
from microagg.release.manifest import manifest_paths, public_manifest
from microagg.release.notes_on_labels import notes_on_empty_texts
from microagg.release.report.building import build_document, build_first_page
from microagg.release.report.document import Document
from microagg.release.report.notebook import summary_html
from microagg.release.report.summary import headline_of
from microagg.release.report.terminal import summary_for_terminal
from microagg.release.report.viewing import ReportView, first_page
from microagg.release.risks import check_unaccepted, notes_on_earlier_releases
from microagg.release.saving import check_report_place, renderer, save_release
from microagg.release.settings import Settings
from microagg.release.shuffling import shuffled_rows
from microagg.release.strata import class_columns
from microagg.table.capping import cap_values
from microagg.table.columns.frames import (
    values_of,
)
from microagg.table.confidential import Attribute, typed_like
from microagg.table.schema import Role, Schema
from microagg.table.variable import Cells


@dataclass(frozen=True, repr=False)
class Release(Conversions):
    """A table that holds its guarantee, and how it came about.

    `labels` and `manifest` are for the data holder; `table`, once saved, and `public_manifest` are
    for everybody.
    """

    table: Any
    labels: np.ndarray
    loss: dict[str, float]
    manifest: dict[str, Any]
    schema: Schema
    anonymity: Anonymity
    notes: tuple[str, ...] = ()
    bound: Bound | None = None
    """The proven lower bound on the loss of any grouping, with effort="prove"; its certificate
    stays inside.
    """
    stopped: str | None = None
    """Why the search ended early; None if it did not."""
    _arrow: pa.Table = field(repr=False, kw_only=True)
    _original: nw.DataFrame[Any] = field(repr=False, kw_only=True)
    _cells: tuple[Cells, Cells] | None = field(default=None, repr=False, kw_only=True)
    """The quasi-identifying cells before and after, where they are not plain numbers."""
    _risks: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    """Risks that the table tells, to be accepted before anything is saved."""
    _units: Attribute | None = field(default=None, repr=False, kw_only=True)
    """The unit that each record belongs to, which is withheld; what is written is verified by it.
    """
    _written: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    """What saving adds to the manifest: where to, in which order of rows."""

    @property
    def public_manifest(self) -> dict[str, Any]:
        """What may be published of the manifest: nothing of single records, seed, digest or
        scaling.
        """
        return public_manifest(self.manifest)

    @functools.cached_property
    def settings(self) -> Settings:
        """What was asked for, and what was decided where it was left open: enough to ask for the
        same again.
        """
        return Settings.from_data(self.manifest["settings"]).of_table(self._original.to_native())

    @functools.cached_property
    def pair(self) -> Pair:
        """The table before and after, as numbers that measures work on; the data holder's side
        only.
        """
        asked = self.settings.columns
        quasi, weight = self.schema.names(Role.QUASI), self.schema.one(Role.WEIGHT)
        kept = [weight] if weight and self.settings.weight_becomes == "keep" else []
        pair = pair_of(
            self._original,
            nw.from_native(self._arrow, eager_only=True),
            quasi=quasi,
            confidential=self.schema.names(Role.CONFIDENTIAL),
            keep=[*self.schema.names(Role.KEEP), *kept],
            shared=class_columns(self.schema, self.settings)[len(quasi) :],
            weight=weight,
            k=self.settings.k,
            exact=self.settings.exact,
            kinds=asked.kinds,
            ordinal=asked.levels,
            special=asked.special,
            na=asked.na,
            cells=self._cells,
        )
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
        """Whether there is more among the quasi-identifiers than plain numbers: categories, dates,
        gaps, ranges.
        """
        return self._cells is not None

    @property
    def changes(self) -> dict[str, Change]:
        """What became of the cells, column by column: those unchanged in percent, the mean change,
        gaps filled and made; for inside eyes.
        """
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

        Measures that need numbers leave columns of categories, and those with gaps, out; the
        internal report says which.
        """
        return {
            measure.name: figure.value for measure, figure in self.figures if measure.side == "risk"
        }

    def report(self, path: str | Path | None = None, *, public: bool = False) -> Path | ReportView:
        """Write the report as .html, .md or .json; with `public` one that follows from the released
        table and the settings.

        A public one has IL in whole percent besides, for 100 records and more, and what `publish`
        names. The internal one, which is not for everybody, is readable by its owner only. Without
        a `path` the report is returned: a notebook shows it as a page, a terminal its first part.
        """
        if public:
            check_unaccepted(self.settings, self._risks)
        if path is None:
            return ReportView.of(self._document(public=public))
        path = Path(path)
        check_report_place(path)
        write_text(path, renderer(path)(self._document(public=public)), private=not public)
        return path

    def first_page(self) -> str:
        """Return the first part of the internal report as text for a terminal; nothing is measured
        for it.
        """
        manifest, sizes = {**self.manifest, **self._written}, self.anonymity.sizes
        return first_page(
            build_first_page(manifest=manifest, pair=self.pair, class_sizes=sizes, notes=self.notes)
        )

    def _document(self, *, public: bool) -> Document:
        return build_document(
            manifest={**self.manifest, **self._written},
            public=public,
            pair=self.pair,
            class_sizes=self.anonymity.sizes,
            figures=self.figures,
            notes=() if public else self.notes,
            shown=self._shown(),
        )

    def _shown(self) -> Cells | None:
        """The released cells as a public report shows them; None where they are plain numbers."""
        if self._cells is None:
            return None
        return shown_cells(self._arrow, self._cells[1], self.schema, self.settings)

    def _repr_html_(self) -> str:
        return summary_html(
            manifest=self.manifest, class_sizes=self.anonymity.sizes, notes=self.notes
        )

    def __rich__(self) -> Any:
        """What `rich.print` shows."""
        return summary_for_terminal(
            manifest=self.manifest, class_sizes=self.anonymity.sizes, notes=self.notes
        )

    def __repr__(self) -> str:
        headline = headline_of(self.manifest, self.anonymity.sizes)
        return f"<Release: {headline}, k = {self.settings.k}, IL = {self.loss['IL']:.4f} %>"

    def save(self, path: str | Path, *, keep_order: bool = False, **options: Any) -> list[Path]:
        """Write the table and both manifests, and labels that its format cannot hold; returns their
        paths. Rows are shuffled unless `keep_order`.

        A path with a separator at its end is a folder of parquet parts. The file is written beside
        its place, read back and verified before it takes it. `options` are those of its format,
        before those that the setting `writing` has: `delimiter`, `encoding`, `decimal`,
        `thousands`, `dates` and `line_end` of a text file, and `escape_formulas` for one that goes
        to a spreadsheet. A release that takes a risk which `accept_risk` does not name is refused.
        Another release of the same table in that folder is told about in a note.
        """
        return self._save_at(as_target(path), keep_order=keep_order, **options)

    def _save_at(self, path: Path, *, keep_order: bool, **options: Any) -> list[Path]:
        """The same, at a place that `as_target` gave."""
        check_unaccepted(self.settings, self._risks)
        self._note(notes_on_earlier_releases(path, self.manifest))
        self._note(notes_on_empty_texts(path, self._arrow))
        self._written.update(
            save_release(
                self, path, keep_order=keep_order, options={**self.settings.writing, **options}
            )
        )
        beside = sidecar_of(path)
        return [
            path,
            *manifest_paths(path),
            *([beside] if labels_beside(self._arrow, format_to_write(path)) else []),
        ]

    def _note(self, notes: tuple[str, ...]) -> None:
        """Add what is found out only when it is known where a release goes."""
        object.__setattr__(
            self, "notes", (*self.notes, *(note for note in notes if note not in self.notes))
        )

    def _attributes(self, written: pa.Table) -> tuple[Attribute, ...]:
        """The confidential columns of a file, in which everything may be text, as what they are in
        the table.
        """
        names = self.schema.names(Role.CONFIDENTIAL)
        return confidential_of(typed_like(written.select(names), self._arrow), names, self.settings)

    def _shuffled_rows(self) -> np.ndarray:
        return shuffled_rows(self.manifest, len(self.labels))
