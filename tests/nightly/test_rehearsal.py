"""A plan rehearsed: its noise, a planted slowdown, and how many pairs it takes."""

from dataclasses import replace
from pathlib import Path

import pytest

from naps import write_naps
from tracekit.machine import StateLimits
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.rehearsal import (
    PlantedMetric,
    Rehearsal,
    chance_seen,
    offered_lines,
    rehearsal_lines,
    rehearse_plan,
)

ANYTHING = StateLimits(
    calibration=None, clock=None, load=None, memory_free=None, battery=0.0,
    thermal_pressure=None, gpu_others=None, low_power=True,
)  # fmt: skip
METRIC = PlantedMetric(
    "step_p50", 0.03, 0.012, (0.001, -0.004, 0.006), (0.031, 0.024, 0.038), 0.76, 15
)
MADE = Rehearsal("decode", 10, 12, 12, 3.0, (METRIC,))


def plan_of(folder: Path, *captures: Capture) -> NightPlan:
    file = folder / "tracekit.toml"
    return NightPlan("night", file, captures, folder / "nights", "sqlite:///x", state=ANYTHING)


def test_the_chance_to_see_a_slowdown_grows_with_pairs_and_falls_with_noise() -> None:
    assert chance_seen(0.0, 0.03, 6) == 1.0
    few_pairs, many = chance_seen(0.02, 0.03, 8), chance_seen(0.02, 0.03, 40)
    assert few_pairs < 0.95 < many
    assert chance_seen(0.05, 0.03, 8) < few_pairs
    assert chance_seen(0.02, 0.0, 20) <= 0.06, "at 0 % half of a 95 % interval's misses"
    assert chance_seen(0.0, 0.03, 5) == 0.0, "five pairs have no 95 % interval"


def test_the_outcome_is_reported_and_the_changed_plan_offered() -> None:
    assert list(rehearsal_lines(MADE)) == [
        (
            "decode: step_p50 at 0 %: +0.1 % [-0.4 … +0.6]; with 3.0 % planted: +3.1 % "
            "[+2.4 … +3.8]. A pair deviates by 1.2 %."
        ),
        "decode: a slowdown of 3.0 % would be seen in 76.0 % of the nights with 10 pairs.",
        "decode: it takes 15 pairs, which are 45 s of a session.",
    ]
    assert offered_lines([MADE]) == ["[[nightly.capture]]", 'name = "decode"', "pairs = 15"]
    right = replace(MADE, metrics=(replace(METRIC, needed=10),))
    assert list(rehearsal_lines(right))[-1] == "decode: the plan is right as it is."
    assert offered_lines([right]) == []
    noisy = replace(MADE, metrics=(METRIC, replace(METRIC, needed=None)))
    assert list(rehearsal_lines(noisy))[-1].startswith(
        "decode: even 200 pairs do not suffice here."
    )
    assert offered_lines([noisy]) == []


def test_numbers_of_a_busy_machine_are_shown_and_offer_nothing() -> None:
    busy = replace(MADE, counting=2, reason="Other processes had 90 % of the cores' time; ld 1.8")
    lines = list(rehearsal_lines(busy))
    assert lines[0].startswith("decode: the numbers below do not count. Other processes had 90 %")
    assert "+3.1 %" in lines[1]
    assert offered_lines([busy]) == []


def test_a_capture_that_decides_nothing_is_not_rehearsed(tmp_path: Path) -> None:
    followed = Capture("decode", "paged", metrics=(Gated("step_p50", gate=False),))
    [rehearsal] = rehearse_plan(plan_of(tmp_path, followed))
    assert list(rehearsal_lines(rehearsal)) == [
        "decode: not rehearsed, because no metric that turns measure decides."
    ]


@pytest.mark.processes
def test_a_planted_slowdown_is_measured_and_a_short_time_says_how_far_it_came(
    tmp_path: Path,
) -> None:
    """Six times as long is seen on any machine."""
    capture = Capture(
        "naps", "naps", write_naps(tmp_path), reference=Reference(parameters={"seconds": 0.001}),
        turn=0.02, telemetry="off", metrics=(Gated("step_p50", 5.0),), pairs=6,
    )  # fmt: skip
    plan = plan_of(tmp_path, capture)
    [rehearsal] = rehearse_plan(plan)
    assert rehearsal.measured == rehearsal.counting > 5
    [metric] = rehearsal.metrics
    assert metric.planted[0] > 1.0 > metric.unchanged[0]
    [short] = rehearse_plan(plan, limit=0.01)
    assert short.metrics == ()
    assert "only 0 pairs fit into the time" in short.reason
