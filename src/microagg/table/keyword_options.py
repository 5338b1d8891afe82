"""Keyword options that several functions share: declared once, as keys of a `TypedDict`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from microagg.errors import InputError
from microagg.table.parameters import Parameter
from microagg.table.suggestions import nearest_names

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
CALLED_OTHERWISE = {
    "random_state": "seed",
    "n_jobs": "threads",
    "id": "identifier",
    "ids": "identifier",
    "qi": "quasi",
    "qids": "quasi",
    "sensitive": "confidential",
    "sensitive_columns": "confidential",
    "strata": "stratum",
    "sample_weight": "weight",
    "verbose": "progress",
}
"""What other libraries call a parameter, and its name here."""


def meant_name(name: str, known: Collection[str]) -> str | None:
    """Return the parameter that an unknown keyword probably means, if there is one.

    >>> meant_name("sample_weight", ["weight", "k"]), meant_name("nominals", ["nominal", "k"])
    ('weight', 'nominal')
    """
    usual = CALLED_OTHERWISE.get(name)
    if usual in known:
        return usual
    return next(iter(nearest_names(name, known, most=1)), None)


def unknown_parameter(name: str, instead: str) -> InputError:
    """Return the error on a keyword that is no parameter, where another one is probably meant."""
    return InputError(f"there is no parameter {name!r}; it is called {instead!r} here.")


def takes_options(
    options: type, declared: Mapping[str, Parameter], also: Collection[str] = ()
) -> Callable[[Decorated], Decorated]:
    """Give the last parameter of a function, ``**name: Unpack[options]``, its keys as keywords.

    Signature and help list the keys with their defaults, those of `declared` where they are there
    and None elsewhere. Keywords that are neither in the signature nor in `also` are refused.

    >>> from typing import TypedDict, Unpack
    >>> from microagg.table.parameters import K
    >>> class Options(TypedDict, total=False):
    ...     k: int | None
    >>> @takes_options(Options, {"k": K})
    ... def double(number: int, **options: Unpack[Options]) -> int: ...
    >>> list(inspect.signature(double).parameters)
    ['number', 'k']
    >>> double(1, numbers=2)
    Traceback (most recent call last):
    microagg.errors.InputError: there is no parameter 'numbers'; it is called 'number' here.
    """

    def decorate(function: Decorated) -> Decorated:
        written = inspect.signature(function)
        named = [
            parameter
            for parameter in written.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        shared = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=declared[name].default if name in declared else None,
                annotation=getattr(annotation, "__forward_arg__", annotation),
            )
            for name, annotation in inspect.get_annotations(options).items()
        ]
        shown = written.replace(parameters=[*named, *shared])

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in shown.parameters and name not in also:
                    _refuse(name, list(shown.parameters))
            return function(*args, **keywords)

        call.__signature__ = shown  # pyright: ignore[reportAttributeAccessIssue]  # read by inspect
        return call  # pyright: ignore[reportReturnType]  # the same calls are accepted

    return decorate


def _refuse(name: str, known: Collection[str]) -> None:
    instead = meant_name(name, known)
    if instead is not None:
        raise unknown_parameter(name, instead)
    raise InputError(f"there is no parameter {name!r}; there are {', '.join(known)}.")
