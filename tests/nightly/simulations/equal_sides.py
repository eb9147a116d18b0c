"""Measure how much pairs of equal sides differ on this machine: what a gate has to see past.

python tests/nightly/simulations/equal_sides.py
python tests/nightly/simulations/equal_sides.py --pairs 40 --turn 1 --workload paged sdpa
python tests/nightly/simulations/equal_sides.py --workloads FOLDER --workload mine --output equal
python tests/nightly/simulations/equal_sides.py --apart --pairs 40

Candidate and reference are the same work of the same interpreter, measured as a night measures
them. With --output, each workload leaves a night.json there, which gate_simulation.py --measured
reads.

The mean of all pairs with its 95 % interval tells whether a session favours a side; that of pairs
that begin with the candidate less that of the others whether it favours who begins. The correlation
of neighbours tells whether pairs are independent, as the gate presumes: of 40 it is then below 0.3.
"""

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.base.documents import save
from tracekit.base.recording import make_timestamp
from tracekit.comparison.spread import quantile
from tracekit.machine.state import State, StateLimits, find_rejections
from tracekit.machine.watch import Watch
from tracekit.nightly.history.night import Entry, Night, Pair
from tracekit.nightly.history.pairs import changes
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.child import prepared
from tracekit.nightly.session.measuring import measure

SMALL = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 16}
METRICS = ("step_p50", "step_rate")
_NORMAL_MAD = 1.4826  # a normal deviation over the median one


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each workload against itself, and print a row for each of its metrics."""
    chosen = _parser().parse_args(arguments)
    print("workload    metric      s/pair  pairs  clean  median     sd  robust sd  the same, clean")
    fairness: list[str] = []
    for name in chosen.workload:
        with tempfile.TemporaryDirectory() as folder:
            capture = Capture(
                name,
                name,
                chosen.workloads,
                {} if chosen.workloads else dict(SMALL),
                Reference(),
                pairs=chosen.pairs,
                turn=chosen.turn,
                together=not chosen.apart,
            )
            began = time.monotonic()
            entry = measured(capture, Path(folder))
            each = (time.monotonic() - began) / chosen.pairs
        for metric in METRICS:
            print(row(entry, metric, each))
            fairness.append(fair(entry, metric))
        sys.stdout.flush()
        if chosen.output is not None:
            (chosen.output / name).mkdir(parents=True, exist_ok=True)
            night = Night(f"equal-{name}", "equal sides", "", make_timestamp(), entries=(entry,))
            save(chosen.output / name / "night.json", night)
    print("\nworkload    metric                mean  candidate first, less the others  neighbours")
    print("\n".join(fairness))


def measured(capture: Capture, folder: Path) -> Entry:
    """Measure a capture's pairs, and say of each why it does not count."""
    file = folder / "tracekit.toml"
    file.touch()
    plan = NightPlan("equal sides", file, (capture,), folder, "")
    with prepared(capture, plan, folder / "night") as ready, Watch() as watch:
        pairs = list(measure(ready, watch=watch))
        seen = [state for one in pairs for state in (one.before, one.after) if state is not None]
        described = ready.described
    return Entry(
        capture.name,
        "",
        described["candidate"],
        described["reference"],
        tuple(_judged(one, seen) for one in pairs),
    )


def row(entry: Entry, metric: str, each: float) -> str:
    """Return how far pairs are apart in a metric: all of them, and those that count."""
    whole = changes([_clean(one) for one in entry.pairs], metric, "ratio")
    clean = changes(entry.pairs, metric, "ratio")
    head = f"{entry.capture:11} {metric:10} {each:7.2f} {len(whole):6} {len(clean):6} "
    return head + f"{spread(whole)}  {spread(clean)}"


def fair(entry: Entry, metric: str) -> str:
    """Return whether a side is favoured: by all pairs, by their order, and by their neighbours."""
    found = [(one, changes([_clean(one)], metric, "ratio")) for one in entry.pairs]
    known = [(one.order[0], own[0]) for one, own in found if own]
    whole = [change for _, change in known]
    first, other = ([change for begin, change in known if begin == letter] for letter in "ab")
    head = f"{entry.capture:11} {metric:10}"
    if min(len(first), len(other)) < 3:
        return f"{head} too few pairs"
    middles = statistics.fmean(first) - statistics.fmean(other)
    half = math.hypot(_half(first), _half(other))
    alike = statistics.correlation(whole[:-1], whole[1:])
    mean = f"{statistics.fmean(whole):+7.2%} ± {_half(whole):6.2%}"
    return f"{head} {mean}  {middles:+13.2%} ± {half:6.2%}            {alike:+10.2f}"


def _half(values: Sequence[float]) -> float:
    return quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def spread(values: Sequence[float]) -> str:
    """Return the median, the standard deviation and the robust one of logarithms, in percent."""
    if len(values) < 3:
        return "too few pairs"
    middle = statistics.median(values)
    robust = _NORMAL_MAD * statistics.median(abs(one - middle) for one in values)
    return f"{middle:+7.2%} {statistics.stdev(values):6.2%} {robust:10.2%}"


def _judged(pair: Pair, seen: Sequence[State]) -> Pair:
    why = find_rejections(pair.before, pair.after, seen, StateLimits())
    return _clean(pair, why)


def _clean(pair: Pair, why: tuple[str, ...] = ()) -> Pair:
    return replace(pair, rejections=why)


def _parser() -> argparse.ArgumentParser:
    words = __doc__.partition("\n")[0] if __doc__ else ""
    parser = argparse.ArgumentParser(description=words)
    add = parser.add_argument
    add("--workload", nargs="+", default=["paged", "sdpa"], metavar="NAME", help="what is measured")
    add("--workloads", type=Path, metavar="DIR", help="a folder with workloads of your own")
    add("--pairs", type=int, default=20, help="pairs of each")
    add("--turn", type=float, default=0.3, help="seconds of a turn")
    add("--apart", action="store_true", help="one process lives after the other")
    add("--output", type=Path, metavar="DIR", help="where a night.json of each goes")
    return parser


if __name__ == "__main__":
    main()
