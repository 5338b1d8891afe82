"""Settings among the arguments of a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from microagg.errors import InputError
from microagg.release.settings import Settings


def settings_from(arguments: Mapping[str, Any]) -> Settings:
    """Return the settings among the arguments of a function, or those passed as `settings`, but
    never both.

    >>> settings_from({"table": [], "k": 5, "quasi": "age", "settings": None}).k
    5
    """
    options = {name: value for name, value in arguments.items() if name in Settings.parameters()}
    whole = arguments.get("settings")
    if whole is None:
        return Settings.of(**options)
    if not isinstance(whole, Settings):
        raise InputError("settings must be made with Settings.of(…).")
    for name, parameter in Settings.parameters().items():
        if name in options and options[name] not in (parameter.default, (), {}):
            raise InputError(
                f"{name} cannot be given together with settings; use settings.but({name}=…)."
            )
    return whole
