"""Writes docs/hybrid.md, figures and all: `MICROAGG_REFERENCE_DATA=... python docs/hybrid.py`.

What PFSOM finds in made-up mixtures, and the trade-off of HM-PFSOM beside that of Abidi, Ben Yahia
and Perera 2020, tables 9 to 12, whose figures stand in studies/published_hybrid.csv. Every other
figure, and every count in the text, is computed here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import microagg as ma
from microagg.datasets.reference import load_reference
from microagg.kernels import random, sums
from microagg.measures.measure import Pair
from microagg.measures.registry import measure_named
from microagg.methods.clustering.pfsom import pfsom
from microagg.methods.hybrid.classes import ConfidentialClasses
from microagg.methods.hybrid.group_rule import diverse_groups
from microagg.methods.hybrid.splitting import split_into_parts
from microagg.methods.parts import records_by_label
from microagg.studies.published import read_rows
from microagg.table.confidential import as_attributes
from microagg.table.encoder import Space

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
from mixtures import mixture  # noqa: E402  once the folder of the tests is on the path

DATA = {"Census": ("all", 5), "EIA": ("MONTH+10", 7)}
KS = (2, 3, 5, 10, 20, 25, 50, 100)
PER_CLASS = (1, 5, 10, 20)
SEEDS = range(5)
INDICES = ("own-spread", "pcaes", "pcaes-min")
MIXTURES = {
    "8 apart, sizes up to 1 : 3": {},
    "the same, 6 apart": {"apart": 6.0},
    "the same, 8 apart in twice the room": {"room": 4.0},
    "8 apart, close together, equal sizes": {"room": 1.2, "uneven": 1.0},
}


@dataclass(frozen=True)
class Figures:
    """Of one partition, as the paper's tables have them."""

    smallest: int
    groups: int
    sse_i: float
    il: float


