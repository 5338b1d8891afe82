"""Statistics of all records of an out-of-core release, as exact measures take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from microagg.kernels import sums
from microagg.measures.loss.loss_sums import percent_lost
from microagg.measures.loss.number_sums import TERMS, NumberTotals
from microagg.measures.parts import ColumnLoss, PopulationChances
from microagg.measures.risk.classes import ClassSizes
from microagg.measures.risk.dominance import DominanceCounts

if TYPE_CHECKING:
    from microagg.pipeline.figures import FigureInputs

_FIRST = 2  # sums of the weights before and as released; then `TERMS` of each column of numbers


@dataclass(frozen=True)
class MergedParts:
    """Implementation of `measures.parts.Parts` on what all blocks have collected."""

    inputs: FigureInputs
    is_plain: bool

    @property
    def k(self) -> int:
        """Return the k that was asked for."""
        return self.inputs.k

    @property
    def weighted(self) -> bool:
        """Return True if records have weights."""
        return self.inputs.weighted

    @property
    def weight(self) -> float:
        """Return the sum of the weights."""
        return self.inputs.counts.total(0)

    @property
    def numbers(self) -> tuple[NumberTotals, ...]:
        """Return the totals of all columns of numbers."""
        return number_totals_in(self.inputs)

    @property
    def all_numbers(self) -> bool:
        """Return True if all quasi-identifiers are numbers without gaps."""
        return len(self.inputs.aside.numbers) == len(self.inputs.variables)

    @property
    def stated_loss(self) -> Mapping[str, float]:
        """Return IL and SSE in z-scores."""
        return {name: self.inputs.loss[name] for name in ("SSE", "IL")}

    @property
    def column_loss(self) -> ColumnLoss | None:
        """Return the loss of a mixed table by column."""
        if self.inputs.by_column is None:
            return None
        names = [variable.name for variable in self.inputs.variables]
        errors, totals = self.inputs.by_column
        constant, one = self.inputs.scores.constant, self.inputs.counts.one
        percents = {}
        for j, name in enumerate(names):
            percents[name] = 0.0 if j in constant else percent_lost(errors[j], totals[j])
        one_value = {name: one[j] is not None for j, name in enumerate(names)}
        return ColumnLoss(dict(zip(names, errors, strict=True)), percents, one_value)

    @property
    def unchanged(self) -> Mapping[str, float]:
        """Return the cells of each column that are as they were, in percent by weight."""
        counts, first = self.inputs.counts, _FIRST + TERMS * len(self.inputs.aside.numbers)
        percents = {}
        for j, variable in enumerate(self.inputs.variables):
            share = min(1.0, counts.total(first + j) / self.weight)
            everything = counts.same[j] == self.inputs.records
            percents[variable.name] = 100.0 if everything else 100.0 * share
        return percents

    @property
    def classes(self) -> ClassSizes:
        """Return the sizes of all classes."""
        return self.inputs.classes

    @property
    def classes_with_kept(self) -> ClassSizes | None:
        """Return the sizes of classes of released and kept columns."""
        kept = self.inputs.kept
        return None if kept is None else ClassSizes.counted(kept.sizes)

    @property
    def percent_alone_with_kept(self) -> float | None:
        """Return what records alone in those make up by weight."""
        kept = self.inputs.kept
        if kept is None or not self.weighted:
            return None
        alone, whole = (sums.rounded(part, 0) for part in (kept.alone, kept.weights))
        return 100.0 * float(alone / whole)

    @property
    def chances(self) -> PopulationChances:
        """Return the chances among all people that the released weights stand for."""
        if self.weighted:
            stats = self.inputs.facts
            expected = float(sums.rounded(stats.expected, 0))
            return PopulationChances(stats.chance, stats.at_chance, expected)
        sizes, counts = self.classes.sizes, self.classes.counts
        expected = float((sizes * (1.0 / sizes) * counts).sum())
        return PopulationChances(1.0 / int(sizes[0]), int(sizes[0] * counts[0]), expected)

    @property
    def dominance(self) -> DominanceCounts:
        """Return the counts of dominated classes."""
        return self.inputs.facts.dominance

    @property
    def covered(self) -> Mapping[str, np.ndarray]:
        """Return the part of each column's range that classes cover."""
        return {name: self.inputs.facts.covered[name] for name, _ in self.inputs.class_spec.ranges}


def number_totals_in(inputs: FigureInputs) -> tuple[NumberTotals, ...]:
    """Return the totals of all columns of numbers, from the sums of all blocks."""
    counts = inputs.counts
    weight, totals = counts.total(0), []
    for j, scale in enumerate(inputs.aside.numbers):
        first = _FIRST + TERMS * j
        terms = tuple(counts.total(first + term) for term in range(TERMS))
        one_value = counts.lows[j] == counts.highs[j]
        totals.append(NumberTotals(scale, inputs.records, weight, terms, one_value))
    return tuple(totals)
