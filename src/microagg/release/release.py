"""Release: the protected table with its loss, risks, notes and manifests."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
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
from microagg.measures.measure import Figure, FigureTable, Measure, Pair
from microagg.measures.registry import assess_pair
from microagg.release.cells import shown_cells
from microagg.release.changes import Change, ChangeTable, changes
from microagg.release.conversions import Conversions
from microagg.release.effects import effects_from
from microagg.release.manifest import manifest_paths, public_manifest
from microagg.release.note import FormatSetting, Note, as_argument
from microagg.release.note_columns import notes_on_empty_texts
from microagg.release.pairing import pair_of_release
from microagg.release.report.building import build_document, build_first_page
from microagg.release.report.document import Document, FirstPage
from microagg.release.report.front_text import first_page_text, front_lines, shown_beside, wrapped
from microagg.release.report.notebook import first_page_fragment
from microagg.release.report.spread import level_text
from microagg.release.report.summary import headline_of
from microagg.release.report.viewing import ReportView
from microagg.release.risks import check_unaccepted, notes_on_earlier_releases
from microagg.release.saving import check_report_place, renderer, save_release
from microagg.release.settings import Settings
from microagg.release.verdict import Verdict, verdict_of
from microagg.table.confidential import Attribute
from microagg.table.schema import Schema
from microagg.table.variable import Cells, Variable


@dataclass(frozen=True, repr=False)
class Release(Conversions):
    """A protected table with its loss, risks, notes and manifests; the result of `anonymize`.

    `labels` and `manifest` are for the data holder; `table`, once saved, and `public_manifest` are
    for everybody.

    Attributes
    ----------
    table : pandas, polars or Arrow table, or 2-D NumPy array
        The protected table, of the type of the original, rows in its order.
    labels : ndarray of shape (n,)
        Group of each record. Internal: do not publish.
    loss : dict of str to float
        Information loss: "IL" in percent and "SSE".
    manifest : dict
        Internal manifest: all that repeats the release. Do not publish.
    schema : Schema
        Roles and kinds of the columns.
    anonymity : Anonymity
        Equivalence classes of the released table, and the verified guarantees.
    notes : tuple of Note
        Facts for the data holder to know or to decide.
    bound : Bound or None
        Proven lower bound on the loss of any grouping, with ``effort="prove"``.
    stopped : str or None
        Reason for which the search ended early.

    Examples
    --------
    >>> import microagg as ma
    >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
    >>> release.table["age"]
    [31, 31, 62, 62]
    >>> release.labels.tolist(), round(release.loss["IL"], 2)
    ([0, 0, 1, 1], 1.03)
    """

    table: Any
    labels: np.ndarray
    loss: dict[str, float]
    manifest: dict[str, Any]
    schema: Schema
    anonymity: Anonymity
    notes: tuple[Note, ...] = ()
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
    _averaged_codes: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    """Columns of whole numbers that look like codes, were averaged, and were not declared."""
    _written: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    """What saving adds to the manifest: where to, in which order of rows."""

    @property
    def public_manifest(self) -> dict[str, Any]:
        """The part of the manifest that may be published: nothing of single records, seed, digest
        or scaling.
        """
        return public_manifest(self.manifest)

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings of the release, with decisions where they left a choice: enough to repeat
        it.
        """
        return Settings.from_data(self.manifest["settings"]).of_table(self._original.to_native())

    @functools.cached_property
    def pair(self) -> Pair:
        """The table before and after, as measures take it. Internal: do not publish."""
        return pair_of_release(self)

    @property
    def is_mixed(self) -> bool:
        """True if the quasi-identifiers are more than plain numbers: categories, dates, gaps,
        ranges.
        """
        return self._cells is not None

    @property
    def changes(self) -> dict[str, Change]:
        """Changes of the cells by column: unchanged cells in percent, mean change, gaps filled and
        made. Internal: do not publish.
        """
        return ChangeTable(changes(self.pair.before, self.pair.after))

    @functools.cached_property
    def figures(self) -> tuple[tuple[Measure, Figure], ...]:
        """All measures of loss and risk that fit the release, with their figures."""
        figures = FigureTable(assess_pair(self.pair))
        self.pair.forget()
        return figures

    @property
    def risk(self) -> dict[str, float]:
        """Disclosure risk by the names of the measures, such as linkage and prosecutor.

        Measures that need numbers leave columns of categories, and those with gaps, out; the
        internal report says which.
        """
        return {
            measure.name: figure.value for measure, figure in self.figures if measure.side == "risk"
        }

    def report(self, path: str | Path | None = None, *, public: bool = False) -> Path | ReportView:
        """Write a report on the release, or return it.

        A public report follows from the released table and the settings. It also has IL in whole
        percent, for 100 records and more, and the measures that `publish` names. The internal
        report is readable by its owner only.

        Parameters
        ----------
        path : str or Path, optional
            File to write: .html, .md or .json.
        public : bool
            Write the report that may be published.

        Returns
        -------
        Path or ReportView
            The path; without one the report, which a notebook shows as a page and a terminal by
            its first part.

        Raises
        ------
        InputError
            If the file cannot be written, or a public report takes a risk that is not accepted.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> type(release.report(public=True)).__name__
        'ReportView'
        """
        if public:
            check_unaccepted(self.settings, self._risks)
        if path is None:
            return ReportView.of(self._document(public=public))
        path = Path(path)
        check_report_place(path)
        write_text(path, renderer(path)(self._document(public=public)), private=not public)
        return path

    def summary(self) -> str:
        """Return the release in a few lines of text: verdict, points to decide and loss.

        Returns
        -------
        str
            A heading, and a line for each fact. Internal: do not publish.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> release.summary().splitlines()[0]
        '4 records in 2 classes of 2'
        """
        headline = headline_of(self.manifest, self.anonymity.sizes)
        notes = [line for note in self._other_notes() for line in wrapped("note", note)]
        return "\n".join([headline, *front_lines(self.front_page()), *notes])

    def first_page(self, format_setting: FormatSetting = as_argument) -> str:
        """Return the first page of the internal report as text for a terminal.

        Nothing is measured for it.

        Parameters
        ----------
        format_setting : callable, optional
            Writes the settings that notes name, as Python takes them by default.

        Returns
        -------
        str
            Lines of text. Internal: do not publish.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> "Records: 4" in release.first_page()
        True
        """
        document = self._first_page(format_setting)
        return first_page_text(document, notes=self._other_notes(format_setting))

    def _other_notes(self, format_setting: FormatSetting = as_argument) -> list[str]:
        """Return the notes that the first page does not show."""
        return shown_beside(self.notes, self.front_page(format_setting), format_setting)

    @property
    def verdict(self) -> Verdict:
        """Answer to whether the release may be published, with the points that are open."""
        return verdict_of(self.notes)

    def front_page(self, format_setting: FormatSetting = as_argument) -> FirstPage:
        """Return the first page of the internal report as data.

        Parameters
        ----------
        format_setting : callable, optional
            Writes the settings that notes name, as Python takes them by default.

        Returns
        -------
        FirstPage
            Its sentences. Internal: do not publish.

        Examples
        --------
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> type(release.front_page()).__name__
        'FirstPage'
        """
        front = self._first_page(format_setting).front
        assert front is not None
        return front

    def _first_page(self, format_setting: FormatSetting = as_argument) -> Document:
        return build_first_page(
            manifest={**self.manifest, **self._written},
            class_sizes=self.anonymity.sizes,
            notes=self.notes,
            format_setting=format_setting,
        )

    @property
    def lost_categories(self) -> dict[str, tuple[str, ...]]:
        """Categories that no record has any more, by column; confidential."""
        variables = {variable.name: variable for variable in self._variables}
        return {
            effect.name: tuple(
                level_text(variables[effect.name].levels[code]) for code in effect.lost_codes
            )
            for effect in effects_from(self.manifest.get("effects"))
            if effect.lost
        }

    @property
    def _variables(self) -> tuple[Variable, ...]:
        """Quasi-identifiers before."""
        return () if self._cells is None else self._cells[0].variables

    def _document(self, *, public: bool) -> Document:
        return build_document(
            manifest={**self.manifest, **self._written},
            public=public,
            pair=self.pair,
            class_sizes=self.anonymity.sizes,
            figures=self.figures,
            notes=() if public else self.notes,
            shown=self._shown(),
            lost=None if public else self.lost_categories,
        )

    def _shown(self) -> Cells | None:
        """The released cells as a public report shows them; None where they are plain numbers."""
        if self._cells is None:
            return None
        return shown_cells(self._arrow, self._cells[1], self.schema, self.settings)

    def _repr_html_(self) -> str:
        return first_page_fragment(self._first_page(), self._other_notes())

    def __rich__(self) -> str:
        """Return what `rich.print` shows."""
        return self.first_page()

    def __repr__(self) -> str:
        headline = headline_of(self.manifest, self.anonymity.sizes)
        return f"<Release: {headline}, k = {self.settings.k}, IL = {self.loss['IL']:.4f} %>"

    def save(self, path: str | Path, *, keep_order: bool = False, **options: Any) -> list[Path]:
        """Write the table and both manifests, and labels that its format cannot hold.

        The file is written beside its place, read back and verified before it takes it. A note
        tells of another release of the same table in that folder.

        Parameters
        ----------
        path : str or Path
            File to write, in a format by its suffix; a folder of parquet parts if it ends with a
            separator.
        keep_order : bool
            Keep the order of rows, which is shuffled by default.
        **options
            Options of the format, which override the setting `writing`: `delimiter`, `encoding`,
            `decimal`, `thousands`, `dates` and `line_end` of a text file, and `escape_formulas`
            for one that goes to a spreadsheet.

        Returns
        -------
        list of Path
            Paths of the table, its manifests, and the file of labels if there is one.

        Raises
        ------
        InputError
            If the file cannot be written, or the release takes a risk that is not accepted.
        GuaranteeError
            If the file that was read back misses a guarantee. Nothing is written then.

        Examples
        --------
        >>> import tempfile
        >>> import microagg as ma
        >>> release = ma.anonymize({"age": [30, 32, 60, 64]}, k=2, quasi=["age"], seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in release.save(Path(folder) / "out.csv")]
        ['out.csv', 'out.csv.internal.json', 'out.csv.public.json']
        """
        return self._save_at(as_target(path), keep_order=keep_order, **options)

    def _save_at(self, path: Path, *, keep_order: bool, **options: Any) -> list[Path]:
        """Save the release at a path that `as_target` returned."""
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

    def _note(self, notes: tuple[Note, ...]) -> None:
        """Add notes that depend on the place of the files."""
        object.__setattr__(
            self, "notes", (*self.notes, *(note for note in notes if note not in self.notes))
        )
