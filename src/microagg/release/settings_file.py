"""Settings as a file: TOML that people read and correct, or the internal manifest of a release.

A file is read strictly: every key must be known, every value of its type, and nothing may be left
to be decided. Errors name the line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from microagg.errors import InputError
from microagg.proposal.rules import ANSWERS
from microagg.release.settings import FileOptions, Settings
from microagg.table.json_schemas import fits, kind_of, schema_of
from microagg.table.parameters import Parameter
from microagg.table.settings_text import (
    ANSWER,
    COLUMNS,
    DECIDE,
    VERSION,
    VERSION_KEY,
    comment,
    entry,
    toml_key,
)

LARGEST = 50_000_000  # bytes: what is larger is no file of settings
LARGEST_TOML = 2_000_000  # a parser takes some hundred bytes for each key
DEEPEST_KEY = 8
"""Parts that a key may have: settings have three at most, and tomllib takes memory and time by the
square of them.
"""
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
BETWEEN_KEYS = re.compile(r"[,=\[\]{}]")
ABOUT = (
    "Settings of a release: all that decides what it looks like. `microagg anonymize "
    "--config` takes them."
)


def read_settings(path: str | Path, *, as_proposed: bool = False) -> dict[str, Any]:
    """What a file of settings says, checked, as `Settings.of` takes it; that of a manifest with its
    seed, so that the same table gives the same release.

    What is still marked "decide" is refused, or taken `as_proposed`, which is the careful answer.
    """
    path = Path(path)
    text = _text_of(path)
    if text.lstrip()[:1] == "{":
        return _from_manifest(path)
    return _Reader(path, text).given(as_proposed=as_proposed)


def overridden(given: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file with what was typed in their place: lists whole, what is said by column
    for these columns only.

    Parameters of a method go with it: another method has others.

    >>> overridden({"k": 5, "kinds": {"sex": "nominal"}}, {"k": 10, "kinds": ["zip=nominal"]})
    {'k': 10, 'kinds': {'sex': 'nominal', 'zip': 'nominal'}}
    """
    declared = Settings.parameters()
    merged = dict(given)
    if "method" in typed and typed["method"] != given.get("method", declared["method"].default):
        merged.pop("params", None)
    for name, value in typed.items():
        before = merged.get(name)
        if isinstance(before, Mapping) and name in declared:
            value = {**before, **declared[name].parse(value)}
        merged[name] = value
    return merged


def settings_text(settings: Settings, folder: Path | None = None) -> str:
    """All settings as the text of a file, each with what it means; what is not set is left out."""
    scalars, tables = [], []
    for name, declared in Settings.parameters().items():
        value = _as_in_a_file(getattr(settings, name), declared, folder)
        if value is None or value in ((), [], {}):
            continue
        told = comment(declared.help)
        if isinstance(value, dict):
            lines = "\n".join(entry(str(each), said) for each, said in value.items())
            tables.append(f"{told}\n[{toml_key(name)}]\n{lines}")
        else:
            scalars.append(f"{told}\n{entry(name, value)}")
    return "\n\n".join([f"{comment(ABOUT)}\n{VERSION_KEY} = {VERSION}", *scalars, *tables]) + "\n"


def known_keys() -> dict[str, Parameter | None]:
    """The keys that a file of settings may have, and what declares them: the settings, and two
    more.
    """
    return {
        VERSION_KEY: None,
        **Settings.parameters(),
        DECIDE: None,
    }


def _as_in_a_file(value: Any, declared: Parameter, folder: Path | None) -> Any:
    """A setting in the words of TOML, which has none for nothing."""
    if isinstance(value, Mapping):
        form = getattr(declared, "file_form", None)
        told = {
            name: form(name, each, folder) if form else _plain(each) for name, each in value.items()
        }
        return {name: each for name, each in told.items() if each is not None}
    return _plain(value)


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r} with settings; check the path.")
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"{str(path)!r} is too large for a file of settings; name another file."
            )
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"the settings in {str(path)!r} are not in UTF-8; save them so.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{str(path)!r} cannot be read; check the path and its permissions."
        ) from None


def _from_manifest(path: Path) -> dict[str, Any]:
    """The settings of a release, its seed among them; not its day, for that is when it was made."""
    from microagg.release.manifest_reading import read_manifest, settings_of

    return settings_of(read_manifest(path), path).but(date=None).as_data()


