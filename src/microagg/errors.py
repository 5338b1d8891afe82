"""Every error a user can meet. Each says in one sentence what is wrong, where, and what to do;
never a cell's value.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+""")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])(?!file:)([A-Za-z][A-Za-z0-9+.-]+:/{1,3})(.*)", re.DOTALL
)


def without_credentials(text: str) -> str:
    """Return a text in which addresses have no user, password and query.

    >>> without_credentials("there is no file 'https:/me:secret@host/in.csv?key=1'; check the path.")
    "there is no file 'https:/host/in.csv'; check the path."
    """
    return _TOKEN.sub(lambda token: _ADDRESS.sub(_bare_address, token[0]), text)


def _bare_address(found: re.Match[str]) -> str:
    rest, end = found[2], ""
    if rest[-1:] in ("'", '"'):
        rest, end = rest[:-1], rest[-1]
    return f"{found[1]}{rest.rpartition('@')[2].partition('?')[0]}{end}"


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
    """The parent of all errors that microagg raises on purpose. What addresses say of users and
    passwords is left out.
    """

    exit_code = 1

    def __init__(self, *about: object) -> None:
        super().__init__(
            *(without_credentials(each) if isinstance(each, str) else each for each in about)
        )


class InputError(MicroaggError, ValueError):
    """Something that was given cannot be worked with: a file, a column, a parameter."""

    exit_code = 2


class OnlyInMemory(InputError):
    """What is asked for is not worked on beyond memory: where nothing was said of memory, it is
    done in memory.
    """


class FitsInMemory(OnlyInMemory):
    """What looked as if it did not fit into memory is one block, and worked on there."""


class GuaranteeError(MicroaggError):
    """The output table misses a guarantee. Nothing has been written."""

    exit_code = 3


class DifferentRelease(MicroaggError):
    """What was made again is not the release that was to be repeated. Nothing has been written."""

    exit_code = 3


class ReportError(MicroaggError):
    """The release is in place, verified and whole, but a report on it could not be written."""

    exit_code = 4


class Cancelled(MicroaggError):
    """The work was stopped before its end. Nothing has been written."""

    exit_code = 130


class LostWorkers(MicroaggError):
    """The machines that did the work cannot be reached any more. Nothing has been written; what was
    done is kept for `resume`.
    """

    exit_code = 2


class SavingWarning(UserWarning):
    """Something to know about files that were put in place: a disk that does not confirm, a killed
    run that was ended.
    """


class ReadingWarning(UserWarning):
    """Something to know about how a file was read: an encoding that was found out, numbers that can
    be read in two ways.
    """


class ClusterWarning(UserWarning):
    """Something to know about the cluster that does the work: a scheduler that lets everybody
    in.
    """
