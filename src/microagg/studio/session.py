"""Session of the one user: the file, the choices, the run, and the folder that holds them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microagg.formatting import counted
from microagg.studio.upload import remove_upload
from microagg.studio.worker import TaskError, Worker

USUAL_K = "5"


@dataclass
class Run:
    """State of a run, as pages show it."""

    state: str = "running"
    """running | done | failed | refused | discarded"""
    share: float = 0.0
    text: str = ""
    sentence: str = ""
    compiling: bool = False
    stopping: bool = False
    summary: dict[str, Any] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    checked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the settings were checked on the table."""

    @property
    def starting(self) -> bool:
        """True while the settings are checked on the table; nothing can be kept yet."""
        return not self.checked.is_set()

    def take_in(self, state: dict[str, Any]) -> None:
        """Note a message of the worker."""
        if "compiling" in state:
            self.compiling = True
        else:
            self.share, self.text, self.compiling = state["share"], state["text"], False

    @property
    def status(self) -> str:
        """Say in words how far it is."""
        if self.starting:
            return "Starting: checking the settings on the table."
        if self.stopping:
            return "Stopping at the next checkpoint."
        if self.share >= 1.0:
            return "Groups are formed; measuring, writing and verifying."
        if self.text.startswith("IL "):
            return f"Loss from grouping alone, so far: {self.text.removeprefix('IL ')}"
        return self.text or "Reading the table and forming first groups."

    @property
    def remaining(self) -> str:
        """Say how long it will take, once that can be estimated."""
        if self.state != "running" or not 0.02 < self.share < 1:
            return ""
        seconds = (time.monotonic() - self.begun) * (1 - self.share) / self.share
        if seconds < 90:
            return f"About {counted(max(1, round(seconds)), 'second')} left."
        return f"About {counted(round(seconds / 60), 'minute')} left."

    def as_data(self) -> dict[str, Any]:
        """Return what the page polls."""
        return {
            "state": self.state,
            "percent": round(100 * self.share),
            "text": self.status,
            "remaining": self.remaining,
            "compiling": self.compiling,
            "starting": self.starting,
            "stopping": self.stopping,
            "sentence": self.sentence,
        }


