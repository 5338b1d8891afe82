"""Every error a user can meet. Each says in one sentence what is wrong, where, and what to do; never a cell's value."""

from __future__ import annotations


def needs_extra(what: str, package: str, extra: str) -> str:
    """Return the sentence that says which package is missing and how to install it.

    >>> needs_extra("SPSS files need", "pyreadstat", "stats")
    "SPSS files need pyreadstat, which is not there; pip install 'microagg[stats]' installs it."
    """
    return f"{what} {package}, which is not there; pip install 'microagg[{extra}]' installs it."


class MicroaggError(Exception):
    """The parent of all errors that microagg raises on purpose."""

    exit_code = 1


class InputError(MicroaggError, ValueError):
    """Something that was given cannot be worked with: a file, a column, a parameter."""

    exit_code = 2


class OnlyInMemory(InputError):
    """What is asked for is not worked on beyond memory: where nothing was said of memory, it is done in memory."""


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
    """The machines that did the work cannot be reached any more. Nothing has been written; what was done is kept for `resume`."""

    exit_code = 2


class SavingWarning(UserWarning):
    """Something to know about files that were put in place: a disk that does not confirm, a killed run that was ended."""


class ReadingWarning(UserWarning):
    """Something to know about how a file was read: an encoding that was found out, numbers that can be read in two ways."""
