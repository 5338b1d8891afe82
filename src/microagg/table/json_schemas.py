"""What a declared parameter takes, as JSON Schema: for editors of settings files, and for the check
of such a file.

A declaration of another room brings its own as `json_schema`. One that is not known takes anything
here; its `parse` decides anyway.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from microagg.table.kind_parameters import (
    ByColumn,
    Codes,
    Hierarchies,
    Markers,
    Orders,
    WeightByColumn,
    WordByColumn,
)
from microagg.table.new_names import NewNames
from microagg.table.parameters import (
    Caps,
    Choice,
    ColumnName,
    Day,
    Effort,
    Flag,
    GroupSize,
    MultiChoice,
    Names,
    Number,
    OptionalBool,
    OptionalInt,
    Parameter,
)

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
YES_OR_NO: Schema = {"type": "boolean"}
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str, datetime.date),  # TOML has days of its own
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def schema_of(declared: Parameter) -> Schema:
    """What a parameter takes, with its help.

    >>> from microagg.table.parameters import K
    >>> schema_of(K)
    {'description': 'The least number of records that must look alike.', 'type': 'integer', 'minimum': 2}
    """
    own = getattr(declared, "json_schema", None)
    told: Schema = {"description": declared.help} if declared.help else {}
    return {**told, **(own if own is not None else _by_type(declared)), **_usual(declared)}


def _usual(declared: Parameter) -> Schema:
    usual = declared.default
    return (
        {"default": list(usual) if isinstance(usual, tuple) else usual} if usual is not None else {}
    )


def _by_type(declared: Parameter) -> Schema:
    match declared:
        case Choice():
            return {"enum": list(declared.choices)}
        case Number():
            return {
                "type": "integer" if declared.whole else "number",
                "minimum": declared.low,
                "maximum": declared.high,
            }
        case Effort():
            return {"anyOf": [{"enum": list(declared.words)}, {"type": "number", "minimum": 0}]}
        case MultiChoice():
            return one_or_several({"enum": list(declared.choices)})
        case Markers():
            return one_or_several({"type": ["string", "number"]})
        case Names():
            return one_or_several({"type": ["string", "integer"]})
        case ColumnName():
            return {"type": ["string", "integer"]}
        case Flag() | OptionalBool():
            return YES_OR_NO
        case OptionalInt():
            return WHOLE
        case GroupSize():
            return {"type": "integer", "minimum": 2}
        case Day():
            return {"type": "string", "format": "date"}
        case Caps():
            limit = {"type": ["number", "string"]}
            return by_column(
                {"anyOf": [limit, {"type": "array", "items": limit, "minItems": 2, "maxItems": 2}]}
            )
        case ByColumn():
            return _of_columns(declared)
        case _:
            return {}


def _of_columns(declared: ByColumn) -> Schema:
    match declared:
        case WordByColumn():
            return by_column({"enum": list(declared.choices)})
        case WeightByColumn():
            return by_column({"type": "number", "exclusiveMinimum": 0})
        case Orders():
            levels = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
            said = by_column({"anyOf": [levels, TEXT, {"const": True}]})
            return {"anyOf": [said, *one_or_several({"type": ["string", "integer"]})["anyOf"]]}
        case Hierarchies():
            paths = {
                "type": "array",
                "items": {"type": "array", "items": {"type": ["string", "number"]}},
            }
            return by_column({"anyOf": [TEXT, paths, {"type": "object"}]})
        case NewNames():
            return by_column(TEXT)
        case Codes():
            return by_column(one_or_several({"type": ["string", "number"]}))
        case _:
            return {"type": "object"}


def one_or_several(each: Schema) -> Schema:
    """One of them, or a list of them."""
    return {"anyOf": [each, {"type": "array", "items": each}]}


def by_column(each: Schema) -> Schema:
    """Something for each of some columns."""
    return {"type": "object", "additionalProperties": each}


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value is of the shape that a schema of ours asks for; ranges are left to
    `parse`, which has the sentences.

    >>> fits(5, {"type": "integer"}), fits(True, {"type": "integer"}), fits(["a"], {"type": "array", "items": {"type": "integer"}})
    (True, False, False)
    """
    if "anyOf" in schema and not any(fits(value, each) for each in schema["anyOf"]):
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
        return all(fits(each, schema["items"]) for each in value)
    if isinstance(value, Mapping) and isinstance(schema.get("additionalProperties"), dict):
        return all(fits(each, schema["additionalProperties"]) for each in value.values())
    return True


def kind_of(value: Any) -> str:
    """What stands in a file, in words.

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
