"""Options made from the declarations of settings: what a command takes is what `Settings` knows."""

from __future__ import annotations

import ast
import csv
import functools
import inspect
import re
import shlex
import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.errors import InputError
from microagg.files.formats import reading_options, writing_options
from microagg.release.settings import (
    FileOptions,
    MeasuresByName,
    MethodByName,
    MethodParameters,
    Settings,
)
from microagg.table.columns.text_options import DatePattern, Encoding, Letter
from microagg.table.kind_parameters import (
    ByColumn,
    Codes,
    Hierarchies,
    Markers,
    Orders,
    WeightByColumn,
)
from microagg.table.new_names import NewNames
from microagg.table.parameters import (
    Caps,
    Choice,
    ColumnName,
    Day,
    Flag,
    GroupSize,
    MultiChoice,
    Names,
    OptionalBool,
    Parameter,
)
from microagg.table.rules import Rules

NO_K = "k is missing; give it with --k, or in a file of settings with --config."
GIVEN = "given"
OUT = "out_"
"""How the options that say how a file is written begin, for those that say how one is read have the
plain names.
"""
QUOTES = "'"
SEVERAL = "Comma-separated; may be repeated."
METAVARS: dict[type, str] = {
    MethodByName: "NAME",
    MeasuresByName: "NAMES",
    Rules: "RULES",
    Day: "YYYY-MM-DD",
    Markers: "TEXT",
    Orders: "COLUMN[=ORDER]",
    WeightByColumn: "COLUMN=NUMBER",
    Hierarchies: "COLUMN=FILE",
    Codes: "COLUMN=CODES",
    NewNames: "COLUMN=NAME",
    Encoding: "NAME",
    Letter: "SIGN",
    DatePattern: "PATTERN",
}
TYPED_AS = {"kinds": "kind"}
"""Settings whose option has another name, for it is given for one column at a time."""
SEARCHING = {
    "effort": "How hard the default method searches: quick, balanced, thorough, prove, or a number "
    "of steps per record.",
    "time_limit": "Stop the search after this many seconds and keep the best grouping found.",
}


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


CONFIG_OPTIONS = (
    _parameter(
        "config",
        Annotated[
            Path | None,
            typer.Option(
                "--config",
                metavar="FILE",
                help="A file of settings: TOML as `microagg propose` writes it, or the "
                "internal manifest of a release. Options "
                "override it.",
            ),
        ],
        None,
    ),
    _parameter(
        "as_proposed",
        Annotated[
            bool,
            typer.Option(
                "--as-proposed",
                help='Take the careful answer to all that is marked "decide" in --config.',
            ),
        ],
        False,
    ),
)


def takes_settings(
    *names: str, beside: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with an option for each of these settings (all, if none is named) in place of its
    parameter `given`.

    The command gets a dictionary of those that were given, ready for `Settings.of`, which checks
    them. They may come from a file (`--config`), too, in whose place goes what was typed; from
    there the command also gets those named in `beside`, for which it has options of its own.
    """
    wanted = names or tuple(Settings.parameters())

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = [
            option
            for name, declared in Settings.parameters().items()
            if name in wanted
            for option in _options(name, declared)
        ]
        return _with_options(_configured(command, wanted, beside), options)

    return decorate


def _configured(
    command: Callable[..., None], wanted: Sequence[str], beside: Sequence[str]
) -> Callable[..., None]:
    """A command that takes a file of settings, too."""

    def gathered(config: Path | None, as_proposed: bool, **arguments: Any) -> dict[str, Any]:
        given = arguments[GIVEN]
        if config is not None:
            from microagg.release.settings_file import overridden, read_settings

            said = read_settings(config, as_proposed=as_proposed)
            given = overridden(
                {name: value for name, value in said.items() if name in (*wanted, *beside)}, given
            )
        elif as_proposed:
            raise InputError("--as-proposed is about a file of settings; name it with --config.")
        if "k" in wanted and given.get("k") is None:
            raise InputError(NO_K)
        return {**arguments, GIVEN: given}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        command(**gathered(**arguments))

    hints = typing.get_type_hints(command, include_extras=True)
    own = [
        each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(command).parameters.values()
    ]
    _show_signature(run, [*own, *CONFIG_OPTIONS])
    return run


def _with_options(
    command: Callable[..., None], options: list[inspect.Parameter]
) -> Callable[..., None]:
    """A command that takes these options in place of its parameter `given`, which gets the settings
    among them.
    """
    hints = typing.get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != GIVEN
    ]
    taken = {option.name for option in options}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in taken}
        command(**arguments, **{GIVEN: _as_settings(given)})

    first = [each for each in own if each.default is inspect.Parameter.empty]
    required = [each for each in options if each.default is inspect.Parameter.empty]
    others = [each for each in (*options, *own) if each.default is not inspect.Parameter.empty]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [each.replace(kind=keyword) for each in (*first, *required, *others)]
    _show_signature(run, parameters)
    return run


def option_names() -> dict[str, dict[str, str]]:
    """The options about files, by the setting that they are part of: for each the name of what
    it says.

    >>> names = option_names()
    >>> names["reading"]["decimal"], names["writing"]["out_decimal"], names["writing"]["escape_formulas"]
    ('decimal', 'decimal', 'escape_formulas')
    """
    writing = {
        name if isinstance(each, Flag) else OUT + name: name
        for name, each in writing_options().items()
    }
    return {"reading": {name: name for name in reading_options()}, "writing": writing}


def _show_signature(run: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Let typer see these parameters, and not those of the command that is run."""
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]  it would look there


