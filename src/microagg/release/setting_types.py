"""Parameters of settings that look into registries: methods, measures and file formats.

This module imports no arrays, so that help is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from microagg.errors import InputError
from microagg.table.declared import Declared, OptionForm
from microagg.table.name_parameters import Names
from microagg.table.parameters import Flag, Parameter

SEARCHING = {
    "effort": "How hard the default method searches: quick, balanced, thorough, prove, or a number "
    "of steps per record.",
    "time_limit": "Stop the search after this many seconds and keep the best grouping found.",
}
"""Parameters of the default method that are options by themselves."""


@dataclass(frozen=True)
class MethodByName(Declared):
    """A parameter that takes the name of a method."""

    name: str
    help: str
    default: str = "auto"
    describes: str = "the name of a method"

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema of the names of methods."""
        from microagg.methods.registry import methods

        return {"enum": [method.name for method in methods()]}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "NAME"

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return one option, for which a shell proposes all methods."""
        (form,) = super().option_forms()
        return (replace(form, words=_method_names),)

    def parse(self, value: Any) -> str:
        """Return the name if the registry has such a method."""
        from microagg.methods.registry import method_named

        return method_named(str(value)).name


@dataclass(frozen=True)
class MethodParameters(Declared):
    """The parameters of the method by name; each method declares its own."""

    name: str
    help: str
    default: None = None
    describes: str = "name=value"

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema of the parameters of methods; each method declares its own."""
        from microagg.methods.registry import methods

        names = {parameter.name for method in methods() for parameter in method.parameters}
        return {"type": "object", "propertyNames": {"enum": sorted(names)}}

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return the options of the default method, and one for the parameters of any method."""
        effort = OptionForm("effort", SEARCHING["effort"], "", words=_effort_words)
        limit = OptionForm("time_limit", SEARCHING["time_limit"], "")
        text = "A parameter of the method, as name=value; may be repeated."
        return effort, limit, OptionForm("param", text, "NAME=VALUE", repeatable=True)

    def from_typed(self, typed: Mapping[str, Any]) -> Any:
        """Return the parameters of all options; None if none was typed."""
        params = {name: typed[name] for name in SEARCHING if typed.get(name) is not None}
        for text in typed.get("param") or []:
            name, equals, value = text.partition("=")
            if not equals:
                raise InputError(
                    "a parameter is given as name=value, for example --param gamma=0.2."
                )
            params[name.strip()] = value.strip()
        return params or None

    def parse(self, value: Any) -> dict[str, Any]:
        """Return the parameters as a dictionary; the method checks its content."""
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{self.name} must be a dictionary of names and values.")
        return dict(value or {})


@dataclass(frozen=True)
class MeasuresByName(Names):
    """A parameter that takes names of internal results to publish: measures of both tables, and
    `bound`.

    >>> MeasuresByName("publish", "").parse("kolmogorov-smirnov")
    ('kolmogorov-smirnov',)
    """

    describes: str = "names of measures, or bound"

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "NAMES"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names without repetitions if all of them can be published."""
        names = tuple(dict.fromkeys(super().parse(value)))
        if not names:
            return ()
        from microagg.measures.registry import measures

        of = {measure.name: measure.of for measure in measures()}
        can = [*(name for name, what in of.items() if what == "pair"), "bound"]
        for name in names:
            if of.get(name) == "release":
                raise InputError(
                    f"anyone can compute {name} from the released table; "
                    f"leave it out of {self.name}."
                )
            if of.get(name) == "record":
                raise InputError(
                    f"{name} could reveal single records, so it is never published; "
                    f"leave it out of {self.name}."
                )
            if name not in can:
                raise InputError(
                    f"{self.name} does not know the measure {name!r}; choose from {', '.join(can)}."
                )
        return names


@dataclass(frozen=True)
class FileOptions(Declared):
    """A parameter that takes options on reading or writing files, which the formats declare.

    >>> from microagg.files.formats import options_said, reading_options
    >>> reading = FileOptions("reading", "", reading_options, options_said)
    >>> reading.parse({"delimiter": "semicolon", "header": None})
    {'delimiter': ';'}
    """

    name: str
    help: str
    known: Callable[[], dict[str, Parameter]]
    checked: Callable[[Mapping[str, Any]], dict[str, Any]]
    prefix: str = ""
    """Beginning of its options, where another setting has options of the same names."""
    default: None = None
    describes: str = "a table of names and values"

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema of the options of all formats."""
        from microagg.table.json_schemas import schema_of

        format_options = {name: schema_of(option) for name, option in self.known().items()}
        return {"type": "object", "properties": format_options, "additionalProperties": False}

    def typed_names(self) -> dict[str, str]:
        """Return the name on a command line of each option, with its name in the setting.

        >>> from microagg.files.formats import options_to_write, writing_options
        >>> writing = FileOptions("writing", "", writing_options, options_to_write, prefix="out_")
        >>> writing.typed_names()["out_decimal"], writing.typed_names()["escape_formulas"]
        ('decimal', 'escape_formulas')
        """
        return {
            name if isinstance(option, Flag) else self.prefix + name: name
            for name, option in self.known().items()
        }

    def option_forms(self) -> tuple[OptionForm, ...]:
        """Return the options of all formats, without defaults: the file decides where none is
        set.
        """
        known: dict[str, Any] = self.known()
        forms = []
        for typed_name, name in self.typed_names().items():
            unset = False if isinstance(known[name], Flag) else None
            (form,) = replace(known[name], default=unset).option_forms()
            forms.append(replace(form, name=typed_name))
        return tuple(forms)

    def from_typed(self, typed: Mapping[str, Any]) -> Any:
        """Return the typed options; None if there are none."""
        known = self.known()
        values = {name: typed.get(typed_name) for typed_name, name in self.typed_names().items()}
        unset = {name for name, value in values.items() if value is None}
        # a switch that only says no says nothing
        unset |= {
            name
            for name, value in values.items()
            if value is False and isinstance(known[name], Flag)
        }
        return {name: value for name, value in values.items() if name not in unset} or None

    def parse(self, value: Any) -> dict[str, Any]:
        """Return the options, each value checked; those that are None are to be detected."""
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{self.name} must be a dictionary of names and values.")
        return self.checked(
            {name: entry for name, entry in (value or {}).items() if entry is not None}
        )


def _method_names() -> list[str]:
    from microagg.methods.registry import methods

    return [method.name for method in methods()]


def _effort_words() -> list[str]:
    from microagg.methods.search.auto import WORDS

    return list(WORDS)
