"""Lower bound on the loss of any grouping of a table: a search and a proof, run against each
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microagg.bounds.bound import Bound, check_certificate_of, check_certificate_place
from microagg.errors import InputError
from microagg.files.commit.writing import check_unwritable
from microagg.files.reading import read_table
from microagg.measures.loss.sse import loss_of_partition
from microagg.pipeline.run_method import run_method
from microagg.pipeline.sources import settings_for_file
from microagg.problem.problem import Problem, Progress
from microagg.release.cells import read_cells, without_gaps
from microagg.release.measuring import check_unsearchable
from microagg.release.settings import Settings
from microagg.table.columns.frames import column_facts, open_frame
from microagg.table.encoder import Space
from microagg.table.schema import assign_roles


@dataclass(frozen=True)
class Bounded:
    """A proven bound and the best grouping that was found on the way."""

    bound: Bound
    labels: np.ndarray
    loss: dict[str, float]
    stopped: str | None


def bound_file(
    source: Path,
    settings: Settings,
    *,
    certificate: Path | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Bounded:
    """Prove a lower bound on the loss of any grouping of a file's columns; write the certificate if
    requested.

    `settings` hold k, the quasi-identifiers, the scale, and effort="prove" with its time limit.
    """
    settings = settings_for_file(
        settings.but(reading={**settings.reading, **(reading or {})}), source
    )
    quasi = list(settings.quasi)
    if not quasi:
        raise InputError("no quasi-identifying columns were named; name them with --quasi.")
    if certificate is not None:
        check_unwritable(certificate)
        if certificate.exists() and certificate.samefile(source):
            raise InputError("the certificate would overwrite the table; name another file.")
        check_certificate_place(certificate)
    frame = open_frame(
        read_table(source, quasi=quasi, settings=settings.columns, **settings.reading)
    )
    settings = settings.of_table(frame.to_native())
    schema = assign_roles(
        column_facts(frame), settings.roles, rest="drop", options=settings.column_options
    )
    frame, _ = without_gaps(frame, schema, settings)
    cells = read_cells(frame, schema, settings)
    if certificate is not None:
        check_certificate_of(cells)
    space = Space.fit(cells, settings.scale, settings.importance)
    check_unsearchable(space, settings)
    points = space.points(cells)
    result = run_method(
        settings.chosen_method,
        Problem.of(points, settings.k),
        settings.params,
        seed=settings.seed or 0,
        progress=progress,
    )
    bound = result.bound.about(cells, cells.names, space)
    if certificate is not None:
        bound.save(certificate)
    return Bounded(bound, result.labels, loss_of_partition(points, result.labels), result.stopped)