def _options(name: str, declared: Parameter) -> list[inspect.Parameter]:
    if isinstance(declared, FileOptions):
        said: dict[str, Any] = {**(reading_options() if name == "reading" else writing_options())}
        names = option_names()[name]
        return [
            option
            for flag, each in names.items()
            for option in _options(flag, replace(said[each], default=_none(said[each])))
        ]
    if isinstance(declared, MethodParameters):
        several = Annotated[
            list[str] | None,
            typer.Option(
                "--param",
                metavar="NAME=VALUE",
                help="A parameter of the method, as name=value; may be repeated.",
            ),
        ]
        return [
            *(_option(each, str | None, None, told) for each, told in SEARCHING.items()),
            _parameter("param", several, None),
        ]
    if isinstance(declared, Names):
        what = METAVARS.get(type(declared), "COLUMNS")
        return [_option(name, list[str] | None, None, f"{declared.help} {SEVERAL}", metavar=what)]
    # a list, so that a second one is refused and not forgotten
    if isinstance(declared, ColumnName):
        return [_option(name, list[str] | None, None, declared.help, metavar="COLUMN")]
    if isinstance(declared, MultiChoice):
        return [
            _option(
                name,
                list[str] | None,
                None,
                f"{declared.help} {SEVERAL}",
                metavar="|".join(declared.choices),
            )
        ]
    if isinstance(declared, ByColumn):
        told = f"{declared.help} May be repeated."
        if isinstance(declared, Orders):
            told = (
                f'{declared.help} As "education=LOW<MIDDLE<HIGH", or education=@FILE with a '
                f"level a line. May be repeated."
            )
        words = "|".join(getattr(declared, "choices", ()))
        what = METAVARS.get(type(declared), f"COLUMN={words}")
        return [_option(name, list[str] | None, None, told, metavar=what)]
    if isinstance(declared, Caps):
        told = f"{declared.help} May be repeated."
        return [_option(name, list[str] | None, None, told, metavar="COLUMN=LIMIT")]
    # None, so that a file of settings is overridden only by what was typed
    if isinstance(declared, Flag):
        flags = f"{flag_of(name)}/--no-{flag_of(name)[2:]}"
        return [
            _parameter(
                name,
                Annotated[bool | None, typer.Option(flags, help=declared.help, show_default=False)],
                None,
            )
        ]
    if isinstance(declared, OptionalBool):
        flags = f"--{name}/--no-{name}"
        option = typer.Option(flags, help=declared.help, show_default=False)
        return [_parameter(name, Annotated[bool | None, option], None)]
    if isinstance(declared, GroupSize):
        option = typer.Option("--k", "-k", help=declared.help, show_default=False, metavar="NUMBER")
        return [_parameter(name, Annotated[str | None, option], None)]
    usual = f" [default: {declared.default}]" if declared.default is not None else ""
    words = (
        "|".join(declared.choices)
        if isinstance(declared, Choice)
        else METAVARS.get(type(declared), getattr(declared, "metavar", "NUMBER"))
    )
    return [_option(name, str | None, None, declared.help + usual, metavar=words)]


def _none(declared: Any) -> Any:
    """What an option about a file is if nobody gives it: nothing was said."""
    return False if isinstance(declared, Flag) else None


def _option(name: str, kind: Any, default: Any, told: str, **more: Any) -> inspect.Parameter:
    option = typer.Option(
        flag_of(name), help=told, show_default=False, autocompletion=_completion(name), **more
    )
    return _parameter(name, Annotated[kind, option], default)


def _completion(name: str) -> Callable[[str], list[str]] | None:
    """What a shell offers for an option: the words that its setting takes, also behind column=."""
    declared = Settings.parameters().get(name)
    if name in ("effort", "method"):
        return lambda incomplete: _names_of_methods() if name == "method" else _words_for_effort()
    words = getattr(declared, "choices", ())
    if not words:
        return None

    def complete(incomplete: str) -> list[str]:
        column, equals, _ = incomplete.rpartition("=")
        return [f"{column}{equals}{word}" for word in words]

    return complete


