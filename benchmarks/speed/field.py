"""Every method of the registry on 20,000 records of 8 columns, k = 5: seconds of one core, beside
MDAV's in the same run.

    python benchmarks/speed/field.py [--only gsms,kc] [--n 20000]

The cloud is M of `benchmarks/quality/quick.py`. Methods that need confidential columns get one of
four categories. Each method runs once on 1,000 records before, so that compiling is not counted;
memory is the peak of the whole process so far.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import data
import microagg as ma
from microagg.methods.method import Method

K = 5


def seconds_of(method: Method, points: np.ndarray) -> tuple[float, float]:
    """(seconds of processor time, IL) of one run."""
    values = points if method.columns is None else np.ascontiguousarray(points[:, : method.columns])
    confidential = np.arange(len(points)) % 4 if method.needs_confidential else None
    start = time.process_time()
    labels = ma.partition(values, K, method=method.name, confidential=confidential, threads=1)
    spent = time.process_time() - start
    return spent, ma.information_loss(values, labels) if labels.ndim == 1 else float("nan")


def main() -> None:
    """Print a line for each method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="these methods, by name")
    parser.add_argument("--n", type=int, default=20_000)
    options = parser.parse_args()
    small, points = (data.lognormal(n, scale=0.3) for n in (1000, options.n))
    by_name = {method.name: method for method in ma.methods()}
    seconds_of(by_name["mdav"], small)
    yardstick, _ = seconds_of(by_name["mdav"], points)
    for name in options.only.split(",") if options.only else by_name:
        seconds_of(by_name[name], small)
        spent, loss = seconds_of(by_name[name], points)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:<20} {spent:8.2f} s {spent / yardstick:9.1f} x mdav   IL {loss:8.4f} "
            f"  peak {peak:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
