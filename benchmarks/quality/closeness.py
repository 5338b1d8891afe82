"""t-first against merging on Census: `MICROAGG_REFERENCE_DATA=... python
benchmarks/quality/closeness.py`, a Markdown table.

k = 5, t = 0.1, 0.15 and 0.2. Quasi-identifiers are the first five columns, standardised; each of
the others is the confidential column in turn. IL of MDAV's groups merged until they keep t, of
t-first as published, of both after local search, and of the default with effort quick, which builds
both ways and keeps the better.
"""

from __future__ import annotations

import numpy as np

import microagg as ma
from microagg.datasets.reference import load_reference
from microagg.table.encoder import Space

K, TS, QUASI = 5, (0.1, 0.15, 0.2), 5
WAYS = {
    "merging": ("mdav", {}),
    "t-first": ("t-first", {}),
    "merging, refined": ("mdav", {"refine": True}),
    "t-first, refined": ("t-first", {"refine": True}),
    "auto, quick": ("auto", {"effort": "quick"}),
}


def main() -> None:
    table = load_reference("Census", "all")
    points = Space.fit(table[:, :QUASI], "zscore").points(table[:, :QUASI])
    print(f"| column | t | correlation with the first five | {' | '.join(WAYS)} |")
    print(f"|---|---|---|{'---|' * len(WAYS)}")
    for column in range(QUASI, table.shape[1]):
        values = np.ascontiguousarray(table[:, column], np.float64)
        together = max(abs(float(np.corrcoef(points[:, j], values)[0, 1])) for j in range(QUASI))
        for t in TS:
            cells = []
            for method, options in WAYS.values():
                labels = ma.partition(points, K, method, confidential=values, t=t, **options)
                cells.append(f"{ma.information_loss(points, labels):.2f} ({int(labels.max()) + 1})")
            print(f"| {column + 1} | {t:g} | {together:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