def _names_of_methods() -> list[str]:
    from microagg.methods.registry import methods

    return [method.name for method in methods()]


def _words_for_effort() -> list[str]:
    from microagg.methods.search.auto import WORDS

    return list(WORDS)


def flag_of(setting: str) -> str:
    """The option that a setting has on the command line.

    >>> flag_of("accept_risk"), flag_of("kinds")
    ('--accept-risk', '--kind')
    """
    return f"--{TYPED_AS.get(setting, setting).replace('_', '-')}"


def _as_settings(given: dict[str, Any]) -> dict[str, Any]:
    """What was typed, as `Settings.of` takes it."""
    declared = Settings.parameters()
    files: dict[str, dict[str, Any]] = {}
    for setting, names in option_names().items():
        said = {name: given.pop(option, None) for option, name in names.items()}
        # a flag that is not given says nothing
        unsaid = (None,) if setting == "reading" else (None, False)
        files[setting] = {name: value for name, value in said.items() if value not in unsaid}
    params = {name: given.pop(name) for name in SEARCHING if given.get(name) is not None}
    params |= parameters_in(given.pop("param", None))
    settings: dict[str, Any] = {"params": params} if params else {}
    settings |= {setting: said for setting, said in files.items() if said}
    for name, value in given.items():
        if value is not None and name not in SEARCHING:
            settings[name] = (
                names_in(value)
                if isinstance(declared[name], Names | ColumnName | MultiChoice)
                else value
            )
    return settings


def names_in(given: list[str] | None) -> list[str]:
    """['age,income', 'zip'] -> ['age', 'income', 'zip']; double quotes protect commas and blanks in
    a name.

    >>> names_in(["age,income", '"rent, cold"'])
    ['age', 'income', 'rent, cold']
    """
    try:
        return [name for row in csv.reader(given or [], skipinitialspace=True) for name in row]
    except csv.Error:
        raise InputError(
            "a list of names cannot be read; put double quotes around names with commas or quotes."
        ) from None


def parameters_in(given: list[str] | None) -> dict[str, str]:
    """['gamma=0.2'] -> {'gamma': '0.2'}

    >>> parameters_in(["gamma=0.2"])
    {'gamma': '0.2'}
    """
    params = {}
    for part in given or []:
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError("a parameter is given as name=value, for example --param gamma=0.2.")
        params[name.strip()] = value.strip()
    return params


def as_typed(sentence: str) -> str:
    """A sentence that names a setting as Python takes it, with the option to type instead.

    >>> as_typed("precision='full' avoids it"), as_typed("l=2 prevents that")
    ('--precision full avoids it', '--l 2 prevents that')
    >>> as_typed("say kinds={'sex': 'nominal'}, nominal=['sex'] or na=['…']")
    'say --kind sex=nominal, --nominal sex or --na …'
    """

    known = {*Settings.parameters(), *reading_options()}

    def of_column(found: re.Match[str]) -> str:
        name, column, value = found.groups()
        if name == "writing":
            return f"{flag_of(OUT + column)} {value.strip(QUOTES)}"
        return (
            f"{flag_of(name)} {column}={value.strip(QUOTES)}"
            if name in Settings.parameters()
            else found[0]
        )

    def of_names(found: re.Match[str]) -> str:
        return f"{flag_of(found[1])} {found[2]}" if found[1] in Settings.parameters() else found[0]

    def option(found: re.Match[str]) -> str:
        name, word, number = found.groups()
        return f"{flag_of(name)} {word or number}" if name in known else found[0]

    sentence = re.sub(r"\brename=(\{.*?\})(?=[,.;]? )", _typed_renames, sentence)
    sentence = re.sub(
        r"\b(exact|escape_formulas)=True", lambda flag: f"--{flag[1].replace('_', '-')}", sentence
    )
    sentence = re.sub(r"\b([a-z_]+)=\{'([^']*)': ('[^']*'|[^'}]*)\}", of_column, sentence)
    sentence = re.sub(r"\b([a-z_]+)=\['([^']*)'\]", of_names, sentence)
    return re.sub(r"\b([a-z_]+)=(?:'([^']*)'|(\d+(?:\.\d+)?))", option, sentence)


def _typed_renames(found: re.Match[str]) -> str:
    """New names as options, each a word for a shell."""
    try:
        names = ast.literal_eval(found[1])
        return " ".join(f"--rename {shlex.quote(f'{old}={new}')}" for old, new in names.items())
    except (ValueError, SyntaxError, AttributeError):
        return found[0]


def said_of_file(given: dict[str, Any]) -> dict[str, Any]:
    """What was said about the file to be read, checked."""
    return Settings.parameters()["reading"].parse(given.get("reading"))
