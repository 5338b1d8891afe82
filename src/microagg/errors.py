"""Errors and warnings. Messages state the problem, the place and the remedy, never a cell's
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FormatSetting = Callable[[str, Any], str]
"""Writes a setting as its reader types it: as an argument in Python, as an option in a shell."""


def as_argument(name: str, value: Any) -> str:
    """Write a setting as Python takes it.

    >>> as_argument("l", 2), as_argument("kinds", {"zip": "numeric"})
    ('l=2', "kinds={'zip': 'numeric'}")
    """
    return f"{name}={value!r}"


@dataclass(frozen=True)
class Assignment:
    """A setting with a value, which a sentence names."""

    name: str
    value: Any


class Sentence(str):
    """A text that keeps the settings it names as data, for readers who type them otherwise.

    >>> advice = sentence("fill it in, or say ", Assignment("missing", "group"), ".")
    >>> advice, advice.render(lambda name, value: f"--{name} {value}")
    ("fill it in, or say missing='group'.", 'fill it in, or say --missing group.')
    """

    parts: tuple[str | Assignment, ...]

    def __new__(cls, parts: tuple[str | Assignment, ...]) -> Sentence:
        """Write the settings as Python takes them."""
        made = super().__new__(cls, _written(parts, as_argument))
        made.parts = parts
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts; the text is made of them."""
        return Sentence, (self.parts,)

    def render(self, format_setting: FormatSetting) -> str:
        """Return the text with settings in another notation, such as that of a shell."""
        return _written(self.parts, format_setting)

    def changed(self, change: Callable[[str], str]) -> Sentence:
        """Return the sentence with its text changed piece by piece; settings stay."""
        return Sentence(
            tuple(change(part) if isinstance(part, str) else part for part in self.parts)
        )

    def without_period(self) -> Sentence:
        """Return the sentence without the period at its end, to be continued."""
        *before, last = self.parts
        return Sentence((*before, last.rstrip(".") if isinstance(last, str) else last))


def _written(parts: tuple[str | Assignment, ...], format_setting: FormatSetting) -> str:
    return "".join(
        part if isinstance(part, str) else format_setting(part.name, part.value) for part in parts
    )


def sentence(*parts: object) -> Sentence:
    """Return the sentence of these parts: texts, settings, sentences, errors with theirs.

    >>> inner = sentence("say ", Assignment("l", 2))
    >>> sentence("in the release, ", InputError(inner), ".").render(lambda *_: "--l 2")
    'in the release, say --l 2.'
    """
    flat: list[str | Assignment] = []
    for part in parts:
        if isinstance(part, MicroaggError):
            part = part.sentence
        if isinstance(part, Sentence):
            flat.extend(part.parts)
        else:
            flat.append(part if isinstance(part, Assignment) else str(part))
    return Sentence(tuple(flat))


def rendered(text: object, format_setting: FormatSetting) -> str:
    """Return a sentence, or the message of a warning, in another notation; other texts stay."""
    if isinstance(text, Warning) and text.args:
        text = text.args[0]
    return text.render(format_setting) if isinstance(text, Sentence) else str(text)


