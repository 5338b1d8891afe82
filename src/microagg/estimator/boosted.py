"""Boosted trees that predict a confidential value, for attacks."""

from __future__ import annotations

import importlib.util

import numpy as np

MOST_RECORDS = 20_000
MOST_CLASSES = 100


def has_boosted() -> bool:
    """Return True if scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def predict_boosted(
    points: np.ndarray, values: np.ndarray, people: np.ndarray, *, numeric: bool
) -> np.ndarray:
    """Return the predictions of boosted trees for people; the same for the same input.

    Columns of more than 100 categories are predicted as the most frequent one.

    >>> line = np.arange(200.0)[:, None]
    >>> predict_boosted(line, (line[:, 0] > 99) * 1.0, np.array([[3.0], [180.0]]), numeric=False)
    array([0., 1.])
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    points, values = points[:MOST_RECORDS], values[:MOST_RECORDS]
    unique = np.unique(values)
    if points.shape[1] == 0 or len(unique) < 2 or (not numeric and len(unique) > MOST_CLASSES):
        most = (
            unique[np.argmax(np.unique(values, return_counts=True)[1])] if len(unique) else np.nan
        )
        return np.full(len(people), most)
    options = {"max_iter": 60, "early_stopping": False, "random_state": 0}
    model = (
        HistGradientBoostingRegressor(loss="absolute_error", **options)
        if numeric
        else HistGradientBoostingClassifier(**options)
    )
    with threadpool_limits(1):  # one thread, so that sums are in one order
        return np.asarray(model.fit(points, values).predict(people), np.float64)
