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
from microagg.files.reading import NOT_READABLE
from microagg.proposal.rules import ANSWERS
from microagg.release.setting_types import FileOptions
from microagg.release.settings import Settings
from microagg.release.settings_base import BaseSettings
from microagg.release.toml_lines import check_deep_keys, line_of
from microagg.sentences import sentence
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

TOO_LARGE = "{} is too large for a file of settings; name another file."
LARGEST = 50_000_000  # bytes: what is larger is no file of settings
LARGEST_TOML = 2_000_000  # a parser takes some hundred bytes for each key
ABOUT = (
    "Settings of a release: all that decides what it looks like. `microagg anonymize "
    "--config` takes them."
)


def read_settings(path: str | Path, *, as_proposed: bool = False) -> dict[str, Any]:
    """Return the checked settings of a file, as `Settings.of` takes them; those of a manifest with
    its seed, so that the same table gives the same release.

    What is still marked "decide" is refused, or taken `as_proposed`, which is the careful answer.
    """
    path = Path(path)
    text = _text_of(path)
    if text.lstrip()[:1] == "{":
        return _from_manifest(path)
    return _Reader(path, text).given(as_proposed=as_proposed)


def overridden(in_file: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file overridden by typed ones: lists as a whole, options by column
    for these columns only.

    Parameters of a method go with it: another method has others.

    >>> overridden({"k": 5, "kinds": {"sex": "nominal"}}, {"k": 10, "kinds": ["zip=nominal"]})
    {'k': 10, 'kinds': {'sex': 'nominal', 'zip': 'nominal'}}
    """
    declared = Settings.parameters()
    merged = dict(in_file)
    if "method" in typed and typed["method"] != in_file.get("method", declared["method"].default):
        merged.pop("params", None)
    for name, value in typed.items():
        before = merged.get(name)
        if isinstance(before, Mapping) and name in declared:
            value = {**before, **declared[name].parse(value)}
        merged[name] = value
    return merged


def settings_text(settings: BaseSettings, folder: Path | None = None) -> str:
    """Return all settings as the text of a file, each with its help; those without a value are left
    out.
    """
    scalars, tables = [], []
    for name, declared in settings.parameters().items():
        value = _as_in_a_file(getattr(settings, name), declared, folder)
        if value is None or value in ((), [], {}):
            continue
        description = comment(declared.help)
        if isinstance(value, dict):
            lines = "\n".join(entry(str(key), item) for key, item in value.items())
            tables.append(f"{description}\n[{toml_key(name)}]\n{lines}")
        else:
            scalars.append(f"{description}\n{entry(name, value)}")
    return "\n\n".join([f"{comment(ABOUT)}\n{VERSION_KEY} = {VERSION}", *scalars, *tables]) + "\n"


def known_keys() -> dict[str, Parameter | None]:
    """Return the keys that a file of settings may have, with their declarations: the settings, and
    two more.
    """
    return {
        VERSION_KEY: None,
        **Settings.parameters(),
        DECIDE: None,
    }


def _as_in_a_file(value: Any, declared: Parameter, folder: Path | None) -> Any:
    """Return a setting as TOML can hold it, which has no null."""
    if isinstance(value, Mapping):
        form = getattr(declared, "file_form", None)
        entries = {
            name: form(name, item, folder) if form else _plain(item) for name, item in value.items()
        }
        return {name: item for name, item in entries.items() if item is not None}
    return _plain(value)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r} with settings; check the path.")
        if path.stat().st_size > LARGEST:
            raise InputError(TOO_LARGE.format(repr(str(path))))
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"the settings in {str(path)!r} are not in UTF-8; save them so.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(NOT_READABLE.format(str(path))) from None


def _from_manifest(path: Path) -> dict[str, Any]:
    """Return the settings of a release with its seed, but without the day on which it was made."""
    from microagg.release.manifest_reading import read_manifest, settings_of

    return settings_of(read_manifest(path), path).but(date=None).as_data()


class _Reader:
    """Reader of one TOML file that knows the lines of its keys."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        if len(text) > LARGEST_TOML:
            raise InputError(TOO_LARGE.format(path.name))
        check_deep_keys(path, text)
        try:
            self._content: dict[str, Any] = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            match = re.search(r"at line (\d+)", str(error))
            position = f"line {match[1]}" if match else "its end"
            raise InputError(f"{path.name} is not TOML at {position}; correct it there.") from None
        except ValueError:  # Python makes no number of thousands of digits
            raise InputError(
                f"{path.name} holds a number with too many digits; correct it."
            ) from None

    def given(self, *, as_proposed: bool) -> dict[str, Any]:
        """Return the checked settings of the file."""
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
            self._refuse((name,), error.sentence)

    def _what_stands(self, value: Any) -> str:
        inside = " with other values in it" if isinstance(value, dict | list) else ""
        return f"{kind_of(value)}{inside} stands there"

    def _check_unknown_of_files(
        self, name: str, declared: FileOptions, options: Mapping[str, Any]
    ) -> None:
        """Raise if an option on files is declared by no format, or has another type."""
        known = declared.known()
        for option, value in options.items():
            if option not in known:
                self._check_key((name, option), known)
            if not fits(value, schema_of(known[option])):
                what = (
                    f"{option} takes {known[option].describes}, but {kind_of(value)} stands there."
                )
                self._refuse((name, option), what)

    def _decided(self, settings: dict[str, Any], *, as_proposed: bool) -> dict[str, Any]:
        """Return the settings with the answers to open questions."""
        left: dict[str, list[str]] = {}
        questions = self._content.get(DECIDE, {})
        if not isinstance(questions, dict) or not all(
            isinstance(answers, dict) for answers in questions.values()
        ):
            self._refuse((DECIDE,), f"{DECIDE} is a table of questions, each with its columns.")
        for about, answers in questions.items():
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
        """Return the columns and the answer of a question on many columns."""
        columns = answer.get(COLUMNS)
        if (
            set(answer) != {ANSWER, COLUMNS}
            or not isinstance(columns, list)
            or not all(isinstance(name, str) for name in columns)
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
                f"column {column!r} has a decision, but no role; give it a role or remove the "
                "decision.",
            )
        if answer == "numbers":
            kinds = Settings.parameters()["kinds"].parse(settings.get("kinds"))
            settings["kinds"] = {**kinds, column: "numeric"}
            return
        if answer == "codes":
            if roles[column] != "identifier":
                settings["nominal"] = tuple(dict.fromkeys((*settings.get("nominal", ()), column)))
            return
        if roles[column] not in (answer, ANSWERS[about][0]):
            self._refuse(
                (DECIDE, about, column),
                f"column {column!r} is decided to be {answer}, but is listed "
                f"as {roles[column]}; choose one.",
            )
        if (
            roles[column] != answer
        ):  # else it stays where it stands: the order of columns is part of what is asked for
            _give_role(settings, column, answer)

    def _check_undecided(self, left: Mapping[str, Sequence[str]]) -> NoReturn:
        undecided = "; ".join(
            f"{', '.join(map(repr, columns))} ({' or '.join(ANSWERS[about])})"
            for about, columns in left.items()
        )
        raise InputError(
            f"{self._path.name} has open decisions: {undecided}. Replace each "
            f'"{DECIDE}" by one of these words, or take the first of each with --as-proposed '
            "(in Python as_proposed=True)."
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

    def _refuse(self, keys: tuple[str, ...], what: str) -> NoReturn:
        line = line_of(self._text, keys)
        where = f"{self._path.name}{'' if line is None else f', line {line}'}: "
        raise InputError(sentence(where, what))


def _roles_in(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the role of each named column."""
    roles: dict[str, str] = {}
    for role in ("quasi", "identifier", "confidential", "keep", "stratum", "weight", "unit"):
        names = settings.get(role) or ()
        roles |= dict.fromkeys([names] if isinstance(names, str) else names, role)
    return roles


def _give_role(settings: dict[str, Any], column: str, role: str) -> None:
    """Take a column out of the role that it has, and give it another; a role for one column sets
    the other one free.
    """
    for name in ("quasi", "identifier", "confidential", "keep", "stratum"):
        if name in settings:
            settings[name] = tuple(other for other in settings[name] if other != column)
    if role in ("weight", "unit"):
        before = settings.get(role)
        if before is not None and before != column:
            settings["identifier"] = (*settings.get("identifier", ()), before)
        settings[role] = column
    else:
        settings[role] = (*settings.get(role, ()), column)


def _parameters_of_methods() -> set[str]:
    from microagg.methods.registry import methods

    return {parameter.name for method in methods() for parameter in method.parameters}
