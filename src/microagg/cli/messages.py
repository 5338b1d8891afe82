"""Errors, warnings and questions in the notation of a shell.

Layers below write settings into these sentences as Python takes them. Notes are data and need none
of this: see `Note.render`.
"""

from __future__ import annotations

import ast
import re
import shlex

from microagg.cli.options import flag_of
from microagg.files.formats import reading_options
from microagg.release.settings import Settings

QUOTES = "'"


def as_typed(sentence: str) -> str:
    """A sentence that names a setting as Python takes it, with the option to type instead.

    >>> as_typed("precision='full' avoids it"), as_typed("l=2 prevents that")
    ('--precision full avoids it', '--l 2 prevents that')
    >>> as_typed("say kinds={'sex': 'nominal'}, nominal=['sex'] or na=['…']")
    'say --kind sex=nominal, --nominal sex or --na …'
    """

    known = {*Settings.parameters(), *reading_options()}

    def of_column(match: re.Match[str]) -> str:
        name, column, value = match.groups()
        if name == "writing":
            return f"{flag_of('out_' + column)} {value.strip(QUOTES)}"
        return (
            f"{flag_of(name)} {column}={value.strip(QUOTES)}"
            if name in Settings.parameters()
            else match[0]
        )

    def of_names(match: re.Match[str]) -> str:
        return f"{flag_of(match[1])} {match[2]}" if match[1] in Settings.parameters() else match[0]

    def option(match: re.Match[str]) -> str:
        name, word, number = match.groups()
        return f"{flag_of(name)} {word or number}" if name in known else match[0]

    sentence = re.sub(r"\brename=(\{.*?\})(?=[,.;]? )", _typed_renames, sentence)
    sentence = re.sub(
        r"\b(exact|escape_formulas)=True", lambda flag: f"--{flag[1].replace('_', '-')}", sentence
    )
    sentence = re.sub(r"\b([a-z_]+)=\{'([^']*)': ('[^']*'|[^'}]*)\}", of_column, sentence)
    sentence = re.sub(r"\b([a-z_]+)=\['([^']*)'\]", of_names, sentence)
    return re.sub(r"\b([a-z_]+)=(?:'([^']*)'|(\d+(?:\.\d+)?))", option, sentence)


def _typed_renames(match: re.Match[str]) -> str:
    """New names as options, each a word for a shell."""
    try:
        names = ast.literal_eval(match[1])
        return " ".join(f"--rename {shlex.quote(f'{old}={new}')}" for old, new in names.items())
    except (ValueError, SyntaxError, AttributeError):
        return match[0]
