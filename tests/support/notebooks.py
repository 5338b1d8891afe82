"""Code for a real Jupyter kernel: a program of its own, for what it is made with leaves loops and
sockets open.

`python notebooks.py` runs the cells in the folder where it is started, and fails where an assertion
does.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE = 240
"""Seconds that a cell may take; only one that hangs gets there, however busy the machine."""


class Kernel:
    """A kernel of this very Python; cells are run one after another."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str, *, interrupt_when: Callable[[Any], bool] | None = None) -> Any:
        """Run a cell and return it with its outputs; interrupt the kernel once, when this is so of
        the cell.
        """
        import nbformat

        cell = nbformat.v4.new_code_cell(code)
        self._client.nb.cells.append(cell)
        ended = threading.Event()
        watching = threading.Thread(target=self._watch, args=(cell, interrupt_when, ended))
        watching.start()
        try:
            self._client.execute_cell(cell, len(self._client.nb.cells) - 1)
        finally:
            ended.set()
            watching.join()
        return cell

    def _watch(
        self, cell: Any, interrupt_when: Callable[[Any], bool] | None, ended: threading.Event
    ) -> None:
        while interrupt_when is not None and not ended.wait(0.05):
            if interrupt_when(cell):
                self._client.km.interrupt_kernel()
                return


@contextlib.contextmanager
def kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel in this folder, which ends with the block."""
    import nbformat
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about loops and ports
        manager = KernelManager(kernel_name="python3")
        client = NotebookClient(
            nbformat.v4.new_notebook(),
            km=manager,
            timeout=PATIENCE,
            allow_errors=True,
            resources={"metadata": {"path": str(folder)}},
        )
        try:
            with client.setup_kernel():
                yield Kernel(client)
        finally:
            manager.shutdown_kernel(now=True)
        assert not manager.is_alive()


def texts(cell: Any) -> list[str]:
    """Return what a cell shows, as plain text."""
    return [
        output.get("text") or output.get("data", {}).get("text/plain") or output.get("ename", "")
        for output in cell.outputs
    ]


SETUP = """
import microagg as ma, numpy as np, pathlib
table = np.random.default_rng(0).normal(size=(3000, 4)).round(3)
small = table[:60]
ask = dict(k=5, quasi=[0, 1, 2, 3], seed=1)
ma.anonymize(small, **ask).anonymity.holds
"""


def main(folder: Path) -> None:
    """Progress is one output that fills up, and an interrupt leaves the kernel usable."""
    with kernel(folder) as jupyter:
        assert texts(jupyter.run(SETUP)) == ["True"]

        quiet = jupyter.run("ma.anonymize(small, **ask);")
        assert quiet.outputs == [], "no bar unless it is asked for"

        shown = jupyter.run("release = ma.anonymize(table[:400], **ask, progress=True)")
        assert len(shown.outputs) == 1, "one output, replaced in its place"
        assert shown.outputs[0].output_type == "display_data"
        assert "grouping 400 records" in texts(shown)[0]
        assert texts(shown)[0].endswith(": 100%")
        assert '<progress value="1.0000"' in shown.outputs[0].data["text/html"]

        # without a bar, an interrupt is what it is everywhere: KeyboardInterrupt, and no release
        began = folder / "began"
        listen = "lambda done, total: pathlib.Path('began').touch()"
        cut = jupyter.run(
            f"lost = ma.anonymize(table, **ask, effort=5000, progress={listen})",
            interrupt_when=lambda _: began.exists(),
        )
        assert texts(cut)[-1] == "KeyboardInterrupt", cut.outputs
        assert texts(jupyter.run("'lost' in globals()")) == ["False"]
        assert texts(jupyter.run("ma.anonymize(small, **ask).anonymity.holds")) == ["True"]

        # with one, the first interrupt keeps the best so far
        kept = jupyter.run(
            "kept = ma.anonymize(table, **ask, effort=5000, progress=True)",
            interrupt_when=lambda cell: any("IL" in text for text in texts(cell)),
        )
        assert [output.output_type for output in kept.outputs] == ["display_data"]
        assert texts(
            jupyter.run("kept.stopped, kept.anonymity.holds, kept.anonymity.sizes.min() >= 5")
        ) == ["('interrupted', True, np.True_)"]
        again = jupyter.run(
            "again = ma.anonymize(table, settings=kept.settings)\nbool((again.labels == "
            "kept.labels).all())"
        )
        assert texts(again) == ["True"], "a stopped run can be repeated"


if __name__ == "__main__":
    main(Path.cwd())
    print("all is well")
