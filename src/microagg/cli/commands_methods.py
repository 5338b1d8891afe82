"""Commands about the methods themselves: which there are, and whether they come to the figures in
print.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microagg.cli.app import AsJson, CommandWithPanels, Dask, answer, app
from microagg.cli.options import names_in
from microagg.cli.watching import watch


@app.command(cls=CommandWithPanels)
def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this method with its parameters.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one of them."""
    from microagg.cli import show_studies
    from microagg.methods.registry import method_named
    from microagg.methods.registry import methods as all_methods

    chosen = (method_named(name),) if name else all_methods()
    if as_json:
        answer([show_studies.method_as_data(method) for method in chosen])
    elif name:
        show_studies.method(chosen[0])
    else:
        show_studies.methods(chosen)


@app.command(cls=CommandWithPanels)
def reproduce(
    data: Annotated[Path | None, typer.Option(help="Folder with the reference data.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write all results to this page, with proven bounds.")
    ] = None,
    bound_seconds: Annotated[
        float, typer.Option(min=0.0, help="Seconds for each proven bound on the page.")
    ] = 30.0,
    state: Annotated[
        Path | None,
        typer.Option(help="Save finished runs to this file, and resume from it after a stop."),
    ] = None,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Compare published figures with our own, cell by cell."""
    from microagg.cli import show_studies, terminal
    from microagg.methods.registry import method_named
    from microagg.studies import reproduce as study
    from microagg.studies.reproduce_page import bounds_for, check_page_place, write_page
    from microagg.studies.reproduce_runs import Runs

    watch(page)
    if page is not None:
        check_page_place(page)
    chosen = [method_named(name).name for name in names_in(method)]
    figures = [figure for figure in study.reproducible_now() if not chosen or figure.name in chosen]
    runs = Runs(data, state)
    with terminal.progress("reproducing") as progress:
        cells = list(study.reproduce(figures, progress=progress, runs=runs, engine=dask))
    if page is not None:
        with terminal.progress("proving bounds") as progress:
            bounds = bounds_for(figures, bound_seconds, progress=progress, runs=runs)
        write_page(page, cells, bounds, bound_seconds)
    if as_json:
        answer(study.as_json(cells))
    else:
        show_studies.reproduction(cells)
