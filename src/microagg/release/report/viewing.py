"""Reports and pictures for a notebook or a terminal, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from microagg.errors import InputError
from microagg.files.commit.writing import write_text
from microagg.formatting import printable
from microagg.release.report.document import Document, Picture, Section
from microagg.release.report.front_text import first_page_text
from microagg.release.report.html import to_html
from microagg.release.report.spread import spread_of
from microagg.table.suggestions import describe_columns
from microagg.table.variable import Cells

HEIGHT = 700  # of the frame that a notebook shows a report in, in pixels
MOST_PICTURES = 30


@dataclass(frozen=True, repr=False)
class ReportView:
    """A report that a notebook shows as a page, and a terminal by its first page.

    Attributes
    ----------
    html : str
        The whole page.
    public : bool
        Whether it may be published.
    """

    html: str = field(repr=False)
    public: bool
    first_page: str

    @staticmethod
    def of(document: Document) -> ReportView:
        """Return the view of a report."""
        return ReportView(
            to_html(document), document.audience == "public", first_page_text(document)
        )

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" width="100%" height="{HEIGHT}" '
            'style="border:1px solid #ccc"></iframe>'
        )

    def __repr__(self) -> str:
        return self.first_page


@dataclass(frozen=True, repr=False)
class Pictures:
    """Pictures of columns before and after, which a notebook shows side by side. They show the
    original: do not publish them.
    """

    pictures: tuple[Picture, ...]

    def save(self, path: str | Path) -> Path:
        """Write the pictures as one page (.html), readable by its owner only.

        Parameters
        ----------
        path : str or Path
            A file that ends in .html.

        Returns
        -------
        Path
            The file.
        """
        path = Path(path)
        if path.suffix.lower() != ".html":
            raise InputError("pictures are written as one page; name a file that ends in .html.")
        sections = (Section("Columns before and after", self.pictures),)
        write_text(
            path, to_html(Document("Pictures of a release", "internal", sections)), private=True
        )
        return path

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<figure style="display:inline-block;width:20em;margin:.5em">{picture.svg}'
            f"<figcaption>{escape(printable(picture.caption))}</figcaption></figure>"
            for picture in self.pictures
        )
        return f"<div>{cells}</div>"

    def __repr__(self) -> str:
        names = ", ".join(printable(picture.caption) for picture in self.pictures)
        return f"<Pictures of {names}; a notebook shows them, save('pictures.html') writes them>"


def pictures_of(before: Cells, after: Cells, columns: Sequence[str] | None = None) -> Pictures:
    """Return a picture of each column before and after, or of the columns that are named."""
    names = before.names
    for name in columns or ():
        if name not in names:
            raise InputError(
                f"there is no quasi-identifying column {name!r} to plot; "
                f"{describe_columns(name, names, 'there are')}."
            )
    chosen = list(columns or names[:MOST_PICTURES])
    spreads = [spread_of((before, after), names.index(name)) for name in chosen]
    return Pictures(tuple(spread.picture(True) for spread in spreads if spread is not None))
