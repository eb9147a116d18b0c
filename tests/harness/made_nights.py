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
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, Reference

NOW = "2026-11-21T08:00:00+00:00"
_FIRST = datetime(2026, 10, 12, 2, 30, tzinfo=UTC)
_REFERENCE = Reference(revision="9999999")
_CAPTURES = [
    Capture("paged", "paged", reference=_REFERENCE, metrics=(
        Gated("step_p50"), Gated("tokens_per_second"), Gated("gpu_idle_ratio", gate=False,
        scale="difference"), Gated("start_latency_p99", gate=False),
        Gated("encoders_per_token", gate=False), Gated("memory_peak", gate=False),
    )),
    Capture("sdpa", "sdpa", reference=_REFERENCE,
            metrics=(Gated("step_p50"), Gated("tokens_per_second", gate=False))),
]  # fmt: skip
_FAILED, _MISSED, _PARTIAL, _OPEN = 7, (9, 10), 16, 28
_COMPILING, _SLOWER, _ACCEPTED, _FASTER = 14, 20, 23, 33
_STEADY = {"encoders_per_token", "memory_peak"}
_ENDINGS = {
    Outcome.FAILED: "Parity failed: paged and dense differ by 0.02 at 4 of 64 values.",
    Outcome.INCONCLUSIVE: "Fixed work took 31 % longer than at its fastest tonight.",
    Outcome.REGRESSION: "step_p50 is 5.2 % slower; at most 3 % is allowed.",
    Outcome.OK: "",
}


@dataclass(frozen=True)
class Made:
    """What `render_trend` takes."""

    series: list[Series]
    nights: list[Night]
    accepted: list[Accepted]
    missed: list[Missed]


def history(count: int = 40) -> Made:
    """Return a history of so many nights."""
    draw, accepted = random.Random(7), None
    with TemporaryDirectory() as folder, Store.open(f"{folder}/history.db") as store:
        for at in range(count):
            if at in _MISSED:
                store.missed("attention", "m3-max-1f2e", _started(at), "The machine slept.")
                continue
            store.append(_night(at, draw, accepted))
            if at == _ACCEPTED:
                reason = "The new mask is slower and correct."
                [accepted], _ = store.accept("latest", ["paged"], reason, _started(at))
        return Made(store.series(), store.nights(), store.acceptances(), store.missed_nights())


def _started(at: int) -> str:
    return (_FIRST + timedelta(days=at)).isoformat()


def _night(at: int, draw: random.Random, accepted: Accepted | None) -> Night:
    captures = _CAPTURES[:1] if at == _PARTIAL else _CAPTURES
    entries = [_entry(capture, at, draw, accepted) for capture in captures]
    name = f"{_FIRST + timedelta(days=at):%Y-%m-%dT%H-%M-%SZ}-{at:04x}"
    return Night(
        name, "attention", "m3-max-1f2e", _started(at), "plan-1", _environment(at),
        ended=_started(at), commit=_commit(at), entries=tuple(entries), partial=at == _PARTIAL,
        outcome=worst(entry.outcome for entry in entries if entry.outcome),
        reason="The budget of 2 h was spent." if at == _PARTIAL else "", folder=f"nights/{name}",
    )  # fmt: skip


def _entry(capture: Capture, at: int, draw: random.Random, accepted: Accepted | None) -> Entry:
    name, mlx = capture.name, _environment(at)["mlx"]
    outcome = {_FAILED: Outcome.FAILED, _OPEN: Outcome.INCONCLUSIVE}.get(at, Outcome.OK)
    if name == "paged" and _SLOWER <= at <= _ACCEPTED:
        outcome = Outcome.REGRESSION
    entry = Entry(
        name, f"{name}-work",
        Described(name, {"block_size": 16}, "3.12.7", mlx, "0.1.0", _commit(at),
                  f"{name}, block_size 16"),
        Described(name, {}, "3.12.7", mlx, "0.1.0", "9" * 40, "revision 9999999"),
        outcome=outcome, reason=_ENDINGS[outcome], overhead=Overhead(0.021, 0.006, 40, 400),
        parity="parity holds at 12 of 12 points",
    )  # fmt: skip
    if outcome is Outcome.FAILED:
        return entry
    pairs = [_pair(number, name, at, draw) for number in range(1, 11)]
    traced = Pair(1, 11, "ab", traced=True, runs=(f"{name}/candidate-1", f"{name}/reference-1"))
    judged = judge_entry(capture, pairs, {}, accepted if name == "paged" else None)
    return replace(
        entry,
        pairs=(*pairs, traced),
        judged=tuple(replace(each, outcome=outcome if each.gated else None) for each in judged),
        findings=tuple(_findings(at)) if name == "paged" else (),
    )


def _pair(number: int, capture: str, at: int, draw: random.Random) -> Pair:
    """Measure both sides at the machine's pace of the moment."""
    pace, sides = draw.gauss(1, 0.01), list[dict[str, tuple[float, ...]]]()
    for night in (at, 0):
        known = _values(capture, night)
        noise = {name: pace * draw.gauss(1, 0.004) for name in known if name not in _STEADY}
        sides.append({name: (value * noise.get(name, 1.0),) for name, value in known.items()})
    candidate, reference = sides
    reference.pop("start_latency_p99", None)
    return Pair(1, number, "ab", candidate=candidate, reference=reference)


def _values(capture: str, at: int) -> dict[str, float]:
    """Return what a candidate measures, but for noise; the reference is that of the first night."""
    if capture == "sdpa":
        return {"step_p50": 1.31e6, "tokens_per_second": 6100.0}
    slow = 1.052 if _SLOWER <= at < _FASTER else 1.0
    return {
        "step_p50": 1.62e6 * slow,
        "tokens_per_second": 4937.0 / slow,
        "gpu_idle_ratio": 0.126 if at >= _FASTER else 0.18,
        "start_latency_p99": 41_000.0 * (1 + 0.004 * at),
        "encoders_per_token": 96.0,
        "memory_peak": 3.2 * 2**30,
    }


def _findings(at: int) -> list[TracedFinding]:
    idle = "The GPU was idle for 18 % of the steady window."
    churn = "3 pipelines were compiled in the steady window."
    found = [TracedFinding("bubbles", idle, "warning", 2, 2, saving_per_token=11_000.0)]
    if at >= _FASTER:
        found.clear()
    if at >= _COMPILING:
        traces = 1 + (at + 1) % 2
        found.append(TracedFinding("pipeline-churn", churn, "warning", traces, 2, in_reference=1))
    return found


def _commit(at: int) -> str:
    return f"{(at + 1) * 2654435761 % 2**32:08x}" * 5


def _environment(at: int) -> dict[str, str]:
    os, build = ("macOS 26.0", "25A354") if at < 25 else ("macOS 26.1", "25B78")
    mlx = "0.29.1" if at < 12 else "0.29.2"
    return {"os": os, "os_build": build, "chip": "Apple M3 Max", "mlx": mlx, "python": "3.12.7"}
