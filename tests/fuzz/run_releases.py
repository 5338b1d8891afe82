"""Random releases, each read by everybody: python tests/fuzz/run_releases.py [--start N]
[--releases N] [--folder F] [--seed N]

Goes on until so many releases have been written; those that were refused are counted beside, by the
beginning of their sentence. Every finding leaves a folder named after its number, which makes the
case again: --seed N.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fuzz import releases

TOLD = 60  # letters of a sentence by which refusals are counted


def main() -> int:
    """Run cases; returns 1 if any was broken."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--releases", type=int, default=1500)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--folder", type=Path, default=Path("fuzz-findings"))
    args = options.parse_args()
    seed, wanted = (args.start, args.releases) if args.seed is None else (args.seed, 1)
    written: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    broken: list[int] = []
    with contextlib.ExitStack() as stack:
        engine = None
        while written.total() + len(broken) < wanted:
            case = releases.make_case(seed)
            if case.way == "dask" and engine is None:
                engine = stack.enter_context(releases.engine_here())
            _count(case, engine, args.folder, written, refused, broken)
            seed += 1
            if args.seed is not None:
                break
            if seed % 100 == 0:
                print(
                    f"{written.total()} written, {refused.total()} refused, {len(broken)} broken",
                    flush=True,
                )
    for what, count in sorted(written.items()):
        print(f"{count:5} {what}")
    for sentence, count in refused.most_common():
        print(f"{count:5} refused: {sentence}…")
    print(f"{written.total()} written, {refused.total()} refused, broken: {broken}")
    return int(bool(broken))


def _count(
    case: releases.Case,
    engine: Any,
    findings: Path,
    written: Counter[str],
    refused: Counter[str],
    broken: list[int],
) -> None:
    """Play one case, and count what came of it."""
    folder = Path(tempfile.mkdtemp(prefix=f"microagg-release-{case.seed}-"))
    try:
        refusal = releases.play(case, folder, engine)
        if refusal is None:
            written[f"{case.way} {case.target}"] += 1
        else:
            refused[refusal[:TOLD]] += 1
    except releases.Broken as finding:
        broken.append(case.seed)
        kept = findings / f"release-{case.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        (kept / "finding.txt").write_text(f"{finding}\n", "utf-8")
        print(
            f"{case.seed} {case.way} {case.source} {case.target}: {str(finding)[:300]}", flush=True
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
