"""Seeds in which 0 is within the interval of the excess, for an independent confidential value.

python benchmarks/attacks/independent.py [--page | FIRST LAST]

Each of 100 tables has 300 records: two normal columns and a town known to the intruder, and an
illness that has nothing to do with them; k = 5. Outcomes by seed are in independent.json beside
this file; FIRST and LAST run a part of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import microagg as ma
from tables import write_table

RESULTS = Path(__file__).with_name("independent.json")
QUASI, SEEDS = ["a", "b", "town"], 100
SETTINGS: dict[str, Any] = {
    "k": 5, "quasi": QUASI, "confidential": ["illness"], "effort": "quick"
}  # fmt: skip


def table_of(seed: int) -> pa.Table:
    """A table whose illness is independent of all else."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.normal(size=300).round(3),
            "b": rng.normal(size=300).round(3),
            "town": rng.choice(["Rome", "Oslo", "Bern"], 300),
            "illness": rng.choice(["none", "flu", "gout", "lupus"], 300),
        }
    )


def exchanged(rest: pa.Table, seed: int) -> pa.Table:
    """A release whose illnesses are those of others, drawn at random."""
    release = ma.anonymize(rest, seed=seed, **SETTINGS).to_arrow()
    order = np.random.default_rng(seed).permutation(len(release))
    return release.set_column(3, "illness", release["illness"].take(pa.array(order)))


def outcomes_of(seed: int) -> dict[str, bool]:
    """For each attack, whether 0 is within the interval of its excess."""
    table = table_of(seed)
    plain = ma.attack(table, seed=seed, leave_out=False, boosted=False, **SETTINGS)
    unlinked = ma.attack(
        table, seed=seed, leave_out=False, boosted=False, kinds_of_attack=["inference"],
        release_with=lambda rest: exchanged(rest, seed), **SETTINGS,
    )  # fmt: skip
    parts = {result.kind: result.excess for result in plain.results}
    others = plain.result("inference").others
    assert others is not None
    parts["inference, from other records alone"] = others.excess
    parts["inference, values exchanged at random"] = unlinked.result("inference").excess
    return {name: excess.low <= 0.0 <= excess.high for name, excess in parts.items()}


def main() -> None:
    """Run seeds, or write the page."""
    done = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if "--page" not in sys.argv:
        first, last = map(int, sys.argv[1:3] if len(sys.argv) > 2 else (0, SEEDS))
        for seed in range(first, last):
            done[str(seed)] = outcomes_of(seed)
        RESULTS.write_text(json.dumps(done, indent=1) + "\n")
        return
    names = list(done["0"])
    rows = [
        [name, f"{sum(parts[name] for parts in done.values())} of {len(done)}"] for name in names
    ]
    write_table("independent", ["attack", "seeds with 0 within the interval"], rows)


if __name__ == "__main__":
    main()
