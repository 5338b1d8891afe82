"""What a release shows to somebody who knows more than the quasi-identifiers: counted on the
released table alone, so public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from microagg.guarantees.k import Anonymity, class_labels
from microagg.proposal.rules import may_name_people
from microagg.table.schema import Role, Schema


def exposure_of(released: pa.Table, schema: Schema, found: Anonymity) -> dict[str, Any]:
    """What a manifest says of it: the classes where all released columns are known, and the
    columns that may name people.

    `found` has the classes of the quasi-identifiers, which the others only split further.

    >>> from microagg.guarantees.k import anonymity
    >>> from microagg.table.schema import Column, Kind
    >>> table = pa.table({"age": [31, 31, 62, 62], "town": ["Rome", "Pisa", "Rome", "Rome"]})
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("town", Role.KEEP, Kind.NOMINAL)))
    >>> exposure_of(table, schema, anonymity(table, ["age"], 2))["all_columns"]
    {'columns': 2, 'classes': 3, 'smallest_class': 1, 'unique_records': 2}
    """
    others = [name for name in schema.released() if name not in schema.names(Role.QUASI)]
    labels, classes = class_labels(released, others, (found.labels, len(found.sizes)))
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
