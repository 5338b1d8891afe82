"""The command line: what the program runs, and how it ends. The commands themselves are in
commands_*.py; none has logic of its own.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from microagg.cli import commands_release  # commands register themselves, in the order of help

# isort: split
from microagg.cli import commands_tables

# isort: split
from microagg.cli import commands_evidence

# isort: split
from microagg.cli import commands_methods

# isort: split
from microagg.cli import commands_studio

# isort: split
from microagg.cli.app import answer, app, error_document, wants_json
from microagg.cli.commands_tables import NOT_SHARED
from microagg.cli.options import as_option
from microagg.cli.watching import forget, warnings_as_notes, what_was_written
from microagg.errors import MicroaggError, credentials_in, without_credentials

__all__ = [
    "NOT_SHARED",
    "app",
    "commands_evidence",
    "commands_methods",
    "commands_release",
    "commands_studio",
    "commands_tables",
    "main",
]

# typer brings its own copy of click or uses the installed one: its usage errors are found through
# their child
WrongUse: Any = typer.BadParameter.__mro__[2]
STOPPED = 130
LEVELS = ("debug", "info", "warning", "error")


def main() -> None:
    """Run a command and turn every error into one sentence and an exit code."""
    forget()
    with warnings_as_notes():
        _run_command()


def _run_command() -> None:
    # a terminal that lacks a letter must not make a finished run fail
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
        if code == STOPPED:  # what typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
        sys.stdout.flush()  # a full disk is met here, not after the last word
        sys.exit(code if isinstance(code, int) else 0)
    except MicroaggError as error:
        _fail(error.sentence.render(as_option), error.exit_code, getattr(error, "document", None))
    except WrongUse as error:
        _fail(" ".join(error.format_message().split()).rstrip(".") + ".", 2)
    except (KeyboardInterrupt, typer.Abort) as error:
        # nothing is asked here: a file of ours ended too early
        if isinstance(error.__cause__, EOFError):
            _fail_by_bug(error.__cause__)
        _fail(f"stopped; {what_was_written()}.", STOPPED)
    except BrokenPipeError:
        _give_up_output()
        sys.exit(0)
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # which typer takes for a failure
            _give_up_output()
            sys.exit(0)
        raise
    except OSError as error:
        if os.environ.get("MICROAGG_DEBUG"):
            raise
        _give_up_output()
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        _fail(f"a file or the output cannot be used ({why}); {what_was_written()}.", 2)
    except MemoryError:
        _fail(f"there is not enough memory for this table; {what_was_written()}.", 1)
    except Exception as error:
        _fail_by_bug(error)


def _give_up_output() -> None:
    """Python would try to flush what is left once more, and say so in a traceback."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fail_by_bug(error: BaseException) -> NoReturn:
    if os.environ.get("MICROAGG_DEBUG"):
        raise error
    # the message of an unforeseen error may quote the data: only its kind is told
    kind = type(error).__name__
    _fail(
        f"a bug in microagg ({kind}); {what_was_written()}. Set MICROAGG_DEBUG=1 to see "
        f"where, and report it.",
        1,
    )


def _fail(sentence: str, code: int, more: Any = None) -> NoReturn:
    from microagg.formatting import printable

    message = printable(" ".join(_without_typed_secrets(sentence).split()))
    print(f"error: {message}", file=sys.stderr)
    if wants_json():
        try:
            answer(error_document(message, code, more))
            sys.stdout.flush()
        except OSError:  # nobody reads it, its disk is full, or there is no standard output
            _give_up_output()
    sys.exit(code)


def _without_typed_secrets(sentence: str) -> str:
    """A sentence without what typed addresses say of users, passwords and keys, wherever it got
    to.
    """
    sentence = without_credentials(sentence)
    for typed in sys.argv[1:]:
        for secret in credentials_in(typed):
            sentence = sentence.replace(secret, "…")
    return sentence


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    log_level: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(LEVELS),
            help="Log each step to standard error, with counts and seconds, never a value of the "
            "data.",
            autocompletion=lambda: list(LEVELS),
        ),
    ] = None,
) -> None:
    if version:
        from microagg import __version__

        print(__version__)
        raise typer.Exit
    if log_level is not None:
        _tell_steps(log_level, context)
    if context.invoked_subcommand is None:
        print(context.get_help())


def _tell_steps(level: str, context: typer.Context) -> None:
    """Let the loggers speak on standard error while this command runs."""
    import logging

    from microagg.errors import InputError

    if level not in LEVELS:
        raise InputError(f"--log-level must be one of {', '.join(LEVELS)}.")
    logger, before = logging.getLogger("microagg"), logging.getLogger("microagg").level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    context.call_on_close(lambda: (logger.removeHandler(handler), logger.setLevel(before)))
