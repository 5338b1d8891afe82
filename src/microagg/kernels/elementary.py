"""exp and log in nothing but + - * /, so that they are the same everywhere: those of the
libraries differ in their last bit.
"""

from __future__ import annotations

import math

from microagg.kernels.compiling import kernel

# log 2 in two parts: the first has few enough bits that whole multiples of it are exact
LOG_2_FRONT, LOG_2_REST = 0.693147180369123816490, 1.90821492927058770002e-10
LEAST = -745.2  # below, exp is nothing in float64
ROOT_HALF = 0.70710678118654752440


@kernel
def exponential(x):
    """exp(x) for x <= 0, to a few units of the last place."""
    if not x >= LEAST:
        return 0.0 if x < LEAST else x
    halvings = math.floor(0.5 - x / (LOG_2_FRONT + LOG_2_REST))
    rest = (x + halvings * LOG_2_FRONT) + halvings * LOG_2_REST
    value = 1.0
    for t in range(14, 0, -1):
        value = 1.0 + value * rest / t
    half = 0.5
    while halvings > 0:  # halves to the power of `halvings`, by squaring
        if halvings % 2 == 1:
            value *= half
        half *= half
        halvings //= 2
    return value


@kernel
def logarithm(x):
    """log(x) for positive x, to a few units of the last place."""
    mantissa, exponent = math.frexp(x)
    if mantissa < ROOT_HALF:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = ratio * ratio, 0.0
    for t in range(23, 0, -2):
        series = series * square + 1.0 / t
    return exponent * LOG_2_FRONT + (2.0 * ratio * series + exponent * LOG_2_REST)
