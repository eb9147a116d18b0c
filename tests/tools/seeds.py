"""Run the tests in many orders and surroundings, each by a seed of pytest-randomly.

    uv run --group dev python tests/tools/seeds.py                    # twenty seeds, drawn now
    uv run --group dev python tests/tools/seeds.py 4711 4712          # these again
    uv run --group dev python tests/tools/seeds.py --count 5 -- --tier processes

What follows `--` goes to pytest. All seeds run, whatever the first ones find; the last line names
those that failed, and the exit code is 1 then.
"""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Sequence

_LARGEST = 2**32  # numpy takes no seed from here on


def run(seed: int, arguments: Sequence[str]) -> bool:
    """Run pytest with a seed; return whether all tests passed, and show what it said if not."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "pytest", f"--randomly-seed={seed}", "-q", *arguments]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True, errors="replace")
    has_passed = ended.returncode == 0
    if not has_passed:
        print(ended.stdout, ended.stderr, sep="")
    outcome = "passed" if has_passed else f"FAILED with exit code {ended.returncode}"
    print(f"seed {seed}: {outcome} in {time.monotonic() - began:.0f} s", flush=True)
    return has_passed


def main() -> None:
    """Run every seed, and end with 1 if one of them failed."""
    parser = argparse.ArgumentParser(description="Run the tests in many orders.")
    parser.add_argument(
        "seeds", type=int, nargs="*", help="seeds to run; drawn where none is given"
    )
    parser.add_argument("--count", type=int, default=20, help="how many seeds are drawn")
    ours, theirs = _split(sys.argv[1:])
    given = parser.parse_args(ours)
    seeds = given.seeds or [random.SystemRandom().randrange(_LARGEST) for _ in range(given.count)]
    failed = [seed for seed in seeds if not run(seed, theirs)]
    if failed:
        names = " ".join(map(str, failed))
        sys.exit(f"{len(failed)} of {len(seeds)} seeds failed: {names}\nAgain: just seeds {names}")
    print(f"{len(seeds)} seeds passed: {' '.join(map(str, seeds))}")


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the arguments before `--`, and those after it."""
    if "--" not in arguments:
        return arguments, ()
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


if __name__ == "__main__":
    main()
