"""Several files that take their places together: what is moved where, written down before it is
done, so that it can be ended or undone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from microagg.errors import InputError, SavingWarning
from microagg.files.commit import system
from microagg.files.commit.locking import locked, reason
from microagg.files.formats import PART

JOURNAL = ".journal"
BACKUP = ".old"
HEADER = {"microagg": "journal", "format": 1}
TOKEN = 16  # hexadecimal digits that nobody can guess
LONGEST = 255 - len(f"..{BACKUP}{PART}{JOURNAL}") - TOKEN
"""Bytes that the name of a file may have, so that those beside it have names that a file system
takes.
"""


@dataclass(frozen=True)
class Move:
    """One file that lies beside its place. The names are those of files in one folder.

    >>> Move("out.csv", ".00c0ffee00c0ffee.out.csv.part", ".00c0ffee00c0ffee.out.csv.old", True, "9f86…").place
    'out.csv'
    """

    place: str
    part: str
    backup: str
    """What lay at the place before goes by this name until everything is in place."""
    replaces: bool
    """Whether anything lay there."""
    digest: str
    """Of the bytes of the part."""


def beside(place: Path, ending: str) -> Path:
    """A name beside a place that nobody can guess."""
    return place.with_name(f".{secrets.token_hex(TOKEN // 2)}.{place.name}{ending}")


def journal_of(target: Path) -> Path:
    """Where the journal of a target lies while its files are moved.

    >>> journal_of(Path("out.csv")).name
    '.out.csv.journal'
    """
    return target.with_name(f".{target.name}{JOURNAL}")


def begin(target: Path, moves: Sequence[Move]) -> None:
    """Write the journal, whole or not at all. Once it is there, the files either all get to their
    places or none does.
    """
    journal = journal_of(target)
    part = beside(journal, PART)
    content = {**HEADER, "moves": [asdict(move) for move in moves]}
    try:
        descriptor = system.create(part)
        try:
            system.append(descriptor, json.dumps(content, indent=1).encode())
            system.flush(descriptor)
        finally:
            os.close(descriptor)
        system.rename(part, journal)
    finally:
        _remove_quietly(part)


def complete(folder: Path, moves: Sequence[Move]) -> None:
    """Move every file to its place; what lay there is kept beside until the end."""
    for move in moves:
        place, part, backup = folder / move.place, folder / move.part, folder / move.backup
        if not os.path.lexists(part):
            continue
        if move.replaces and os.path.lexists(place) and not os.path.lexists(backup):
            try:
                system.link(place, backup)
            except OSError:  # a file system without links, or somebody else's file
                system.rename(place, backup)
        system.rename(part, place)


def undo(folder: Path, moves: Sequence[Move]) -> None:
    """Give every place back what it held; the new files lie beside again or are gone."""
    for move in moves:
        place, part, backup = folder / move.place, folder / move.part, folder / move.backup
        if os.path.lexists(backup):
            if not _is_one_file(backup, place):  # else it was kept, but never replaced
                if place.is_dir() and not place.is_symlink():  # which nothing takes the place of
                    system.rename(place, part)
                system.rename(backup, place)
        elif not move.replaces and not os.path.lexists(part) and os.path.lexists(place):
            system.rename(place, part)


def end(target: Path, moves: Sequence[Move]) -> None:
    """Remove what was kept beside, the journal last."""
    for move in moves:
        system.remove(target.parent / move.backup)
    system.remove(journal_of(target))
    for move in moves:
        system.remove(target.parent / move.part)


def forget(target: Path, moves: Sequence[Move]) -> None:
    """After all was undone: remove the journal, then what lies beside; what somebody has open is
    left over.
    """
    system.remove(journal_of(target))
    for move in moves:
        _remove_quietly(target.parent / move.backup)
        _remove_quietly(target.parent / move.part)


def recover(target: Path) -> list[str]:
    """End or undo what a killed run began; the caller holds the lock. Returns what to tell the
    user.
    """
    journal = journal_of(target)
    if not os.path.lexists(journal):
        return []
    moves, folder = _read(journal, target), target.parent
    try:
        whole = all(_can_be_placed(folder, move) for move in moves)
        try:
            (complete if whole else undo)(folder, moves)
        except OSError:
            undo(folder, moves)
            whole = False
        with contextlib.suppress(OSError):
            system.flush_folder(folder)
        end(target, moves)
    except OSError as error:
        raise InputError(
            f"a run that was stopped left {str(target)!r} half replaced, and it cannot "
            f"be mended ({reason(error)}); "
            "see that the folder can be written to, then run `microagg clean`."
        ) from None
    done = "its files were put in place" if whole else "what was there before is back"
    return [f"a run that was stopped while it replaced {str(target)!r} was ended: {done}"]


def settle(path: Path) -> None:
    """Before a file is read: end or undo what a killed run began with it."""
    for target in targets_of(path):
        if os.path.lexists(journal_of(target)):
            with locked(target) as notes:
                notes += recover(target)
            tell(notes)


def tell(notes: Sequence[str]) -> None:
    """Warn of what the user should know about files, once all of them are in order."""
    for note in notes:
        warnings.warn(note, SavingWarning, stacklevel=3)


def targets_of(path: Path) -> list[Path]:
    """The files that a file may belong to: itself, and those whose names its own is made from.

    >>> [target.name for target in targets_of(Path("out.csv.public.json"))]
    ['out.csv.public.json', 'out.csv.public', 'out.csv', 'out']
    """
    name = path.name
    if name.startswith(".") and name.endswith(JOURNAL):
        name = name[1:].removesuffix(JOURNAL)
    words = name.split(".")
    return [path.with_name(".".join(words[:n])) for n in range(len(words), 0, -1) if any(words[:n])]


def _can_be_placed(folder: Path, move: Move) -> bool:
    for name in (move.part, move.place):
        path = folder / name
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        if system.digest(path) == move.digest:
            return True
    return False


def _read(journal: Path, target: Path) -> list[Move]:
    """The moves of a journal that this user wrote. Anything else is not obeyed."""
    broken = InputError(
        f"{str(journal)!r} is not a journal that this user wrote, so {str(target)!r} may "
        f"be half replaced; "
        "let its owner run `microagg clean`, or remove it."
    )
    try:
        seen = os.lstat(journal)
        if journal.is_symlink() or (hasattr(os, "geteuid") and seen.st_uid != os.geteuid()):
            raise broken
        content = json.loads(journal.read_text("utf-8"))
        moves = [Move(**entry) for entry in content["moves"]]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise broken from None
    token = rf"[0-9a-f]{{{TOKEN}}}"
    for move in moves:
        name = re.escape(str(move.place))
        fits = (
            all(isinstance(each, str) for each in (move.place, move.part, move.backup, move.digest))
            and f"{move.place}.".casefold().startswith(
                f"{target.name}.".casefold()
            )  # some systems know no case
            and not {"/", os.sep, "\0"} & set(move.place)
            and re.fullmatch(rf"\.{token}\.{name}{re.escape(PART)}", move.part)
            and re.fullmatch(rf"\.{token}\.{name}{re.escape(BACKUP)}", move.backup)
        )
        if not fits:
            raise broken
    return moves


def _is_one_file(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.lstat(one), os.lstat(other))
    return False


def _remove_quietly(path: Path) -> None:
    with contextlib.suppress(OSError):
        system.remove(path)