_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+""")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])(?!file:)([A-Za-z][A-Za-z0-9+.-]+:/{1,3})(.*)", re.DOTALL
)


def without_credentials(text: str) -> str:
    """Return a text in which addresses have no user, password and query.

    >>> without_credentials(
    ...     "there is no file 'https:/me:secret@host/in.csv?key=1'; check the path."
    ... )
    "there is no file 'https:/host/in.csv'; check the path."
    """
    return _TOKEN.sub(lambda token: _ADDRESS.sub(_bare_address, token[0]), text)


def _bare_address(match: re.Match[str]) -> str:
    rest, end = match[2], ""
    if rest[-1:] in ("'", '"'):
        rest, end = rest[:-1], rest[-1]
    return f"{match[1]}{rest.rpartition('@')[2].partition('?')[0]}{end}"


def credentials_in(text: str) -> list[str]:
    """Return what an address says besides scheme, host and path, so that it can be hidden; the
    longest first.

    >>> credentials_in("https://me:secret@host/in.csv?key=1")
    ['me:secret', 'secret', 'key=1']
    """
    hidden: set[str] = set()
    for _, rest in _ADDRESS.findall(text):
        address, _, query = rest.partition("?")
        user = address.rpartition("@")[0]
        hidden |= {query, user, user.partition(":")[2]}
    return sorted(hidden - {""}, key=len, reverse=True)


def needs_extra(what: str, package: str, extra: str) -> str:
    """Return the sentence that says which package is missing and how to install it.

    >>> needs_extra("SPSS files need", "pyreadstat", "stats")
    "SPSS files need pyreadstat, which is not there; pip install 'microagg[stats]' installs it."
    """
    return f"{what} {package}, which is not there; pip install 'microagg[{extra}]' installs it."


class MicroaggError(Exception):
    """Base class of all errors that microagg raises on purpose.

    Users, passwords and queries are removed from addresses in the message.

    Parameters
    ----------
    *about : object
        The message: what is wrong, where, and what to do. It never quotes a cell.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line after this error.

    Examples
    --------
    >>> str(MicroaggError("there is no file 'https:/me:secret@host/in.csv'; check the path."))
    "there is no file 'https:/host/in.csv'; check the path."
    """

    document: dict[str, Any] | None = None
    """Data that the command line answers beside the sentence, with --json."""

    exit_code = 1

    def __init__(self, *about: object) -> None:
        super().__init__(*(_clean(part) for part in about))

    @property
    def sentence(self) -> Sentence:
        """The message with the settings that it names."""
        first = self.args[0] if len(self.args) == 1 else str(self)
        return first if isinstance(first, Sentence) else Sentence((str(first),))

    def reword(self, change: Callable[[str], str]) -> None:
        """Change the text of the message piece by piece; the settings in it stay."""
        self.args = (self.sentence.changed(change),)


def _clean(part: object) -> object:
    if isinstance(part, Sentence):
        return part.changed(without_credentials)
    return without_credentials(part) if isinstance(part, str) else part


class InputError(MicroaggError, ValueError):
    """An input that cannot be processed: a file, a column or a parameter.

    Also a `ValueError`. The exit code of the command line is 2.

    Examples
    --------
    >>> import microagg as ma
    >>> try:
    ...     ma.anonymize({"age": [30, 32]}, k=2, quasi=["agee"])
    ... except ma.InputError as error:
    ...     print(error.exit_code)
    2
    """

    exit_code = 2


class OnlyInMemoryError(InputError):
    """A setting that is not supported out of core; without a memory limit it runs in memory."""


class FitsInMemoryError(OnlyInMemoryError):
    """A table that seemed too large for memory, but is a single block and is processed there."""


class GuaranteeError(MicroaggError):
    """An output table that misses a guarantee. Nothing has been written.

    The exit code of the command line is 3.

    Examples
    --------
    >>> issubclass(GuaranteeError, MicroaggError), GuaranteeError.exit_code
    (True, 3)
    """

    exit_code = 3


class DifferentReleaseError(MicroaggError):
    """A repeated run whose release differs from the original. Nothing has been written."""

    exit_code = 3


class ReportError(MicroaggError):
    """A report that could not be written; the release itself is complete and verified."""

    exit_code = 4


class CancelledError(MicroaggError):
    """Work that was stopped before its end. Nothing has been written.

    The exit code of the command line is 130. `Cancelled` is an alias.

    Examples
    --------
    >>> Cancelled is CancelledError, CancelledError.exit_code
    (True, 130)
    """

    exit_code = 130


Cancelled = CancelledError
"""Earlier name of `CancelledError`."""


class LostWorkersError(MicroaggError):
    """Dask workers that cannot be reached. Nothing has been written; `resume` continues the run."""

    exit_code = 2


class SavingWarning(UserWarning):
    """Notice about saved files: a disk that does not confirm writes, a killed run completed."""


class ReadingWarning(UserWarning):
    """Notice about how a file was read: a detected encoding, or ambiguous numbers."""


class ClusterWarning(UserWarning):
    """Notice about the Dask cluster: a scheduler that accepts anyone."""
