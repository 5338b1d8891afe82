"""Trees over the values of a column: for distances between nominal values, and for what
`generalise` releases.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from microagg.errors import InputError

NO_HIERARCHY = "a hierarchy must be a file, a table, a dict or a list of paths from value to top."
DELIMITERS = (";", ",", "\t", "|")
LARGEST = 50_000_000  # bytes: a larger file is no hierarchy

Row = tuple[str, tuple[str, ...]]
"""Where a path stands ("line 3"), and the path."""


@dataclass(frozen=True)
class Hierarchy:
    """A path from each value to the top, all of the same length, the value first.

    >>> tree = Hierarchy({"Rome": ("Rome", "Italy", "*"), "Pisa": ("Pisa", "Italy", "*")})
    >>> tree.depth, tree.common_ancestor(["Rome", "Pisa"]), tree.common_ancestor(["Rome"])
    (3, 'Italy', 'Rome')
    """

    paths: dict[str, tuple[str, ...]]
    inner: dict[str, int] = field(default_factory=dict)
    """Nodes that stand for any of the values below them, as a release may have them, and their
    level (`with_nodes`).
    """
    file: Path | None = field(default=None, compare=False, repr=False)
    """The file that it was read from."""

    @staticmethod
    def of(source: Any) -> Hierarchy:
        """A hierarchy from a file, a dict, a table, a list of paths, or one that is there already.

        A file has a line `value;parent;…;top` for each value and no header; a table has columns
        from value to top; a dict leads from each value to its parent, or to its path.

        >>> Hierarchy.of({"Rome": "Italy", "Pisa": "Italy", "Italy": "*"}).paths["Pisa"]
        ('Pisa', 'Italy', '*')
        """
        if isinstance(source, Hierarchy):
            return source
        if isinstance(source, str | Path):
            return Hierarchy.read(source)
        if isinstance(source, Mapping):
            return Hierarchy(_checked(_rows_of_dict(source)))
        if isinstance(source, Sequence) and not isinstance(source, bytes):
            return Hierarchy.from_data(source)
        return Hierarchy(_checked(_rows_of_table(source)))

    @staticmethod
    def read(path: str | Path) -> Hierarchy:
        """A hierarchy from a text file, whose delimiter (; , tab or |) is found by itself."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r} with a hierarchy; check the path.")
        try:
            text = path.read_text("utf-8-sig") if path.stat().st_size <= LARGEST else None
        except UnicodeDecodeError:
            raise InputError(f"the hierarchy {str(path)!r} is not in UTF-8; save it so.") from None
        except OSError:
            raise InputError(f"{str(path)!r} cannot be read; check its permissions.") from None
        if text is None:
            raise InputError(f"{str(path)!r} is too large for a hierarchy; name another file.")
        return Hierarchy(_checked(_rows_of_text(text), f" {str(path)!r}"), file=path.absolute())

    @staticmethod
    def from_data(data: Iterable[Sequence[Any]]) -> Hierarchy:
        """A hierarchy from what `as_data` gave: a list of paths, each from the value to the top.

        >>> Hierarchy.from_data([["a", "*"], ["b", "*"]]).depth
        2
        """
        rows: list[Row] = []
        for number, path in enumerate(data, 1):
            if isinstance(path, str | bytes) or not isinstance(path, Sequence):
                raise InputError(NO_HIERARCHY)
            rows.append((f"path {number}", tuple(map(_text, path))))
        return Hierarchy(_checked(rows))

    @property
    def depth(self) -> int:
        """Number of levels, values and top included."""
        return len(next(iter(self.paths.values())))

    @functools.cached_property
    def nodes(self) -> tuple[tuple[str, ...], ...]:
        """The nodes of each level, from the values to the top, in ascending order: however the
        paths were given, it is the same tree.
        """
        return tuple(tuple(sorted(set(level))) for level in zip(*self.paths.values(), strict=True))

    def name_of(self, level: int, node: int) -> str | None:
        """The name of a node by its number as in `ancestors`; None for what is missing."""
        names = self.nodes[level]
        return names[node] if node < len(names) else None

    def as_data(self) -> list[list[str]]:
        """The paths as plain lists, values in ascending order: what a manifest holds."""
        return [list(self.paths[value]) for value in sorted(self.paths)]

    @property
    def digest(self) -> str:
        """A digest of the content: the same however the hierarchy was given and its lines were
        ordered.
        """
        content = json.dumps(self.as_data(), ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def reference(self, folder: Path) -> str | None:
        """The file that this tree was read from, seen from a folder; None where that does not hold
        it any more.
        """
        if self.file is None:
            return None
        try:
            if Hierarchy.read(self.file) != self:
                return None
            return Path(os.path.relpath(self.file, folder)).as_posix()
        except (InputError, ValueError):  # gone, changed, or on another drive
            return None

    def check(self, levels: Iterable[Any], column: str) -> None:
        """Refuse values that the hierarchy lacks; missing ones need no line."""
        lacking = sum(level is not None and self._value_of(level) is None for level in levels)
        if lacking:
            count = "one value" if lacking == 1 else f"{lacking:,} values"
            raise InputError(
                f"the hierarchy of column {column!r} lacks {count} of the column; add a "
                f"line for each."
            )

    def ancestors(self, levels: Sequence[Any], column: str = "") -> np.ndarray:
        """(levels, depth) int64: for each value its nodes from itself to the top, numbered on each
        level as in `nodes`.

        What is missing (None) has nodes of its own below the top, numbered last.

        >>> Hierarchy.of([["a", "x", "*"], ["b", "x", "*"]]).ancestors(["b", None]).tolist()
        [[1, 0, 0], [2, 1, 0]]
        """
        self.check(levels, column)
        numbers_of = [{name: number for number, name in enumerate(names)} for names in self.nodes]
        missing = [len(names) for names in self.nodes[:-1]] + [0]
        rows = [
            missing
            if level is None
            else [of[name] for of, name in zip(numbers_of, self.path_of(level), strict=True)]
            for level in levels
        ]
        return np.array(rows, np.int64).reshape(len(rows), self.depth)

    def with_nodes(self, levels: Iterable[Any]) -> Hierarchy:
        """The same tree with a path for each of these that is no value: what other tools release
        in place of values.

        A node above the values (the lowest of that name) stands for any of its values, and lies at
        their centroid. What the tree does not know is a value of its own, which differs from others
        on all levels.

        >>> tree = Hierarchy.of([["Rome", "Italy", "*"], ["Bonn", "Germany", "*"]]).with_nodes(
        ...     ["Italy", "?"]
        ... )
        >>> tree.inner, tree.paths["?"]
        ({'Italy': 1}, ('?', '?', '*'))
        """
        some_path = {
            (level, name): path for path in self.paths.values() for level, name in enumerate(path)
        }
        more: dict[str, tuple[str, ...]] = {}
        inner: dict[str, int] = {}
        for text in (
            str(value) for value in levels if value is not None and self._value_of(value) is None
        ):
            level = next(
                (level for level in range(1, self.depth) if (level, text) in some_path), None
            )
            if level is None:
                more[text] = (text,) * (self.depth - 1) + next(iter(self.paths.values()))[-1:]
            else:
                more[text] = (text,) * level + some_path[level, text][level:]
                inner[text] = level
        return Hierarchy({**self.paths, **more}, {**self.inner, **inner}) if more else self

    def path_of(self, level: Any) -> tuple[str, ...]:
        """The path of a value that `check` has found.

        >>> Hierarchy.of([["1", "*"], ["2", "*"]]).path_of(2.0)
        ('2', '*')
        """
        return self.paths[self._value_of(level) or ""]

    def common_ancestor(self, values: Iterable[Any]) -> str | None:
        """The lowest node above or at all of these values; the top where one of several is missing,
        None if all are.

        >>> Hierarchy.of([["a", "x", "*"], ["b", "x", "*"]]).common_ancestor(["a", None])
        '*'
        """
        rows = self.ancestors(list(values))
        level = int(np.argmax((rows == rows[0]).all(axis=0)))
        return self.name_of(level, int(rows[0, level]))

    def _value_of(self, level: Any) -> str | None:
        """The value of the hierarchy that a level of a column is: text to the letter, numbers by
        value.
        """
        if isinstance(level, bool | np.bool_):
            return next(
                (text for text in (str(level), str(level).lower()) if text in self.paths), None
            )
        if isinstance(level, numbers.Number | Decimal | np.number):
            number = _number(str(level))
            return None if number is None else self._by_number.get(number)
        return str(level) if str(level) in self.paths else None

    @functools.cached_property
    def _by_number(self) -> dict[Decimal, str]:
        by_number: dict[Decimal, str] = {}
        for value in self.paths:
            number = _number(value)
            if number is not None:
                by_number.setdefault(number, value)
        return by_number


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _text(value: Any) -> str:
    """A node as text; whole floats as whole numbers, as a table with gaps would hold them."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _rows_of_text(text: str) -> list[Row]:
    """The lines of a file, cut by the delimiter that cuts them best."""
    readings = [_cut(text, delimiter) for delimiter in DELIMITERS]

    def fitness(rows: list[Row]) -> tuple[int, int]:
        widths = [len(path) for _, path in rows]
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
        return (widths.count(usual) if usual > 1 else 0, usual)

    return max(readings, key=fitness)


def _cut(text: str, delimiter: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    try:
        return [(f"line {reader.line_num}", tuple(fields)) for fields in reader if any(fields)]
    except csv.Error:
        return []


def _rows_of_dict(tree: Mapping[Any, Any]) -> list[Row]:
    """The paths of a dict from values to parents, or from values to paths (with or without the
    value itself).
    """
    entries = {_text(value): above for value, above in tree.items()}
    if all(
        isinstance(above, Sequence) and not isinstance(above, str | bytes)
        for above in entries.values()
    ):
        paths = {value: tuple(map(_text, above)) for value, above in entries.items()}
        if not all(path[:1] == (value,) for value, path in paths.items()):
            paths = {value: (value, *path) for value, path in paths.items()}
        return [(f"entry {number}", path) for number, path in enumerate(paths.values(), 1)]
    parents = {value: _text(above) for value, above in entries.items()}
    inner = set(parents.values())
    rows: list[Row] = []
    for number, value in enumerate(parents, 1):
        if value in inner:
            continue
        path = [value]
        while path[-1] in parents:
            path.append(parents[path[-1]])
            if len(path) > len(parents) + 1:
                raise InputError(
                    f"entry {number} of the hierarchy leads back to itself; correct it."
                )
        rows.append((f"entry {number}", tuple(path)))
    if parents and not rows:
        raise InputError("the entries of the hierarchy lead in a circle; correct them.")
    return rows


def _rows_of_table(table: Any) -> list[Row]:
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError(NO_HIERARCHY) from None
    columns = [frame[name].to_list() for name in frame.columns]
    return [
        (f"row {number}", tuple(map(_text, row)))
        for number, row in enumerate(zip(*columns, strict=True), 1)
    ]


def _checked(rows: Sequence[Row], of: str = "") -> dict[str, tuple[str, ...]]:
    """The paths by their values, if they make a tree. Errors name places, never values."""
    if not rows:
        raise InputError(f"the hierarchy{of} is empty; it needs a path from each value to the top.")
    if not rows[0][1]:
        raise InputError(
            f"{rows[0][0]} of the hierarchy{of} is empty; it needs a path from the value "
            f"to the top."
        )
    first, width = rows[0][0], len(rows[0][1])
    paths: dict[str, tuple[str, ...]] = {}
    above: dict[tuple[int, str], tuple[str, str]] = {}
    for where, path in rows:
        if len(path) != width:
            raise InputError(
                f"{where} of the hierarchy{of} has {_levels(len(path))}, {first} has "
                f"{width}; all paths need the same number."
            )
        if "" in path[1:]:
            raise InputError(f"{where} of the hierarchy{of} has an empty node; name it.")
        for level in range(width - 1):
            parent, before = above.setdefault((level, path[level]), (path[level + 1], where))
            if parent != path[level + 1]:
                what = "a value" if level == 0 else f"a node of level {level + 1}"
                raise InputError(
                    f"{before} and {where} of the hierarchy{of} give {what} two parents; "
                    f"each needs one."
                )
        paths.setdefault(path[0], path)
    if width < 2:
        raise InputError(
            f"the hierarchy{of} has values without parents; it needs a path from each to the top."
        )
    other = [where for where, path in rows if path[-1] != rows[0][1][-1]]
    if other:
        raise InputError(
            f"{first} and {other[0]} of the hierarchy{of} end in different tops; add one "
            f"above them."
        )
    return paths


def _levels(count: int) -> str:
    return "1 level" if count == 1 else f"{count} levels"
