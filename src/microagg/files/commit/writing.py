"""Atomic writing of tables and texts: one file, or several that belong together."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.files.columnar.parquet_folder import format_of_part
from microagg.files.commit import journal, system
from microagg.files.commit.locking import LOCK, lock_of, locked, reason
from microagg.files.formats import PART, known_names, options_for
from microagg.table.columns.arrow import strip_metadata
from microagg.table.columns.text_types import with_values

LEFT_OVER = re.compile(
    rf"\.[0-9a-f]{{{journal.TOKEN}}}\.(.+)({re.escape(PART)}|{re.escape(journal.BACKUP)})",
    re.DOTALL,
)


@dataclass(frozen=True)
class StagedFile:
    """One of the files that are put in place together.

    >>> StagedFile(Path("note.txt"), lambda part: part.write_text("all is well")).private
    False
    """

    target: Path
    write: Callable[[Path], object]
    """Fills the staged file; called when all files before it have been written and inspected."""
    inspect: Callable[[Path], object] = lambda part: None
    """Raises if the staged file is not as it should be."""
    private: bool = False
    """True if only its owner may read it."""
    folder: bool = False
    """True if it is a folder of files."""
    digest: Callable[[Path], str] = lambda part: system.digest(part)
    """Digest of the staged file, as `system.digest` gives it."""
    refuse: Callable[[], object] = lambda: None
    """Raises if the existing target must not be replaced; called once more at the last moment."""


def check_unwritable(path: Path, *, parts: bool = False) -> None:
    """Check before any work that a file, or a folder of `parts`, can be written."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist; create it first.")
    if path.is_dir() and not parts:
        raise InputError(f"{str(path)!r} is a folder; name a file.")
    if system.WINDOWS and system.is_taken_by_windows(path.name):
        raise InputError(f"Windows has no file of the name {path.name!r}; choose another.")
    if len(os.fsencode(path.name)) > journal.LONGEST:
        raise InputError(
            f"the name of {str(path)!r} is too long; {journal.LONGEST} bytes are possible."
        )
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {str(folder)!r} cannot be written to; check its permissions.")


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        system.make_folder(folder)
    except OSError:
        raise InputError(f"the folder {str(folder)!r} cannot be made; name another.") from None


