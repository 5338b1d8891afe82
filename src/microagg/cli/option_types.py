"""Options of the commands that make releases: their names, types and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microagg.files.formats import known_suffixes

Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory to use, such as 4GB; by default half of what is free. Parquet, "
        "Arrow and text files of more than 500,000 records are processed within it, with the "
        "same release. Other tables are processed as a whole; a note says if that may take more.",
    ),
]
SpillFolder = Annotated[
    Path | None,
    typer.Option(help="Folder for private temporary files; by default that of the output."),
]
Threads = Annotated[
    int | None, typer.Option(help="Number of threads; by default one per processor.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue a killed large-table run from its finished blocks."),
]
Known = Annotated[
    list[str] | None,
    typer.Option(help="Columns that an intruder knows; all of --quasi if not given."),
]
Source = Annotated[
    Path,
    typer.Argument(
        help=f"The confidential table: {known_suffixes()}; - for csv on standard input."
    ),
]
Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help=f"The table to write: {known_suffixes(written=True)}; NAME/ for a folder of parquet "
        f"parts; - for csv on standard output.",
    ),
]
KeepOrder = Annotated[bool, typer.Option("--keep-order", help="Do not shuffle the rows.")]
ReportPath = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Write two reports (.html, .md or .json): NAME.internal.html to keep, "
        "NAME.public.html to publish.",
    ),
]
ManifestPath = Annotated[
    Path | None,
    typer.Option(
        help="With standard output: where to write the internal manifest, which repeats "
        "the release."
    ),
]
PublicManifestPath = Annotated[
    Path | None,
    typer.Option(help="With standard output: where to write the manifest for everybody."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say what would be done, to which columns, in how much time; write nothing.",
    ),
]
