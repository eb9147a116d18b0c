"""Damage bundles at random, and look for one that tracekit does not refuse or read as it should.

    uv run python tests/fuzz/fuzz_bundles.py --cases 20000
    uv run python tests/fuzz/fuzz_bundles.py --first 4711 --cases 1   # one seed again
    uv run python tests/fuzz/fuzz_bundles.py --replay FILE            # the seeds in a file
    uv run python tests/fuzz/fuzz_bundles.py --corpus FOLDER          # where the real bundles are

Every case is read in a process that may have 4 GiB of address space, and no more than 20 seconds
for a case; the process goes on with the next case as long as it is well. Three small bundles are
made, and each 25th seed damages a copy of one of the real bundles, where the corpus is there.

It prints how the cases ended, by kind of damage; `fuzzing/bundle_endings.py` defines each ending.
 HUNG, KILLED (for memory, or by a signal), ERROR and SILENT are findings, and there must be
none. Their seeds are added to the file that `--keep` names; those that once were findings are in
`fuzzing/bundle_seeds.txt`, and a test replays them.
"""

import argparse
import json
import resource
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from fuzzing.bundle_campaign import (
    made_subjects,
    real_subjects,
    subject_of,
)
from fuzzing.bundle_endings import Outcome, Tally

HUNG, KILLED = "HUNG", "KILLED"
SEEDS = Path(__file__).with_name("fuzzing") / "bundle_seeds.txt"
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
_MEMORY = 4 << 30
_SECONDS = 20.0
_STARTING = 120.0
_OFTEN = 1000


def main() -> int:
    """Run the cases that were asked for; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--replay", type=Path, help="a file of seeds, instead of --cases")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where real bundles are")
    parser.add_argument("--keep", type=Path, help="a file to add the seeds of findings to")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return _work(options.worker, options.corpus)
    seeds = range(options.first, options.first + options.cases)
    tally = Tally()
    kept: list[int] = []
    for number, outcome in enumerate(
        outcomes(seeds_in(options.replay) if options.replay else seeds, options.corpus), 1
    ):
        tally.take(outcome)
        if _is_finding(outcome):
            kept.append(outcome.seed)
            print(outcome, file=sys.stderr, flush=True)
        if number % _OFTEN == 0:
            print(f"{number:,} cases, {len(kept)} findings", file=sys.stderr, flush=True)
    show(tally)
    if options.keep and kept:
        with options.keep.open("a") as file:
            file.writelines(f"{seed}\n" for seed in kept)
    return 1 if kept else 0


def seeds_in(file: Path) -> list[int]:
    """Return the seeds of a file; what stands behind a # is said of them."""
    lines = (line.partition("#")[0].strip() for line in file.read_text().splitlines())
    return [int(line) for line in lines if line]


def outcomes(seeds: Iterable[int], corpus: Path) -> Iterator[Outcome]:
    """Yield how each case ended; one process does them, and another goes on where it fails."""
    worker: _Worker | None = None
    try:
        for seed in seeds:
            worker = worker or _Worker(corpus)
            outcome = worker.case(seed)
            yield outcome
            if outcome.ending in {HUNG, KILLED}:
                worker.end()
                worker = None
    finally:
        if worker is not None:
            worker.end()


def show(tally: Tally) -> None:
    """Print how the cases ended, by kind of damage."""
    endings = sorted({ending for _, ending in tally.counts}, key=str.swapcase)
    print(f"{'':>22}", *(f"{ending:>12}" for ending in endings))
    for kind in sorted({kind for kind, _ in tally.counts}):
        print(f"{kind:>22}", *(f"{tally.counts[kind, ending]:12}" for ending in endings))
    print(f"{'all':>22}", *(f"{tally.ended(ending):12}" for ending in endings))
    unseen = ", ".join(f"{name} {count}" for name, count in sorted(tally.unseen.items()))
    print(f"undetectable, by file: {unseen or 'none'}")
    print(f"slowest: {tally.slowest:.2f} s")


def _is_finding(outcome: Outcome) -> bool:
    return outcome.is_finding or outcome.ending in {HUNG, KILLED}


class _Worker:
    """A process that does cases."""

    def __init__(self, corpus: Path) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", self._folder.name, "--corpus", str(corpus)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        if self._line(_STARTING) != "ready\n":
            raise RuntimeError("the process that does the cases did not begin")

    def case(self, seed: int) -> Outcome:
        """Let it do a case, and return how that ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed}\n")
        line = self._line(_SECONDS)
        if line is None:
            return Outcome(seed, "unknown", (), HUNG, f"no end within {_SECONDS:.0f} s")
        if not line:
            code = self._process.wait()
            return Outcome(seed, "unknown", (), KILLED, f"the process ended with {code}")
        return Outcome(**json.loads(line))

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _line(self, seconds: float) -> str | None:
        """Return its next line, empty if it ended; None if none comes in time."""
        output = self._process.stdout
        assert output is not None
        ready, _, _ = select.select([output], [], [], seconds)
        return output.readline() if ready else None


def _work(folder: Path, corpus: Path) -> int:
    """Do the cases whose seeds come in, one after the other."""
    made = list(made_subjects(folder))
    real = list(real_subjects(folder, corpus))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    print("ready", flush=True)
    for line in sys.stdin:
        seed = int(line)
        print(json.dumps(asdict(subject_of(seed, made, real).case(seed))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