class Session:
    """Everything that one studio knows; kept if its worker dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.worker = Worker(self._progress)
        self.path: Path | None = None
        self.uploaded = False
        self.reading: dict[str, Any] = {}
        self.opened: dict[str, Any] | None = None
        self.opening: asyncio.Task[None] | None = None
        self.sentence = ""
        self.choices: dict[str, Any] = {"roles": [], "kinds": [], "settings": {"k": USUAL_K}}
        self.run: Run | None = None
        self.files: dict[str, Any] | None = None
        self._following: asyncio.Task[None] | None = None

    @property
    def source(self) -> dict[str, Any]:
        """File and reading options, as tasks take them."""
        return {"path": str(self.path), "reading": self.reading}

    @property
    def is_running(self) -> bool:
        """True while a release is being made."""
        return self.run is not None and self.run.state == "running"

    @property
    def target(self) -> Path:
        """Path of the released table in the session's folder."""
        assert self.path is not None
        suffix = next(
            (end for end in (".csv.gz", ".csv.zst", ".tsv.gz", ".tsv.zst", ".txt.gz", ".txt.zst")
             if self.path.name.lower().endswith(end)),
            self.path.suffix,
        )  # fmt: skip
        stem = self.path.name[: len(self.path.name) - len(suffix)]
        ending = ".xpt" if suffix == ".sas7bdat" else suffix
        return self.folder / "release" / f"{stem}-protected{ending}"

    @property
    def is_unread(self) -> bool:
        """True if there is a file that was refused as it is; other options may suit it."""
        return self.path is not None and self.opened is None and bool(self.sentence)

    async def call(self, name: str, **arguments: Any) -> Any:
        """Run a task of the worker and return its result."""
        return await asyncio.wrap_future(self.worker.submit(name, **arguments))

    async def open(self, path: Path, *, uploaded: bool, reading: dict[str, Any]) -> None:
        """Read a file and take over its proposal; what was open before is closed."""
        self.check_idle()
        if self.uploaded and self.path is not None and self.path != path:
            remove_upload(self.path)
        self.forget_release()
        self.path, self.uploaded, self.reading = path, uploaded, reading
        self.opened, self.sentence = None, ""
        try:
            opened = await self.call("open", **self.source)
        except TaskError as error:
            self.sentence = str(error)
            raise
        self.opened = opened
        self.choices = {
            "roles": [column["role"] for column in opened["columns"]],
            "kinds": [column["kind"] for column in opened["columns"]],
            "settings": {"k": self.choices["settings"].get("k") or USUAL_K},
        }

    async def read_again(self, reading: dict[str, Any]) -> None:
        """Read the open file with other options; if that fails, it stays open as it was."""
        before = self.opened, self.reading, self.choices
        assert self.path is not None
        try:
            await self.open(self.path, uploaded=self.uploaded, reading=reading)
        except TaskError:
            self.opened, self.reading, self.choices = before
            self.sentence = "" if self.opened is not None else self.sentence
            raise

    def begin_opening(self, path: Path | None) -> None:
        """Open a file that was named on the command line, or the demonstration, meanwhile."""
        self.path = path

        async def open_it() -> None:
            with contextlib.suppress(TaskError):
                folder = str(self.folder / "demo")
                chosen = path or Path(await self.call("demonstration", folder=folder))
                await self.open(chosen, uploaded=False, reading={})

        self.opening = asyncio.get_running_loop().create_task(open_it())

    @property
    def is_opening(self) -> bool:
        """True while a file is being read."""
        return self.opening is not None and not self.opening.done()

    def check_idle(self) -> None:
        """Raise while a release is being made."""
        if self.is_running:
            raise TaskError("A release is being made; stop or discard it first.")

    def begin_run(self, answers: dict[str, str]) -> Run:
        """Take the answers to the settings and start making the release.

        Nothing waits for the worker, which may still be at a preview: settings that no release is
        possible with end the run as refused.
        """
        self.check_idle()
        self.forget_release()
        self.choices = {**self.choices, "settings": {**self.choices["settings"], **answers}}
        self.run = run = Run()

        async def follow() -> None:
            try:
                await self.call("check", **self.source, choices=self.choices)
                if run.state != "running":  # discarded meanwhile
                    return
                self.target.parent.mkdir(mode=0o700, exist_ok=True)
                run.begun = time.monotonic()
                run.checked.set()
                run.summary = await self.call(
                    "run", **self.source, choices=self.choices, target=str(self.target)
                )
                run.state, run.share = "done", 1.0
            except TaskError as error:
                if run.state == "running":
                    run.state = "refused" if run.starting else "failed"
                    run.sentence = str(error)
                    self._remove_files()
            finally:
                run.checked.set()

        self._following = asyncio.get_running_loop().create_task(follow())
        return run

    def stop_run(self) -> None:
        """Ask for the best so far."""
        if self.run is not None and self.is_running and not self.run.starting:
            self.run.stopping = True
            self.worker.stop_search()

    def discard_run(self) -> None:
        """End a run at once and remove what it wrote."""
        if self.run is not None and self.is_running:
            self.run.state = "discarded"
            self.worker.kill()
            self.worker.start()
        self.forget_release()

    def forget_release(self) -> None:
        """Remove the files of an earlier release."""
        if not self.is_running:
            self._remove_files()
            self.files = None
            self.run = None

    def _remove_files(self) -> None:
        shutil.rmtree(self.folder / "release", ignore_errors=True)

    def _progress(self, state: dict[str, Any]) -> None:
        if self.run is not None and self.is_running:
            self.run.take_in(state)

    def close(self) -> None:
        """End the worker and remove the folder."""
        self.worker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
