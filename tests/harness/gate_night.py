"""One literal night that has all outcomes, and pairs made of literal changes."""

import math
from collections.abc import Sequence
from itertools import chain, repeat

from tracekit.machine.state import State
from tracekit.nightly.history.night import (
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)

BEGUN = State("2026-11-20T02:31:00+00:00")
DONE = State("2026-11-20T02:33:30.500+00:00")
BASE = Described("paged", {"block_size": 16}, "3.13.1", "0.32", "0.1.0", "1a2b3c4", "revision main")
OWN = Described("paged", {"block_size": 16}, "3.13.1", "0.32", "0.1.0", "5d6e7f8", "this tree")

SLOWER = Judged(
    "step_p50", "ns", "lower", outcome=Outcome.REGRESSION, candidate=1_098_000.0,
    reference=1_000_000.0, change=0.098, low=0.081, high=0.117, expected=0.0, pairs=20,
    reproduced=True, reason="+9.8 % [+8.1 % … +11.7 %]: worse, beyond the threshold of 3.0 %, and "
    "both sessions show it.",
)  # fmt: skip
IDLE = Judged(
    "gpu_idle_ratio", "ratio", "lower", scale="difference", threshold=0.02,
    outcome=Outcome.INCONCLUSIVE, candidate=0.21, reference=0.2, change=0.01, low=-0.03, high=0.05,
    expected=0.0, pairs=7,
    reason="+1.0 points: so uncertain that a change of 2.0 points could hide in it.",
)  # fmt: skip
SAME = Judged(
    "tokens_per_second", "tokens/s", "higher", outcome=Outcome.OK, candidate=1510.0,
    reference=1500.0, change=0.0067, low=-0.004, high=0.018, expected=0.0, pairs=10,
    reason="+0.7 %: not worse by 3.0 %.",
)  # fmt: skip
FOLLOWED = Judged("memory_peak", "bytes", "lower", gated=False, candidate=3.0e9, pairs=10)
CHURN = TracedFinding(
    "pipeline-churn", "9 pipelines were made in the steady phase.", "warning", 2, 2
)
PAIRS = (
    Pair(1, 1, "abba", before=BEGUN, after=DONE),
    Pair(1, 2, "ab", traced=True, runs=("decode/c-1", "decode/r-1")),
)
DECODE = Entry(
    "decode", "w1", OWN, BASE, PAIRS, (SLOWER, FOLLOWED), (CHURN,), Outcome.REGRESSION,
    "step_p50 is worse.", parity="The quick grid agrees.", backend="metal",
)  # fmt: skip
PREFILL = Entry("prefill", "w2", OWN, BASE, (), (IDLE, SAME), (), Outcome.INCONCLUSIVE, "Too wide.")
BROKEN = Entry("serve", "w3", OWN, BASE, outcome=Outcome.FAILED, reason="Parity failed: 3 of 8.")
FINE = Entry("micro", "w4", OWN, BASE, (), (SAME,), (), Outcome.OK, "Nothing is worse.")

NIGHT = Night(
    "2026-11-20T02-30-00-abcd", "attention", "m1-8gb", "2026-11-20T02:30:00+00:00",
    ended="2026-11-20T02:58:10+00:00", commit="5d6e7f8", entries=(DECODE, PREFILL, BROKEN, FINE),
    environment={"chip": "Apple M1", "os": "macOS 26.1", "os_build": "25B78", "mlx": "0.32"},
    outcome=Outcome.FAILED, reason="serve failed; decode is worse.",
    folder="nights/2026-11-20T02-30-00-abcd", warnings=("The lid was closed.",),
)  # fmt: skip


def make_pairs(
    *sessions: Sequence[float],
    metric: str = "step_p50",
    difference: bool = False,
    traced: bool = False,
    rejections: Sequence[str] = (),
) -> list[Pair]:
    """Make the pairs of sessions: one for each change, the reference's value being 100.

    `rejections` are the reasons why pairs do not count, in their order; the others count.
    """
    whys, pairs = chain(rejections, repeat("")), list[Pair]()
    for session, changes in enumerate(sessions, 1):
        for number, change in enumerate(changes, 1):
            new = 100 + change if difference else 100 * math.exp(change)
            candidate = {metric: (new,) if traced else (new * 0.99, new * 1.01)}
            reference = {metric: (100.0,) if traced else (99.0, 101.0)}
            reasons = tuple(filter(None, [next(whys)]))
            sides = candidate, reference
            pairs.append(Pair(session, number, "abba", traced, *sides, rejections=reasons))
    return pairs
