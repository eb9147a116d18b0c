"""A made-up history: forty nights of three captures, with all that can happen to them.

Times are steps of a decode loop; nothing in it was measured. Noise is drawn from a fixed seed.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from tracekit.base.recording import Overhead
from tracekit.nightly.history.night import (
    Accepted,
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.decisions import Missed

FIRST = datetime(2026, 10, 12, 2, 30, tzinfo=UTC)
NOW = "2026-11-21T08:00:00+00:00"
MS = 1_000_000.0
MACHINE = "m3-max-1f2e"
PLAN = "attention"
PAIRS = 10

Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Followed:
    """A metric of a made capture."""

    metric: str
    unit: str
    value: float
    better: Better = "lower"
    gated: bool = False
    threshold: float = 0.03
    scale: Literal["ratio", "difference"] = "ratio"
    noise: float = 0.01
    spread: float = 0.012
    reference: float | None = 1.0
    steps: Mapping[int, float] = field(default_factory=dict)  # night: factor from then on
    drift: float = 0.0


def started(night: int) -> str:
    return (FIRST + timedelta(days=night)).isoformat()


def identity(night: int) -> str:
    return f"{FIRST + timedelta(days=night):%Y-%m-%dT%H-%M-%SZ}-{night:04x}"


def commit_of(night: int) -> str:
    return f"{(night + 1) * 2654435761 % 2**32:08x}"


def environment(night: int) -> dict[str, Any]:
    return {
        "os": "macOS 26.0" if night < 25 else "macOS 26.1",
        "os_build": "25A354" if night < 25 else "25B78",
        "chip": "Apple M3 Max",
        "mlx": "0.29.1" if night < 12 else "0.29.2",
        "python": "3.12.7",
    }


def point_of(one: Followed, night: int, draw: random.Random, outcome: Outcome | None) -> Point:
    pace = draw.gauss(1, one.noise)
    factor = 1.0
    for begin, by in one.steps.items():
        factor *= by if night >= begin else 1.0
    factor *= 1 + one.drift * night
    own = one.value * pace * factor * draw.gauss(1, one.noise / 4)
    known: dict[str, Any] = {}
    if one.reference is not None:
        reference = one.value * one.reference * pace
        change = own / reference - 1 if one.scale == "ratio" else own - reference
        width = one.noise / 2 if one.scale == "ratio" else abs(own) * one.noise / 2
        known = {
            "reference": reference,
            "change": change,
            "low": change - width * draw.uniform(0.7, 1.4),
            "high": change + width * draw.uniform(0.7, 1.4),
        }
    return Point(
        identity(night),
        started(night),
        own,
        least=own * (1 - one.spread * draw.uniform(0.5, 1.2)),
        most=own * (1 + one.spread * draw.uniform(0.5, 2)),
        pairs=PAIRS,
        outcome=outcome if one.gated else None,
        night_outcome=outcome,
        commit=commit_of(night) * 5,
        environment=environment(night),
        folder=f"nights/{identity(night)}",
        **known,
    )


@dataclass(frozen=True)
class Made:
    """What `render_trend` takes."""

    series: tuple[Series, ...]
    nights: tuple[Night, ...]
    accepted: tuple[Accepted, ...]
    missed: tuple[Missed, ...]


CAPTURES: dict[str, tuple[Followed, ...]] = {
    "paged": (
        Followed("step_p50", "ns", 1.62 * MS, gated=True, steps={20: 1.052, 33: 0.95}),
        Followed("tokens_per_second", "tokens/s", 4937, "higher", gated=True,
                 steps={20: 1 / 1.052, 33: 1 / 0.95}),
        Followed("gpu_idle_ratio", "ratio", 0.18, scale="difference", noise=0.05,
                 steps={33: 0.7}),
        Followed("start_latency_p99", "ns", 41_000.0, noise=0.08, reference=None, drift=0.004),
        Followed("encoders_per_token", "count", 96.0, noise=0.0, spread=0.0),
        Followed("memory_peak", "bytes", 3.2 * 2**30, noise=0.002),
    ),
    "sdpa": (
        Followed("step_p50", "ns", 1.31 * MS, gated=True, noise=0.015),
        Followed("tokens_per_second", "tokens/s", 6100, "higher", noise=0.015),
    ),
}  # fmt: skip

FAILED, CONTAMINATED, PARTIAL = 7, 28, 16
MISSED = (9, 10)
EXPECTED = {("paged", "step_p50"): 0.052, ("paged", "tokens_per_second"): 1 / 1.052 - 1}
REGRESSED = range(20, 24)  # until the new level was accepted
ACCEPTED = 23


def outcome_of(capture: str, night: int) -> tuple[Outcome | None, str]:
    if night == FAILED:
        return Outcome.FAILED, "Parity failed: paged and dense differ by 0.02 at 4 of 64 values."
    if night == CONTAMINATED:
        return Outcome.INCONCLUSIVE, "Fixed work took 31 % longer than at its fastest tonight."
    if capture == "paged" and night in REGRESSED:
        return Outcome.REGRESSION, "step_p50 is 5.2 % slower; at most 3 % is allowed."
    return Outcome.OK, ""


def judged_of(capture: str, one: Followed, point: Point) -> Judged:
    later = int(point.night[-4:], 16) > ACCEPTED
    expected = EXPECTED.get((capture, one.metric), 0.0) if later else 0.0
    change, low, high = (
        None if value is None
        else (1 + value) / (1 + expected) - 1 if one.scale == "ratio" else value - expected
        for value in (point.change, point.low, point.high)
    )  # fmt: skip
    return Judged(
        one.metric, one.unit, one.better, one.scale, one.threshold,
        gated=one.gated, outcome=point.outcome, candidate=point.value, reference=point.reference,
        change=change, low=low, high=high, expected=expected if one.gated else None,
        baseline=identity(ACCEPTED) if expected else "", pairs=PAIRS, reason=point.reason,
    )  # fmt: skip


def findings_of(capture: str, night: int) -> tuple[TracedFinding, ...]:
    if capture != "paged":
        return ()
    idle = TracedFinding(
        "bubbles", "The GPU was idle for 18 % of the steady window.", "warning", 2, 2,
        saving_per_token=0.011 * MS,
    )  # fmt: skip
    churn = TracedFinding(
        "pipeline-churn", "3 pipelines were compiled in the steady window.", "warning",
        1 if night % 2 else 2, 2, in_reference=1,
    )  # fmt: skip
    return (idle,) * (night < 33) + (churn,) * (night >= 14)


def entry_of(capture: str, night: int, points: Mapping[str, Point]) -> Entry:
    outcome, reason = outcome_of(capture, night)
    traced = Pair(
        1, 11, "ab", traced=True, runs=(f"{capture}/candidate-1", f"{capture}/reference-1")
    )
    failed = outcome is Outcome.FAILED
    return Entry(
        capture,
        f"{capture}-work",
        Described(capture, {"block_size": 16}, "3.12.7", environment(night)["mlx"], "0.1.0",
                  commit_of(night)*5, f"{capture}, block_size 16"),
        Described(capture, {}, "3.12.7", environment(night)["mlx"], "0.1.0", "9" * 40,
                  "revision 9999999"),
        pairs=() if failed else (traced,),
        judged=tuple(
            judged_of(capture, one, points[one.metric])
            for one in CAPTURES[capture] if one.metric in points
        ),
        findings=() if failed else findings_of(capture, night),
        outcome=outcome,
        reason=reason,
        overhead=Overhead(0.021, 0.006, 40, 400),
        parity="parity holds at 12 of 12 points",
    )  # fmt: skip


def points(count: int, draw: random.Random) -> dict[tuple[str, str], dict[int, Point]]:
    """Make the points of all series, by capture and metric, and by night."""
    made: dict[tuple[str, str], dict[int, Point]] = {}
    for capture, followed in CAPTURES.items():
        for one in followed:
            own = made.setdefault((capture, one.metric), {})
            for night in range(count):
                if night in MISSED or (capture, night) == ("sdpa", PARTIAL):
                    continue
                outcome, reason = outcome_of(capture, night)
                own[night] = replace(point_of(one, night, draw, outcome), reason=reason)
                if night == FAILED:
                    own[night] = replace(
                        own[night], value=None, reference=None, change=None, low=None, high=None,
                        least=None, most=None, pairs=0,
                    )  # fmt: skip
    return made


def night_of_all(night: int, made: Mapping[tuple[str, str], Mapping[int, Point]]) -> Night:
    entries = tuple(
        entry_of(capture, night, {
            one.metric: made[capture, one.metric][night] for one in followed if night != FAILED
        })
        for capture, followed in CAPTURES.items()
        if (capture, night) != ("sdpa", PARTIAL)
    )  # fmt: skip
    worst = next((one.outcome for one in entries if one.outcome is not Outcome.OK), Outcome.OK)
    return Night(
        identity(night), PLAN, MACHINE, started(night), "plan-1", environment(night),
        ended=started(night), commit=commit_of(night) * 5, entries=entries, outcome=worst,
        partial=night == PARTIAL, folder=f"nights/{identity(night)}",
        reason="The budget of 2 h was spent." if night == PARTIAL else "",
    )  # fmt: skip


def history(count: int = 40, seed: int = 7) -> Made:
    """Return a history of so many nights."""
    made = points(count, random.Random(seed))
    nights = tuple(night_of_all(one, made) for one in range(count) if one not in MISSED)
    series = tuple(
        Series(
            MACHINE, PLAN, capture, f"{capture}-work", one.metric, one.unit, one.better, one.scale,
            one.threshold, one.gated, tuple(made[capture, one.metric].values()),
        )
        for capture, followed in CAPTURES.items()
        for one in followed
    )  # fmt: skip
    accepted = Accepted(
        identity(ACCEPTED), "paged", "paged-work", started(ACCEPTED),
        "The new mask is slower and correct.", {"step_p50": (0.05,) * PAIRS},
    )  # fmt: skip
    missed = tuple(Missed(PLAN, MACHINE, started(one), "The machine slept.") for one in MISSED)
    return Made(series, nights, (accepted,) if count > ACCEPTED else (), missed)
