"""Command that starts the studio in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microagg.cli.app import AsJson, answer, app
from microagg.errors import InputError, needs_extra


@app.command()
def studio(
    source: Annotated[
        Path | None, typer.Argument(help="The confidential table; it is read where it lies.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Open a table of made-up people.")] = False,
    port: Annotated[
        int, typer.Option(help="Port of this machine; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    limit: Annotated[
        int, typer.Option(help="Largest file to upload, in million bytes.", min=1)
    ] = 200,
    as_json: AsJson = False,
) -> None:
    """Protect a table in a browser, on this machine only. Ctrl-C ends it."""
    try:
        from microagg.studio.server import serve
    except ModuleNotFoundError as error:
        package = (error.name or "starlette").partition(".")[0]
        raise InputError(needs_extra("the studio needs", package, "studio")) from None
    if demo and source is not None:
        raise InputError("--demo opens a table of its own; leave the file out.")
    if source is not None and not source.is_file():
        raise InputError(f"there is no file {str(source)!r}; check the path.")

    def announce(address: str) -> None:
        if as_json:
            answer({"address": address})
        else:
            print(f"Open this address in a browser; it works once:\n\n  {address}\n")
            print("Nothing leaves this machine. Ctrl-C ends the studio.", flush=True)

    try:
        serve(
            None if source is None else source.resolve(),
            port=port,
            limit=limit * 1_000_000,
            demo=demo,
            announce=announce,
        )
    except KeyboardInterrupt:  # the usual end
        if not as_json:
            print("\nThe studio has ended; its folder is removed.", flush=True)
