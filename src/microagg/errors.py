"""Errors and warnings. Messages state the problem, the place and the remedy, never a cell's
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from microagg.sentences import Sentence

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


def reword(error: MicroaggError, change: Callable[[str], str]) -> None:
    """Change the text of a message piece by piece; the settings in it stay."""
    error.args = (error.sentence.changed(change),)


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

    def _render_traceback_(self) -> list[str]:
        """Return the one sentence that a notebook shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


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


class CodesWarning(UserWarning):
    """Notice about whole numbers that may be codes and were averaged: declare what they are."""


class ClusterWarning(UserWarning):
    """Notice about the Dask cluster: a scheduler that accepts anyone."""
