"""The problems whose groups are known by their digests, and how to work them out.

`python tests/golden/cases.py` writes the digests anew. That is right only where a change is meant
to change results, and the commit then says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import microagg as ma

DIGESTS = Path(__file__).with_name("digests.json")
SOLVED = "solver:"  # how the names of cases begin whose result an integer program decides


def spread(n: int, d: int, seed: int) -> np.ndarray:
    """Heavy-tailed, correlated columns."""
    rng = np.random.default_rng(seed)
    return np.exp(
        rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
        + 0.3 * rng.standard_normal((n, d))
    )


def rough(n: int, d: int, seed: int) -> np.ndarray:
    """Few values, so many ties and duplicates, and a constant column."""
    points = np.random.default_rng(seed).integers(0, 6, (n, d)).astype(float)
    points[:, -1] = 4.0
    return points


def hidden(points: np.ndarray, seed: int) -> np.ndarray:
    """A confidential category that goes loosely with the first column."""
    rng = np.random.default_rng(seed)
    near = np.argsort(np.argsort(points[:, 0])) / len(points) + rng.uniform(-0.4, 0.4, len(points))
    return np.clip(np.floor(4 * near), 0, 3).astype(int)


PROBLEMS: dict[str, tuple[np.ndarray, int]] = {
    "spread": (spread(150, 3, 1), 3),
    "rough": (rough(90, 3, 2), 4),
    "narrow": (spread(70, 1, 3), 5),
}
PROMISES: dict[str, dict[str, Any]] = {
    "l=2": {"l": 2},
    "t=0.3": {"t": 0.3},
    "entropy l=1.6, t=0.4": {"l": 1.6, "diversity": "entropy", "t": 0.4},
}
SOLVING = ("thorough", "prove")


def labels_digest(labels: np.ndarray) -> str:
    """A digest of labels, whatever machine wrote their bytes."""
    return hashlib.sha256(np.ascontiguousarray(labels, "<i4").tobytes()).hexdigest()[:16]


def cases() -> Iterator[tuple[str, Callable[[], str]]]:
    """(name, how to get the digest) of every case."""
    yield from _methods()
    yield from _efforts()
    yield from _releases()


def _case(points: np.ndarray, k: int, **options: Any) -> Callable[[], str]:
    return lambda: labels_digest(ma.partition(points, k=k, seed=7, **options))


def _methods() -> Iterator[tuple[str, Callable[[], str]]]:
    for method in ma.methods():
        for problem, (points, k) in PROBLEMS.items():
            if method.columns not in (None, points.shape[1]):
                continue
            values = hidden(points, 5)
            needed = {"confidential": values} if method.needs_confidential else {}
            # the words of searches have cases of their own
            light = {"effort": "quick"} if "effort" in {p.name for p in method.parameters} else {}
            name = f"{method.name} {problem}"
            yield name, _case(points, k, method=method.name, **needed, **light)
            for params in _other_words(method, light):
                text = ", ".join(f"{key}={value}" for key, value in params.items())
                yield (
                    f"{name} {text}",
                    _case(points, k, method=method.name, **needed, **light, **params),
                )
            if method.scope != "record" or problem != "spread":
                continue
            yield (
                f"{name} refined",
                _case(points, k, method=method.name, refine=True, **needed, **light),
            )
            for promise, guarantee in PROMISES.items():
                yield (
                    f"{name} {promise}",
                    _case(points, k, method=method.name, confidential=values, **light, **guarantee),
                )


def _other_words(method: Any, light: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each word that a parameter of a method takes, one at a time."""
    for parameter in method.parameters:
        for word in getattr(parameter, "choices", ()):
            if word != parameter.default:
                yield {parameter.name: word}
    if method.name == "hybrid":
        for inside in ("mdav2k", "kc"):
            yield {"inside": inside}
        yield {"split": "blocks", "largest": 30}


def _efforts() -> Iterator[tuple[str, Callable[[], str]]]:
    for effort in ("quick", "balanced", "thorough", "prove", 3.0):
        for problem, (points, k) in PROBLEMS.items():
            solved = SOLVED if effort in SOLVING else ""
            yield f"{solved}auto {problem} effort {effort}", _case(points, k, effort=effort)
            if effort not in SOLVING:
                yield (
                    f"lns {problem} effort {effort}",
                    _case(points, k, method="lns", effort=effort),
                )
        if effort == "prove":
            continue
        points, k = PROBLEMS["spread"]
        for promise, guarantee in PROMISES.items():
            name = f"auto spread effort {effort} {promise}"
            yield name, _case(points, k, confidential=hidden(points, 5), effort=effort, **guarantee)


def made_table() -> pa.Table:
    """A small table with a name, three numbers of different precision, and a diagnosis."""
    points = spread(80, 3, 11)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(len(points))],
            "age": np.round(20 + 9 * points[:, 0]).astype(int),
            "income": np.round(1000 * points[:, 1], 2),
            "debt": points[:, 2],
            "ill": [f"illness {value}" for value in hidden(points, 6)],
        }
    )


def _release(**options: Any) -> Callable[[], str]:
    def digest() -> str:
        release = ma.anonymize(
            made_table(),
            k=4,
            quasi=["age", "income", "debt"],
            identifier=["name"],
            confidential=["ill"],
            seed=3,
            **options,
        )
        columns = [release.table.column(name).to_pylist() for name in release.table.column_names]
        return hashlib.sha256(repr([release.table.column_names, columns]).encode()).hexdigest()[:16]

    return digest


def _releases() -> Iterator[tuple[str, Callable[[], str]]]:
    for scale in ("zscore", "minmax", "robust", "none"):
        yield f"release scale {scale}", _release(scale=scale)
    yield "release full precision", _release(precision="full")
    yield "release l=2", _release(l=2)
    yield "release t=0.3 refined mdav", _release(t=0.3, method="mdav", refine=True)
    yield "release individual ranking", _release(method="individual-ranking")


if __name__ == "__main__":
    digests = {name: digest() for name, digest in cases()}
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", "utf-8")
    print(f"{len(digests)} digests")
