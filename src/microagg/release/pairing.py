"""Table of a release before and after, as measures take it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from microagg.measures.measure import Pair
from microagg.measures.pairing import pair_of
from microagg.release.strata import class_columns
from microagg.table.capping import cap_values
from microagg.table.columns.matrix_values import values_of
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.release.release import Release


def pair_of_release(release: Release) -> Pair:
    """Return the original and the released records of a release, with their weights and caps."""
    schema, settings = release.schema, release.settings
    quasi, weight = schema.names(Role.QUASI), schema.one(Role.WEIGHT)
    kept = [weight] if weight and settings.weight_becomes == "keep" else []
    released = nw.from_native(release._arrow, eager_only=True)
    pair = pair_of(
        release._original,
        released,
        quasi=quasi,
        confidential=schema.names(Role.CONFIDENTIAL),
        keep=[*schema.names(Role.KEEP), *kept],
        shared=class_columns(schema, settings)[len(quasi) :],
        weight=weight,
        k=settings.k,
        exact=settings.exact,
        options=settings.columns,
        cells=release._cells,
    )
    if weight is not None and not kept:
        named = weight in released.columns
        weights = values_of(released, [weight])[:, 0] if named else np.ones(len(released))
        pair = replace(pair, released_weights=weights)
    if release.is_mixed and release.labels.ndim == 1:
        pair = replace(pair, labels=release.labels)
    if settings.cap:
        capped = {name: cap for name, cap in settings.cap.items() if name in pair.names}
        pair = replace(pair, capped=cap_values(pair.original, pair.names, capped)[0])
    return pair
