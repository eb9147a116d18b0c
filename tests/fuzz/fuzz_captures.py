"""Damage GPU frame captures at random, and look for one that the reader does not end well.

    uv run python tests/fuzz/fuzz_captures.py --cases 20000
    uv run python tests/fuzz/fuzz_captures.py --first 4711 --cases 1   # one seed again
    uv run python tests/fuzz/fuzz_captures.py --corpus FOLDER          # where the real captures are

A capture is made, and each 25th seed damages a copy of a real one, where the corpus is there. Every
case is read in this process, which may have 4 GiB of address space. `fuzzing/capture_damage.py`
defines the damages and the endings. SILENT, ERROR and SLOW are findings, and there must be none.
"""

import argparse
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from fuzzing.capture_damage import FINDINGS, CaptureSubject, made_subjects, real_subjects

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
_MEMORY = 4 << 30
_REAL = 25  # of so many seeds, one is of a real capture
_OFTEN = 1000


def main() -> int:
    """Run the cases that were asked for; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where real captures are")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        made = made_subjects(Path(folder))
        real = real_subjects(Path(folder), options.corpus)
        counts, finding_count = _run(
            range(options.first, options.first + options.cases), made, real
        )
    _show(counts)
    return 1 if finding_count else 0


def _run(
    seeds: range, made: list[CaptureSubject], real: list[CaptureSubject]
) -> tuple[Counter[tuple[str, str]], int]:
    counts: Counter[tuple[str, str]] = Counter()
    finding_count = 0
    for number, seed in enumerate(seeds, start=1):
        subjects = real if real and seed % _REAL == 0 else made
        outcome = subjects[seed // _REAL % len(subjects)].damage(seed)
        counts[outcome.kind, outcome.ending] += 1
        if outcome.ending in FINDINGS:
            finding_count += 1
            print(outcome, file=sys.stderr, flush=True)
        if number % _OFTEN == 0:
            print(f"{number:,} cases, {finding_count} findings", file=sys.stderr, flush=True)
    return counts, finding_count


def _show(counts: Counter[tuple[str, str]]) -> None:
    """Print how the cases ended, by kind of damage."""
    endings = sorted({ending for _, ending in counts})
    print(f"{'':>22}", *(f"{ending:>12}" for ending in endings))
    for kind in sorted({kind for kind, _ in counts}):
        print(f"{kind:>22}", *(f"{counts[kind, ending]:12}" for ending in endings))
    totals = [sum(count for (_, name), count in counts.items() if name == end) for end in endings]
    print(f"{'all':>22}", *(f"{total:12}" for total in totals))


if __name__ == "__main__":
    sys.exit(main())
