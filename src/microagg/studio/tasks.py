"""Tasks of the worker process: each calls the library and returns plain data for a page."""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError, MicroaggError
from microagg.files.reading import read_table
from microagg.files.text.dialect import dialect_of
from microagg.guarantees.check import check
from microagg.kernels.compiling import on_first_compile
from microagg.pipeline.choices import choice_sentences
from microagg.pipeline.exposure import ExposureCounter
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.preparation import open_table, prepare
from microagg.pipeline.preview import Previewer
from microagg.pipeline.sources import read_for_settings
from microagg.problem.watch import STOPPED_BY_HAND, StopSearch
from microagg.proposal.proposal import Proposal, propose_for_file
from microagg.proposal.question import Question
from microagg.release.manifest import manifest_paths
from microagg.release.note_columns import RELEASED_UNCHANGED, notes_on_naming
from microagg.release.risks import check_unaccepted
from microagg.release.saving import report_on_saved, report_paths
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.studies.demonstration import prepare_demonstration
from microagg.studio import look
from microagg.studio.commands import command_for, python_for
from microagg.studio.fields import (
    reading_fields,
    reading_from_answers,
    setting_fields,
    settings_from_answers,
)
from microagg.studio.file_facts import file_facts
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.profile import ColumnProfile, profile_column
from microagg.table.schema import WITHHELD, Role

OFTEN = 0.1
FIRST_ROWS, SHOWN_COLUMNS = 8, 12
STRIP = (3, 5, 10, 25)
BUG = "A bug in microagg ({kind}); nothing was written. The studio goes on; please report it."
ADVICE = {
    "codes": "Choose the kind nominal for those that hold codes.",
    "weight": "Choose the role weight if it is a sampling weight.",
}
"""Advice on questions that the proposal has other advice on, for a call or a command."""
NO_MEMORY = "There is not enough memory for this table; nothing was written."


