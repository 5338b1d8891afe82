"""Everything that decides what a release looks like, in one place: declared, checked, written and
read back.

A new setting is one field here and one line in the signature of `anonymize`; the command line,
manifests, `repeat` and `compare` know it by themselves. This module imports no arrays, so that help
is shown at once.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.formats import options_said, options_to_write, reading_options, writing_options
from microagg.guarantees.declared import DIVERSITY, EXACT, C, L, T
from microagg.release.risks import ACCEPT_RISK
from microagg.table.kind_parameters import (
    AGGREGATE,
    HIERARCHY,
    IMPORTANCE,
    KINDS,
    MISSING,
    NA,
    NOMINAL,
    OF_COLUMNS,
    ORDINAL,
    SPECIAL,
    column_settings,
)
from microagg.table.new_names import RENAME
from microagg.table.parameters import (
    Caps,
    Choice,
    ColumnName,
    Day,
    Flag,
    K,
    Names,
    OptionalInt,
    Parameter,
)
from microagg.table.rules import RULES
from microagg.table.scales import SCALE
from microagg.table.schema import REST, ColumnSettings, Role
from microagg.table.suggestions import nearest_names

if TYPE_CHECKING:
    from microagg.guarantees.promise import Guarantees
    from microagg.methods.method import Method


@dataclass(frozen=True)
class MethodByName:
    """A parameter that takes the name of any method."""

    name: str
    help: str
    default: str = "auto"
    describes: str = "the name of a method"

    @property
    def json_schema(self) -> dict[str, Any]:
        """What a file of settings may hold."""
        from microagg.methods.registry import methods

        return {"enum": [method.name for method in methods()]}

    def parse(self, value: Any) -> str:
        """The name, if the registry has such a method."""
        from microagg.methods.registry import method_named

        return method_named(str(value)).name


@dataclass(frozen=True)
class MethodParameters:
    """The parameters of the method, by name; which there are, the method declares."""

    name: str
    help: str
    default: None = None
    describes: str = "name=value"

    @property
    def json_schema(self) -> dict[str, Any]:
        """What a file of settings may hold: which of these a method takes, it says itself."""
        from microagg.methods.registry import methods
        from microagg.table.json_schemas import schema_of

        known = {each.name: schema_of(each) for method in methods() for each in method.parameters}
        return {"type": "object", "propertyNames": {"enum": sorted(known)}}

    def parse(self, value: Any) -> dict[str, Any]:
        """A dictionary of them; the method checks what it holds."""
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{self.name} must be a dictionary of names and values.")
        return dict(value or {})


@dataclass(frozen=True)
class MeasuresByName(Names):
    """A parameter that takes names of what stays inside unless it is published: measures of both
    tables, and `bound`.

    >>> MeasuresByName("publish", "").parse("kolmogorov-smirnov")
    ('kolmogorov-smirnov',)
    """

    describes: str = "names of measures, or bound"

    def parse(self, value: Any) -> tuple[str, ...]:
        """The names, each once, if all of them can be published."""
        names = tuple(dict.fromkeys(super().parse(value)))
        if not names:
            return ()
        from microagg.measures.registry import measures

        of = {measure.name: measure.of for measure in measures()}
        can = [*(name for name, what in of.items() if what == "pair"), "bound"]
        for name in names:
            if of.get(name) == "release":
                raise InputError(
                    f"{name} is computed from the released table, so it is public by "
                    f"itself; leave it out of {self.name}."
                )
            if of.get(name) == "record":
                raise InputError(f"{name} is decided by single records, so it is never published.")
            if name not in can:
                raise InputError(
                    f"there is no {name!r} to {self.name}; it takes names of measures: "
                    f"{', '.join(can)}."
                )
        return names


@dataclass(frozen=True)
class FileOptions:
    """What is said about how files are read, or written; what there is to say, the formats
    declare.

    >>> FileOptions("reading", "", reading_options, options_said).parse({"delimiter": "semicolon", "header": None})
    {'delimiter': ';'}
    """

    name: str
    help: str
    known: Callable[[], dict[str, Parameter]]
    checked: Callable[[Mapping[str, Any]], dict[str, Any]]
    default: None = None
    describes: str = "a table of names and values"

    @property
    def json_schema(self) -> dict[str, Any]:
        """What may be said, each with what it takes."""
        from microagg.table.json_schemas import schema_of

        said = {name: schema_of(each) for name, each in self.known().items()}
        return {"type": "object", "properties": said, "additionalProperties": False}

    def parse(self, value: Any) -> dict[str, Any]:
        """A dictionary of what was said, each value checked; what is None is left to be found
        out.
        """
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{self.name} must be a dictionary of names and values.")
        return self.checked(
            {name: each for name, each in (value or {}).items() if each is not None}
        )


OF_A_CELL = ("k", "method", "params", "publish", "accept_risk", "seed", "date", "rename", "writing")
"""The settings that differ from cell to cell of a comparison, or make no difference there."""


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
OF_A_CALL = ("settings", "threads", "progress")
"""Parameters of `anonymize` that are no settings."""


def declared(parameter: Parameter, *, public: bool) -> Any:
    """A field of `Settings`: what it takes, and whether everybody may know it."""
    return field(default=parameter.default, metadata={"parameter": parameter, "public": public})


@dataclass(frozen=True)
class Settings:
    """What is asked of a release. `Settings.of` is the way to make one: it checks everything.

    >>> settings = Settings.of(k=5, quasi=["age", "income"], effort="quick")
    >>> settings.scale, settings.params["effort"]
    ('zscore', 'quick')
    >>> Settings.from_data(settings.as_data()) == settings
    True
    >>> settings.but(k=10).k
    10
    """

    k: int = declared(K, public=True)
    quasi: tuple[str, ...] = declared(
        Names(
            "quasi",
            "Columns by which somebody could be found: replaced by values that groups share.",
        ),
        public=True,
    )
    identifier: tuple[str, ...] = declared(
        Names("identifier", "Columns that name somebody: left out."), public=False
    )
    confidential: tuple[str, ...] = declared(
        Names(
            "confidential",
            "Columns that nobody should learn of a person: released as they are; see l and t.",
        ),
        public=True,
    )
    keep: tuple[str, ...] = declared(Names("keep", "Columns to release as they are."), public=True)
    weight: str | None = declared(
        ColumnName(
            "weight",
            "The column of sampling weights: means are weighted by it, and it is "
            "released as its group's mean.",
            "name further ones as quasi-identifying, kept or identifier",
        ),
        public=True,
    )
    stratum: tuple[str, ...] = declared(
        Names(
            "stratum",
            "Columns of strata: released as they are, and no group has records of two strata.",
        ),
        public=True,
    )
    unit: str | None = declared(
        ColumnName(
            "unit",
            "The column that says which household, company or patient a record belongs "
            "to: left out, and every class has k "
            "different ones.",
            "put them together into one column first",
        ),
        public=False,
    )
    small_strata: str = declared(
        Choice(
            "small_strata",
            ("error", "drop"),
            "error",
            "What happens to strata that have fewer than k records, or cannot keep what "
            "is promised: refused, or their records left "
            "out.",
        ),
        public=True,
    )
    rest: str = declared(REST, public=False)
    l: float | None = declared(L, public=True)
    t: float | None = declared(T, public=True)
    diversity: str = declared(DIVERSITY, public=True)
    c: float | None = declared(C, public=True)
    exact: bool = declared(EXACT, public=True)
    method: str = declared(
        MethodByName("method", "How groups are found; see `microagg methods`."), public=True
    )
    params: dict[str, Any] = declared(
        MethodParameters("params", "Parameters of the method."), public=True
    )
    refine: bool = declared(
        Flag("refine", "Improve the groups of any method by local search."), public=True
    )
    scale: str = declared(SCALE, public=True)
    kinds: dict[str, str] = declared(KINDS, public=True)
    nominal: tuple[str, ...] = declared(NOMINAL, public=True)
    ordinal: dict[str, Any] = declared(ORDINAL, public=True)
    importance: dict[str, float] = declared(IMPORTANCE, public=True)
    aggregate: dict[str, str] = declared(AGGREGATE, public=True)
    hierarchy: dict[str, Any] = declared(HIERARCHY, public=True)
    missing: str = declared(MISSING, public=True)
    special: dict[str, tuple[Any, ...]] = declared(SPECIAL, public=True)
    na: tuple[str, ...] = declared(NA, public=True)
    precision: str = declared(
        Choice(
            "precision",
            ("column", "full"),
            "column",
            "Round means to the decimals of each column (raw floats by their spread), or "
            "keep exact means.",
        ),
        public=True,
    )
    cap: dict[str, Any] = declared(
        Caps(
            "cap",
            "The highest value of a column, or LOWEST:HIGHEST: a number or a percentile; "
            "what is beyond becomes that before "
            "groups are formed. Everybody is told, as it is given.",
        ),
        public=True,
    )
    rules: tuple[str, ...] = declared(RULES, public=True)
    accept_risk: tuple[str, ...] = declared(ACCEPT_RISK, public=False)
    publish: tuple[str, ...] = declared(
        MeasuresByName(
            "publish",
            "Measures to make public though they come from the original table: two "
            "digits, 1,000 records and more.",
        ),
        public=True,
    )
    rename: dict[str, str] = declared(RENAME, public=False)
    reading: dict[str, Any] = declared(
        FileOptions(
            "reading",
            "What is known about the file that the table comes from, such as its delimiter.",
            reading_options,
            options_said,
        ),
        public=False,
    )
    writing: dict[str, Any] = declared(
        FileOptions(
            "writing",
            "How the file of the release is written, where that is not as the original is.",
            writing_options,
            options_to_write,
        ),
        public=False,
    )
    seed: int | None = declared(
        OptionalInt("seed", "Repeats a run; drawn at random if not given."), public=False
    )
    date: str | None = declared(
        Day("date", "The day to write into the internal manifest and report; today if not given."),
        public=False,
    )

    understood: ColumnSettings | None = field(default=None, compare=False, repr=False)
    """What was said of columns together with what the labels of a table tell of the others; see
    `of_table`. It is never kept: whoever reads the table again reads its labels, too.
    """

    def of_table(self, table: Any) -> Settings:
        """The same for a table that may carry labels: what these tell holds where nothing was
        said.
        """
        from microagg.table.columns.labels import as_labels_say

        return replace(self, understood=as_labels_say(self.column_options, table))

    @staticmethod
    def of(**given: Any) -> Settings:
        """Settings from what was given: every value checked, defaults for the rest.

        Names that are no settings go to the method as its parameters.
        """
        from microagg.guarantees.promise import Guarantees
        from microagg.methods.registry import method_named

        parameters = Settings.parameters()
        values = {
            name: parameter.parse(given.get(name, parameter.default))
            for name, parameter in parameters.items()
        }
        column_settings(**{each.name: values[each.name] for each in OF_COLUMNS})
        values |= Guarantees.of(*(values[name] for name in ("l", "t", "diversity", "c"))).as_data()
        others = {name: value for name, value in given.items() if name not in parameters}
        twice = sorted(set(others) & set(values["params"]))
        if twice:
            raise InputError(
                f"{twice[0]} was given twice, by itself and among params; give it once."
            )
        method = method_named(values["method"])
        _check_unknown({**values["params"], **others}, [each.name for each in method.parameters])
        values["params"] = method.checked({**values["params"], **others})
        return Settings(**values)

    @staticmethod
    def parameters() -> dict[str, Parameter]:
        """The declaration of each setting, by its name."""
        return {
            each.name: each.metadata["parameter"]
            for each in fields(Settings)
            if "parameter" in each.metadata
        }

    @staticmethod
    def public_names() -> tuple[str, ...]:
        """The settings that everybody may know."""
        return tuple(each.name for each in fields(Settings) if each.metadata and _is_public(each))

    def as_data(self, *, public: bool = False) -> dict[str, Any]:
        """Plain data, such as a manifest keeps; with `public` only what everybody may know."""
        whole = {name: _plain(getattr(self, name)) for name in self.parameters()}
        return self.public_part(whole) if public else whole

    @staticmethod
    def public_part(data: Mapping[str, Any]) -> dict[str, Any]:
        """What everybody may know of what `as_data` gave; of what this gave, everything.

        >>> Settings.public_part({"k": 5, "seed": 7, "ordinal": {"education": ["P", "S", "PS"]}})
        {'k': 5, 'ordinal': ['education']}
        """
        parameters = Settings.parameters()
        told = {name: value for name, value in data.items() if name in Settings.public_names()}
        for name, value in told.items():
            shown = getattr(parameters[name], "public_form", None)
            told[name] = value if shown is None else shown(value)
        return told

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Settings:
        """Settings from what `as_data` gave, checked anew."""
        unknown = [name for name in data if name not in Settings.parameters()]
        if unknown:
            raise InputError(
                f"there is no setting {str(unknown[0])!r}; there are "
                f"{', '.join(Settings.parameters())}."
            )
        return Settings.of(**data)

    @staticmethod
    def from_file(path: str | Path, *, as_proposed: bool = False) -> Settings:
        """Settings from a file: TOML such as `microagg propose` and `to_toml` write, or the
        internal manifest of a release.

        What is still to be decided there is refused, or taken `as_proposed`. Files that it names
        lie beside it.
        """
        from microagg.release.settings_file import read_settings

        return Settings.of(**read_settings(path, as_proposed=as_proposed))

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The text of a file of settings that `from_file` reads back to the same.

        For a file in a `folder`, trees that were read from files are named by these; else they are
        written whole.

        >>> "microagg-settings = 1" in Settings.of(k=5, quasi=["age"]).to_toml().splitlines()
        True
        """
        from microagg.release.settings_file import settings_text

        return settings_text(self, None if folder is None else Path(folder))

    def but(self, **changes: Any) -> Settings:
        """The same with some settings changed, checked anew."""
        kept = self.as_data()
        if changes.get("method", self.method) != self.method:
            kept["params"] = {}  # those of another method
        elif others := {name: value for name, value in changes.items() if name not in kept}:
            kept["params"] = {**kept["params"], **others}
            changes = {name: value for name, value in changes.items() if name not in others}
        return Settings.of(**{**kept, **changes})

    def resolved(self) -> Settings:
        """The same with what was left open decided: a seed drawn, the day of today."""
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return replace(self, seed=seed, date=self.date or datetime.date.today().isoformat())

    @property
    def roles(self) -> dict[Role, tuple[str, ...]]:
        """The columns that were named, by their role."""
        return {
            Role.QUASI: self.quasi,
            Role.IDENTIFIER: self.identifier,
            Role.CONFIDENTIAL: self.confidential,
            Role.KEEP: self.keep,
            Role.WEIGHT: () if self.weight is None else (self.weight,),
            Role.STRATUM: self.stratum,
            Role.UNIT: () if self.unit is None else (self.unit,),
        }

    @property
    def aggregates(self) -> dict[str, str]:
        """What groups release of quasi-identifying columns, where that was said."""
        return {name: how for name, how in self.columns.aggregate.items() if name != self.weight}

    @property
    def weight_becomes(self) -> str | None:
        """What is released of the weight: "mean", "keep" or "drop"; None where there is no
        weight.
        """
        return None if self.weight is None else self.aggregate.get(self.weight, "mean")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are read as numbers where a file without types holds numbers: the
        quasi-identifying ones, and the weight.
        """
        return self.quasi if self.weight is None else (*self.quasi, self.weight)

    @property
    def columns(self) -> ColumnSettings:
        """What was said of single columns, put together, and what labels tell of the others."""
        return self.column_options if self.understood is None else self.understood

    @property
    def column_options(self) -> ColumnSettings:
        """What was said of single columns, put together."""
        return column_settings(**{each.name: getattr(self, each.name) for each in OF_COLUMNS})

    @property
    def promise(self) -> Guarantees:
        """l-diversity, t-closeness and units, as far as they are asked for."""
        from microagg.guarantees.promise import Guarantees

        units = None if self.unit is None else self.k
        return Guarantees.of(self.l, self.t, self.diversity, self.c, units=units)

    @property
    def chosen_method(self) -> Method:
        """The method's entry in the registry."""
        from microagg.methods.registry import method_named

        return method_named(self.method)


