"""Fuzz until told to stop (Ctrl-C), and keep what is found: python tests/fuzz/run.py [--start N]
[--count N] [--folder F] [--seed N]

Every finding leaves a folder named after its number, with the files of the case and what went
wrong. The number alone makes the case again: --seed N.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fuzz import cases, judging


def main() -> int:
    """Run cases; returns 1 if anything was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--start", type=int, default=int(time.time()) % 10**6 * 1000)
    options.add_argument("--count", type=int, default=None)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--folder", type=Path, default=Path("fuzz-findings"))
    args = options.parse_args()
    start = args.start if args.seed is None else args.seed
    count = args.count if args.seed is None else 1
    cases.warm()
    findings, seed = 0, start
    try:
        while count is None or seed < start + count:
            findings += not _plays(seed, args.folder)
            seed += 1
            if (seed - start) % 500 == 0:
                print(f"{seed - start} cases, {findings} findings", flush=True)
    except KeyboardInterrupt:
        pass
    print(f"{seed - start} cases from {start} on, {findings} findings")
    return int(findings > 0)


def _plays(seed: int, findings: Path) -> bool:
    folder = Path(tempfile.mkdtemp(prefix=f"microagg-fuzz-{seed}-"))
    try:
        cases.play(seed, folder)
        return True
    except judging.Finding as finding:
        kept = findings / str(seed)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        (kept / "finding.txt").write_text(f"{finding}\n", "utf-8", errors="backslashreplace")
        print(
            f"{seed} {cases.KINDS[seed % len(cases.KINDS)].__name__}: "
            f"{str(finding).strip().splitlines()[-1][:150]!r}"
        )
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
