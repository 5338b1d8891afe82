"""The section of the quality page on proofs: certificates, and the gap against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INTRODUCTION = """
## Proofs

![Gap against CPU seconds](pictures/gap-and-time.png)

One run of `prove` for each cell, one seed, one thread, on one core; times are CPU seconds of the
process, search included, and end where the run ended by itself, at its limit (300 s, EIA 900 s, or
less where that was asked for), or where it had reached what it was asked for. "Proven" is what
`verify_bound.py` confirmed of the certificate, in so many CPU seconds more; the loss is that of
the partition found in the same run; lines without one are of `lower_bound` alone. A certificate
holds a number for each record and is not published: what is kept is the first half of its SHA-256.
"Optimal" means that the certificate proves it, with so many leaves of a branch tree. Lines without
a commit were measured before 6fa00796; one with several was measured by one process after the
other, which went on with what was kept.

"""
HEAD = [
    *("data", "k", "loss", "proven", "gap", "seconds", "ended", "leaves"),
    *("to check (s)", "certificate", "commit"),
]


def section(results: list[dict[str, Any]], cells: list[tuple[str, int]], folder: Path) -> str:
    """Return the section, and draw its picture; nothing without certificates."""
    proofs = [
        r
        for data, k in cells
        for r in results
        if (r["data"], r["k"]) == (data, k) and r.get("certificate")
    ]
    if not proofs:
        return ""
    draw([r for r in proofs if "IL" in r], folder / "gap-and-time.png")
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(cells_of(r)) + " |" for r in proofs]
    return INTRODUCTION + "\n".join(lines) + "\n"


def cells_of(r: dict[str, Any]) -> list[str]:
    """One line of the table."""
    digits = 6 if r["data"] == "EIA" else 5
    loss, gap = "", "optimal" if r["optimal"] else ""
    if "IL" in r:  # a bound alone has none
        loss = f"{r['IL']:.{digits}f}"
        gap = gap or f"{100.0 * (r['IL'] / r['bound'] - 1.0):.3f} %"
    ended = {None: "by itself", "time limit": "at its limit", "interrupted": "had enough"}
    return [
        r["data"], str(r["k"]), loss, f"{r['bound']:.{digits}f}", gap,
        f"{r['seconds']:.0f}", ended.get(r["stopped"], r["stopped"]), str(r["leaves"] or ""),
        f"{r['seconds to check']:.0f}", r["certificate"][:32], r.get("commit", ""),
    ]  # fmt: skip


def draw(proofs: list[dict[str, Any]], path: Path) -> None:
    """The gap in percent of the bound against CPU seconds, a panel for each table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(r["data"] for r in proofs))
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(3.4 * len(names), 3.2), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, name in zip(panels.flat, names, strict=True):
        for r in (r for r in proofs if r["data"] == name):
            steps = [step for step in r["trace"] if step[1] > 0.0]
            seconds = [step[0] for step in steps] + [r["seconds"]]
            gaps = [100.0 * (loss / bound - 1.0) for _, bound, loss in steps]
            gaps.append(100.0 * (r["IL"] / r["bound"] - 1.0))
            axes.step(
                seconds, [max(gap, 1e-3) for gap in gaps], where="post", label=f"k = {r['k']}"
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(name)
        axes.set_xlabel("CPU seconds")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, frameon=False)
    panels[0, 0].set_ylabel("gap in percent (0.001 and less below)")
    figure.savefig(path, dpi=110)
