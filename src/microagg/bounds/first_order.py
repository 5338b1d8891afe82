"""Linear programs of very many groups, solved nearly: by a first-order method.

The primal-dual hybrid gradient method (Chambolle and Pock 2011) with steps scaled for each row and
column (Pock and Chambolle 2011), and restarts from means with a weight that balances the two sides,
as in PDLP (Applegate et al. 2021). An iteration goes through the columns once; nothing is
factorised. Prices are good to some thousandths, which repair makes good.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel

BETWEEN_RESTARTS = 100
WEIGHT = 25.0  # of the side of prices at first, in units in which prices are near 1
LEAST_WEIGHT, MOST_WEIGHT = 0.05, 1000.0


@kernel
def iterate(
    starts, rows, costs, highest, degrees, weight, count, shares, prices, means, mean_prices
):
    """Do `count` iterations from shares and prices, in place; their means over these go to `means`
    and `mean_prices`.
    """
    taken = np.empty(prices.shape[0])
    means[:] = 0.0
    mean_prices[:] = 0.0
    for _ in range(count):
        taken[:] = 0.0
        for j in range(costs.shape[0]):
            excess = costs[j]
            for e in range(starts[j], starts[j + 1]):
                excess -= prices[rows[e]]
            later = max(shares[j] - excess / ((starts[j + 1] - starts[j]) * weight), 0.0)
            ahead = 2.0 * later - shares[j]
            shares[j] = later
            means[j] += later / count
            if ahead != 0.0:
                for e in range(starts[j], starts[j + 1]):
                    taken[rows[e]] += ahead
        for i in range(prices.shape[0]):
            later = prices[i] + weight * (1.0 - taken[i]) / max(degrees[i], 1.0)
            prices[i] = min(highest[i], later)
            mean_prices[i] += prices[i] / count


class FirstOrder:
    """Shares of groups and prices of records that get nearer to an optimum with every `run`.

    Every record is in groups worth 1 together, at the least total cost; no price is above its
    `highest`. Groups may come and go between runs.

    >>> members, starts = np.array([0, 1, 2, 3, 0, 2, 1, 3]), np.array([0, 2, 4, 6, 8])
    >>> method, shares = FirstOrder(np.ones(4), np.full(4, 9.0)), np.zeros(4)
    >>> for _ in range(20):
    ...     shares = method.run(members, starts, np.array([5.0, 5.0, 1.0, 1.0]), shares)
    >>> shares.round(2).tolist(), round(float(method.prices.sum()), 2)
    ([0.0, 0.0, 1.0, 1.0], 2.0)
    """

    def __init__(self, prices: np.ndarray, highest: np.ndarray) -> None:
        self.prices, self._highest = np.minimum(prices, highest), highest
        self._weight = WEIGHT

    def run(
        self, members: np.ndarray, starts: np.ndarray, costs: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """Return the shares of these groups after some iterations from the shares that they had."""
        degrees = np.bincount(members, minlength=len(self.prices)).astype(np.float64)
        shares, before, prices_before = shares.copy(), shares, self.prices.copy()
        means, mean_prices = np.empty(len(costs)), np.empty(len(self.prices))
        iterate(
            starts, members, costs, self._highest, degrees, self._weight, BETWEEN_RESTARTS,
            shares, self.prices, means, mean_prices,
        )  # fmt: skip
        self.prices = mean_prices
        moved = float(np.sum(np.diff(starts) * (means - before) ** 2))
        moved_prices = float(np.sum(degrees * (mean_prices - prices_before) ** 2))
        if moved > 0.0 and moved_prices > 0.0:
            weight = float(np.sqrt(self._weight * np.sqrt(moved_prices / moved)))
            self._weight = min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)
        return means
