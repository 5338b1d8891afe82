"""JSON Schema of declared parameters, for editors of settings files and for checking such a file.

Each declaration brings its own; ranges are left to its `parse`, which has the messages.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from microagg.table.declared import Schema
from microagg.table.parameters import Parameter

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str, datetime.date),  # TOML has days of its own
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def schema_of(declared: Parameter) -> Schema:
    """Return the schema of a parameter, with its help.

    >>> from microagg.table.parameters import K
    >>> schema = schema_of(K)
    >>> schema["type"], schema["minimum"]
    ('integer', 2)
    """
    description: Schema = {"description": declared.help} if declared.help else {}
    return {**description, **declared.json_schema, **_usual(declared)}


def _usual(declared: Parameter) -> Schema:
    usual = declared.default
    return (
        {"default": list(usual) if isinstance(usual, tuple) else usual} if usual is not None else {}
    )


def fits(value: Any, schema: Schema) -> bool:
    """Check if a value has the shape of a schema; ranges are left to `parse`, which has the
    messages.

    >>> (
    ...     fits(5, {"type": "integer"}),
    ...     fits(True, {"type": "integer"}),
    ...     fits(["a"], {"type": "array", "items": {"type": "integer"}}),
    ... )
    (True, False, False)
    """
    if "anyOf" in schema and not any(fits(value, item) for item in schema["anyOf"]):
        return False
    if "const" in schema and value is not schema["const"]:
        return False
    if "enum" in schema and not isinstance(value, str):
        return False
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is_a(value, kind) for kind in kinds):
            return False
    if isinstance(value, list | tuple) and "items" in schema:
        return all(fits(item, schema["items"]) for item in value)
    if isinstance(value, Mapping) and isinstance(schema.get("additionalProperties"), dict):
        return all(fits(item, schema["additionalProperties"]) for item in value.values())
    return True


def kind_of(value: Any) -> str:
    """Describe the type of a value of a file in words.

    >>> kind_of("5"), kind_of([1]), kind_of(2.5)
    ('text', 'a list', 'a number')
    """
    words: tuple[tuple[Any, str], ...] = (
        (bool, "true or false"),
        (int, "a whole number"),
        (float, "a number"),
        (str, "text"),
        (Mapping, "a table"),
        (list | tuple, "a list"),
    )
    return next((word for kind, word in words if isinstance(value, kind)), "a date or a time")


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    whole = kind == "integer" and isinstance(value, float) and value.is_integer()
    return isinstance(value, TYPES[kind]) or whole
