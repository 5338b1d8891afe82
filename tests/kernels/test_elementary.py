"""exp and log of our own against those of the standard library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from microagg.kernels.elementary import exponential, logarithm


def test_exp_is_right_to_the_last_digits() -> None:
    rng = np.random.default_rng(0)
    values = [
        0.0,
        -1e-300,
        -1e-17,
        *(-rng.exponential(3.0, 5000)),
        *(-rng.uniform(0.0, 708.0, 5000)),
    ]
    for x in values:
        assert exponential(float(x)) == pytest.approx(math.exp(x), rel=4e-16, abs=0.0)


def test_exp_fades_to_nothing() -> None:
    for x in np.linspace(-760.0, -700.0, 500):
        assert exponential(float(x)) == pytest.approx(math.exp(x), rel=1e-14, abs=5e-324)
    assert exponential(-math.inf) == exponential(-1e300) == 0.0
    assert math.isnan(exponential(math.nan))


def test_log_is_right_to_the_last_digits() -> None:
    rng = np.random.default_rng(1)
    values = [5e-324, 1e-310, 0.5, math.nextafter(1.0, 0.0), 2.0, 1e308]
    values += [*rng.uniform(0.0, 2.0, 5000), *np.exp(rng.uniform(-700.0, 700.0, 5000))]
    for x in values:
        assert logarithm(float(x)) == pytest.approx(math.log(x), rel=6e-16, abs=0.0)
    assert logarithm(1.0) == 0.0
