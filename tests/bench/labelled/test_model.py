"""The model keeps to what any recording shows: order, one thing at a time, and all of the time."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from labelled.setup import MICROSECOND, MILLISECOND, Hold, Server
from small_trace import SETUP, STEP, Make

SORTS: dict[str, dict[str, Any]] = {
    "ahead": {},
    "synchronous": {"ahead": 0},
    "readbacks": {"ahead": 0, "readbacks": 2},
    "rival": {"ahead": 0, "rival": Hold(20 * MILLISECOND, 3 * MILLISECOND)},
    "merged": {"merged": 0.5},
    "held": {"hold": Hold(2, 400 * MICROSECOND)},
    "compiling": {"ahead": 0, "compiles": ((4, 9 * MILLISECOND), (11, 3 * MILLISECOND))},
    "slow": {"clock": (0.5, 0.4)},
    "server": {"ahead": 0, "server": Server(5, 30 * MILLISECOND, alone=True)},
    "drained": {"drains": True},
    "varied": {"variants": (1.0, 1.6), "drift": 0.2, "hiccups": 0.3, "ramp": 2},
    "drawn beside": {"browser": 200 * MICROSECOND},
}
SLOWLY_ENCODED = tuple(replace(one, encode=round(1.3 * one.work)) for one in SETUP.pieces)


@pytest.mark.parametrize("changes", SORTS.values(), ids=SORTS)
def test_one_thing_is_done_at_a_time_in_order_and_causes_cover_just_the_gaps(
    made: Make, changes: dict[str, Any]
) -> None:
    facts = made(**changes)
    world, (begin, end) = facts.world, facts.world.steady
    for channel in ("Compute", "Vertex", "Fragment"):
        on = [work for work in world.intervals + world.others if work.channel == channel]
        assert len(on) > 10
        assert all(before.end <= work.start for before, work in pairwise(sorted(on)))
    for work in world.intervals:
        assert work.committed < work.processed <= work.ready <= work.start - work.held
        assert work.start < work.end
    for buffer in world.buffers:
        assert buffer.created < buffer.committed < buffer.driver_start < buffer.driver_end
        assert buffer.driver_end <= buffer.gpu_start < buffer.gpu_end < buffer.completed
    starts = [buffer.driver_start for buffer in world.buffers]
    assert starts == sorted(starts)
    assert all(before.end <= did.start for before, did in pairwise(world.host))
    assert all(before.completed <= step.start for before, step in pairwise(world.steps))
    assert [step.phase for step in world.steps] == ["warm-up"] * 3 + ["steady"] * 20
    assert all(before.end <= gap.start for before, gap in pairwise(facts.idle))
    ran = sum(max(0, min(end, work.end) - max(begin, work.start)) for work in world.intervals)
    assert facts.idle_time() == end - begin - ran
    causes = {gap.cause for gap in facts.idle}
    assert sum(facts.idle_time(cause) for cause in causes) == facts.idle_time()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"ahead": 0, "late": 4 * MILLISECOND}, "after-wait"),
        ({"ahead": 0, "latency": 4 * MILLISECOND}, "late-start"),
        ({"ahead": 0, "driver": 4 * MILLISECOND}, "driver"),
        ({"ahead": 0, "wiring": 4 * MILLISECOND}, "wiring"),
        ({"ahead": 0, "completion": 4 * MILLISECOND}, "after-wait"),
        ({"ahead": 0, "compiles": ((5, 60 * MILLISECOND),)}, "compile"),
        ({"rival": Hold(12 * MILLISECOND, 4 * MILLISECOND)}, "other-process"),
        ({"hold": Hold(1, 4 * MILLISECOND)}, "late-start"),
        ({"hold": Hold(1, 4 * MILLISECOND), "per_buffer": 6}, "between-encoders"),
        ({"switch": 90 * MICROSECOND, "per_buffer": 1}, "between-buffers"),
        ({"pieces": SLOWLY_ENCODED}, "encoding"),
    ],
)
def test_a_fault_is_its_own_cause(made: Make, changes: dict[str, Any], cause: str) -> None:
    facts = made(**changes)
    assert facts.idle_time(cause) > 0.75 * facts.idle_time()
    assert facts.idle_share() > 0.05
    assert made().idle_share() < 0.02


def test_what_a_fault_costs_is_what_the_same_trace_takes_less_without_it(made: Make) -> None:
    late = made(ahead=0, late=2 * MILLISECOND).length - made(ahead=0).length
    assert late == pytest.approx(20 * 2 * MILLISECOND, rel=0.05)
    spiky = made(spikes=((4, 8 * MILLISECOND), (9, 8 * MILLISECOND))).length - made().length
    assert spiky == pytest.approx(16 * MILLISECOND, rel=0.05)
    slow = made(clock=(0.5, 1.0)).length - made().length
    assert slow == pytest.approx(20 * STEP, rel=0.05)


def test_a_fault_changes_nothing_but_its_consequences(made: Make) -> None:
    plain, late = made(ahead=0).world, made(ahead=0, late=2 * MILLISECOND).world
    assert [one.end - one.start for one in plain.intervals] == [
        one.end - one.start for one in late.intervals
    ]
    assert plain.intervals != late.intervals


def test_a_seed_makes_the_same_trace_again(made: Make) -> None:
    assert made().world == made().world
    assert made().world != made(seed=8).world