def settings_from(arguments: Mapping[str, Any]) -> Settings:
    """The settings among the arguments of a function, or those handed over whole as `settings`,
    but never both.

    >>> settings_from({"table": [], "k": 5, "quasi": "age", "params": {"effort": "quick"}, "settings": None}).k
    5
    """
    given = {name: value for name, value in arguments.items() if name in Settings.parameters()}
    whole = arguments.get("settings")
    if whole is None:
        return Settings.of(**given)
    if not isinstance(whole, Settings):
        raise InputError("settings must be made with Settings.of(…).")
    for name, parameter in Settings.parameters().items():
        if name in given and given[name] not in (parameter.default, (), {}):
            raise InputError(
                f"{name} was given beside settings; put it there: settings.but({name}=…)."
            )
    return whole


def _check_unknown(keywords: Mapping[str, Any], of_method: Sequence[str]) -> None:
    """Refuse a keyword that is no parameter where another one is meant; the method refuses the
    others.
    """
    for name in keywords:
        if name in of_method or name in Settings.parameters():
            continue
        known = [*Settings.parameters(), *of_method, *OF_A_CALL]
        instead = CALLED_OTHERWISE.get(name) or next(iter(nearest_names(name, known, most=1)), None)
        if instead is not None and not _is_of_another_method(name):
            raise InputError(f"there is no parameter {name!r}; it is called {instead!r} here.")


def _is_of_another_method(name: str) -> bool:
    from microagg.methods.registry import methods

    return any(name == parameter.name for method in methods() for parameter in method.parameters)


def _is_public(each: Field[Any]) -> bool:
    return bool(each.metadata["public"])


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "as_data"):
        return value.as_data()
    return (
        {name: _plain(each) for name, each in value.items()}
        if isinstance(value, Mapping)
        else value
    )
