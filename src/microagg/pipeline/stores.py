"""Releases from and to object stores: what is made is a release in a private folder of this machine
first, verified there as any.

A store has neither locks nor renaming, and several files cannot take their places in one step. So
the public manifest of what was there goes first, then the table takes its place, then the internal
manifest, the public one last: a table beside its public manifest is whole and verified, and one
without it is that of a run which was stopped between two verified releases.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from microagg.errors import InputError, MicroaggError, ReportError, reword
from microagg.files.chunks import files_of, is_in_parts
from microagg.files.commit.overwrite_guard import BEGINNING
from microagg.files.stats.sidecar import ENDING, sidecar_of
from microagg.files.stores.locations import FILE, Url, parse_location
from microagg.release.manifest import manifest_paths
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.runtime.spill import SpillFolder
from microagg.sentences import sentence

INTERNAL = ".internal.json"
MOST_EARLIER = 100
"""Internal manifests of other releases in the same folder that are looked at."""
SPILL_IN_A_STORE = (
    "temporary files cannot go to a store, where others may read them; name a local folder with "
    "spill."
)

SAME_FILE = (
    "output and input are the same file; name another output, the original must not be lost."
)


@dataclass
class StagedPaths:
    """Where a run reads and writes: what was said where that is on this machine, else private
    places.
    """

    source: Path | Url
    target: str | Path
    """As it was said, where that is on this machine."""
    spill: Path | None
    folder: Path | None = None
    """Holds what lies here for a while."""
    notes: tuple[Note, ...] = ()
    """What to know of a release there."""

    def source_here(self) -> Path:
        """The source as files of this machine."""
        if isinstance(self.source, Path):
            return self.source
        assert self.folder is not None
        return _fetched(self.source, self.folder / "input")


@contextlib.contextmanager
def staged_paths(
    source: str | Path | Url,
    target: str | Path | Url,
    spill: str | Path | None = None,
    *,
    resume: bool = False,
) -> Iterator[StagedPaths]:
    """Places for a run from `source` to `target`; what it has put to the private one goes to the
    store in the end, if all went well.
    """
    comes, goes = parse_location(source), parse_location(target)
    beside = None if spill is None else parse_location(spill)
    if isinstance(beside, Url):
        raise InputError(SPILL_IN_A_STORE)
    if isinstance(goes, Path) and isinstance(comes, Path):
        local_target = (
            goes if isinstance(target, Url) or str(target).startswith(f"{FILE}:") else target
        )
        yield StagedPaths(comes, local_target, beside)
        return
    if isinstance(goes, Url) and isinstance(comes, Url):
        _check_same(comes, goes)
    parent = beside or (goes.parent if isinstance(goes, Path) else Path(tempfile.gettempdir()))
    records = parent if isinstance(goes, Url) else None
    with SpillFolder(parent, _known_by(goes), resume=resume, records=records) as kept:
        if isinstance(goes, Path):
            yield StagedPaths(comes, goes, kept.folder, kept.folder)
            return
        staged = kept.folder / goes.name
        local_target = f"{staged}/" if goes.address_is_folder else staged
        _prime(goes, staged)
        with _named(staged, goes):
            try:
                yield StagedPaths(
                    comes, local_target, kept.folder, kept.folder, (make_note("manifest-in-store"),)
                )
            except ReportError:  # the release itself is whole
                _publish(staged, goes)
                raise
            _publish(staged, goes)


def _known_by(target: Path | Url) -> Path:
    """Return the path by which the temporary folder of a target is recognised."""
    return target if isinstance(target, Path) else Path("/", *str(target).split("/"))


def _check_same(source: Url, target: Url) -> None:
    same = [source, *(files_of(source) if is_in_parts(source) else ())]
    if str(target) in map(str, same):
        raise InputError(SAME_FILE)


def _fetched(source: Url, folder: Path) -> Path:
    """Copy the files of a table to a folder of this machine; returns what names them there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if source.is_pattern or not is_in_parts(source):
        destination = inside = folder
        named = folder / source.name
    else:
        inside = named = folder / source.name
        inside.mkdir(mode=0o700, exist_ok=True)
        destination = inside
    for file in files_of(source):
        _fetch_anew(file, destination / file.name)
    labels = None if source.is_pattern else sidecar_of(source)
    if labels is not None and labels.size() is not None:
        _fetch_anew(labels, folder / labels.name)
    return named


def _fetch_anew(file: Url, path: Path) -> None:
    """Copy a file to a place; what a killed run has left there may be half of it, or an older
    one.
    """
    path.unlink(missing_ok=True)
    file.fetch(path)


def _prime(target: Url, staged: Path) -> None:
    """Lay out what is at the target already, as far as it is looked at before it is replaced: how
    it begins, its manifests and labels, and the manifests of other releases beside it.
    """
    if target.address_is_folder and target.files():
        raise InputError(
            f"{str(target)!r} has files in it, and many files of a store are not "
            f"replaced in one step; name another folder, or remove them "
            "first."
        )
    target.remove_left()
    beside = {file.name: file for file in target.with_name("").files()}
    sizes = {staged.name: BEGINNING}
    earlier = [name for name in beside if name.endswith(INTERNAL)][:MOST_EARLIER]
    for name in (
        *sizes,
        *(path.name for path in manifest_paths(staged)),
        staged.name + ENDING,
        *earlier,
    ):
        path = staged.with_name(name)
        if name in beside and not path.exists():
            beside[name].fetch(path, sizes.get(name))


def _publish(staged: Path, target: Url) -> None:
    """Put a release that is whole and verified to its store, the public manifest last."""
    internal, public = manifest_paths(staged)
    tables = [(target, staged)]
    if target.address_is_folder:
        tables = [(target.below(path.name), path) for path in sorted(staged.iterdir())]
    beside = [path for path in (sidecar_of(staged), internal, public) if path.exists()]
    files = [*tables, *((target.with_name(path.name), path) for path in beside)]
    sent: list[Url] = []
    begun = False
    try:
        for url, path in files:
            sent.append(url.send(path))
        begun = True
        target.with_name(public.name).remove()
        for (url, path), part in zip(files, sent, strict=True):
            url.take(part, path)
    except InputError as error:
        how = "only some of its files are in place" if begun else "none of its files is in place"
        raise InputError(
            sentence(
                error.sentence.without_period(),
                f"; the release is verified, but {how}: try again.",
            )
        ) from None
    finally:
        for part in sent:
            with contextlib.suppress(MicroaggError):
                part.remove()


@contextlib.contextmanager
def _named(staged: Path, target: Url) -> Iterator[None]:
    """Sentences name the target, not where it lies for a while."""
    try:
        yield
    except MicroaggError as error:
        folder = str(target.with_name(""))
        reword(
            error,
            lambda text: text.replace(str(staged), str(target)).replace(str(staged.parent), folder),
        )
        raise
