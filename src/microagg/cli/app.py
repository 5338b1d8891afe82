"""The command line's one app, and how a command answers in JSON: one document on standard output,
also where it fails.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
import typer.core

from microagg.release.settings_base import Group

app = typer.Typer(
    name="microagg",
    help="Make confidential microdata publishable: k-anonymous groups with as little "
    "information loss as possible.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class CommandWithPanels(typer.core.TyperCommand):
    """A command whose help lists options by the group of their setting."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options under the headings of their groups."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        sections |= {heading: [] for heading in HEADINGS.values()}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            panel = getattr(parameter, "rich_help_panel", None)
            argument = parameter.param_type_name == "argument"
            sections["Arguments" if argument else HEADINGS[panel]].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


HEADINGS: dict[str | None, str] = {
    **{group.value: f"Options on {group.value}" for group in Group},
    None: "Options",
}
"""Headings of help by the group of a setting; None for options that are no settings."""
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result, or the error, as one JSON document.")
]
"""What every command takes; a test walks them."""
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Dask cluster: the address of its scheduler, such as tls://10.0.0.1:8786, or "
        "local:4 for four processes of this machine. The release is the same.",
    ),
]
"""What commands take whose work can be shared."""


def is_output_closed() -> bool:
    """Return True if the program was started without a standard output (`>&-`)."""
    return sys.__stdout__ is None


def _check_closed_output() -> None:
    """Fail as on a full disk if what a program is to read would be lost."""
    if is_output_closed():
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def answer(document: Any) -> None:
    """Print a document, and nothing else, on standard output."""
    _check_closed_output()
    print(as_json(document))


def print_text(text: str) -> None:
    """Print a text that a program will read: in UTF-8, whatever the terminal speaks."""
    _check_closed_output()
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def as_json(document: Any) -> str:
    r"""A document as JSON that every reader takes: no NaN, and nothing that would steer a terminal.

    >>> print(as_json({"worst": float("inf"), "name": "a\x9bb"}))
    {
      "worst": null,
      "name": "a\u009bb"
    }
    """
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    return re.sub("[\x7f-\x9f\ud800-\udfff]", lambda mark: f"\\u{ord(mark[0]):04x}", text)


def wants_json() -> bool:
    """Return whether the typed command requests JSON, without parsing it, as it may be invalid."""
    typed = sys.argv[1:]
    return "--json" in (typed[: typed.index("--")] if "--" in typed else typed)


def error_document(
    sentence: str, code: int, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON document that replaces a result.

    >>> error_document("k is 1.", 2)
    {'error': {'sentence': 'k is 1.', 'exit_code': 2}}
    """
    return {"error": {"sentence": sentence, "exit_code": code, **(more or {})}}


def _plain(value: Any) -> Any:
    """Data that JSON can hold: numbers of numpy become plain ones, what is not finite becomes
    null.
    """
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