def write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table in the format that the path's ending asks for; the ending of a part is looked
    through.

    `options` are those of the format, such as the delimiter of a csv file.
    """
    format = format_of_part(path)
    try:
        marked = not format.typed or format.holds is not None
        table = with_values(table) if format.typed else table
        format.write(strip_metadata(table, marked=marked), path, **options_for(format, options))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, bytes and the like
        advice = (
            "leave out those of odd types"
            if format.nested
            else f"write a {known_names(nested=True)} file"
        )
        raise InputError(
            f"{format.one_file} cannot hold all columns of this table; {advice}."
        ) from None


def replace_whole(
    path: Path,
    write: Callable[[Path], object],
    inspect: Callable[[Path], object] = lambda part: None,
    *,
    private: bool = False,
) -> None:
    """Write one file beside `path`, flush it to disk, inspect what was written, then put it in
    place.

    `inspect` raises if the file is not as it should be. Whatever happens in between, `path` holds
    either what it held before or the whole new file.
    """
    put_in_place([StagedFile(path, write, inspect, private)])


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text as a file in UTF-8, whole or not at all."""
    replace_whole(path, *text_piece(text), private=private)


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all."""
    replace_whole(path, *bytes_piece(content), private=private)


def text_piece(text: str) -> tuple[Callable[[Path], None], Callable[[Path], None]]:
    """Return a function that writes a text to a file, and one that checks its content."""
    return bytes_piece(text.encode("utf-8"))


def bytes_piece(content: bytes) -> tuple[Callable[[Path], None], Callable[[Path], None]]:
    """Return a function that writes a file, and one that checks its content."""

    def write(part: Path) -> None:
        part.write_bytes(content)

    def inspect(part: Path) -> None:
        if part.read_bytes() != content:
            raise InputError(
                f"the files in the folder {str(part.parent)!r} differ from what was written; "
                f"nothing was put in place."
            )

    return write, inspect


def put_in_place(pieces: Sequence[StagedFile]) -> None:
    """Stage all files, inspect each, and put them in place as one. The others belong to the first.

    All are in one folder. After an error all targets are as before. After a kill, the next run that
    meets the first target, or `clean_folder`, restores all old files or completes all new ones.
    """
    target = pieces[0].target
    with locked(target) as notes:
        notes += journal.recover(target)
        _clear_left_overs(
            target.parent,
            {journal.journal_of(target).name, *(piece.target.name for piece in pieces)},
        )
        parts: list[Path] = []
        try:
            for piece in pieces:
                parts.append(journal.beside(piece.target, PART))
                _write_part(piece, parts[-1])
            _place(pieces, parts, notes)
        except OSError as error:
            raise InputError(
                f"{str(target)!r} could not be written ({reason(error)}); it is as it was."
            ) from None
        finally:
            # else they are needed to end what was begun
            if not os.path.lexists(journal.journal_of(target)):
                for part in parts:
                    with contextlib.suppress(OSError):
                        system.remove(part)
    journal.tell(notes)


def clean_folder(folder: Path) -> list[str]:
    """Complete or undo moves of killed runs in a folder, and remove left-overs; return what was
    done.
    """
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is not a folder; name one.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise InputError(
            f"the folder {str(folder)!r} cannot be looked into or written to; check its "
            f"permissions."
        )
    done: list[str] = []
    beyond: list[InputError] = []
    for target in _targets_in(folder, journal.JOURNAL):
        try:
            with locked(target) as notes:
                notes += journal.recover(target)
            done += notes
        except InputError as error:  # the others can still be mended
            beyond.append(error)
    for path in sorted(folder.iterdir()):
        if (match := LEFT_OVER.fullmatch(path.name)) and _remove_unless_in_use(
            path, folder / match[1]
        ):
            done.append(f"removed {str(path)!r}, which a run that was stopped had left")
    for target in _targets_in(folder, LOCK):
        with contextlib.suppress(InputError), locked(target, wait=0.0):
            pass  # a lock that nobody holds goes when it is given back
    if beyond:
        raise beyond[0]
    return done


def _targets_in(folder: Path, ending: str) -> list[Path]:
    """Return the files of a folder that have a journal or a lock."""
    names = (path.name[1:].removesuffix(ending) for path in sorted(folder.glob(f".*{ending}")))
    return [folder / name for name in names if name]


def _remove_unless_in_use(left_over: Path, path: Path) -> bool:
    """Remove a left-over unless a file that it may belong to is being written; return True if
    removed.
    """
    with contextlib.ExitStack() as stack:
        try:
            for target in journal.targets_of(path):
                # it may be all that is left of a release
                if os.path.lexists(journal.journal_of(target)):
                    return False
                if lock_of(target).exists():
                    stack.enter_context(locked(target, wait=0.0))
            system.remove(left_over)
        except (InputError, OSError):
            return False
    return True


def _write_part(piece: StagedFile, part: Path) -> None:
    if piece.folder:
        _write_folder(piece, part)
        return
    descriptor = system.create(part)
    try:
        system.fill(part, piece.write)
        if not system.is_at(descriptor, part):
            raise InputError(
                f"another program is changing files in the folder {str(part.parent)!r}; "
                f"{str(piece.target)!r} is as it was."
            )
        system.flush(descriptor)
        system.read_back(part, piece.inspect)
        # not readable by others before it has been inspected
        system.set_mode(descriptor, 0o600 if piece.private else system.usual_mode())
    finally:
        os.close(descriptor)


def _write_folder(piece: StagedFile, part: Path) -> None:
    """Write, inspect and protect a staged folder; its writer flushes the files.

    No one else reads it before it is inspected.
    """
    system.create_folder(part)
    system.fill(part, piece.write)
    system.flush_folder(part)
    system.read_back(part, piece.inspect)
    mode = system.usual_mode()
    for file in part.iterdir():
        file.chmod(mode)
    part.chmod(mode | (mode & 0o444) >> 2)


def _place(pieces: Sequence[StagedFile], parts: Sequence[Path], notes: list[str]) -> None:
    """Rename all staged files to their targets. One file needs no journal: renaming is atomic."""
    target = pieces[0].target
    if len(parts) == 1 and not pieces[0].folder:
        try:
            system.rename(parts[0], target)
        except OSError:
            # else it was done, and only the answer of a server was lost
            if os.path.lexists(parts[0]):
                raise
        _flush_names(target, notes)
        return
    moves = [
        journal.Move(
            piece.target.name,
            part.name,
            journal.beside(piece.target, journal.BACKUP).name,
            os.path.lexists(piece.target),
            piece.digest(part),
        )
        for piece, part in zip(pieces, parts, strict=True)
    ]
    _flush_names(target, notes)
    for piece in pieces:
        piece.refuse()
    try:
        journal.begin(target, moves)
        _flush_names(target, notes)
        journal.complete(target.parent, moves)
        _flush_names(target, notes)
    except BaseException:
        _take_back(target, moves)
        raise
    try:
        journal.end(target, moves)
    except OSError as error:
        notes.append(
            f"{str(target)!r} is in place and whole, but what it replaced could not be "
            f"removed ({reason(error)}); "
            "run `microagg clean` on its folder"
        )


def _take_back(target: Path, moves: Sequence[journal.Move]) -> None:
    if not os.path.lexists(journal.journal_of(target)):
        return
    try:
        journal.undo(target.parent, moves)
        journal.forget(target, moves)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} could be neither replaced nor left as it was "
            f"({reason(error)}); run `microagg clean` on its "
            "folder, which puts the old files or the new ones in place, all of them."
        ) from None


def _flush_names(target: Path, notes: list[str]) -> None:
    """Flush the folder of a target. A failure is only noted, once: it matters only after a power
    cut.
    """
    try:
        system.flush_folder(target.parent)
    except OSError as error:
        note = (
            f"the folder of {str(target)!r} could not be flushed to disk "
            f"({reason(error)}); if the power fails now, what was "
            "there before may come back"
        )
        if note not in notes:
            notes.append(note)


def _clear_left_overs(folder: Path, names: set[str]) -> None:
    """Remove left-overs of killed runs; the lock is held, so no other process is writing these
    files.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if (match := LEFT_OVER.fullmatch(path.name)) and match[1] in names:
                system.remove(path)
