"""Every method keeps units, with l and t or without: counted in pandas on the written file, whose
rows a kept number tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microagg as ma
import promised
from microagg.methods.method import Effort
from microagg.methods.registry import methods

METHODS = [method for method in methods() if method.scope == "record"]
TABLES, SOME_TABLES = 100, 40


def random_table(rng: np.random.Generator, columns: int) -> tuple[pd.DataFrame, list[str]]:
    """Households whose members are alike, quasi-identifiers of several kinds, two confidential
    columns.
    """
    n = int(rng.integers(24, 120))
    home = np.sort(rng.integers(0, max(8, n // int(rng.integers(1, 5))), n))
    points = rng.lognormal(3.0, 1.0, (n, columns))[home] + rng.normal(0.0, 0.3, (n, columns))
    table = pd.DataFrame(
        {f"q{j}": np.round(points[:, j], int(rng.integers(0, 3))) for j in range(columns)}
    )
    if columns > 1 and rng.random() < 0.5:
        table["q0"] = np.array(["north", "south", "west"])[home % 3]
    if columns > 2 and rng.random() < 0.5:
        table.loc[rng.random(n) < 0.1, "q1"] = np.nan
    table["ill"] = rng.choice(list("aaabbcd"), n)
    table["wage"] = rng.permutation(n)
    table["serial"] = np.arange(n)
    spelled = [f"H{h}" for h in home] if rng.random() < 0.5 else home
    table["home"] = spelled
    table["region"] = home % int(rng.integers(1, 4))
    return table.sample(frac=1.0, random_state=int(rng.integers(1000))), [
        f"q{j}" for j in range(columns)
    ]


def able(table: pd.DataFrame, k: int, l: int | None) -> bool:
    """Return True if every stratum keeps units and l as one class, so that it can be grouped."""
    for _, part in table.groupby("region"):
        everybody, apart = (
            list(range(len(part))),
            [len(set(part[name].tolist())) for name in ("ill", "wage")],
        )
        if not promised.has_units(part["home"].tolist(), everybody, k) or min(apart) < (l or 0):
            return False
    return True


def random_asked(rng: np.random.Generator, table: pd.DataFrame) -> dict[str, Any]:
    """Units and something besides that can be kept."""
    homes = table["home"].value_counts()
    most = min(5, len(homes)) if 2 * homes.max() <= len(table) else 0
    assert most >= 2, "the whole table must keep it"
    settings: dict[str, Any] = {"k": int(rng.integers(2, most + 1))}
    if rng.random() < 0.5:
        settings["l"] = 2
    if rng.random() < 0.4:
        settings["t"] = float(rng.choice([0.15, 0.3]))
    elif able(table, settings["k"], settings.get("l")):
        settings["stratum"] = ["region"]
    return settings


@pytest.mark.parametrize(
    "seed",
    [
        *range(SOME_TABLES),
        *(pytest.param(s, marks=pytest.mark.nightly) for s in range(SOME_TABLES, TABLES)),
    ],
)
def test_what_is_written_keeps_units_l_and_t(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng([16, seed])
    method = METHODS[seed % len(METHODS)]
    table, quasi = random_table(rng, method.columns or int(rng.integers(1, 4)))
    settings = random_asked(rng, table)
    effort: dict[str, Any] = {p.name: 3 for p in method.parameters if isinstance(p, Effort)}
    release = ma.anonymize(
        table,
        quasi=quasi,
        confidential=["ill", "wage"],
        keep=["serial"],
        unit="home",
        rest="drop",
        method=method.name,
        seed=seed,
        refine=bool(rng.random() < 0.5),
        precision=str(rng.choice(["column", "full"])),
        accept_risk="full-precision",
        **settings,
        **effort,
    )
    target = tmp_path / ("out.csv" if rng.random() < 0.5 else "out.parquet")
    release.save(target)
    written = pd.read_csv(target) if target.suffix == ".csv" else pd.read_parquet(target)
    shared = [*quasi, *settings.get("stratum", ())]
    assert sorted(written.columns) == sorted([*shared, "ill", "wage", "serial"])
    home = table.set_index("serial")["home"].loc[written["serial"]].tolist()
    classes = written.fillna(dict.fromkeys(quasi, -1)).groupby(shared).indices.values()
    assert sum(map(len, classes)) == len(table)
    for members in classes:
        assert len(members) >= settings["k"]
        assert promised.has_units(home, members.tolist(), settings["k"])
        for name, nominal in (("ill", True), ("wage", False)):
            guarantee = {"l": settings.get("l"), "t": settings.get("t")}
            assert promised.is_kept(
                written[name].tolist(), members.tolist(), nominal=nominal, **guarantee
            )