def reference(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Quasi-identifiers and confidential columns, min-max scaled as in the paper."""
    columns, count = DATA[name]
    values = load_reference(name, columns)
    points = Space.fit(values, "minmax").points(values)
    return np.ascontiguousarray(points[:, :count]), np.ascontiguousarray(points[:, count:])


def figures_of(points: np.ndarray, confidential: np.ndarray, labels: np.ndarray) -> Figures:
    """Equation 2 (the smallest over the groups) and equation 1 (for each record, in percent) on
    group means.
    """
    released = sums.group_means(points, labels, int(labels.max()) + 1)[labels]
    names = tuple(f"q{j}" for j in range(points.shape[1]))
    columns = {f"c{j}": np.ascontiguousarray(column) for j, column in enumerate(confidential.T)}
    pair = Pair(points, released, names, columns)
    sizes = np.bincount(labels)
    sse_i, il = (measure_named(name).compute(pair).value for name in ("sse-i", "il1s-percent"))
    return Figures(int(sizes.min()), len(sizes), sse_i, il)


def found_in_mixtures() -> str:
    """Count how often each index finds the number of clusters."""
    lines = ["| mixtures | " + " | ".join(INDICES) + " |", "|---|" + "---|" * len(INDICES)]
    for name, kind in MIXTURES.items():
        right = dict.fromkeys(INDICES, 0)
        for seed in range(20):
            points, centres = mixture(seed, **kind)
            for index in INDICES:
                right[index] += pfsom(points, rng=random.seeded(0), validity=index).clusters == len(
                    centres
                )
        lines.append(
            f"| {name} | " + " | ".join(f"{right[index]} of 20" for index in INDICES) + " |"
        )
    return "\n".join(lines)


def at_the_same_k(name: str) -> tuple[str, int, int, int]:
    """A data set as a whole, and in how many of all runs the direction is the paper's: at equal k,
    at equal sizes.
    """
    points, confidential = reference(name)
    lines = [
        f"| {name}, k | groups | mdav | smallest group | mdav | min SSE_i | mdav | IL | mdav |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    held = held_at_size = 0
    for k in KS:
        plain = figures_of(points, confidential, ma.partition(points, k, "mdav"))
        runs = [
            figures_of(
                points,
                confidential,
                ma.partition(points, k, "hm-pfsom", confidential=confidential, seed=seed),
            )
            for seed in SEEDS
        ]
        held += sum(run.sse_i > plain.sse_i and run.il > plain.il for run in runs)
        held_at_size += sum(_higher_at_the_same_size(run, points, confidential) for run in runs)
        lines.append(f"| {k} | {beside(runs[0], plain)} |")
    return "\n".join(lines), held, held_at_size, len(KS) * len(SEEDS)


def _higher_at_the_same_size(run: Figures, points: np.ndarray, confidential: np.ndarray) -> bool:
    """Return True if both figures are higher than those of MDAV with groups as large as the
    smallest here.
    """
    plain = figures_of(points, confidential, ma.partition(points, run.smallest, "mdav"))
    return run.sse_i > plain.sse_i and run.il > plain.il


def in_each_part(name: str) -> tuple[str, str, int, int]:
    """Parts and classes, the table in the paper's own setting, and how often its direction
    holds.
    """
    points, confidential = reference(name)
    rng = random.seeded(0, "hm-pfsom")
    parts = split_into_parts(points, 1, rng=rng)
    classes_in = ConfidentialClasses(as_attributes(confidential, len(points)))
    sizes, held, rows = [], 0, 0
    lines = [
        f"| {name}, part | of each class | groups | mdav | smallest group | mdav | min "
        f"SSE_i | mdav | IL | mdav |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for number, records in enumerate(records_by_label(parts), start=1):
        classes = classes_in.of(records, rng)
        quasi, secret = (
            np.ascontiguousarray(points[records]),
            np.ascontiguousarray(confidential[records]),
        )
        sizes.append(f"{len(records)} ({', '.join(map(str, np.bincount(classes)))})")
        for count in PER_CLASS:
            if np.bincount(classes).min() < 2 * count:
                continue
            diverse = figures_of(quasi, secret, diverse_groups(quasi, classes, 2, count))
            labels = (
                ma.partition(quasi, count, "mdav")
                if count > 1
                else np.arange(len(quasi), dtype=np.int32)
            )
            plain = figures_of(quasi, secret, labels)
            held, rows = held + (diverse.sse_i > plain.sse_i and diverse.il > plain.il), rows + 1
            lines.append(f"| {number} | {count} | {beside(diverse, plain)} |")
    return "; ".join(sizes), "\n".join(lines), held, rows


def beside(diverse: Figures, plain: Figures) -> str:
    """Cells of a table: each figure of HM-PFSOM, then that of MDAV."""
    return (
        f"{diverse.groups} | {plain.groups} | {diverse.smallest} | {plain.smallest} | "
        f"{diverse.sse_i:.2f} | "
        f"{plain.sse_i:.2f} | {diverse.il:.2f} | {plain.il:.2f}"
    )


def printed(name: str) -> tuple[str, int, int, int]:
    """The paper's own table, and in how many of its rows SSE_i, and IL, are higher than MDAV's."""
    lines = [
        f"| {name}, part | of each class | groups | mdav | smallest group | mdav | min "
        f"SSE_i | mdav | IL | mdav |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = [row for row in read_rows("published_hybrid.csv") if name in row["part"]]
    order = (
        "groups",
        "groups_mdav",
        "smallest",
        "smallest_mdav",
        "sse_i",
        "sse_i_mdav",
        "il",
        "il_mdav",
    )
    for row in rows:
        lines.append(
            f"| {row['part']} | {row['k']} | " + " | ".join(row[column] for column in order) + " |"
        )
    higher = [float(row["sse_i"]) > float(row["sse_i_mdav"]) for row in rows]
    dearer = [float(row["il"]) > float(row["il_mdav"]) for row in rows]
    return "\n".join(lines), sum(higher), sum(dearer), len(rows)


def made_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Census as the paper takes it, and three made tables: points and what is confidential."""
    rng = np.random.default_rng(0)
    centres = 6.0 * rng.normal(size=(5, 3))
    cluster = rng.integers(0, 5, 1000)
    clustered = centres[cluster] + rng.normal(size=(1000, 3))
    ill = rng.choice(["none", "flu", "cancer", "heart"], 1000, p=[0.4, 0.3, 0.2, 0.1])
    ill[cluster == 0] = "none"
    cloud = rng.normal(size=(1000, 4))
    skewed = rng.choice(["none", "flu", "cancer"], 1000, p=[0.8, 0.17, 0.03])
    tied = np.where(cloud[:, 0] + 0.5 * rng.normal(size=1000) > 0.5, "rich", "poor")
    return {
        "Census, 8 columns of numbers": reference("Census"),
        "five clusters, one of them of one diagnosis": (clustered, ill),
        "one cloud, diagnoses 80 : 17 : 3": (cloud, skewed),
        "one cloud, a class that goes with a column": (cloud, tied),
    }


def beside_l_2() -> str:
    """The loss of HM-PFSOM beside that of `hybrid` and of `auto` with l=2."""
    rows = []
    for name, (points, confidential) in made_tables().items():
        for k in (3, 10):
            cells = [name, str(k)]
            for method, options in (("hm-pfsom", {}), ("hybrid", {"l": 2}), ("auto", {"l": 2})):
                labels = ma.partition(
                    points, k, method, confidential=confidential, seed=0, **options
                )
                columns = confidential.reshape(len(points), -1)
                fewest = min(
                    len(set(columns[labels == g, j].tolist()))
                    for g in range(labels.max() + 1)
                    for j in range(columns.shape[1])
                )
                assert fewest >= 2, "each of the three has two values in every group"
                cells += [f"{ma.information_loss(points, labels):.2f}", str(labels.max() + 1)]
            rows.append(cells)
    return told_beside(rows)


def told_beside(rows: list[list[str]]) -> str:
    """The rows as a table, and in how many of them HM-PFSOM loses more."""
    header = "| table | k | hm-pfsom | groups | hybrid, l=2 | groups | auto, l=2 | groups |"
    dearer = [sum(float(row[2]) > float(row[column]) for row in rows) for column in (4, 6)]
    lines = [header, "|" + "---|" * 8, *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines) + (
        f"\n\nHM-PFSOM loses more than `hybrid` with l=2 in {dearer[0]} of {len(rows)} "
        f"rows, and more than `auto` with l=2 in {dearer[1]}."
    )


def document() -> str:
    """All of docs/hybrid.md."""
    parts = [INTRODUCTION.format(mixtures=found_in_mixtures(), beside=beside_l_2())]
    for name in DATA:
        table, held, held_at_size, runs = at_the_same_k(name)
        sizes, table_in_parts, held_in_parts, rows = in_each_part(name)
        theirs, higher, dearer, printed_rows = printed(name)
        parts.append(
            PER_DATA_SET.format(
                name=name,
                table=table,
                held=held,
                held_at_size=held_at_size,
                runs=runs,
                sizes=sizes,
                own=table_in_parts,
                held_in_parts=held_in_parts,
                rows=rows,
                theirs=theirs,
                higher=higher,
                dearer=dearer,
                printed_rows=printed_rows,
                seeds=len(SEEDS),
                paper=PAPER_PARTS[name],
            )
        )
    return "\n".join(parts)


PAPER_PARTS = {
    "Census": "382 (145, 164, 73); 376 (50, 121, 103, 103: one more than the part has); 322 (115, "
    "207)",
    "EIA": "464 (238, 78, 148); 1195 (828, 233, 134); 106 (37, 69); 1191 (273, 918); 1136 (259, "
    "877)",
}

INTRODUCTION = """# Hybrid microaggregation: PFSOM and HM-PFSOM

Written by `docs/hybrid.py`; change that, not this. After Abidi, Ben Yahia and Perera 2020 ("the
paper" below).

## How many clusters PFSOM finds

Made-up mixtures (`tests/support/mixtures.py`, seeds 0 to 19): 3 to 6 Gaussian clusters in 2 to 5
columns, 5 % uniform noise. Distances are in standard deviations of a cluster. The constants were
tuned on the seeds 1000 to 1039.

{mixtures}

- `pcaes-min` is the index of Wu and Yang 2005 as it is commonly printed (their paper was not at
  hand): each cluster is compared with the least compact one. Every cluster that is cut to pieces
  then raises the index.
- `pcaes` compares with the most compact cluster. It measures distances against the spread of all
  prototypes, and sizes against the largest cluster: clusters that are small, or near each other
  compared with the rest, are not told apart. It is right where clusters are alike and evenly
  spaced.
- `own-spread`, our default, is `pcaes` with the distance of two clusters measured by their own
  variances along the line between them. Training is the same in all three columns.
- One cloud (normal or uniform, 1 to 8 columns) is found to be one cluster by `own-spread`. Where
  two parts are wanted all the same, as in `hybrid` and `hm-pfsom`, `pcaes` chooses their number.

## What HM-PFSOM costs

IL in percent, in each case with two values at least of every confidential column in every group:
HM-PFSOM sees to that by itself, for `hybrid` (MDAV within parts) and `auto` it is asked for with
l=2. HM-PFSOM gives more than that, a share of every class in every group; who wants two values
only, pays for it. Made tables have 1,000 records.

{beside}

## The trade-off of HM-PFSOM

Columns, min-max scaled: of Census the first 5 are quasi-identifiers, the other 8 confidential; of
EIA, MONTH and the first 6 of revenue and sales, and the other 4. The paper does not say which
columns it took. SSE_i is its equation 2 on z-scores of the confidential columns, the smallest over
the groups: the higher, the less a group tells. IL is its equation 1 for each record, in percent.
Group means are not rounded.
"""

PER_DATA_SET = """### {name}

Ours at the same k, the least size of a group, for the whole table: `hm-pfsom` (seed 0) and, beside
it, `mdav`.

{table}

**Direction.** With {seeds} seeds each, min SSE_i and IL are both higher than those of MDAV in
{held} of {runs} runs. A sum over the records of a group grows with the group, and groups of
`hm-pfsom` may be larger than k. Against MDAV with k raised to the smallest group of the same run of
`hm-pfsom`, both are higher in {held_at_size} of {runs} runs.

Ours in the setting of the paper: each part by itself, so many records of the smallest class in each
group, and MDAV with that number as its k. Parts (and classes): ours {sizes}; the paper's {paper}.
Both are higher than MDAV's in {held_in_parts} of {rows} rows.

{own}

The paper's figures as printed. In its {printed_rows} rows for {name}, min SSE_i is higher than
MDAV's in {higher} and IL in {dearer}.

{theirs}
"""

if __name__ == "__main__":
    (HERE / "hybrid.md").write_text(document(), "utf-8")
