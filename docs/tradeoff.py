"""Draws docs/pictures/tradeoff.png: loss against risk as k grows: `MICROAGG_REFERENCE_DATA=...
python docs/tradeoff.py`.

The setting of Abidi, Ben Yahia and Perera 2020, figures 1 to 6: individual ranking, runs along the
first principal component and MDAV on min-max scaled data, k from 2 to 30, loss by their equation 1
(IL1s, here for each record and in percent) and risk by record linkage. They do not print which
columns are the quasi-identifiers; we take the first ones: 5 of Census, 5 of Tarragona, and the
first 7 of the 11 columns that they keep of EIA (MONTH, then revenues and sales). Group means are
not rounded. Linkage measures distances on z-scores, goes from each released record to the
originals, and counts a tie among m as 1/m. With a path as its only argument it keeps its state
there and can be stopped and started again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from microagg.datasets.reference import load_reference
from microagg.studies.compare import Comparison, compare

mpl.use("Agg")
from matplotlib import pyplot

PICTURE = Path(__file__).parent / "pictures" / "tradeoff.png"
DATA = {"Census": ("all", 5), "EIA": ("MONTH+10", 7), "Tarragona": ("all", 5)}
METHODS = {"individual-ranking": "#d55e00", "axis-pca": "#0072b2", "mdav": "#009e73"}
MEASURES = {
    "il1s-percent": "information loss IL1s\n(% of √2 standard deviations)",
    "linkage": "records linked (%)",
}
KS = range(2, 31)
CAPTION = (
    "Quasi-identifiers: the first 5 columns of Census and of Tarragona; of EIA, MONTH "
    "and the first 6 revenue and sales columns. "
    "Min-max scaled, means not rounded.\nLoss: mean |x − x'| / (√2 S) in percent. Risk: "
    "released records whose nearest original is "
    "their own, distances on z-scores, a tie among m counts 1/m."
)


def curves(state: Path | None = None) -> dict[str, Comparison]:
    """The comparison on each data set."""
    return {
        name: compare(
            load_reference(name, columns)[:, :count],
            ks=KS,
            methods=list(METHODS),
            loss="il1s-percent",
            measures=list(MEASURES),
            scale="minmax",
            precision="full",
            state=state,
            name=name,
        )
        for name, (columns, count) in DATA.items()
    }


def draw(comparisons: dict[str, Comparison]) -> None:
    """A column of panels for each data set: loss above, risk below."""
    figure, panels = pyplot.subplots(
        2, len(comparisons), figsize=(11.0, 6.6), sharex=True, layout="constrained"
    )
    for column, (name, comparison) in enumerate(comparisons.items()):
        for row, (measure, title) in enumerate(MEASURES.items()):
            axes = panels[row, column]
            for method, colour in METHODS.items():
                entries = [entry for entry in comparison.rows if entry.method == method]
                values = [entry.figures[measure] for entry in entries]
                axes.plot(
                    [entry.k for entry in entries],
                    values,
                    color=colour,
                    linewidth=1.8,
                    label=method,
                )
            axes.set_ylim(bottom=0.0)
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
            if column == 0:
                axes.set_ylabel(title)
        panels[0, column].set_title(
            f"{name}: {comparison.records:,} records, {len(comparison.quasi)} columns"
        )
        panels[1, column].set_xlabel("k")
        panels[1, column].set_xticks([2, 5, 10, 15, 20, 25, 30])
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(METHODS), frameon=False)
    figure.supxlabel(CAPTION, fontsize=8, x=0.01, ha="left")
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw(curves(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
