"""What commands answer with --json: plain data, for inside eyes as far as their usual output is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.cli.options import as_typed
from microagg.guarantees.suppression import as_data as suppression_as_data
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.files.stores.locations import Url
    from microagg.guarantees.k import Anonymity
    from microagg.release.release import Release
    from microagg.studies.bounding import Bounded
    from microagg.verify_bound import Verdict

MOST_CLASSES = 20  # of those that fail, as many as are shown


def release(done: Release, written: Mapping[str, Path | Url | None]) -> dict[str, Any]:
    """What was made: the figures of the terminal, without seed, digests and scaling."""
    manifest, sizes = done.manifest, done.anonymity.sizes
    asked = manifest["settings"]
    return {
        "written": {what: str(place) for what, place in written.items() if place is not None},
        "records": manifest["records"],
        "classes": {
            "number": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
        "guarantee": manifest["guarantee"],
        "roles": manifest["roles"],
        "dropped": done.schema.names(Role.IDENTIFIER, Role.UNIT),
        "method": asked["method"],
        "params": {name: value for name, value in asked["params"].items() if value is not None},
        "scale": asked["scale"],
        "chosen": manifest["chosen"],
        "stopped": done.stopped,
        "loss": dict(done.loss),
        "bound": manifest["bound"],
        "all_columns": manifest.get("all_columns"),
        "may_identify": manifest.get("may_identify"),
        "notes": [as_typed(note) for note in done.notes],
    }


def anonymity(found: Anonymity, columns: Sequence[str]) -> dict[str, Any]:
    """Whether a table keeps what is asked of it, and where it does not: sizes and row numbers,
    never values.
    """
    failing = found.failing
    return {
        "holds": found.holds,
        "k": found.k,
        "columns": list(columns),
        "counted_by": found.counted_by,
        "classes": {
            "number": len(found.sizes),
            "smallest": int(found.sizes.min()) if len(found.sizes) else None,
            "too_small": int(found.too_small.sum()),
            "failing": len(failing),
        },
        "findings": [
            {
                "guarantee": each.guarantee,
                "column": each.column,
                "every_class": each.words,
                "worst": each.worst,
                "holds": each.holds,
                "failing": int(each.failing.sum()),
            }
            for each in found.findings
        ],
        "failing": [
            {
                "size": int(found.sizes[place]),
                "row": int(found.first_rows[place]),
                "fails": [
                    *(["k"] if found.too_small[place] else []),
                    *(
                        f"{each.guarantee} of {each.column}"
                        for each in found.findings
                        if each.failing[place]
                    ),
                ],
            }
            for place in failing[:MOST_CLASSES]
        ],
        **(
            {}
            if found.suppression is None
            else {"suppressed": suppression_as_data(found.suppression)}
        ),
        "notes": list(found.notes),
    }


def bounded(found: Bounded, certificate: Path | None) -> dict[str, Any]:
    """A bound and how near the best grouping came to it."""
    return {
        "k": found.bound.k,
        "loss": dict(found.loss),
        "bound": {
            "IL": found.bound.il,
            "SSE": found.bound.sse,
            "optimal": found.bound.optimal,
            "gap": found.bound.gap(found.labels),
        },
        "stopped": found.stopped,
        "certificate": None if certificate is None else str(certificate),
    }


def verdict(found: Verdict) -> dict[str, Any]:
    """What the checker of certificates says."""
    return {
        "holds": found.holds,
        "sentence": str(found),
        "reason": found.reason,
        "k": found.k,
        "records": found.records,
        "IL": found.il,
        "SSE": found.sse,
        "columns": list(found.columns) if isinstance(found.columns, tuple) else found.columns,
        "scale": found.scale,
    }
