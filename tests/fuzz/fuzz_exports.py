"""Look for a file that the readers of exports read differently, for as long as you like.

    uv run python tests/fuzz/fuzz_exports.py --minutes 10
    uv run python tests/fuzz/fuzz_exports.py --first 4711 --minutes 0   # one seed again

It prints how many files were made, how many of them the fast reader took, how many libxml2
refused, and how many the readers differ on, which must be none. Every difference is written
to a file that is as small as it can be made.
"""

import argparse
import sys
import time
from pathlib import Path

from fuzzing.campaign import KINDS, Tally, run, smallest, still_differs

_KEPT = 20


def main() -> int:
    """Run for the time that was asked for; return 1 if the readers differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long; 0 for one seed")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--output", type=Path, default=Path("fuzz"), help="folder for differences")
    options = parser.parse_args()
    begun = time.monotonic()
    seeds = range(options.first, options.first + (1 << 40 if options.minutes else 1))
    tally = run(seeds, until=begun + options.minutes * 60 if options.minutes else float("inf"))
    _show(tally, time.monotonic() - begun)
    _write(tally, options.output)
    return 1 if tally.cases else 0


def _show(tally: Tally, seconds: float) -> None:
    files = sum(tally.counts[name] for name in ("plain", "odd", "damaged"))
    print(f"{files} files in {seconds:.0f} s")
    for name in ("plain", "odd", "damaged"):
        print(
            f"{name:>8}: {tally.counts[name]:8}  read fast: "
            f"{tally.counts[name + ', read fast']:8}  refused by libxml2: "
            f"{tally.counts[name + ', not well-formed']:8}"
        )
    for kind in KINDS:
        print(f"{kind:>8}: {sum(case.kind == kind for case in tally.cases)}")


def _write(tally: Tally, folder: Path) -> None:
    seen: set[str] = set()
    for case in tally.cases:
        name = f"{case.kind}: {case.words.partition(':')[0]}"
        if name in seen or len(seen) == _KEPT:
            continue
        seen.add(name)
        folder.mkdir(exist_ok=True)
        path = folder / f"{case.kind}-{case.seed}.xml"
        content = case.content
        if case.kind == "differs" and still_differs(content):
            content = smallest(content, still_differs)
        path.write_bytes(content)
        print(f"seed {case.seed}, {path}: {case.kind}: {case.words}")


if __name__ == "__main__":
    sys.exit(main())
