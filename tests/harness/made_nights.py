"""A made-up history: forty nights of two captures, with all that can happen to them.

Times are steps of a decode loop; nothing in it was measured. Noise is drawn from a fixed seed.
"""

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

from tracekit.base.recording import Overhead
from tracekit.nightly.gate.judge import judge_entry, worst
from tracekit.nightly.history.night import (
    Accepted,
    Described,
    Entry,
    Missed,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, Reference

NOW = "2026-11-21T08:00:00+00:00"
_FIRST = datetime(2026, 10, 12, 2, 30, tzinfo=UTC)
_FAILED, _MISSED, _COMPILING, _OPEN = 7, (9, 10), 14, 28
_SLOWER, _ACCEPTED, _FASTER = 20, 23, 33  # a regression until it was accepted
_ENDINGS = {
    Outcome.FAILED: "Parity failed: paged and dense differ by 0.02 at 4 of 64 values.",
    Outcome.INCONCLUSIVE: "Fixed work took 31 % longer than at its fastest tonight.",
    Outcome.REGRESSION: "step_p50 is 5.2 % slower; at most 3 % is allowed.",
    Outcome.OK: "",
}
_FOLLOWED = (
    Gated("gpu_idle_ratio", gate=False, scale="difference"),
    *(Gated(name, gate=False) for name in ("start_latency_p99", "encoders_per_token")),
)


@dataclass(frozen=True)
class Made:
    series: list[Series]
    nights: list[Night]
    accepted: list[Accepted]
    missed_nights: list[Missed]


def history() -> Made:
    draw, accepted = random.Random(7), None
    with TemporaryDirectory() as folder, Store.connect(f"{folder}/history.db") as store:
        for index in range(40):
            begin_time = (_FIRST + timedelta(days=index)).isoformat()
            if index in _MISSED:
                store.record_missed("attention", "m3-max-1f2e", begin_time, "The machine slept.")
            else:
                store.append(_night(index, begin_time, draw, accepted))
            if index == _ACCEPTED:
                reason = "The new mask is slower and correct."
                [accepted], _ = store.accept("latest", ["paged"], reason, begin_time)
        return Made(store.series(), store.nights(), store.acceptances(), store.missed_nights())


def _night(index: int, begin_time: str, draw: random.Random, accepted: Accepted | None) -> Night:
    name = f"{begin_time[:19].replace(':', '-')}Z-{index:04x}"
    entries = (
        _entry("paged", (Gated("step_p50"), Gated("tokens_per_second"), *_FOLLOWED), index, draw,
               accepted),
        _entry("sdpa", (Gated("step_p50"), Gated("tokens_per_second", gate=False)), index, draw),
    )  # fmt: skip
    return Night(
        name, "attention", "m3-max-1f2e", begin_time, "plan-1",
        {"os": "macOS 26.0", "chip": "Apple M3 Max", "mlx": entries[0].candidate.mlx},
        ended=begin_time, commit=entries[0].candidate.commit, entries=entries,
        folder=f"nights/{name}",
        outcome=worst(entry.outcome for entry in entries if entry.outcome),
    )  # fmt: skip


def _entry(
    name: str,
    metrics: tuple[Gated, ...],
    index: int,
    draw: random.Random,
    accepted: Accepted | None = None,
) -> Entry:
    outcome = {_FAILED: Outcome.FAILED, _OPEN: Outcome.INCONCLUSIVE}.get(index, Outcome.OK)
    if name == "paged" and _SLOWER <= index <= _ACCEPTED:
        outcome = Outcome.REGRESSION
    commit, mlx = (
        f"{(index + 1) * 2654435761 % 2**32:08x}" * 5,
        "0.29.1" if index < 12 else "0.29.2",
    )
    entry = Entry(
        name, f"{name}-work",
        Described(name, {}, "3.12.7", mlx, "0.1.0", commit, f"{name}, block_size 16"),
        Described(name, {}, "3.12.7", mlx, "0.1.0", "9" * 40, "revision 9999999"),
        outcome=outcome, reason=_ENDINGS[outcome], overhead=Overhead(0.021, 0.006, 40, 400),
        parity="parity holds at 12 of 12 points",
    )  # fmt: skip
    if outcome is Outcome.FAILED:
        return entry
    pairs = [_pair(number, name, index, draw) for number in range(1, 11)]
    traced = Pair(1, 11, "ab", traced=True, runs=(f"{name}/candidate-1", f"{name}/reference-1"))
    capture = Capture(name, name, reference=Reference(revision="9999999"), metrics=metrics)
    judged = judge_entry(capture, pairs, {}, accepted)
    return replace(
        entry,
        pairs=(*pairs, traced),
        judged=tuple(
            replace(judgement, outcome=outcome if judgement.gated else None) for judgement in judged
        ),
        findings=tuple(_findings(index)) if name == "paged" else (),
    )


def _pair(number: int, capture: str, index: int, draw: random.Random) -> Pair:
    """Measure both sides at the machine's pace of the moment; the reference is the first night."""
    pace, sides = draw.gauss(1, 0.01), list[dict[str, tuple[float, ...]]]()
    for night in (index, 0):
        slow = 1.052 if capture == "paged" and _SLOWER <= night < _FASTER else 1.0
        values = {
            "step_p50": 1.62e6 * slow,
            "tokens_per_second": 4937.0 / slow,
            "gpu_idle_ratio": 0.126 if night >= _FASTER else 0.18,
            "start_latency_p99": 41_000.0 * (1 + 0.004 * night),
        }
        noisy = {name: (value * pace * draw.gauss(1, 0.004),) for name, value in values.items()}
        sides.append(noisy | {"encoders_per_token": (96.0,)})
    candidate, reference = sides
    del reference["start_latency_p99"]
    return Pair(1, number, "ab", candidate=candidate, reference=reference)


def _findings(index: int) -> list[TracedFinding]:
    idle = "The GPU was idle for 18 % of the steady window."
    churn = "3 pipelines were compiled in the steady window."
    findings = [TracedFinding("bubbles", idle, "warning", 2, 2, saving_per_token=11_000.0)]
    if index >= _FASTER:
        findings.clear()
    if index >= _COMPILING:
        traces = 1 + (index + 1) % 2
        findings.append(
            TracedFinding("pipeline-churn", churn, "warning", traces, 2, in_reference=1)
        )
    return findings
