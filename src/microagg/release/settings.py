"""Everything that decides what a release looks like, in one place: declared, checked, written and
read back.

A new setting is one field here and one line in the signature of `anonymize`; the command line,
manifests, `repeat` and `compare` know it by themselves. This module imports no arrays, so that help
is shown at once.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from microagg.files.formats import options_said, options_to_write, reading_options, writing_options
from microagg.guarantees.declared import DIVERSITY, EXACT, C, GuaranteeOptions, L, T
from microagg.release.risks import ACCEPT_RISK
from microagg.release.setting_types import (
    FileOptions,
    MeasuresByName,
    MethodByName,
    MethodParameters,
)
from microagg.release.settings_base import BaseSettings, Group, declared
from microagg.table.cap_parameter import Caps
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
    ColumnOptions,
    column_settings,
)
from microagg.table.name_parameters import ColumnName, Names
from microagg.table.new_names import RENAME
from microagg.table.parameters import Choice, Day, Flag, K, OptionalInt, ShortText
from microagg.table.rules import RULES
from microagg.table.scales import SCALE
from microagg.table.schema import REST, ColumnSettings, Role

if TYPE_CHECKING:
    from microagg.guarantees.promise import Guarantees
    from microagg.methods.method import Method


OF_A_CELL = (
    "k",
    "method",
    "params",
    "publish",
    "accept_risk",
    "seed",
    "date",
    "title",
    "entity",
    "rename",
    "writing",
)
"""The settings that differ from cell to cell of a comparison, or make no difference there."""


class SharedOptions(GuaranteeOptions, ColumnOptions, total=False):
    """Keywords of settings that all releases of a comparison share."""

    identifier: Sequence[str | int] | str | int
    weight: str | int | None
    stratum: Sequence[str | int] | str | int
    unit: str | int | None
    rest: str
    small_strata: str
    refine: bool
    scale: str
    missing: str
    precision: str
    cap: Mapping[str, Any] | Sequence[str] | str | None
    rules: Sequence[str] | str


@dataclass(frozen=True)
class Settings(BaseSettings):
    """The settings of a release. `Settings.of` makes and checks them.

    Attributes
    ----------
    k, quasi, l, method and others
        Parameters of `anonymize` by their names, except for the table, `threads` and `progress`.

    Examples
    --------
    >>> settings = Settings.of(k=5, quasi=["age", "income"], effort="quick")
    >>> settings.scale, settings.params["effort"]
    ('zscore', 'quick')
    >>> Settings.from_data(settings.as_data()) == settings
    True
    """

    k: int = declared(K, Group.GUARANTEES, public=True)
    quasi: tuple[str, ...] = declared(
        Names(
            "quasi",
            "Columns that others may know, such as age: replaced by values that groups share.",
        ),
        Group.ROLES,
        public=True,
    )
    identifier: tuple[str, ...] = declared(
        Names("identifier", "Columns that name a person or company: left out."),
        Group.ROLES,
        public=False,
    )
    confidential: tuple[str, ...] = declared(
        Names(
            "confidential",
            "Sensitive columns, released unchanged; l and t protect them.",
        ),
        Group.ROLES,
        public=True,
    )
    keep: tuple[str, ...] = declared(
        Names("keep", "Columns to release unchanged."),
        Group.ROLES,
        public=True,
    )
    weight: str | None = declared(
        ColumnName(
            "weight",
            "The column of sampling weights. Means are weighted, and each record gets the mean "
            "weight of its group.",
            "name further ones as quasi-identifying, kept or identifier",
        ),
        Group.ROLES,
        public=True,
    )
    stratum: tuple[str, ...] = declared(
        Names(
            "stratum",
            "Columns of strata: released unchanged; no group has records of two strata.",
        ),
        Group.ROLES,
        public=True,
    )
    unit: str | None = declared(
        ColumnName(
            "unit",
            "The column of the household, company or patient of a record: left out. Every class "
            "has k different ones.",
            "put them together into one column first",
        ),
        Group.ROLES,
        public=False,
    )
    small_strata: str = declared(
        Choice(
            "small_strata",
            ("error", "drop"),
            "error",
            "Strata with fewer than k records, or that cannot keep the guarantees: refuse them, "
            "or leave their records out.",
        ),
        Group.GUARANTEES,
        public=True,
    )
    rest: str = declared(REST, Group.ROLES, public=False)
    l: float | None = declared(L, Group.GUARANTEES, public=True)
    t: float | None = declared(T, Group.GUARANTEES, public=True)
    diversity: str = declared(DIVERSITY, Group.GUARANTEES, public=True)
    c: float | None = declared(C, Group.GUARANTEES, public=True)
    exact: bool = declared(EXACT, Group.GUARANTEES, public=True)
    method: str = declared(
        MethodByName("method", "The method that forms groups; see `microagg methods`."),
        Group.METHOD,
        public=True,
    )
    params: dict[str, Any] = declared(
        MethodParameters("params", "Parameters of the method."),
        Group.METHOD,
        public=True,
    )
    refine: bool = declared(
        Flag("refine", "Improve the groups of any method by local search."),
        Group.METHOD,
        public=True,
    )
    scale: str = declared(SCALE, Group.METHOD, public=True)
    kinds: dict[str, str] = declared(KINDS, Group.COLUMNS, public=True)
    nominal: tuple[str, ...] = declared(NOMINAL, Group.COLUMNS, public=True)
    ordinal: dict[str, Any] = declared(ORDINAL, Group.COLUMNS, public=True)
    importance: dict[str, float] = declared(IMPORTANCE, Group.COLUMNS, public=True)
    aggregate: dict[str, str] = declared(AGGREGATE, Group.COLUMNS, public=True)
    hierarchy: dict[str, Any] = declared(HIERARCHY, Group.COLUMNS, public=True)
    missing: str = declared(MISSING, Group.COLUMNS, public=True)
    special: dict[str, tuple[Any, ...]] = declared(SPECIAL, Group.COLUMNS, public=True)
    na: tuple[str, ...] = declared(NA, Group.COLUMNS, public=True)
    precision: str = declared(
        Choice(
            "precision",
            ("column", "full"),
            "column",
            "Round means to the decimals of each column (raw floats by their spread), or keep "
            "exact means.",
        ),
        Group.COLUMNS,
        public=True,
    )
    cap: dict[str, Any] = declared(
        Caps(
            "cap",
            "The highest value of a column, or LOWEST:HIGHEST, as numbers or percentiles. Larger "
            "values are cut to this limit first. The limit is published.",
        ),
        Group.COLUMNS,
        public=True,
    )
    rules: tuple[str, ...] = declared(RULES, Group.COLUMNS, public=True)
    accept_risk: tuple[str, ...] = declared(ACCEPT_RISK, Group.GUARANTEES, public=False)
    publish: tuple[str, ...] = declared(
        MeasuresByName(
            "publish",
            "Measures of the original table to show in the public report, with two digits; for "
            "1,000 records and more.",
        ),
        Group.RUNNING,
        public=True,
    )
    rename: dict[str, str] = declared(RENAME, Group.COLUMNS, public=False)
    reading: dict[str, Any] = declared(
        FileOptions(
            "reading",
            "Facts about the file of the table, such as its delimiter.",
            reading_options,
            options_said,
        ),
        Group.RUNNING,
        public=False,
    )
    writing: dict[str, Any] = declared(
        FileOptions(
            "writing",
            "How the file of the release is written, where it differs from the original.",
            writing_options,
            options_to_write,
            prefix="out_",
        ),
        Group.RUNNING,
        public=False,
    )
    seed: int | None = declared(
        OptionalInt(
            "seed", "A number that repeats a run. Drawn at random if not given, which is safer."
        ),
        Group.METHOD,
        public=False,
    )
    date: str | None = declared(
        Day("date", "The date in the internal manifest and report; today if not given."),
        Group.RUNNING,
        public=False,
    )
    title: str = declared(
        ShortText("title", "The title of the reports."), Group.RUNNING, public=False
    )
    entity: str = declared(
        ShortText("entity", "What a record stands for in the reports, such as company or patient."),
        Group.RUNNING,
        public=False,
    )

    understood: ColumnSettings | None = field(default=None, compare=False, repr=False)
    """Options of columns together with those that the labels of a table add; see `of_table`. They
    are never stored: a table that is read again has its labels, too.
    """

    def of_table(self, table: Any) -> Settings:
        """Return the same settings for a table that may carry labels.

        Parameters
        ----------
        table : pandas, polars or Arrow table
            The table. Its labels hold for columns of which the settings say nothing.

        Returns
        -------
        Settings
            Settings whose `columns` include the labels.

        Examples
        --------
        >>> import pyarrow as pa
        >>> settings = Settings.of(k=2, quasi=["age"], kinds={"age": "ordinal"})
        >>> settings.of_table(pa.table({"age": [30, 32]})).columns.kinds["age"].value
        'ordinal'
        """
        from microagg.table.columns.labels import as_labels_say

        return replace(self, understood=as_labels_say(self.column_options, table))

    def resolved(self) -> Settings:
        """Return the settings with a seed and a date: drawn and today, if not set.

        Returns
        -------
        Settings
            Settings that are enough to repeat a release.

        Examples
        --------
        >>> Settings.of(k=5, seed=1, date="2026-01-01").resolved().seed
        1
        """
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return replace(self, seed=seed, date=self.date or datetime.date.today().isoformat())

    @property
    def roles(self) -> dict[Role, tuple[str, ...]]:
        """The named columns by their role."""
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
        """The aggregate of each quasi-identifying column for which one was named."""
        return {name: how for name, how in self.columns.aggregate.items() if name != self.weight}

    @property
    def weight_becomes(self) -> str | None:
        """Treatment of the weight: "mean", "keep" or "drop"; None without a weight."""
        return None if self.weight is None else self.aggregate.get(self.weight, "mean")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are read as numbers where a file without types holds numbers: the
        quasi-identifying ones and the weight.
        """
        return self.quasi if self.weight is None else (*self.quasi, self.weight)

    @property
    def columns(self) -> ColumnSettings:
        """The options of columns together with those that the labels of a table add; see
        `of_table`.
        """
        return self.column_options if self.understood is None else self.understood

    @property
    def column_options(self) -> ColumnSettings:
        """The options of columns as they were set."""
        return column_settings(
            **{parameter.name: getattr(self, parameter.name) for parameter in OF_COLUMNS}
        )

    @property
    def promise(self) -> Guarantees:
        """The requested l-diversity, t-closeness and units."""
        from microagg.guarantees.promise import Guarantees

        units = None if self.unit is None else self.k
        return Guarantees.of(self.l, self.t, self.diversity, self.c, units=units)

    @property
    def chosen_method(self) -> Method:
        """The registry entry of the method."""
        from microagg.methods.registry import method_named

        return method_named(self.method)
