"""Classes of a release for an intruder who knows more than the quasi-identifiers. They are counted
on the released table alone, so they are public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from microagg.guarantees.k import Anonymity, class_labels
from microagg.proposal.rules import may_name_people
from microagg.table.schema import Role, Schema


def exposure_of(released: pa.Table, schema: Schema, quasi_classes: Anonymity) -> dict[str, Any]:
    """Count the classes over all released columns, and list the columns that may name people.

    `quasi_classes` are the classes of the quasi-identifiers, which the other columns split further.

    >>> from microagg.guarantees.k import anonymity
    >>> from microagg.table.schema import Column, Kind
    >>> table = pa.table({"age": [31, 31, 62, 62], "town": ["Rome", "Pisa", "Rome", "Rome"]})
    >>> age, town = Column("age", Role.QUASI, Kind.NUMERIC), Column("town", Role.KEEP, Kind.NOMINAL)
    >>> schema = Schema((age, town))
    >>> exposure_of(table, schema, anonymity(table, ["age"], 2))["all_columns"]
    {'columns': 2, 'classes': 3, 'smallest_class': 1, 'unique_records': 2}
    """
    others = [name for name in schema.released() if name not in schema.names(Role.QUASI)]
    labels, classes = class_labels(
        released, others, (quasi_classes.labels, len(quasi_classes.sizes))
    )
    sizes = np.bincount(labels, minlength=classes)
    return {
        "all_columns": {
            "columns": len(schema.released()),
            "classes": classes,
            "smallest_class": int(sizes.min()),
            "unique_records": int((sizes == 1).sum()),
        },
        "may_identify": may_name_people(released, others),
    }