class _Reader:
    """One TOML file, read with an eye on where things stand in it."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        if len(text) > LARGEST_TOML:
            raise InputError(f"{path.name} is too large for a file of settings; name another file.")
        _check_deep_keys(path, text)
        try:
            self._content: dict[str, Any] = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            found = re.search(r"at line (\d+)", str(error))
            place = f"line {found[1]}" if found else "its end"
            raise InputError(f"{path.name} is not TOML at {place}; mend it there.") from None
        except ValueError:  # Python makes no number of thousands of digits
            raise InputError(f"{path.name} holds a number with too many digits; mend it.") from None

    def given(self, *, as_proposed: bool) -> dict[str, Any]:
        """What the file says, checked."""
        self._check_other_versions()
        for name in self._content:
            if name not in known_keys():
                self._check_key((name,), known_keys())
        settings = {
            name: self._checked(name, declared, self._content[name])
            for name, declared in Settings.parameters().items()
            if name in self._content
        }
        return self._decided(settings, as_proposed=as_proposed)

    def _check_other_versions(self) -> None:
        version = self._content.get(VERSION_KEY)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InputError(
                f"{self._path.name} does not say which version of settings it follows; "
                f"put {VERSION_KEY} = {VERSION} at its beginning."
            )
        if version > VERSION:
            raise InputError(
                f"{self._path.name} follows version {version} of settings, and this "
                f"microagg knows up to {VERSION}; install a later one."
            )

    def _checked(self, name: str, declared: Parameter, value: Any) -> Any:
        if not fits(value, schema_of(declared)):
            self._refuse(
                (name,), f"{name} takes {declared.describes}, but {self._what_stands(value)}."
            )
        if isinstance(declared, FileOptions):
            self._check_unknown_of_files(name, declared, value)
        located = getattr(declared, "located", None)
        try:
            return declared.parse(value if located is None else located(value, self._path.parent))
        except InputError as error:
            self._refuse((name,), str(error))

    def _what_stands(self, value: Any) -> str:
        inside = " with other things in it" if isinstance(value, dict | list) else ""
        return f"{kind_of(value)}{inside} stands there"

    def _check_unknown_of_files(
        self, name: str, declared: FileOptions, said: Mapping[str, Any]
    ) -> None:
        """What is said about files is declared by their formats: each by its name and of its
        type.
        """
        known = declared.known()
        for each, value in said.items():
            if each not in known:
                self._check_key((name, each), known)
            if not fits(value, schema_of(known[each])):
                what = f"{each} takes {known[each].describes}, but {kind_of(value)} stands there."
                self._refuse((name, each), what)

    def _decided(self, settings: dict[str, Any], *, as_proposed: bool) -> dict[str, Any]:
        """The settings with the answers to what was to be decided."""
        left: dict[str, list[str]] = {}
        asked = self._content.get(DECIDE, {})
        if not isinstance(asked, dict) or not all(
            isinstance(each, dict) for each in asked.values()
        ):
            self._refuse((DECIDE,), f"{DECIDE} is a table of questions, each with its columns.")
        for about, answers in asked.items():
            if about not in ANSWERS:
                self._check_key((DECIDE, about), ANSWERS)
            single = {name for name, answer in answers.items() if not isinstance(answer, dict)}
            for label, answer in answers.items():
                columns, answer = (
                    self._answer_for_many(about, label, answer)
                    if label not in single
                    else ([label], answer)
                )
                if answer == DECIDE and not as_proposed:
                    left.setdefault(about, []).append(label)
                    continue
                if answer != DECIDE and answer not in ANSWERS[about]:
                    words = ", ".join(ANSWERS[about])
                    self._refuse(
                        (DECIDE, about, label),
                        f"column {label!r} must be decided with one of {words}.",
                    )
                for column in columns:
                    if label in single or column not in single:
                        self._apply(
                            settings,
                            about,
                            column,
                            ANSWERS[about][0] if answer == DECIDE else answer,
                        )
        if left:
            self._check_undecided(left)
        return settings

    def _answer_for_many(
        self, about: str, label: str, answer: dict[str, Any]
    ) -> tuple[list[str], Any]:
        """The columns and the answer of a question that is asked once for many columns."""
        columns = answer.get(COLUMNS)
        if (
            set(answer) != {ANSWER, COLUMNS}
            or not isinstance(columns, list)
            or not all(isinstance(each, str) for each in columns)
        ):
            self._refuse(
                (DECIDE, about, label),
                f"a question for many columns has {ANSWER}, a word, and {COLUMNS}, a "
                f"list of names.",
            )
        return columns, answer[ANSWER]

    def _apply(self, settings: dict[str, Any], about: str, column: str, answer: str) -> None:
        roles = _roles_in(settings)
        if column not in roles:
            self._refuse(
                (DECIDE, about, column),
                f"column {column!r} is to be decided about, but no role names it.",
            )
        if answer == "numbers":
            return
        if answer == "codes":
            if roles[column] != "identifier":
                settings["nominal"] = tuple(dict.fromkeys((*settings.get("nominal", ()), column)))
            return
        if roles[column] not in (answer, ANSWERS[about][0]):
            self._refuse(
                (DECIDE, about, column),
                f"column {column!r} is decided to be {answer}, but {roles[column]} names "
                f"it; choose one.",
            )
        if (
            roles[column] != answer
        ):  # else it stays where it stands: the order of columns is part of what is asked for
            _give_role(settings, column, answer)

    def _check_undecided(self, left: Mapping[str, Sequence[str]]) -> NoReturn:
        told = "; ".join(
            f"{', '.join(map(repr, columns))} ({' or '.join(ANSWERS[about])})"
            for about, columns in left.items()
        )
        raise InputError(
            f"{self._path.name} leaves to be decided: {told}; put one of the words in "
            f'the place of each "{DECIDE}", or say --as-proposed '
            "(in Python as_proposed=True) to take the first."
        )

    def _check_key(self, keys: tuple[str, ...], known: Iterable[str]) -> NoReturn:
        name, known = keys[-1], list(known)
        near = difflib.get_close_matches(name, known, 1, 0.5)
        if near:
            hint = f"the nearest known one is {near[0]!r}."
        elif len(keys) == 1 and name in _parameters_of_methods():
            hint = "it is a parameter of a method: put it under [params]."
        else:
            hint = f"there are {', '.join(known)}."
        table = f" in the table [{toml_key(*keys[:-1])}]" if len(keys) > 1 else ""
        self._refuse(keys, f"there is no {name!r}{table}; {hint}")

    def _refuse(self, keys: tuple[str, ...], sentence: str) -> NoReturn:
        line = line_of(self._text, keys)
        raise InputError(f"{self._path.name}{'' if line is None else f', line {line}'}: {sentence}")


def _check_deep_keys(path: Path, text: str) -> None:
    """Refuse keys of very many parts, such as a.a.a.a…, before the text is parsed."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") < DEEPEST_KEY:
            continue
        bare = QUOTED.sub("x", line).partition("#")[0]
        if any(part.count(".") >= DEEPEST_KEY for part in BETWEEN_KEYS.split(bare)):
            raise InputError(
                f"{path.name}, line {number}: a key has more than {DEEPEST_KEY} parts, "
                f"and settings have three at most; put names with dots in double quotes."
            )


