"""Cost of strata, weights and l: a weighted, stratified release with l beside a plain one of the
same table.

python benchmarks/speed/strata.py [records]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import microagg as ma

PLAIN: dict[str, Any] = {
    "k": 5,
    "quasi": ["born", "education", "hours", "income", "rent"],
    "special": {"hours": [97, 98]},
    "seed": 1,
    "rest": "drop",
    "small_strata": "drop",
}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "l": {"confidential": "health", "l": 2},
    "weight and strata": {"weight": "weight", "stratum": "region"},
    "weight, strata and l": {
        "weight": "weight",
        "stratum": "region",
        "confidential": "health",
        "l": 2,
    },
    "weight, many strata and l": {
        "weight": "weight",
        "stratum": ["region", "occupation"],
        "confidential": "health",
        "l": 2,
    },
}


def main() -> None:
    """Print the seconds of each release, and how many times those of the plain one they are."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    small, table = ma.datasets.households(2_000, seed=2), ma.datasets.households(n, seed=1)
    for effort in ("quick", "balanced"):
        usual = 0.0
        for name, more in CASES.items():
            ma.anonymize(small, **PLAIN, **more, effort=1)  # compiles
            begun = time.perf_counter()
            release = ma.anonymize(table, **PLAIN, **more, effort=effort)
            seconds = time.perf_counter() - begun
            usual = usual or seconds
            print(
                f"{n:,} records, {effort}, {name}: {seconds:.1f} s, {seconds / usual:.2f} x plain, "
                f"IL {release.loss['IL']:.2f} %, within groups {release.loss['IL_within']:.2f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
