"""Options of commands, made from the declarations of settings, and settings made from options."""

from __future__ import annotations

import functools
import inspect
import shlex
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.errors import InputError
from microagg.release.setting_types import SEARCHING, FileOptions
from microagg.release.settings import Settings
from microagg.table.declared import OptionForm
from microagg.table.declared import split_words as names_in

__all__ = [
    "SEARCHING",
    "as_option",
    "flag_of",
    "names_in",
    "option_names",
    "reading_options_in",
    "takes_settings",
]

NO_K = "k is missing; give it with --k, or in a file of settings with --config."
TYPED_OPTIONS = "typed_options"
"""Parameter of a command that gets the settings among its options."""


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
                help="Accept the safest default for every open question of --config.",
            ),
        ],
        False,
    ),
)


def takes_settings(
    *names: str, beside: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command an option for each of these settings.

    Without names it has options for all settings. The command gets the settings that were typed in
    its parameter `typed_options`, ready for `Settings.of`, which checks them. Others come from a
    file (`--config`); typed ones override them. From the file the command also gets the settings
    in `beside`, for which it has options of its own.
    """
    wanted = names or tuple(Settings.parameters())

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        groups = Settings.groups()
        options = [
            _option(form, panel=groups[name].value)
            for name, declared in Settings.parameters().items()
            if name in wanted
            for form in declared.option_forms()
        ]
        return _with_options(_configured(command, wanted, beside), options)

    return decorate


def _configured(
    command: Callable[..., None], wanted: Sequence[str], beside: Sequence[str]
) -> Callable[..., None]:
    """Return a command that takes a file of settings, too."""

    def merged(config: Path | None, as_proposed: bool, **arguments: Any) -> dict[str, Any]:
        settings = arguments[TYPED_OPTIONS]
        if config is not None:
            from microagg.release.settings_file import overridden, read_settings

            in_file = read_settings(config, as_proposed=as_proposed)
            taken = {name: in_file[name] for name in in_file if name in (*wanted, *beside)}
            settings = overridden(taken, settings)
        elif as_proposed:
            raise InputError("--as-proposed is about a file of settings; name it with --config.")
        if "k" in wanted and settings.get("k") is None:
            raise InputError(NO_K)
        return {**arguments, TYPED_OPTIONS: settings}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        command(**merged(**arguments))

    hints = typing.get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
    ]
    _show_signature(run, [*parameters, *CONFIG_OPTIONS])
    return run


def _with_options(
    command: Callable[..., None], options: list[inspect.Parameter]
) -> Callable[..., None]:
    """Return a command with these options in place of its parameter `typed_options`."""
    hints = typing.get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != TYPED_OPTIONS
    ]
    names = {option.name for option in options}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        typed = {name: arguments.pop(name) for name in names}
        command(**arguments, **{TYPED_OPTIONS: _settings_in(typed)})

    # a signature has those without a default first
    keyword = inspect.Parameter.KEYWORD_ONLY
    required = [item for item in parameters if item.default is inspect.Parameter.empty]
    others = [item for item in parameters if item.default is not inspect.Parameter.empty]
    _show_signature(run, [item.replace(kind=keyword) for item in (*required, *options, *others)])
    return run


def _show_signature(run: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Let typer see these parameters, and not those of the command that is run."""
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]  it would look there


def _option(form: OptionForm, *, panel: str) -> inspect.Parameter:
    """Return the parameter of a command that typer makes one option of.

    Its default is None, so that a file of settings is overridden by what was typed only.
    """
    flag = as_flag(form.flag or form.name)
    names = [f"{flag}/--no-{flag[2:]}"] if form.switch else [flag]
    names += [f"-{form.short}"] if form.short else []
    kind: Any = bool if form.switch else list[str] if form.repeatable else str
    option = typer.Option(
        *names,
        help=form.help,
        show_default=False,
        metavar=None if form.switch else form.metavar or None,
        autocompletion=_completion(form),
        rich_help_panel=panel,
    )
    return _parameter(form.name, Annotated[kind | None, option], None)


def _completion(form: OptionForm) -> Callable[[str], list[str]] | None:
    """Return the words that a shell proposes for an option, also behind column=."""
    if not form.words:
        return None

    def complete(incomplete: str) -> list[str]:
        words = form.words() if callable(form.words) else form.words
        column, equals, _ = incomplete.rpartition("=")
        return [f"{column}{equals}{word}" for word in words]

    return complete


def option_names() -> dict[str, dict[str, str]]:
    """Return the options about files by their setting, each with its name in that setting.

    >>> names = option_names()
    >>> names["reading"]["decimal"], names["writing"]["out_decimal"]
    ('decimal', 'decimal')
    """
    return {
        name: declared.typed_names()
        for name, declared in Settings.parameters().items()
        if isinstance(declared, FileOptions)
    }


def as_flag(name: str) -> str:
    """Return an option as it is typed.

    >>> as_flag("out_decimal")
    '--out-decimal'
    """
    return f"--{name.replace('_', '-')}"


def flag_of(setting: str) -> str:
    """Return the option of a setting, or of a name that is none.

    >>> flag_of("accept_risk"), flag_of("kinds")
    ('--accept-risk', '--kind')
    """
    declared = Settings.parameters().get(setting)
    forms = () if declared is None else declared.option_forms()
    first = forms[0].flag if forms else ""
    return as_flag(first or setting)


def _settings_in(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of typed options, as `Settings.of` takes them."""
    values = {name: declared.from_typed(typed) for name, declared in Settings.parameters().items()}
    return {name: value for name, value in values.items() if value is not None}


def as_option(name: str, value: Any) -> str:
    """Write a setting as it is typed in a shell.

    >>> as_option("l", 2), as_option("exact", True), as_option("kinds", {"my zip": "numeric"})
    ('--l 2', '--exact', "--kind 'my zip=numeric'")
    >>> as_option("na", ["…"]), as_option("writing", {"encoding": "utf-8"})
    ('--na …', '--out-encoding utf-8')
    """
    if name == "writing":
        return " ".join(as_option(f"out_{option}", word) for option, word in value.items())
    flag = flag_of(name)
    if value is True:
        return flag
    if isinstance(value, Mapping):
        words = [f"{column}={word}" for column, word in value.items()]
    elif isinstance(value, list | tuple):
        return f"{flag} {_as_list(value)}"
    else:
        words = [str(value)]
    return " ".join(f"{flag} {_as_word(word)}" for word in words)


def _as_list(names: Sequence[str]) -> str:
    from microagg.proposal.column_text import shell_list

    return names[0] if list(names) == ["…"] else shell_list(names)


def _as_word(text: str) -> str:
    """Quote a text as a word of a shell; the … of an example needs no quotes."""
    plain = text.replace("…", "x")
    return text if shlex.quote(plain) == plain else shlex.quote(text)


def reading_options_in(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the checked options on the file to be read."""
    return Settings.parameters()["reading"].parse(settings.get("reading"))