def line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line on which a key stands, or the table of which it is the last name; None where it
    is written in another way.

    >>> line_of('k = 5\\n[kinds]\\n"net income" = "ordinal"', ("kinds", "net income")), line_of("a.b = 1", ("kinds",))
    (3, None)
    """
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found = tomllib.loads(line)
        except ValueError:  # a list goes on
            begun = re.match(r'\s*([A-Za-z0-9_-]+|"[^"]*")\s*=\s*\[', line)
            found = {begun[1].strip('"'): 0} if begun else {}
        path: tuple[str, ...] = ()
        inside: Any = found
        while isinstance(inside, dict) and len(inside) == 1:
            ((name, inside),) = inside.items()
            path = (*path, name)
        if line.lstrip().startswith("["):
            table = path
            if path == keys:
                return number
        elif path and (*table, *path)[: len(keys)] == keys:
            return number
    return None


def _roles_in(settings: Mapping[str, Any]) -> dict[str, str]:
    """The role of each column that is named."""
    found: dict[str, str] = {}
    for role in ("quasi", "identifier", "confidential", "keep", "stratum", "weight", "unit"):
        names = settings.get(role) or ()
        found |= dict.fromkeys([names] if isinstance(names, str) else names, role)
    return found


def _give_role(settings: dict[str, Any], column: str, role: str) -> None:
    """Take a column out of the role that it has, and give it another; a role for one column sets
    the other one free.
    """
    for name in ("quasi", "identifier", "confidential", "keep", "stratum"):
        if name in settings:
            settings[name] = tuple(each for each in settings[name] if each != column)
    if role in ("weight", "unit"):
        before = settings.get(role)
        if before is not None and before != column:
            settings["identifier"] = (*settings.get("identifier", ()), before)
        settings[role] = column
    else:
        settings[role] = (*settings.get(role, ()), column)


def _parameters_of_methods() -> set[str]:
    from microagg.methods.registry import methods

    return {each.name for method in methods() for each in method.parameters}
