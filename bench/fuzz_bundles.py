"""Damage bundles at random, and look for one that tracekit does not refuse or read as it should.

    uv run python bench/fuzz_bundles.py --cases 10000
    uv run python bench/fuzz_bundles.py --first 4711 --cases 1     # one seed again
    uv run python bench/fuzz_bundles.py --bundle X.trace           # of a copy of that bundle

It prints how many damages there were and what became of them. A table that is read must be that
of the whole bundle where the damage is to a file with a checksum; whatever else is raised than
tracekit's own errors, or takes longer than ten seconds, is a finding, and there must be none.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

from bundle_writer.examples import small_bundle
from fuzzing.bundle_campaign import run
from fuzzing.bundle_damage import copied


def main() -> int:
    """Run the cases that were asked for; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--bundle", type=Path, help="a bundle; otherwise a small one is made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "damaged.trace")
        bundle = copied(options.bundle, place) if options.bundle else small_bundle(place)
        tally = run(bundle, range(options.first, options.first + options.cases))
    for name, count in sorted(tally.counts.items()):
        print(f"{name:>24}: {count:8}")
    print(f"{'slowest':>24}: {tally.slowest:8.2f} s")
    for finding in tally.findings:
        print(finding)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