class SearchProgress:
    """Progress callback of a run: sends its state, and ends a search that is to stop."""

    def __init__(self, send: Callable[..., None], stop: threading.Event) -> None:
        self._send, self._stop = send, stop
        self._searching, self._text, self._next = False, "", 0.0

    def __call__(self, done: int, total: int) -> None:
        """Report progress; raise `StopSearch` if somebody wants the best so far."""
        if self._stop.is_set() and self._searching and done < total:
            self._stop.clear()
            raise StopSearch(STOPPED_BY_HAND)
        if time.monotonic() >= self._next or done >= total:
            self._next = time.monotonic() + OFTEN
            self._send(share=done / total if total else 1.0, text=self._text)

    def tell(self, text: str) -> None:
        """Keep a line of figures of the search, such as its loss so far."""
        self._text = text

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Within, there is a best so far that can be kept."""
        self._searching = True
        try:
            yield
        finally:
            self._searching = False


class Tasks:
    """Table, proposal and release of the session, as the worker holds them."""

    def __init__(self, send: Callable[..., None], stop: threading.Event) -> None:
        self._send, self._stop = send, stop
        self._opened: tuple[Any, pa.Table, Proposal] | None = None
        self._counter: ExposureCounter | None = None
        self._previewer: tuple[Any, Previewer] | None = None
        self._typed: pa.Table | None = None
        self._read: tuple[Any, pa.Table] | None = None
        self._profiles: dict[str, ColumnProfile] = {}
        self._release: Any = None
        on_first_compile(lambda: send(compiling=True))

    def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run one task; return its result, or the sentence of its error."""
        try:
            return {"result": getattr(self, f"task_{name}")(**arguments)}
        except MicroaggError as error:
            return {"error": _sentence(str(error))}
        except MemoryError:
            return {"error": NO_MEMORY}
        except Exception as error:
            # the message of an unforeseen error may quote the data: only its kind is passed on
            return {"error": BUG.format(kind=type(error).__name__)}

    def task_open(self, path: str, reading: dict[str, Any]) -> dict[str, Any]:
        """Read a file; return its columns with the proposal, its dialect and its first rows."""
        self._opened = self._counter = self._previewer = None
        self._typed = self._read = None
        self._profiles = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = read_table(path, **reading)
            proposal = propose_for_file(path, **reading)
        self._opened = (path, reading), table, proposal
        facts = file_facts(Path(path), table, dialect_of(table), reading)
        names = table.column_names[:SHOWN_COLUMNS]
        head = table.select(names).slice(0, FIRST_ROWS)
        cells = [look.texts_of(column) for column in head.columns]
        return {
            "records": table.num_rows,
            "columns": [_column(entry, table) for entry in proposal.columns],
            "questions": [_question(question, table) for question in proposal.questions],
            "facts": facts,
            "doubts": list(dict.fromkeys(_sentence(str(item.message)) for item in caught)),
            "reading_fields": reading_fields(reading),
            "head_names": names,
            "head": [list(row) for row in zip(*cells, strict=True)],
        }

    def task_reading_fields(self, reading: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the fields of all options of reading a file."""
        return reading_fields(reading)

    def task_reading(self, answers: dict[str, str]) -> dict[str, Any]:
        """Return the checked options of reading that a form means."""
        return reading_from_answers(answers)

    def task_demonstration(self, folder: str) -> str:
        """Write the table of made-up people; return its path."""
        return str(prepare_demonstration(Path(folder))[0])

    def task_pictures(
        self, path: str, reading: dict[str, Any], columns: list[int]
    ) -> list[dict[str, str]]:
        """Return a small chart of each of these columns."""
        typed, _ = self._table(path, reading)
        with contextlib.suppress(MicroaggError):  # a column that no role but "leave out" suits
            typed = self._typed_table(path, reading)
        return [look.small_chart(typed.column(number)) for number in columns]

    def task_fields(self, answers: dict[str, str]) -> list[dict[str, Any]]:
        """Return the fields of the form on protection."""
        try:
            return setting_fields(answers)
        except InputError:  # a method that does not exist, typed by hand
            return setting_fields({**answers, "method": ""})

    def task_exposure(
        self, path: str, reading: dict[str, Any], choices: dict[str, Any]
    ) -> dict[str, Any]:
        """Count who stands alone with these roles."""
        names = self._table(path, reading)[0].column_names
        if self._counter is None:
            self._counter = ExposureCounter(self._typed_table(path, reading))
        by_role = [(name, role) for name, role in zip(names, choices["roles"], strict=True) if role]
        known = [name for name, role in by_role if role in (Role.QUASI, Role.STRATUM)]
        released = [name for name, role in by_role if Role(role) not in WITHHELD]
        k = Settings.parameters()["k"].parse(choices["settings"].get("k") or "")
        if not known:
            raise InputError("no column is quasi-identifying yet; give one that role.")
        counts = self._counter.count(known, k, released)
        unchanged = [name for name, role in by_role if role in RELEASED_UNCHANGED]
        notes = notes_on_naming([self._profile(path, reading, name) for name in unchanged])
        return {
            "sentences": list(counts.sentences),
            "notes": [_sentence(str(note)) for note in notes],
            **counts.as_data(),
        }

    def task_preview(
        self, path: str, reading: dict[str, Any], choices: dict[str, Any], step: int
    ) -> dict[str, Any]:
        """Estimate loss and changed cells for the choice and for a strip of k."""
        settings, previewer = self._prepared(path, reading, choices)
        state = previewer.step(step, STRIP)
        shown = state.preview
        below_k = None
        with contextlib.suppress(MicroaggError):
            below_k = self.task_exposure(path, reading, choices)["below_k"]
        return {
            "sentences": list(shown.sentences),
            "strip": look.strip(state.strip),
            "next": None if state.is_last else step + 1,
            "facts": choice_sentences(shown, settings, below_k),
            **shown.as_data(),
        }

    def task_check(self, path: str, reading: dict[str, Any], choices: dict[str, Any]) -> None:
        """Raise if no release is possible with these choices."""
        settings, _ = self._prepared(path, reading, choices)
        check_unaccepted(settings)

    def _prepared(
        self, path: str, reading: dict[str, Any], choices: dict[str, Any]
    ) -> tuple[Settings, Previewer]:
        """Return the settings, and the table prepared for them; kept until they change."""
        settings = self._settings(path, reading, choices)
        key = settings.as_data()
        if self._previewer is None or self._previewer[0] != (path, key):
            before, self._previewer = self._previewer, None
            table = self._read_for(path, settings)
            previewer = Previewer(prepare(open_table(table, settings)))
            if before is not None:
                previewer.take_blocks_from(before[1])
            self._previewer = (path, key), previewer
        return settings, self._previewer[1]

    def _read_for(self, path: str, settings: Settings) -> pa.Table:
        """Return the table as the settings read it; read again only where they read otherwise."""
        key = path, repr((settings.numbers, settings.columns, settings.reading, settings.rename))
        if self._read is None or self._read[0] != key:
            self._read = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._read = key, read_for_settings(path, settings)
        return self._read[1]

    def task_run(
        self, path: str, reading: dict[str, Any], choices: dict[str, Any], target: str
    ) -> dict[str, Any]:
        """Make the release and write it, verified, into the session's folder."""
        settings = self._settings(path, reading, choices)
        self._release = self._previewer = self._read = None  # a run needs their memory
        progress = SearchProgress(self._send, self._stop)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = anonymize_file(path, target, settings=settings, progress=progress)
        self._release = release
        classes = release.anonymity.sizes
        return {
            "records": int(release.manifest["records"]),
            "classes": len(classes),
            "smallest": int(classes.min()),
            "loss": float(release.loss["IL"]),
            "stopped": release.stopped,
        }

    def task_look(self, start: int, record: int | None) -> dict[str, Any]:
        """Return the first page, the columns before and after, and one group."""
        return look.page(self._made(), start, record)

    def task_release(self, path: str, target: str) -> dict[str, Any]:
        """Read the written table back, check it anew, and write both reports."""
        release, written = self._made(), Path(target)
        settings = release.settings
        columns = class_columns(release.schema, settings)
        classes = check(read_table(written), columns, settings.k)
        by_column = settings.chosen_method.scope == "column"
        if not classes.holds and not by_column:
            raise InputError("the written table misses its guarantee; do not use it.")
        report = written.with_suffix(".html")
        reports = report_paths(report)
        for path_of_report, public in zip(reports, (False, True), strict=True):
            report_on_saved(release, path_of_report, written, public=public)
        internal, public_manifest = manifest_paths(written)
        source = Path(path).name
        return {
            "public": [str(written), str(public_manifest), str(reports[1])],
            "internal": [str(internal), str(reports[0])],
            "classes": len(classes.sizes),
            "smallest": int(classes.sizes.min()),
            "records": int(classes.sizes.sum()),
            "holds": bool(classes.holds),
            "command": command_for(settings, source, written.name),
            "check": f"microagg check {shlex.quote(written.name)} --k {settings.k} "
            f"--quasi {_listed(columns)}",
            "python": python_for(source, written.name),
        }

    def _made(self) -> Any:
        if self._release is None:
            raise InputError("the release is no longer in memory; run it again.")
        return self._release

    def _table(self, path: str, reading: dict[str, Any]) -> tuple[pa.Table, Proposal]:
        if self._opened is None or self._opened[0] != (path, reading):
            self.task_open(path, reading)
        assert self._opened is not None
        return self._opened[1], self._opened[2]

    def _typed_table(self, path: str, reading: dict[str, Any]) -> pa.Table:
        """Return the table with numbers and dates as such, where all of a column are."""
        names = self._table(path, reading)[0].column_names
        if self._typed is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._typed = read_table(path, quasi=names, **reading)
        return self._typed

    def _profile(self, path: str, reading: dict[str, Any], name: str) -> ColumnProfile:
        """Return the profile of a column, which the notes rest on."""
        if name not in self._profiles:
            table, _ = self._table(path, reading)
            frame = nw.from_native(table.select([name]), eager_only=True)
            self._profiles[name] = profile_column(frame, name)
        return self._profiles[name]

    def _settings(self, path: str, reading: dict[str, Any], choices: dict[str, Any]) -> Settings:
        table, proposal = self._table(path, reading)
        return settings_from_answers(table.column_names, proposal, choices, reading)


def _question(question: Question, table: pa.Table) -> dict[str, Any]:
    """Return a question of the proposal as it is asked on a page."""
    about_codes = question.about == "codes"
    columns = [table.column_names.index(name) for name in question.columns] if about_codes else []
    return {"text": f"{question.asks} {ADVICE.get(question.about, '')}".rstrip(), "codes": columns}


def _listed(columns: list[str]) -> str:
    from microagg.proposal.column_text import shell_list

    return shell_list(columns)


def _column(entry: Any, table: pa.Table) -> dict[str, Any]:
    """Return what the page on columns shows of one column."""
    column = table.column(entry.name)
    return {
        "name": entry.name,
        "role": entry.role.value,
        "kind": entry.kind.value,
        "reason": entry.reason,
        "distinct": entry.distinct,
        "records": entry.records,
        "missing": int(pc.sum(column.is_null()).as_py() or 0),
    }


def _sentence(text: str) -> str:
    """Return an error or note as a sentence of a page; names of settings stay as they are."""
    text = " ".join(text.split()).rstrip(".")
    if text.partition(" ")[0] in Settings.parameters():
        return f"{text}."
    return f"{text[:1].upper()}{text[1:]}."
