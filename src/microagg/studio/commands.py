"""Command line and Python code that make the same release again, to the byte."""

from __future__ import annotations

import shlex
from typing import Any

from microagg.cli.options import as_option, flag_of
from microagg.proposal.column_text import shell_list
from microagg.release.settings import Settings

DECIDED = ("seed", "date", "params", "reading", "writing")
"""Settings that the internal manifest gives: decided by the run, or of several options."""


def command_for(settings: Settings, source: str, target: str) -> str:
    """Return the command that writes the same release; the internal manifest has the seed.

    >>> settings = Settings.of(k=5, quasi=["age", "zip code"], seed=7)
    >>> command_for(settings, "in.csv", "out.csv").partition(" --k ")[2]
    "5 --quasi 'age,zip code' --config out.csv.internal.json --report out.html"
    """
    words = ["microagg anonymize", shlex.quote(source), shlex.quote(target)]
    for name, parameter in Settings.parameters().items():
        value = getattr(settings, name)
        if name in DECIDED or value == parameter.parse(parameter.default) if name != "k" else False:
            continue
        words += _typed(name, value)
    report = target.rpartition(".")[0] + ".html"
    words += ["--config", shlex.quote(f"{target}.internal.json"), "--report", shlex.quote(report)]
    return " ".join(words)


def _typed(name: str, value: Any) -> list[str]:
    """Return a setting as typed; what has no short form is taken from the manifest."""
    if name in ("hierarchy", "ordinal", "special", "cap") or value in (None, (), {}, False):
        return []
    if isinstance(value, tuple):
        return [flag_of(name), shell_list([str(item) for item in value])]
    return [as_option(name, value)]


def python_for(source: str, target: str) -> str:
    """Return the Python code that writes the same release.

    >>> print(python_for("in.csv", "out.csv").splitlines()[0])
    import microagg as ma
    """
    report = target.rpartition(".")[0] + ".html"
    return (
        "import microagg as ma\n\n"
        f"settings = ma.Settings.from_file({target + '.internal.json'!r})\n"
        f"release = ma.anonymize_file({source!r}, {target!r}, settings=settings, "
        f"report={report!r})"
    )
