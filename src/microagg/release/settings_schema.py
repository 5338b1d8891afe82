"""The JSON Schema of a file of settings, made from the declarations, for editors and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from microagg.proposal.rules import ANSWERS
from microagg.release.settings import Settings
from microagg.table.json_schemas import schema_of
from microagg.table.settings_text import ANSWER, COLUMNS, DECIDE, VERSION, VERSION_KEY


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of settings.

    >>> schema = settings_schema()
    >>> schema["properties"]["k"]["minimum"], schema["additionalProperties"]
    (2, False)
    """
    version = {"description": "The version of settings that the file follows.", "const": VERSION}
    settings = {name: schema_of(declared) for name, declared in Settings.parameters().items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of a microagg release",
        "description": "As TOML. Files that it names lie beside it. `microagg propose` writes a "
        "first one.",
        "type": "object",
        "required": [VERSION_KEY],
        "additionalProperties": False,
        "properties": {VERSION_KEY: version, **settings, DECIDE: _decide()},
    }


def _decide() -> dict[str, Any]:
    """Return the schema of the open questions of a proposal, with the answers for each column."""
    return {
        "description": "Questions that only you can answer: one of the listed words for each "
        "column.",
        "type": "object",
        "properties": {
            about: {
                "type": "object",
                "additionalProperties": {"anyOf": [_answer(answers), _answer_for_many(answers)]},
            }
            for about, answers in ANSWERS.items()
        },
        "additionalProperties": False,
    }


def _answer(answers: Sequence[str]) -> dict[str, Any]:
    return {"enum": [DECIDE, *answers]}


def _answer_for_many(answers: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a question on many columns."""
    columns = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {ANSWER: _answer(answers), COLUMNS: columns},
        "required": [ANSWER, COLUMNS],
        "additionalProperties": False,
    }
