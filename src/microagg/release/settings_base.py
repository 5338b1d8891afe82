"""Behaviour of settings whatever they are: checking, grouping, writing and reading back.

The settings themselves are the fields of `Settings`. This module imports no arrays, so that help is
shown at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from microagg.errors import InputError
from microagg.formatting import html_table
from microagg.release.unknown_settings import check_unknown
from microagg.table.kind_parameters import OF_COLUMNS, column_settings
from microagg.table.parameters import Parameter


class Group(StrEnum):
    """Groups of settings, in which signatures, documentation and help list them."""

    ROLES = "roles"
    GUARANTEES = "guarantees"
    METHOD = "method"
    COLUMNS = "columns"
    RUNNING = "running"


def declared(parameter: Parameter, group: Group, *, public: bool) -> Any:
    """Return a field of `Settings` with its declaration, its group, and whether it is public."""
    metadata = {"parameter": parameter, "group": group, "public": public}
    return field(default=parameter.default, metadata=metadata)


@dataclass(frozen=True)
class BaseSettings:
    """Checks, names, stores and reads the fields of a dataclass made with `declared`."""

    def _repr_html_(self) -> str:
        rows = [
            (name, value, declared.help)
            for name, declared in self.parameters().items()
            if (value := getattr(self, name)) != declared.default and value not in ((), {}, None)
        ]
        return html_table(("setting", "value", "meaning"), rows, "Others have their defaults.")

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Return checked settings, with defaults for those that are left out.

        Parameters
        ----------
        **options
            Settings by their names. Others go to the method as its parameters.

        Returns
        -------
        Settings
            The checked settings.

        Raises
        ------
        InputError
            If a value is invalid, or a name is neither a setting nor a parameter of the method.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.of(k=5, quasi="age").quasi
        ('age',)
        """
        from microagg.guarantees.promise import Guarantees
        from microagg.methods.registry import method_named

        parameters = cls.parameters()
        values = {
            name: parameter.parse(options.get(name, parameter.default))
            for name, parameter in parameters.items()
        }
        column_settings(**{parameter.name: values[parameter.name] for parameter in OF_COLUMNS})
        values |= Guarantees.of(*(values[name] for name in ("l", "t", "diversity", "c"))).as_data()
        others = {name: value for name, value in options.items() if name not in parameters}
        twice = sorted(set(others) & set(values["params"]))
        if twice:
            raise InputError(
                f"{twice[0]} was given twice, once by itself and once in params; give it once."
            )
        method = method_named(values["method"])
        of_method = [parameter.name for parameter in method.parameters]
        check_unknown({**values["params"], **others}, parameters, of_method)
        values["params"] = method.checked({**values["params"], **others})
        return cls(**values)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the declaration of each setting by its name.

        Returns
        -------
        dict of str to Parameter
            Declarations with default, accepted values and help.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.parameters()["missing"].describes
        'group | error | drop'
        """
        return {
            setting.name: setting.metadata["parameter"]
            for setting in fields(cls)
            if "parameter" in setting.metadata
        }

    @classmethod
    def groups(cls) -> dict[str, Group]:
        """Return the group of each setting by its name.

        Returns
        -------
        dict of str to Group
            Groups in which signatures, documentation and help list the settings.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.groups()["quasi"].value
        'roles'
        """
        return {
            setting.name: setting.metadata["group"]
            for setting in fields(cls)
            if "group" in setting.metadata
        }

    @classmethod
    def public_names(cls) -> tuple[str, ...]:
        """Return the names of the public settings.

        Returns
        -------
        tuple of str
            Names of the settings that are part of public manifests.

        Examples
        --------
        >>> import microagg as ma
        >>> "k" in ma.Settings.public_names(), "seed" in ma.Settings.public_names()
        (True, False)
        """
        return tuple(
            setting.name for setting in fields(cls) if setting.metadata and _is_public(setting)
        )

    def as_data(self, *, public: bool = False) -> dict[str, Any]:
        """Return the settings as plain data, as a manifest keeps them.

        Parameters
        ----------
        public : bool
            Leave out settings that are not public.

        Returns
        -------
        dict
            Values by the names of settings.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.of(k=5, quasi=["age"]).as_data()["quasi"]
        ['age']
        """
        whole = {name: _plain(getattr(self, name)) for name in self.parameters()}
        return self.public_part(whole) if public else whole

    @classmethod
    def public_part(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the public part of the data that `as_data` returned.

        Parameters
        ----------
        data : dict
            Result of `as_data`, or its public part, which is returned as it is.

        Returns
        -------
        dict
            Public settings.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.public_part({"k": 5, "seed": 7, "ordinal": {"education": ["P", "S", "PS"]}})
        {'k': 5, 'ordinal': ['education']}
        """
        parameters = cls.parameters()
        public = {name: value for name, value in data.items() if name in cls.public_names()}
        for name, value in public.items():
            shown = getattr(parameters[name], "public_form", None)
            public[name] = value if shown is None else shown(value)
        return public

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the settings from the data that `as_data` returned, checked again.

        Parameters
        ----------
        data : dict
            Values by the names of settings.

        Returns
        -------
        Settings
            The checked settings.

        Raises
        ------
        InputError
            If there is no such setting, or a value is invalid.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.from_data({"k": 5, "quasi": ["age"]}).k
        5
        """
        unknown = [name for name in data if name not in cls.parameters()]
        if unknown:
            raise InputError(
                f"there is no setting {str(unknown[0])!r}; there are {', '.join(cls.parameters())}."
            )
        return cls.of(**data)

    @classmethod
    def from_file(cls, path: str | Path, *, as_proposed: bool = False) -> Self:
        """Return the settings of a file: TOML, or the internal manifest of a release.

        Parameters
        ----------
        path : str or Path
            File of settings as `to_toml` and `microagg propose` write it. Files that it names lie
            beside it.
        as_proposed : bool
            Accept the proposal for each open question. By default open questions are an error.

        Returns
        -------
        Settings
            The checked settings.

        Raises
        ------
        InputError
            If the file cannot be read, or a line is wrong; the message names the line.

        Examples
        --------
        >>> import microagg as ma
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "settings.toml"
        ...     _ = path.write_text(ma.Settings.of(k=5, quasi=["age"]).to_toml())
        ...     ma.Settings.from_file(path).quasi
        ('age',)
        """
        from microagg.release.settings_file import read_settings

        return cls.of(**read_settings(path, as_proposed=as_proposed))

    def to_toml(self, folder: str | Path | None = None) -> str:
        """Return the text of a file of settings, which `from_file` reads.

        Parameters
        ----------
        folder : str or Path, optional
            Folder of the file. Hierarchies that were read from files are then named by their
            paths; otherwise they are written whole.

        Returns
        -------
        str
            TOML with the help of each setting as a comment.

        Examples
        --------
        >>> import microagg as ma
        >>> "microagg-settings = 1" in ma.Settings.of(k=5, quasi=["age"]).to_toml().splitlines()
        True
        """
        from microagg.release.settings_file import settings_text

        return settings_text(self, None if folder is None else Path(folder))

    def replace(self, **changes: Any) -> Self:
        """Return the settings with some of them changed, checked again. `but` is an alias.

        Parameters
        ----------
        **changes
            Settings, or parameters of the method. A new method drops the parameters of the old.

        Returns
        -------
        Settings
            The changed settings.

        Raises
        ------
        InputError
            If a value is invalid.

        Examples
        --------
        >>> import microagg as ma
        >>> ma.Settings.of(k=5, quasi=["age"]).replace(k=10).k
        10
        """
        kept = self.as_data()
        if changes.get("method", kept["method"]) != kept["method"]:
            kept["params"] = {}  # those of another method
        elif others := {name: value for name, value in changes.items() if name not in kept}:
            kept["params"] = {**kept["params"], **others}
            changes = {name: value for name, value in changes.items() if name not in others}
        return self.of(**{**kept, **changes})

    but = replace


def _is_public(setting: Field[Any]) -> bool:
    return bool(setting.metadata["public"])


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "as_data"):
        return value.as_data()
    return (
        {name: _plain(item) for name, item in value.items()}
        if isinstance(value, Mapping)
        else value
    )
