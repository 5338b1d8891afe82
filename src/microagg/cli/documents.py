"""Results of commands as plain data for --json. Internal: do not publish, unless the usual output
is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.cli.options import as_option
from microagg.guarantees.suppression import as_data as suppression_as_data
from microagg.release.verdict import verdict_of
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.files.stores.locations import Url
    from microagg.guarantees.k import Anonymity
    from microagg.release.release import Release
    from microagg.studies.bounding import Bounded
    from microagg.verify_bound import Verdict

MOST_CLASSES = 20  # of those that fail, as many as are shown


def release(done: Release, written: Mapping[str, Path | Url | None]) -> dict[str, Any]:
    """Return the figures of a release as on the terminal, without seed, digests and scaling."""
    manifest, sizes = done.manifest, done.anonymity.sizes
    settings = manifest["settings"]
    return {
        "written": {what: str(path) for what, path in written.items() if path is not None},
        "records": manifest["records"],
        "classes": {
            "number": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
        "guarantee": manifest["guarantee"],
        "roles": manifest["roles"],
        "dropped": done.schema.names(Role.IDENTIFIER, Role.UNIT),
        "method": settings["method"],
        "params": {name: value for name, value in settings["params"].items() if value is not None},
        "scale": settings["scale"],
        "chosen": manifest["chosen"],
        "stopped": done.stopped,
        "loss": dict(done.loss),
        "bound": manifest["bound"],
        "all_columns": manifest.get("all_columns"),
        "may_identify": manifest.get("may_identify"),
        "verdict": verdict_of(done.notes, as_option).as_data(),
        "notes": [note.render(as_option) for note in done.notes],
        "note_data": [note.as_data(as_option) for note in done.notes],
    }


def anonymity(classes: Anonymity, columns: Sequence[str]) -> dict[str, Any]:
    """Return the result of a check: sizes and row numbers of failing classes, never values."""
    failing = classes.failing
    return {
        "holds": classes.holds,
        "k": classes.k,
        "columns": list(columns),
        "counted_by": classes.counted_by,
        "classes": {
            "number": len(classes.sizes),
            "smallest": int(classes.sizes.min()) if len(classes.sizes) else None,
            "too_small": int(classes.too_small.sum()),
            "failing": len(failing),
        },
        "findings": [
            {
                "guarantee": finding.guarantee,
                "column": finding.column,
                "every_class": finding.words,
                "worst": finding.worst,
                "holds": finding.holds,
                "failing": int(finding.failing.sum()),
            }
            for finding in classes.findings
        ],
        "failing": [
            {
                "size": int(classes.sizes[position]),
                "row": int(classes.first_rows[position]),
                "fails": [
                    *(["k"] if classes.too_small[position] else []),
                    *(
                        f"{finding.guarantee} of {finding.column}"
                        for finding in classes.findings
                        if finding.failing[position]
                    ),
                ],
            }
            for position in failing[:MOST_CLASSES]
        ],
        **(
            {}
            if classes.suppression is None
            else {"suppressed": suppression_as_data(classes.suppression)}
        ),
        "notes": list(classes.notes),
    }


def bounded(result: Bounded, certificate: Path | None) -> dict[str, Any]:
    """A bound and how near the best grouping came to it."""
    return {
        "k": result.bound.k,
        "loss": dict(result.loss),
        "bound": {
            "IL": result.bound.il,
            "SSE": result.bound.sse,
            "optimal": result.bound.optimal,
            "optimal_by_solver": result.bound.solver_optimal,
            "gap": result.bound.gap(result.labels),
        },
        "stopped": result.stopped,
        "certificate": None if certificate is None else str(certificate),
    }


def verdict(result: Verdict) -> dict[str, Any]:
    """Return the verdict of the checker of certificates."""
    return {
        "holds": result.holds,
        "sentence": str(result),
        "reason": result.reason,
        "k": result.k,
        "records": result.records,
        "IL": result.il,
        "SSE": result.sse,
        "columns": list(result.columns) if isinstance(result.columns, tuple) else result.columns,
        "scale": result.scale,
    }
