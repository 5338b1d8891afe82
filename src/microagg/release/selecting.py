"""Columns chosen otherwise than by name: patterns such as q*, and selectors of narwhals or
polars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.table.name_parameters import Names
from microagg.table.patterns import expand_names, is_pattern

if TYPE_CHECKING:
    import narwhals as nw

    from microagg.release.settings import Settings

ROLES = ("quasi", "identifier", "confidential", "keep", "stratum")
"""Settings that take names of several columns, each of which has one role."""
BY_PATTERN = (*ROLES, "nominal")
LIBRARIES = ("narwhals", "polars")
"""The libraries whose selectors and expressions choose columns."""


def has_patterns(settings: Settings) -> bool:
    """Return whether some setting may name columns by a pattern.

    >>> from microagg.release.settings import Settings
    >>> has_patterns(Settings.of(k=5, quasi="q*")), has_patterns(Settings.of(k=5, quasi="age"))
    (True, False)
    """
    return any(is_pattern(name) for setting in BY_PATTERN for name in getattr(settings, setting))


def expand_patterns(
    settings: Settings, columns: Sequence[str] | Callable[[], Sequence[str]]
) -> Settings:
    """Return the same settings with the names of columns in place of patterns.

    A column of that very name goes before the pattern. A column that is named for one role is not
    taken for another by a pattern. `columns` are those of the table, or a function that looks them
    up if they are needed.

    >>> from microagg.release.settings import Settings
    >>> asked = Settings.of(k=5, quasi="q*", keep="q3")
    >>> expand_patterns(asked, ["q1", "q2", "q3", "age"]).quasi
    ('q1', 'q2')
    """
    if not has_patterns(settings):
        return settings
    names = list(columns() if callable(columns) else columns)
    names += [new for new in settings.rename.values() if new not in names]
    table_columns = set(names)
    named = {name for role in ROLES for name in getattr(settings, role) if name in table_columns}
    named |= {name for name in (settings.weight, settings.unit) if name is not None}
    free = [name for name in names if name not in named]
    roles = {role: expand_names(getattr(settings, role), names, role, among=free) for role in ROLES}
    withheld = {*roles["identifier"], settings.unit}
    if settings.rest != "keep":
        withheld |= (
            table_columns
            - {name for names_of_role in roles.values() for name in names_of_role}
            - {settings.weight}
        )
    released = [name for name in names if name not in withheld]
    nominal = expand_names(settings.nominal, names, "nominal", among=released)
    return replace(settings, **roles, nominal=nominal)


def names_of_selectors(
    arguments: Mapping[str, Any], frame: Callable[[], nw.DataFrame[Any]]
) -> dict[str, Any]:
    """Return the arguments of a function with names of columns in place of selectors.

    >>> import narwhals.selectors as ncs, narwhals as nw, pyarrow as pa
    >>> table = nw.from_native(pa.table({"age": [30], "town": ["A"]}), eager_only=True)
    >>> names_of_selectors({"quasi": ncs.numeric(), "keep": ["town"]}, lambda: table)
    {'quasi': ['age'], 'keep': ['town']}
    """
    return {
        name: _without_selectors(value, frame) if name in BY_PATTERN else value
        for name, value in arguments.items()
    }


def _without_selectors(value: Any, frame: Callable[[], nw.DataFrame[Any]]) -> Any:
    if is_selector(value):
        return _selected(value, frame())
    if isinstance(value, list | tuple) and any(map(is_selector, value)):
        return [
            name
            for item in value
            for name in (
                _selected(item, frame()) if is_selector(item) else Names("", "").parse(item)
            )
        ]
    return value


def is_selector(value: Any) -> bool:
    """Return whether this is a selector or an expression of narwhals or polars.

    >>> import narwhals.selectors as ncs
    >>> is_selector(ncs.numeric()), is_selector("age")
    (True, False)
    """
    kinds = type(value).__mro__
    return kinds[0].__module__.partition(".")[0] in LIBRARIES and any(
        base.__name__ == "Expr" for base in kinds
    )


def _selected(selector: Any, frame: nw.DataFrame[Any]) -> list[str]:
    """Return the names of the columns that a selector chooses; only types and names are looked
    at.
    """
    empty = frame.head(0)
    if type(selector).__module__.partition(".")[0] == "polars":
        import polars

        native = empty.to_native()
        rows: Any = (
            native if isinstance(native, polars.DataFrame) else polars.from_arrow(empty.to_arrow())
        )
        choose = rows.select
    else:
        choose = empty.select
    try:
        names = list(choose(selector).columns)
    except Exception:  # of narwhals or polars, which would speak of their own methods
        raise InputError(
            "a selector of columns does not fit the table; name the columns."
        ) from None
    return [name for name in names if name in frame.columns]
